// `longreach spec`: a sweep's file, and one file of several sweeps.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "client/spec/spec_reader.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SpecTest : public WithFakeScheduler {
 protected:
  SpecTest() {
    v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
    spec.set_name("table-b1");
    spec.set_experiment("algorithmic");
    spec.mutable_axes()->add_task("even_pairs");
    spec.mutable_axes()->add_encoding("rope");
    spec.mutable_axes()->add_learning_rate(1e-3);
    for (const uint32_t seed : {0, 1, 2}) spec.mutable_axes()->add_seed(seed);
    spec.mutable_training()->set_steps(100);
    v1::TableSpec& table = *scheduler_.sweep.mutable_table();
    table.set_title("A hundred steps");
    table.set_rows("task,seed");
    table.set_columns("encoding");
    table.add_row_order("even_pairs");
    table.set_length(0);

    v1::Sweep& later = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
    later.set_id("later");
    later.set_name("later");
    later.clear_table();
    later.mutable_spec()->set_name("later");
    later.mutable_spec()->mutable_axes()->clear_seed();
    later.mutable_spec()->mutable_axes()->add_seed(3);
  }

  static SweepFile Read(const Outcome& outcome) {
    const absl::StatusOr<SweepFile> file = ReadSweepFile(outcome.out, "printed");
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    EXPECT_TRUE(file.ok()) << file.status() << outcome.out;
    return file.value_or(SweepFile());
  }
};

TEST_F(SpecTest, ItIsTheSameSweepWithItsTable) {
  const Outcome outcome = Run({"spec", "last"});
  const SweepFile file = Read(outcome);
  EXPECT_EQ(file.spec.SerializeAsString(), scheduler_.sweep.spec().SerializeAsString()) << outcome.out;
  EXPECT_EQ(file.table.rows(), "task,seed");
  EXPECT_THAT(file.table.row_order(), ElementsAre("even_pairs"));
  EXPECT_EQ(file.table.title(), "") << "--set may make it untrue";
  EXPECT_EQ(outcome.err, "");
}

TEST_F(SpecTest, ATableThatIsNotThereIsLeftOut) {
  const Outcome outcome = Run({"spec", "later"});
  EXPECT_FALSE(Read(outcome).has_table) << outcome.out;
  EXPECT_TRUE(nlohmann::json::parse(Run({"spec", "later", "-o", "json"}).out)["table"].is_null());
  EXPECT_EQ(nlohmann::json::parse(Run({"spec", "last", "-o", "json"}).out)["table"]["rows"], "task,seed");
}

TEST_F(SpecTest, ATableThatCannotBeReadIsSaid) {
  scheduler_.sweep.clear_table();
  scheduler_.sweep.set_name("own");
  scheduler_.sweep.set_table_trouble("it is damaged");
  const Outcome outcome = Run({"spec", "last"});
  EXPECT_FALSE(Read(outcome).has_table) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("note: the table that sweep 'own' was submitted with cannot be read (it is damaged)\n"));
}

