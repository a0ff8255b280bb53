// The agent's data sets: no job begins before all bytes of those that it reads are known to be their import's.
#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "worker/agent/agent.h"

namespace longreach::agent {
namespace {

std::vector<std::string> DataSetsNamedBy(const v1::Lease& lease) {
  std::vector<std::string> names = {lease.data().name(), lease.model().name(), lease.longbench().name()};
  for (const v1::DataSet& data : lease.mixture()) names.push_back(data.name());
  std::erase(names, "");
  return names;
}

}  // namespace

void Agent::BeginVerifying(const AttemptPtr& attempt) {
  std::vector<std::string> names = DataSetsNamedBy(attempt->lease);
  if (names.empty() || !options_.verify_data) return OnVerified(attempt, std::vector<std::string>());
  verifying_.push_back(attempt);
  if (verifying_.size() == 1) {
    data_watch_.Start();
    data_watched_at_ = std::chrono::steady_clock::now();
    WatchVerifying();
  }
  RunOn(
      reader_,
      [this, names = std::move(names), stop = attempt->transfers.get_token()]() -> absl::StatusOr<std::vector<std::string>> {
        std::vector<std::string> stamps;
        for (const std::string& name : names) {
          if (stop.stop_requested()) return absl::CancelledError("called off");
          ASSIGN_OR_RETURN(std::string stamp, options_.verify_data(name, stop, data_read_));
          stamps.push_back(std::move(stamp));
        }
        return stamps;
      },
      [this, attempt](const absl::StatusOr<std::vector<std::string>>& stamps) {
        if (std::erase(verifying_, attempt) > 0) data_watch_.Alive();
        if (verifying_.empty()) data_timer_.cancel();
        // What hung, and was failed for it, is held until its report goes, and its disk may give an answer just then.
        if (!Holds(attempt) || ended_already_ || attempt->stage != Attempt::Stage::kFetching) return;
        OnVerified(attempt, stamps);
      });
}

// The one attempt that finds the damage fails: this machine is to blame, and its job goes to another. From then on the data set is not announced, and what had been taken
// for it before is given back.
void Agent::OnVerified(const AttemptPtr& attempt, const absl::StatusOr<std::vector<std::string>>& stamps) {
  if (absl::IsUnavailable(stamps.status())) return GiveBack(attempt, std::string(stamps.status().message()));
  if (!stamps.ok()) return Fail(attempt, std::string(stamps.status().message()));
  for (const std::string& stamp : *stamps) attempt->start.add_verified_stamps(stamp);
  attempt->stage = Attempt::Stage::kReady;
  TryStart();
}

void Agent::DoubtDataOf(const AttemptPtr& attempt) {
  if (!options_.doubt_data) return;
  for (const std::string& name : DataSetsNamedBy(attempt->lease)) options_.doubt_data(name);
}

// A disk that gives nothing would keep the jobs from other workers for ever, as their leases are renewed meanwhile.
void Agent::WatchVerifying() {
  data_timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(data_watch_.period_s())));
  data_timer_.async_wait([this](boost::system::error_code error) {
    if (error || ended_already_ || verifying_.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    const int64_t read = data_read_;
    if (std::exchange(data_read_before_, read) != read) data_watch_.Alive();
    data_watch_.Watched(std::chrono::duration<double>(now - std::exchange(data_watched_at_, now)).count());
    if (data_watch_.hung()) return OnVerifyingHung();
    WatchVerifying();
  });
}

// The first waits for the disk, and the others for the first.
void Agent::OnVerifyingHung() {
  const std::string how = fmt::format("hung: nothing was read for {:.0f} s (limit {:.0f} s) of the data sets in {}", data_watch_.silent_s(), data_watch_.limit_s(),
                                      options_.data_folder.string());
  const std::deque<AttemptPtr> waiting = std::exchange(verifying_, {});
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (!Holds(waiting[i]) || waiting[i]->stage != Attempt::Stage::kFetching) continue;
    if (i == 0) Fail(waiting[i], how);
    else GiveBack(waiting[i], how);
  }
}

}  // namespace longreach::agent
