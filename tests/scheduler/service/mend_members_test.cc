// Members of sweeps are put where their specifications have them, from what the store has alone; what is not known is left and said. And what they begin with is with them again.
#include "scheduler/service/mend_members.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "scheduler/service/check_members.h"
#include "tests/scheduler/service/engine_fixture.h"
#include "tests/support/status.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MendMembersTest : public EngineFixture {
 protected:
  // What a repair does about some harm, and the store after it. All of that is taken back.
  struct Outcome {
    bool was_found = false;
    std::vector<std::string> done{};
    std::vector<std::string> left{};  // What the check finds then.
    std::vector<std::string> rows{};  // Of all sweeps,
    std::vector<std::string> results{};  // and what jobs have measured.
  };
  Outcome MendAfter(const std::string& harm) {
    Outcome outcome;
    absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin(db());
    EXPECT_OK(tx.status());
    EXPECT_OK(db().Execute(harm));
    const store::CheckReport found = Look();
    outcome.was_found = !found.violations.empty();
    absl::StatusOr<store::Mended> mended = store::Mend(*tx, found, store_->artifacts(), clock_.Wall(), MendMembers);
    EXPECT_OK(mended.status());
    if (mended.ok()) outcome.done = std::move(mended->done);
    outcome.left = Look().violations;
    outcome.rows = Rows();
    outcome.results = Results();
    return outcome;
  }
  // Nothing of the harm is left, and results are where they were.
  void ExpectUndone(const Outcome& outcome) {
    EXPECT_TRUE(outcome.was_found);
    EXPECT_THAT(outcome.left, IsEmpty());
    EXPECT_EQ(outcome.rows, Rows());
    EXPECT_EQ(outcome.results, Results());
  }
  static auto PutRight(const std::string& what) { return Contains(HasSubstr("has its jobs where its specification has them: " + what)); }
  static auto LeftAlone() { return Not(Contains(HasSubstr("where its specification has them"))); }

  sql::Connection& db() { return store_->writer_connection(); }
  store::CheckReport Look() {
    absl::StatusOr<store::CheckReport> report = store::Check(db(), store_->artifacts(), true, {}, CheckMembers);
    EXPECT_OK(report.status());
    return report.ok() ? *std::move(report) : store::CheckReport();
  }
  std::vector<std::string> Rows() { return *db().All<std::string>("SELECT sweep || ' ' || role || ' ' || position || ' ' || job FROM sweep_jobs ORDER BY sweep, role, position"); }
  std::vector<std::string> Results() { return *db().All<std::string>("SELECT job || ' ' || metric || ' ' || length || ' ' || value FROM measurements ORDER BY job, metric, length"); }
  std::string ShortIdOf(int job) { return db().One<std::string>("SELECT id FROM jobs WHERE num = ?", job)->substr(0, 8); }

  // Members of a sweep change their jobs.
  static std::string Swap(int sweep, int one, int other) {
    const auto move = [sweep](int from, int to) {
      return "UPDATE sweep_jobs SET position = " + std::to_string(to) + " WHERE role = 'member' AND sweep = " + std::to_string(sweep) + " AND position = " + std::to_string(from) + "; ";
    };
    return move(one, 999) + move(other, one) + move(999, other);
  }
  static v1::SweepSpec Longer() {
    v1::SweepSpec longer = Sweep("longer", 2);
    longer.mutable_training()->set_steps(200);
    return longer;
  }
  // One job, which begins with another's weights.
  static v1::SweepSpec Tested() {
    v1::SweepSpec tested = Sweep("tested", 1);
    tested.mutable_training()->set_steps(0);
    v1::Input& input = *tested.add_inputs();
    input.set_name("weights");
    input.set_artifact("weights");
    input.mutable_from()->mutable_training()->set_steps(50);
    return tested;
  }
};

// They differ in a setting alone: a table takes the system from the position.
TEST_F(MendMembersTest, JobsOfTwoSystemsAreInTheirOwnPlacesAgainWithTheirResults) {
  v1::SweepSpec spec = Sweep("systems", 2);
  for (const auto& [name, steps] : {std::pair("long", 300), std::pair("short", 200)}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_training()->set_steps(steps);
  }
  Submit(spec);
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.next().set_free_slots(0);
  worker.Sync();
  ASSERT_THAT(Results(), Not(IsEmpty()));

  const Outcome outcome = MendAfter(Swap(1, 1, 3));

  ExpectUndone(outcome);
  EXPECT_THAT(outcome.done, PutRight("2 were at other positions"));
}