TEST_F(SpecTest, SeveralSweepsAreOneFile) {
  const Outcome outcome = Run({"spec", "last", "later", "last"});
  const SweepFile file = Read(outcome);
  EXPECT_EQ(file.spec.name(), "table-b1_later") << "each of them once";
  EXPECT_THAT(file.spec.axes().seed(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(file.table.rows(), "task,seed");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(SpecTest, JobsThatNoneOfThemHasAreSaid) {
  scheduler_.other_sweeps.back().mutable_spec()->mutable_axes()->set_encoding(0, "alibi");
  const Outcome outcome = Run({"spec", "last", "later", "--name", "both"});
  EXPECT_EQ(Read(outcome).spec.name(), "both");
  EXPECT_EQ(outcome.err, "note: 4 of its 8 jobs are of none of these sweeps, as it has each value of an axis with all of the others\n");
}

TEST_F(SpecTest, ATableOfOtherSystemsIsNotTheirs) {
  scheduler_.other_sweeps.back().mutable_spec()->mutable_training()->set_steps(7);
  const SweepFile file = Read(Run({"spec", "last", "later"}));
  ASSERT_EQ(file.spec.systems_size(), 2);
  EXPECT_EQ(file.spec.systems(0).name(), "table-b1");
  EXPECT_EQ(file.spec.systems(1).with().training().steps(), 7);
  EXPECT_FALSE(file.has_table);
}

TEST_F(SpecTest, WhatTheSchedulerWouldRefuseIsNotPrinted) {
  scheduler_.refusals = {{"SubmitSweep", grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "axes.encoding: 'rope' is not for this task\n  leave it out")}};
  EXPECT_EQ(Run({"spec", "last"}).code, kDone) << "one that is there is printed as it is";
  const Outcome outcome = Run({"spec", "last", "later"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("error: one sweep of these would be refused: axes.encoding: 'rope' is not for this task\n  leave it out\n  'longreach spec' of each"));
  EXPECT_TRUE(scheduler_.submitted.dry_run());
  EXPECT_EQ(scheduler_.submitted.table().rows(), "task,seed") << "with the table that is printed";
}

TEST_F(SpecTest, SystemsThatComeToTheSameJobsAreOne) {
  // Both sweeps have the jobs that are listed, as if the one said a default that the other leaves out.
  for (v1::Sweep* sweep : {&scheduler_.sweep, &scheduler_.other_sweeps.front()}) {
    v1::Axes& axes = *sweep->mutable_spec()->mutable_axes();
    axes.set_encoding(0, "rope:randomized");
    axes.set_learning_rate(0, 3e-4);
    axes.clear_seed();
    for (const uint32_t seed : {0, 1}) axes.add_seed(seed);
  }
  scheduler_.other_sweeps.front().mutable_spec()->mutable_training()->set_steps(7);
  scheduler_.when_planned = [this](const v1::SubmitSweepRequest& request, v1::Plan&) {
    scheduler_.refusals.clear();
    if (request.spec().systems_size() == 2) scheduler_.refusals = {{"SubmitSweep", grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "systems.later: has a job")}};
  };
  const Outcome one = Run({"spec", "last", "later"});
  EXPECT_EQ(Read(one).spec.systems_size(), 0) << one.out;
  EXPECT_EQ(one.err, "");

  // Jobs of which nothing is known are nobody's, and the scheduler's word stands.
  for (v1::Job& job : *scheduler_.jobs.mutable_jobs()) job.add_systems("nowhere");
  const Outcome refused = Run({"spec", "last", "later"});
  EXPECT_EQ(refused.code, kUsage) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("would be refused: systems.later: has a job"));
}

TEST_F(SpecTest, WhoMayOnlyReadIsToldThatNobodyWasAsked) {
  scheduler_.refusals = {{"SubmitSweep", grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the role reader does not admit it")}};
  const Outcome outcome = Run({"spec", "last", "later"});
  EXPECT_THAT(Read(outcome).spec.axes().seed(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(outcome.err, "note: whether the scheduler takes this sweep is not known, as you may not submit one\n");
}

TEST_F(SpecTest, NamesThatAreNoneAreRefusedBeforeAnybodyIsAsked) {
  const Outcome outcome = RunCommandLine({"spec", "last", "--name", "two words", "--scheduler", "unix:/nowhere"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("error: --name: 'two words' is no name of a sweep\n"));
  for (const std::string name : {"-x", ".x", "last"}) {
    const Outcome refused = RunCommandLine({"spec", "last", "--name=" + name, "--scheduler", "unix:/nowhere"});
    EXPECT_EQ(refused.code, kUsage) << name;
    EXPECT_THAT(refused.err, HasSubstr("--name: '" + name + "' is no name of a sweep")) << "submit would refuse it";
  }

  scheduler_.sweep.set_name(std::string(60, 'x'));
  const Outcome too_long = Run({"spec", "last", "later"});
  EXPECT_EQ(too_long.code, kUsage);
  EXPECT_THAT(too_long.err, HasSubstr("has 66 characters; at most 64\n  give it another one with --name\n"));
}

}  // namespace
}  // namespace longreach::client
