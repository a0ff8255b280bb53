// Which data sets are seen to before a sweep runs on this machine; how it runs is in embedded_test.cc.
#include "client/sweep_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SweepRunTest, ASweepReadsItsDataElseThatOfItsTasks) {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_task("even_pairs");
  EXPECT_THAT(DataSetsOf(spec), IsEmpty()) << "its data are made up";
  spec.mutable_axes()->add_task("enwik8");
  EXPECT_THAT(DataSetsOf(spec), ElementsAre("enwik8"));
  spec.set_data("words");
  EXPECT_THAT(DataSetsOf(spec), ElementsAre("words"));
}

TEST(SweepRunTest, SystemsReadTheirOwnData) {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_task("enwik8");
  for (const char* name : {"a", "b"}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->set_data(std::string("words-") + name);
  }
  EXPECT_THAT(DataSetsOf(spec), ElementsAre("words-a", "words-b")) << "nobody reads enwik8";
  spec.add_systems()->set_name("c");
  EXPECT_THAT(DataSetsOf(spec), ElementsAre("enwik8", "words-a", "words-b"));
  spec.set_data("words");
  EXPECT_THAT(DataSetsOf(spec), ElementsAre("words", "words-a", "words-b"));
  spec.mutable_systems(2)->mutable_with()->mutable_axes()->add_task("imagenet");
  spec.clear_data();
  EXPECT_THAT(DataSetsOf(spec), ElementsAre("imagenet", "words-a", "words-b"));
}

}  // namespace
}  // namespace longreach::client
