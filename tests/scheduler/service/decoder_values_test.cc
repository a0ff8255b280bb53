#include "scheduler/service/decoder_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::service {
namespace {

// Two systems, of which the first is a decoder.
v1::SweepSpec DecoderAndEncoder() {
  v1::SweepSpec sweep;
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("reverse_string");
  for (const char* name : {"first", "second"}) sweep.add_systems()->set_name(name);
  sweep.mutable_systems(0)->mutable_with()->mutable_model()->set_causal(true);
  return sweep;
}

TEST(DecoderValuesTest, ASystemIsADecoderByItsOwnWordOrByTheSweeps) {
  using ::testing::ElementsAre;
  using ::testing::Pair;
  v1::SweepSpec sweep = DecoderAndEncoder();
  EXPECT_THAT(DecodersOf(sweep), ElementsAre(Pair("first", true), Pair("second", false)));
  sweep.mutable_model()->set_causal(true);
  sweep.mutable_systems(0)->mutable_with()->mutable_model()->set_causal(false);
  EXPECT_THAT(DecodersOf(sweep), ElementsAre(Pair("first", false), Pair("second", true)));
  sweep.clear_systems();
  EXPECT_THAT(DecodersOf(sweep), ElementsAre(Pair("", true)));
  sweep.clear_model();
  EXPECT_THAT(DecodersOf(sweep), ElementsAre(Pair("", false)));
  sweep.set_experiment("language");
  EXPECT_THAT(DecodersOf(sweep), ElementsAre());
}

TEST(DecoderValuesTest, WhyThereIsNoExactMatchIsSaidOfSweepsWithAnEncoder) {
  const auto is_said = [](const v1::SweepSpec& sweep) { return !WhyUnmeasured(sweep, "exact_match").empty(); };
  v1::SweepSpec sweep = DecoderAndEncoder();
  EXPECT_TRUE(is_said(sweep));
  EXPECT_EQ(WhyUnmeasured(sweep, "accuracy"), "");
  sweep.mutable_model()->set_causal(true);
  EXPECT_FALSE(is_said(sweep)) << "what is missing has another reason";
  sweep.set_experiment("language");
  EXPECT_FALSE(is_said(sweep)) << "no such sweep has it";
}

TEST(DecoderValuesTest, ThatBothDoNotCompareIsSaidWhereATableHasBothAndATaskHasSeveralOutputs) {
  v1::SweepSpec sweep = DecoderAndEncoder();
  EXPECT_THAT(NoteOnDecoders(sweep, "accuracy", {"first", "second"}), ::testing::HasSubstr("accuracy of decoders (model.causal: true) is of outputs that are each predicted"));
  EXPECT_NE(NoteOnDecoders(sweep, "loss", {"first", "second"}), "");
  EXPECT_NE(NoteOnDecoders(sweep, "output_accuracy", {"first", "second"}), "");
  EXPECT_EQ(NoteOnDecoders(sweep, "exact_match", {"first"}), "");
  EXPECT_EQ(NoteOnDecoders(sweep, "accuracy", {"first"}), "");
  EXPECT_EQ(NoteOnDecoders(sweep, "accuracy", {"second"}), "");
  sweep.mutable_axes()->set_task(0, "parity_check");
  EXPECT_EQ(NoteOnDecoders(sweep, "accuracy", {"first", "second"}), "") << "a single output has none before it";
  sweep.mutable_systems(1)->mutable_with()->mutable_axes()->add_task("reverse_string");
  EXPECT_NE(NoteOnDecoders(sweep, "accuracy", {"first", "second"}), "");
}

// Only their data set knows how many outputs pairs have; exact_match is measured of encoders for them, too.
TEST(DecoderValuesTest, OfPairsOfSequencesBothMayHaveSeveralOutputsAndExactMatch) {
  v1::SweepSpec sweep = DecoderAndEncoder();
  sweep.set_experiment("sequences");
  sweep.mutable_axes()->set_task(0, "pairs");
  EXPECT_THAT(DecodersOf(sweep), ::testing::ElementsAre(::testing::Pair("first", true), ::testing::Pair("second", false)));
  EXPECT_NE(NoteOnDecoders(sweep, "accuracy", {"first", "second"}), "");
  EXPECT_EQ(NoteOnDecoders(sweep, "accuracy", {"first"}), "");
  EXPECT_EQ(WhyUnmeasured(sweep, "exact_match"), "");
}

}  // namespace
}  // namespace longreach::service
