// Members of sweeps are the jobs that their specifications make, each at its position: whatever the program writes is found sound, and a job in another one's place is not.
#include "scheduler/service/check_members.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "scheduler/service/maintenance.h"
#include "tests/scheduler/service/engine_fixture.h"
#include "tests/support/status.h"
#include "tests/support/temporary_folder.h"

namespace longreach::service {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every test ends with the ledger of what the engine wrote, which these checks are part of. Harm is done to copies.
class CheckMembersTest : public EngineFixture {
 protected:
  // What is found in a copy of the store in which that was done.
  store::CheckReport FoundAfter(const std::string& sql) {
    const std::filesystem::path file = copies_ / (std::to_string(++copy_) + ".db");
    EXPECT_OK(store::Backup(store_->writer_connection(), file).status());
    absl::StatusOr<sql::Connection> copy = sql::Connection::Open(file, sql::Mode::kReadWrite);
    EXPECT_OK(copy.status());
    EXPECT_OK(copy->Execute(sql));
    store::ExpectedFiles expected;
    absl::StatusOr<store::CheckReport> report = store::CheckRows(*copy, expected, {}, CheckMembers);
    EXPECT_OK(report.status());
    return report.ok() ? *std::move(report) : store::CheckReport();
  }
  std::filesystem::path LastCopy() const { return copies_ / (std::to_string(copy_) + ".db"); }

  // Two rows of a sweep's members change their jobs.
  static std::string Swap(int sweep, int one, int other) {
    const auto move = [sweep](int from, int to) {
      return "UPDATE sweep_jobs SET position = " + std::to_string(to) + " WHERE role = 'member' AND sweep = " + std::to_string(sweep) + " AND position = " + std::to_string(from) + "; ";
    };
    return move(one, 999) + move(other, one) + move(999, other);
  }
  // A job has another specification, with which it is called: what another version would have made there.
  std::string MadeOtherwise(int job, const std::string& line) {
    const std::string spec = *store_->writer_connection().One<std::string>("SELECT spec FROM jobs WHERE num = ?", job) + line + "\n";
    return "UPDATE jobs SET spec = '" + spec + "', id = '" + Sha256Of(spec) + "' WHERE num = " + std::to_string(job);
  }
  std::string ShortIdOf(int job) { return store_->writer_connection().One<std::string>("SELECT id FROM jobs WHERE num = ?", job)->substr(0, 8); }
  std::string ShortIdOfSweep(int sweep) { return store_->writer_connection().One<std::string>("SELECT id FROM sweeps WHERE num = ?", sweep)->substr(0, 8); }

  // Two systems that differ in a setting alone; of two seeds each.
  static v1::SweepSpec Systems() {
    v1::SweepSpec spec = Sweep("systems", 2);
    for (const auto& [name, steps] : {std::pair("long", 300), std::pair("short", 200)}) {
      v1::System& system = *spec.add_systems();
      system.set_name(name);
      system.mutable_with()->mutable_training()->set_steps(steps);
    }
    return spec;
  }