TEST_F(MendMembersTest, JobsOfOtherSweepsGoAndThoseThatAreLackingCome) {
  Submit(Sweep("s", 2));  // Jobs 1 and 2.
  Submit(Longer());       // 3 and 4.

  // Of each other's sweep.
  const Outcome swapped = MendAfter("UPDATE sweep_jobs SET job = 5 - job WHERE job IN (1, 4)");
  ExpectUndone(swapped);
  EXPECT_THAT(swapped.done, PutRight("1 was lacking, 1 was none of its jobs"));
  // One is in two sweeps, and the other one that it has put out in none.
  ExpectUndone(MendAfter("UPDATE sweep_jobs SET job = 3 WHERE sweep = 1 AND position = 0"));
  // One too many, and one too few, whether or not that is what is counted.
  ExpectUndone(MendAfter("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (1, 'member', 2, 3)"));
  const Outcome lacking = MendAfter("DELETE FROM sweep_jobs WHERE sweep = 1 AND position = 0");
  ExpectUndone(lacking);
  EXPECT_THAT(lacking.done, PutRight("1 was lacking"));
  ExpectUndone(MendAfter("DELETE FROM sweep_jobs WHERE sweep = 1 AND position = 1; UPDATE sweeps SET jobs_queued = 1 WHERE num = 1; UPDATE jobs SET wanted = 0 WHERE num = 2"));
}

TEST_F(MendMembersTest, WhatIsNotInTheStoreIsSaidAndItsSweepIsLeft) {
  Submit(Sweep("s", 3));
  Submit(Longer());
  const std::string third = ShortIdOf(3);
  const std::string gone = "DELETE FROM sweep_jobs WHERE job = 3; DELETE FROM jobs WHERE num = 3; ";

  const Outcome lacking = MendAfter(gone + Swap(1, 0, 1));
  EXPECT_THAT(lacking.done, LeftAlone());
  EXPECT_THAT(lacking.rows, Contains("1 member 0 2"));
  EXPECT_THAT(lacking.left, Contains(::testing::EndsWith("('s') has 2 jobs and 0 to come, where its specification has 3; job " + third + " (even_pairs, rope, learning rate 0.001, seed 2) is not in this store")));

  const Outcome replaced = MendAfter(gone + "INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (1, 'member', 2, 4)");
  EXPECT_THAT(replaced.done, LeftAlone());
  EXPECT_THAT(replaced.rows, Contains("1 member 2 4"));
  EXPECT_THAT(replaced.left, Contains(::testing::AllOf(HasSubstr("('s') has job " + ShortIdOf(4)), HasSubstr("where its specification has job " + third), ::testing::EndsWith("; that job is not in this store"))));
}

// Another version made its jobs, and what this one makes of the same text is there too. Two rows have changed places all the same.
TEST_F(MendMembersTest, JobsThatNoOtherSweepHasAreNotPutOutOfTheirs) {
  v1::SweepSpec spec = Sweep("s", 1);
  spec.mutable_axes()->add_encoding("alibi");
  Submit(spec);
  for (const int job : {1, 2}) {
    const std::string other = *db().One<std::string>("SELECT spec FROM jobs WHERE num = ?", job) + "training.zz=1\n";
    ASSERT_OK(db().Execute("UPDATE jobs SET spec = '" + other + "', id = '" + Sha256Of(other) + "' WHERE num = " + std::to_string(job)));
  }
  spec.set_name("same");
  Submit(spec);

  const Outcome outcome = MendAfter(Swap(1, 0, 1));

  EXPECT_TRUE(outcome.was_found);
  EXPECT_THAT(outcome.done, IsEmpty());
  EXPECT_THAT(outcome.rows, Contains("1 member 0 2"));
  EXPECT_EQ(outcome.left.size(), 2u);
}

// Whose specification is not the one that its id says was submitted.
TEST_F(MendMembersTest, ASweepWithAnotherSpecificationIsLeft) {
  v1::SweepSpec spec = Sweep("s", 2);
  Submit(spec);
  Submit(Longer());

  const Outcome outcome = MendAfter("UPDATE sweeps SET spec = (SELECT spec FROM sweeps WHERE num = 2) WHERE num = 1");

  EXPECT_THAT(outcome.done, LeftAlone());
  EXPECT_EQ(outcome.rows, Rows());
  EXPECT_THAT(outcome.left, Contains(HasSubstr("is not the SHA-256 of its specification")));
}

