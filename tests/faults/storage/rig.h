// A scheduler in one thread for storage faults: the real store, writer group and engine on files of their own, one worker, and
// the list of all that anybody was told is done.
//
// Every request may fail, and may then be made again: that is what clients and workers do.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "scheduler/service/engine.h"
#include "store/migrate.h"
#include "store/store.h"

namespace longreach::faults {

class RigClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTime(std::chrono::seconds(1'800'000'000)) + passed_; }
  SteadyTime Steady() const override { return SteadyTime(std::chrono::seconds(1000)) + passed_; }
  void Advance(std::chrono::microseconds by) { passed_ += by; }

 private:
  std::chrono::microseconds passed_{0};
};

// What somebody was told is done: a query that gives a number other than 0 from then on.
struct Fact {
  std::string what;
  std::string query;
};

// What outlives a scheduler: what its worker holds and has yet to report, what was acknowledged, and time.
struct Outside {
  uint64_t incarnation = 1;
  uint64_t sequence = 0;
  std::vector<v1::Lease> held = {};
  std::vector<v1::AttemptReport> finished = {};
  std::map<std::string, Fact> facts = {};  // By what they are about: a newer one takes the place of an older one.
  RigClock clock = {};
};

struct RigOptions {
  // As somebody would set it who wants speed and not answers that last.
  bool synchronous_off = false;
  // Pages of the log after which SQLite takes it over into the file; 0: as usual (1000), which a short run never reaches.
  int checkpoint_pages = 0;
};

class Rig {
 public:
  explicit Rig(std::filesystem::path folder, RigOptions options = {}) : folder_(std::move(folder)), options_(options) {}

  Outside& outside() { return outside_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file() const { return folder_ / "store.db"; }
  store::Store& store() { return *store_; }
  bool is_open() const { return engine_ != nullptr; }
  // Called with each fact, the moment that it is told; without one when it need not hold any more.
  void OnFact(std::function<void(const std::string& about, const Fact*)> told) { told_ = std::move(told); }

  // As a start of the scheduler; by a later version of it, with migrations that ours does not have yet.
  absl::Status Open();
  absl::Status OpenLater();
  // As its end.
  void Close();

  // Clients.
  absl::Status Submit(const std::string& name, int seeds, int priority = 0);
  absl::Status Steer(const std::string& sweep, v1::SteerSweepRequest::Action action, int priority = 0);
  // Of some jobs, after which the sweep has given up so many.
  absl::Status SteerSome(const std::string& sweep, v1::SteerSweepRequest::Action action, const std::string& only, int given_up);
  absl::Status Drain(bool drain);
  absl::Status Backup(const std::string& name);
  absl::Status Merge(const std::filesystem::path& other);
  // Reads what a client reads: sweeps, jobs, a table of counts, the ledger checks.
  absl::Status Look();

  // The worker. Takes leases while `slots` is not 0.
  absl::Status Synchronize(int slots, bool leaving = false, std::vector<v1::ProgressPoint> points = {});
  // Of the first attempt that it holds. A file's content is made of `kind` and `step`.
  absl::Status Upload(const std::string& kind, int step, size_t bytes = 3000);
  // The same by a link in the inbox. As nobody syncs the file before, its bytes are the scheduler's to keep.
  absl::Status UploadLinked(const std::string& kind, int step);
  std::vector<v1::ProgressPoint> Points(int from, int to) const;
  // Turns the first held attempt into a report, which the next call carries.
  void End(v1::AttemptReport::Outcome outcome);

  // Time goes by, and the engine does what is due.
  absl::Status Advance(std::chrono::seconds by);
  // Leases and finishes all jobs that are left.
  absl::Status FinishAll();

  // Several changes in one transaction, of which the second is refused.
  absl::Status WriteGroup();

  // Everything that contradicts the promises: violations of the ledger, and facts that are not in the store.
  std::vector<std::string> Violations();
  // One line per job: state and the value of its result.
  std::string Results();

 private:
  v1::UploadHeader HeaderOf(const std::string& kind, int step, const std::string& content) const;
  absl::Status Record(const v1::UploadHeader& header, store::Pin pin);
  void Tell(const std::string& about, const std::string& what, const std::string& query);
  void Withdraw(const std::string& about);
  void Run(store::Event event);
  v1::SynchronizeRequest Request(int slots, bool leaving, const std::vector<v1::ProgressPoint>& points) const;
  void Follow(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response);

  const std::filesystem::path folder_;
  const RigOptions options_;
  std::span<const std::string_view> migrations_ = store::Migrations();
  Outside outside_;
  std::function<void(const std::string&, const Fact*)> told_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<service::Engine> engine_;
};

}  // namespace longreach::faults