  const longreach::testing::TemporaryFolder copies_;
  int copy_ = 0;
};

TEST_F(CheckMembersTest, WhatTheEngineWritesIsSound) {
  v1::SweepSpec both = Sweep("encodings", 3);
  both.mutable_axes()->add_encoding("alibi:randomized");
  both.mutable_axes()->add_task("parity_check");
  Submit(both);
  Submit(Sweep("of-it", 2));  // Jobs that are there.
  Submit(Systems());
  v1::SweepSpec tested = Sweep("tested", 2);
  tested.mutable_training()->set_steps(0);
  v1::Input& input = *tested.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  input.mutable_from()->mutable_training()->set_steps(50);
  Submit(tested);
  ASSERT_OK(Steer("of-it", v1::SteerSweepRequest::ACTION_CANCEL).status());
  // A sweep keeps the revisions of when it was submitted.
  options_.revisions.encoding["rope"] = 2;
  RestartScheduler();
  Submit(Sweep("of-it", 2));

  const store::CheckReport report = FoundAfter("");

  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_THAT(report.remarks, IsEmpty());
  EXPECT_EQ(report.sweeps, 5);
}

// A submission that broke off, and one that was cancelled while its jobs came.
TEST_F(CheckMembersTest, JobsThatAreToComeAreNotLacking) {
  options_.jobs_in_slice = 2;
  RestartScheduler();
  Submit(Sweep("s", 4));

  const store::CheckReport begun = FoundAfter("DELETE FROM sweep_jobs WHERE position >= 2; UPDATE sweeps SET jobs_to_come = 2, jobs_queued = 2; UPDATE jobs SET wanted = 0 WHERE num > 2");
  EXPECT_THAT(begun.violations, IsEmpty());

  const store::CheckReport lacking = FoundAfter("DELETE FROM sweep_jobs WHERE position = 3; UPDATE sweeps SET jobs_queued = 3; UPDATE jobs SET wanted = 0 WHERE num > 3");
  EXPECT_THAT(lacking.violations, ElementsAre("sweep " + ShortIdOfSweep(1) + " ('s') has 3 jobs and 0 to come, where its specification has 4"));
  EXPECT_TRUE(lacking.Has(store::Concern::kMembers));
}

TEST_F(CheckMembersTest, TwoJobsInEachOthersPlaceAreNamedWithWhatBelongsThere) {
  v1::SweepSpec spec = Sweep("s", 1);
  spec.mutable_axes()->add_encoding("alibi");
  Submit(spec);

  const store::CheckReport report = FoundAfter(Swap(1, 0, 1));

  const std::string rope = "job " + ShortIdOf(1) + " (even_pairs, rope, learning rate 0.001, seed 0)", alibi = "job " + ShortIdOf(2) + " (even_pairs, alibi, learning rate 0.001, seed 0)",
                    sweep = "sweep " + ShortIdOfSweep(1) + " ('s') has ";
  EXPECT_THAT(report.violations, ElementsAre(sweep + alibi + " at position 0 of 2, where its specification has " + rope, sweep + rope + " at position 1 of 2, where its specification has " + alibi));
  EXPECT_TRUE(report.Has(store::Concern::kMembers));
}

// Their rows say nothing of it: a table takes the system from the position alone.
TEST_F(CheckMembersTest, JobsOfTwoSystemsInEachOthersPlaceAreFoundThoughTheyDifferInASettingAlone) {
  Submit(Systems());

  const store::CheckReport report = FoundAfter(Swap(1, 1, 3));

  EXPECT_THAT(report.violations, ElementsAre(AllOf(HasSubstr("at position 1 of 4"), HasSubstr("job " + ShortIdOf(2) + " (even_pairs, rope, learning rate 0.001, seed 1), system 'long'")),
                                             AllOf(HasSubstr("at position 3 of 4"), HasSubstr("job " + ShortIdOf(4) + " (even_pairs, rope, learning rate 0.001, seed 1), system 'short'"))));
  EXPECT_THAT(report.remarks, IsEmpty());
}

TEST_F(CheckMembersTest, AJobOfAnotherSweepInAPlaceIsFoundWhetherOrNotTheOneThatBelongsThereHasAnotherSweep) {
  Submit(Sweep("s", 2));  // Jobs 1 and 2.
  v1::SweepSpec longer = Sweep("longer", 2);
  longer.mutable_training()->set_steps(200);
  Submit(longer);  // 3 and 4.
  v1::SweepSpec first = Sweep("first", 1);
  Submit(first);  // Job 1.

  const std::string of_longer = "UPDATE sweep_jobs SET job = job + 2 WHERE sweep = 1 AND position = ";
  EXPECT_THAT(FoundAfter(of_longer + "1").violations, Contains(AllOf(HasSubstr("('s') has job " + ShortIdOf(4)), HasSubstr("where its specification has job " + ShortIdOf(2)))));
  EXPECT_THAT(FoundAfter(of_longer + "0").violations, Contains(AllOf(HasSubstr("('s') has job " + ShortIdOf(3)), HasSubstr("where its specification has job " + ShortIdOf(1)))));
}

// A version that gave such jobs another setting, for whatever reason: nobody has put them where they do not belong.
TEST_F(CheckMembersTest, JobsThatAnotherVersionMadeOfTheSameTextAreARemark) {
  Submit(Sweep("s", 2));
  ASSERT_OK(store_->writer_connection().Execute(MadeOtherwise(1, "training.zz=1")));
  const auto remark = HasSubstr("1 job of sweep " + ShortIdOfSweep(1) + " ('s') is not what this program makes of its specification");
  const store::CheckReport alone = FoundAfter("");
  EXPECT_THAT(alone.violations, IsEmpty());
  EXPECT_THAT(alone.remarks, ElementsAre(remark));

  Submit(Sweep("more", 3));  // What this version makes of both is there now.

  const store::CheckReport beside = FoundAfter("");
  EXPECT_THAT(beside.violations, IsEmpty());
  EXPECT_THAT(beside.remarks, ElementsAre(remark));
}

TEST_F(CheckMembersTest, ASweepThatThisProgramDoesNotExpandIsARemark) {
  Submit(Sweep("s", 2));
  const std::string spec = "longreach-sweep/1\nexperiment=divination\nname=s\n";

  const store::CheckReport report = FoundAfter("UPDATE sweeps SET spec = '" + spec + "', id = '" + Sha256Of(spec) + "'");

  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_THAT(report.remarks, ElementsAre(AllOf(HasSubstr("the jobs of sweep " + Sha256Of(spec).substr(0, 8) + " ('s') were not compared"), HasSubstr("divination"))));
}

TEST_F(CheckMembersTest, ManyAreCounted) {
  v1::SweepSpec spec = Sweep("s", 20);
  spec.mutable_axes()->add_encoding("alibi");
  Submit(spec);

  const store::CheckReport report = FoundAfter("UPDATE sweep_jobs SET position = 999 - position; UPDATE sweep_jobs SET position = position - 960");

  ASSERT_EQ(report.violations.size(), 21u);
  EXPECT_EQ(report.violations.back(), "... and 20 more of this kind");
}

TEST_F(CheckMembersTest, TheCheckSaysWhatIsAtStakeAndNoMergeTakesSuchAStoreOver) {
  v1::SweepSpec spec = Sweep("s", 1);
  spec.mutable_axes()->add_encoding("alibi");
  Submit(spec);
  FoundAfter(Swap(1, 0, 1));
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<store::Store> copy, store::Store::Open(LastCopy().string()));
    ASSERT_OK_AND_ASSIGN(const v1::CheckStoreResponse check, CheckStore(*copy, {}));
    EXPECT_EQ(check.violations_size(), 2);
    EXPECT_THAT(check.remarks(), ElementsAre(AllOf(HasSubstr("show values of jobs that are not theirs"), HasSubstr("docs/OPERATIONS.md, Restore"))));
  }

  const absl::Status refused = LookBeforeMerge(LastCopy().string(), {}).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("nothing was merged"), HasSubstr("where its specification has job")));
}

}  // namespace
}  // namespace longreach::service
