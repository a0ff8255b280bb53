#include "tests/faults/storage/scenarios.h"

#include <vector>

namespace longreach::faults {
namespace {

using std::chrono::seconds;

constexpr auto kSucceeded = v1::AttemptReport::OUTCOME_SUCCEEDED;
constexpr auto kFailed = v1::AttemptReport::OUTCOME_FAILED;
constexpr auto kGivenBack = v1::AttemptReport::OUTCOME_GIVEN_BACK;

absl::Status Nothing(Rig&) { return absl::OkStatus(); }

absl::Status Submitted(Rig& rig) { return rig.Submit("one", 6); }

// The worker trains four of the six jobs.
absl::Status Leased(Rig& rig) {
  RETURN_IF_ERROR(Submitted(rig));
  return rig.Synchronize(1);
}

absl::Status Begun(Rig& rig) {
  RETURN_IF_ERROR(Leased(rig));
  return rig.Upload("checkpoint", 10);
}

absl::Status Trained(Rig& rig) {
  RETURN_IF_ERROR(Begun(rig));
  RETURN_IF_ERROR(rig.Upload("checkpoint", 20));
  return rig.Upload("weights", 100);
}

absl::Status Finished(Rig& rig) {
  RETURN_IF_ERROR(Trained(rig));
  rig.End(kSucceeded);
  return rig.Synchronize(0);
}

absl::Status HandIn(Rig& rig, v1::AttemptReport::Outcome outcome) {
  rig.End(outcome);
  return rig.Synchronize(0);
}

// Another store's file beside this one, with three of the six jobs done.
std::filesystem::path TheirFolder(const Rig& rig) { return rig.folder() / "theirs"; }

absl::Status WithTheirs(Rig& rig) {
  std::filesystem::create_directory(TheirFolder(rig));
  {
    Rig theirs(TheirFolder(rig));
    RETURN_IF_ERROR(theirs.Open());
    RETURN_IF_ERROR(theirs.Submit("theirs", 3));
    RETURN_IF_ERROR(theirs.Synchronize(1));
    RETURN_IF_ERROR(theirs.Upload("weights", 100));
    RETURN_IF_ERROR(HandIn(theirs, kSucceeded));
  }
  return Submitted(rig);
}

absl::Status MergeTheirs(Rig& rig) { return rig.Merge(TheirFolder(rig) / "store.db"); }

absl::Status FailedOnce(Rig& rig) {
  RETURN_IF_ERROR(Leased(rig));
  return HandIn(rig, kFailed);
}

absl::Status AllFailed(Rig& rig) {
  RETURN_IF_ERROR(rig.Submit("one", 1));
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(rig.Synchronize(1));
    RETURN_IF_ERROR(HandIn(rig, kFailed));
  }
  return rig.Drain(false);  // It was put aside.
}

// Six of its nine jobs are those of "one".
absl::Status SubmitShared(Rig& rig) { return rig.Submit("two", 9, 1); }

absl::Status Retry(Rig& rig) { return rig.Steer("one", v1::SteerSweepRequest::ACTION_RETRY); }

absl::Status Reopen(Rig& rig) { return rig.Open(); }

// What another worker held is free after that.
absl::Status OpenAndExpire(Rig& rig) {
  RETURN_IF_ERROR(rig.Open());
  return rig.Advance(seconds(20));
}

const std::vector<Scenario>& All() {
  static const std::vector<Scenario> all = {
      {.name = "new-store", .prepare = {}, .act = Reopen, .opens = true},
      {.name = "submit", .prepare = Nothing, .act = Submitted, .after_kill = Submitted},
      {.name = "submit-again", .prepare = Submitted, .act = [](Rig& rig) { return rig.Submit("one", 6, 3); }},
      {.name = "submit-shared", .prepare = Leased, .act = SubmitShared, .after_kill = SubmitShared},
      {.name = "lease", .prepare = Submitted, .act = [](Rig& rig) { return rig.Synchronize(1); }},
      {.name = "points", .prepare = Leased, .act = [](Rig& rig) { return rig.Synchronize(0, false, rig.Points(1, 20)); }},
      {.name = "checkpoint", .prepare = Leased, .act = [](Rig& rig) { return rig.Upload("checkpoint", 10); }},
      {.name = "linked-checkpoint", .prepare = Leased, .act = [](Rig& rig) { return rig.UploadLinked("checkpoint", 10); }},
      {.name = "third-checkpoint",
       .prepare =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(Begun(rig));
             return rig.Upload("checkpoint", 20);
           },
       .act = [](Rig& rig) { return rig.Upload("checkpoint", 30); }},
      {.name = "success", .prepare = Trained, .act = [](Rig& rig) { return HandIn(rig, kSucceeded); }},
      {.name = "failure", .prepare = Leased, .act = [](Rig& rig) { return HandIn(rig, kFailed); }},
      {.name = "give-back", .prepare = Begun, .act = [](Rig& rig) { return HandIn(rig, kGivenBack); }},
      {.name = "pause", .prepare = Leased,
       .act =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(rig.Steer("one", v1::SteerSweepRequest::ACTION_PAUSE));
             RETURN_IF_ERROR(rig.Synchronize(0));
             return rig.Steer("one", v1::SteerSweepRequest::ACTION_RESUME);
           },
       .after_kill = [](Rig& rig) { return rig.Steer("one", v1::SteerSweepRequest::ACTION_RESUME); }},
      {.name = "cancel", .prepare = Leased,
       .act =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(rig.Steer("one", v1::SteerSweepRequest::ACTION_CANCEL));
             RETURN_IF_ERROR(rig.Synchronize(0));
             return rig.Submit("one", 6);
           },
       .after_kill = Submitted},
      {.name = "cancel-some", .prepare = Leased,
       .act =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(rig.SteerSome("one", v1::SteerSweepRequest::ACTION_CANCEL_JOBS, "seed=0,1", 2));
             RETURN_IF_ERROR(rig.Synchronize(0));
             return rig.SteerSome("one", v1::SteerSweepRequest::ACTION_RETRY_JOBS, "seed=0,1", 0);
           },
       .after_kill = [](Rig& rig) { return rig.SteerSome("one", v1::SteerSweepRequest::ACTION_RETRY_JOBS, "seed=0,1", 0); }},
      {.name = "retry", .prepare = AllFailed, .act = Retry, .after_kill = Retry},
      {.name = "priority", .prepare = Leased, .act = [](Rig& rig) { return rig.Steer("one", v1::SteerSweepRequest::ACTION_SET_PRIORITY, 7); }},
      {.name = "drain", .prepare = Leased,
       .act =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(rig.Drain(true));
             return rig.Drain(false);
           },
       .after_kill = [](Rig& rig) { return rig.Drain(false); }},
      {.name = "expiry", .prepare = Begun, .act = [](Rig& rig) { return rig.Advance(seconds(20)); }},
      {.name = "gathered", .prepare = Leased,
       .act =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(rig.Synchronize(0));
             return rig.Advance(seconds(4));
           }},
      {.name = "group", .prepare = Leased, .act = [](Rig& rig) { return rig.WriteGroup(); }},
      {.name = "restart", .prepare = Trained, .act = Reopen, .opens = true},
      {.name = "restart-after-kill", .prepare = Finished, .act = Reopen, .opens = true, .killed = true},
      {.name = "backup", .prepare = Finished, .act = [](Rig& rig) { return rig.Backup("copy.db"); }},
      {.name = "merge", .prepare = WithTheirs, .act = MergeTheirs, .after_kill = MergeTheirs},
      {.name = "look", .prepare = Finished, .act = [](Rig& rig) { return rig.Look(); }},
      {.name = "log-into-file", .prepare = FailedOnce,
       .act =
           [](Rig& rig) -> absl::Status {
             RETURN_IF_ERROR(rig.store().writer_connection().Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
             return SubmitShared(rig);
           },
       .after_kill = SubmitShared},
      {.name = "upgrade-from-1", .prepare = {}, .act = OpenAndExpire, .opens = true, .schema = 1},
      {.name = "migrate", .prepare = Finished, .act = [](Rig& rig) { return rig.OpenLater(); }, .opens = true},
  };
  return all;
}

}  // namespace

std::span<const Scenario> Scenarios() { return All(); }

}  // namespace longreach::faults