TEST_F(MendMembersTest, JobsThatAreToComeAreNotBroughtBeforeTheirTurn) {
  options_.jobs_in_slice = 2;
  RestartScheduler();
  Submit(Sweep("s", 4));
  const std::string begun = "DELETE FROM sweep_jobs WHERE position >= 2; UPDATE sweeps SET jobs_to_come = 2, jobs_queued = 2; UPDATE jobs SET wanted = 0 WHERE num > 2; ";

  const Outcome swapped = MendAfter(begun + Swap(1, 0, 1));
  EXPECT_THAT(swapped.done, PutRight("2 were at other positions"));
  EXPECT_THAT(swapped.left, IsEmpty());
  EXPECT_THAT(swapped.rows, ElementsAre("1 member 0 1", "1 member 1 2"));
  // How far it had come is not known then.
  const Outcome unknown = MendAfter("UPDATE sweeps SET jobs_to_come = 2; " + Swap(1, 0, 1));
  EXPECT_THAT(unknown.done, LeftAlone());
  EXPECT_THAT(unknown.left, Not(IsEmpty()));
}

TEST_F(MendMembersTest, AMemberAndWhatItBeginsWithAreInTheirOwnPlacesAgain) {
  Submit(Tested());
  ASSERT_THAT(Rows(), ElementsAre("1 member 0 2", "1 prerequisite 0 1"));

  ExpectUndone(MendAfter("UPDATE sweep_jobs SET position = 9 WHERE role = 'member'; UPDATE sweep_jobs SET role = 'member' WHERE role = 'prerequisite'; "
                         "UPDATE sweep_jobs SET role = 'prerequisite', position = 0 WHERE position = 9"));
}

TEST_F(MendMembersTest, ASweepHasWhatItsJobsBeginWithAndNothingElse) {
  Submit(Tested());
  Submit(Sweep("s", 2));
  const std::string sweep = "sweep " + db().One<std::string>("SELECT id FROM sweeps WHERE num = 1")->substr(0, 8);

  const Outcome lacking = MendAfter("DELETE FROM sweep_jobs WHERE role = 'prerequisite'");
  ExpectUndone(lacking);
  EXPECT_THAT(lacking.done, Contains(sweep + " has again what its jobs begin with: 1"));

  const Outcome needless = MendAfter("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (1, 'prerequisite', 1, 3)");
  ExpectUndone(needless);
  EXPECT_THAT(needless.done, ElementsAre(sweep + " is rid of prerequisites that none of its jobs begins with: 1"));

  // It has no other sweep.
  const Outcome alone = MendAfter("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (1, 'prerequisite', 1, 3); DELETE FROM sweep_jobs WHERE sweep = 2 AND position = 0; UPDATE sweeps SET spec = '', id = '" +
                                  Sha256Of("") + "' WHERE num = 2; UPDATE sweep_jobs SET position = 0 WHERE sweep = 2; UPDATE sweeps SET jobs_queued = 1 WHERE num = 2");
  EXPECT_THAT(alone.rows, Contains("1 prerequisite 1 3"));
  EXPECT_THAT(alone.left, ElementsAre(sweep + " has job " + ShortIdOf(3) + " as a prerequisite, and none of its jobs begins with it"));

  // The row of its input is gone, and what it begins with is not.
  const Outcome unread = MendAfter("DELETE FROM job_inputs");
  EXPECT_EQ(unread.rows, Rows());
}

TEST_F(MendMembersTest, TheCheckNamesWhatASweepLacks) {
  Submit(Tested());
  absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin(db());
  ASSERT_OK(tx->Run("DELETE FROM sweep_jobs WHERE role = 'prerequisite'").status());

  const store::CheckReport report = Look();

  const std::string line = "sweep " + db().One<std::string>("SELECT id FROM sweeps")->substr(0, 8) + " has job " + ShortIdOf(2) + ", and not job " + ShortIdOf(1) + ", which makes its weights";
  EXPECT_THAT(report.violations, Contains(line));
  EXPECT_TRUE(report.Has(store::Concern::kWork));
}

}  // namespace
}  // namespace longreach::service
