// What a raised revision does to sweeps: another id for those that use what was corrected, and for no other.
#include "scheduler/experiments/revisions.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "proto/types/canonical.h"
#include "scheduler/experiments/expansion.h"

namespace longreach::experiments {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::EndsWith;
using ::testing::HasSubstr;

v1::SweepSpec SweepOf(const std::string& experiment = "algorithmic") {
  v1::SweepSpec sweep;
  sweep.set_name("test");
  sweep.set_experiment(experiment);
  for (const char* task : {"even_pairs", "parity_check"}) sweep.mutable_axes()->add_task(task);
  for (const char* encoding : {"rope", "log_kerple:randomized"}) sweep.mutable_axes()->add_encoding(encoding);
  sweep.mutable_axes()->add_learning_rate(1e-3);
  sweep.mutable_axes()->add_seed(0);
  return sweep;
}

Expansion Under(const Revisions& revisions, const v1::SweepSpec& sweep) {
  absl::StatusOr<Expansion> expansion = Expansion::Of(sweep, revisions);
  EXPECT_TRUE(expansion.ok()) << expansion.status();
  return *std::move(expansion);
}

// Every store that there is has sweeps under such ids: they must never change.
TEST(RevisionsTest, WhereAllAreFirstOnesTheIdIsThatOfTheSpecificationAlone) {
  const Expansion expansion = Under({}, SweepOf());
  EXPECT_EQ(expansion.canonical(),
            "longreach-sweep/1\naxes.encoding=rope,log_kerple:randomized\naxes.learning_rate=0.001\naxes.seed=0\n"
            "axes.task=even_pairs,parity_check\nexperiment=algorithmic\nname=test\n");
  EXPECT_EQ(expansion.id(), SweepIdOf(expansion.canonical()));
}

TEST(RevisionsTest, ARaisedRevisionMakesAnotherSweepAndOtherJobsOfWhatUsesIt) {
  Expansion before = Under({}, SweepOf());
  Expansion after = Under({.encoding = {{"log_kerple", 2}}}, SweepOf());

  EXPECT_NE(after.id(), before.id());
  EXPECT_EQ(after.id(), SweepIdOf(after.canonical()));
  EXPECT_THAT(after.canonical(), EndsWith("\nrevisions.encoding.log_kerple=2\n"));
  ASSERT_EQ(after.size(), 4);
  for (int64_t i = 0; i < after.size(); ++i) {
    const ExpandedJob job = after.At(i);
    EXPECT_EQ(job.id != before.At(i).id, job.spec.encoding() == "log_kerple") << job.canonical;
  }
}

TEST(RevisionsTest, EachTaskEncodingAndTheModelCount) {
  EXPECT_THAT(Under({.task = {{"parity_check", 3}}}, SweepOf()).canonical(), EndsWith("\nrevisions.task.parity_check=3\n"));
  EXPECT_THAT(Under({.model = 2}, SweepOf()).canonical(), EndsWith("\nrevisions.model=2\n"));
  EXPECT_NE(Under({.encoding = {{"rope", 2}}}, SweepOf()).id(), Under({.encoding = {{"rope", 3}}}, SweepOf()).id());
}

TEST(RevisionsTest, WhatASweepDoesNotUseChangesNothing) {
  EXPECT_EQ(Under({.task = {{"bucket_sort", 2}}, .encoding = {{"alibi", 2}}}, SweepOf()).id(), Under({}, SweepOf()).id());
  // Nothing is computed there.
  EXPECT_EQ(Under({.encoding = {{"rope", 2}}, .model = 2}, SweepOf("noop")).id(), Under({}, SweepOf("noop")).id());
}

TEST(RevisionsTest, ThoseOfInputsAndSystemsCount) {
  v1::SweepSpec tuned = SweepOf();
  tuned.mutable_axes()->clear_encoding();
  tuned.mutable_axes()->add_encoding("none");
  tuned.mutable_training()->set_steps(0);
  v1::Input& input = *tuned.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  input.mutable_from()->mutable_axes()->add_encoding("none");
  input.mutable_from()->mutable_axes()->add_task("even_pairs");
  input.mutable_from()->mutable_training()->set_steps(10);
  tuned.mutable_axes()->clear_task();
  tuned.mutable_axes()->add_task("parity_check");
  EXPECT_NE(Under({.task = {{"even_pairs", 2}}}, tuned).id(), Under({}, tuned).id());

  v1::SweepSpec systems = SweepOf();
  v1::System& one = *systems.add_systems();
  one.set_name("one");
  one.mutable_with()->mutable_axes()->add_encoding("alibi");
  EXPECT_THAT(Under({.encoding = {{"alibi", 2}}}, systems).canonical(), HasSubstr("\nrevisions.encoding.alibi=2\n"));
  EXPECT_EQ(Under({.encoding = {{"rope", 2}}}, systems).id(), Under({}, systems).id()) << "the system has another encoding in its place";
}

TEST(RevisionsTest, AStoredSweepReadsBackAsItsSpecificationAndExpandsToItsOwnJobs) {
  const Revisions revisions{.task = {{"even_pairs", 4}}, .encoding = {{"log_kerple", 2}, {"rope", 3}}, .model = 2};
  Expansion stored = Under(revisions, SweepOf());

  EXPECT_EQ(SplitSweepText(stored.canonical()).revisions, revisions);
  const absl::StatusOr<v1::SweepSpec> spec = ReadSweep(stored.canonical());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*spec, SweepOf())) << spec->DebugString();
  absl::StatusOr<Expansion> again = ExpandStored(stored.canonical());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->id(), stored.id());
  EXPECT_EQ(again->At(3).id, stored.At(3).id);
}

TEST(RevisionsTest, LinesOfAnotherFormAreLeftToTheReaderWhoRefusesThem) {
  const std::string text = Under({}, SweepOf()).canonical();
  for (const char* line : {"revisions.metric.accuracy=2\n", "revisions.model=1\n", "revisions.model=2x\n", "revisions.model\n"}) {
    EXPECT_FALSE(ReadSweep(text + line).ok()) << line;
  }
  EXPECT_FALSE(ExpandStored(text + "revisions.encoding.alibi=2\n").ok()) << "a revision that the sweep does not use";
}

TEST(RevisionsTest, TheCatalogsAreThoseOfWhatIsSubmittedToday) {
  EXPECT_EQ(Expansion::Of(SweepOf())->id(), Under(CatalogRevisions(), SweepOf()).id());
}

}  // namespace
}  // namespace longreach::experiments
