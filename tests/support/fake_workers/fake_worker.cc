#include "tests/support/fake_workers/fake_worker.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include "proto/base/build_info.h"
#include "proto/base/sha256.h"
#include "proto/types/abilities.h"
#include "tests/support/fake_workers/results.h"
#include "tests/support/fake_workers/upload.h"
#include "worker/agent/noop.h"

namespace longreach::fake {
namespace {

constexpr std::chrono::seconds kDeadline{15};
constexpr std::chrono::duration<double> kPause{0.5};  // Between calls that are answered at once and change nothing.
constexpr int kReportsPerCall = 500;
enum Salt : uint64_t { kTrain = 1, kCrash, kFail, kSilent };

v1::Abilities AllAbilities(const Options& options, const std::string& name) {
  v1::Abilities abilities;
  abilities.set_name(name);
  abilities.set_build(BuildDescription());
  abilities.set_device("none: it only plays a worker");
  abilities.set_threads(1);
  abilities.set_memory_bytes(1 << 30);
  abilities.set_pack_limit(options.pack_limit);
  abilities.add_experiments(options.noop ? "noop" : "algorithmic");
  AddCatalog(abilities);
  return abilities;
}

std::chrono::steady_clock::duration Rounded(std::chrono::duration<double> duration) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(duration);
}

// Makes files beside the one thread that renews leases: two hundred of them take longer than a lease lasts.
boost::asio::thread_pool& FileMaker() {
  static boost::asio::thread_pool one(1);
  return one;
}

}  // namespace

struct FakeWorker::Call {
  grpc::ClientContext context;
  v1::SynchronizeRequest request;
  v1::SynchronizeResponse response;
  grpc::Status status;
  bool cancelled = false;
  std::chrono::steady_clock::time_point sent_at = std::chrono::steady_clock::now();
};

FakeWorker::FakeWorker(boost::asio::io_context& io, const std::shared_ptr<grpc::Channel>& channel, const Options& options, Tally& tally,
                       int number)
    : io_(io),
      stub_(v1::Worker::NewStub(channel)),
      artifacts_(v1::Artifacts::NewStub(channel)),
      options_(options),
      tally_(tally),
      id_(fmt::format("{}-{}", options.name, number)),
      abilities_(AllAbilities(options, id_)),
      next_(io) {
  BeginIncarnation();
}

void FakeWorker::BeginIncarnation() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  incarnation_ = std::max(incarnation_ + 1, static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
  sequence_ = 0;
  freed_.clear();
}

void FakeWorker::Start() { CallAfter(std::chrono::duration<double>(0)); }

void FakeWorker::Leave() {
  if (stopped_ || leaving_) return;
  leaving_ = true;
  std::vector<uint64_t> attempts;
  for (const auto& [attempt, held] : held_) attempts.push_back(attempt);
  for (const uint64_t attempt : attempts) {
    v1::AttemptReport report;
    report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
    Report(attempt, std::move(report));
  }
  News();
}

void FakeWorker::Stop() {
  stopped_ = true;
  next_.cancel();
  for (auto& [attempt, held] : held_) held.timer->cancel();
  if (in_flight_ != nullptr) in_flight_->context.TryCancel();
}

void FakeWorker::CallAfter(std::chrono::duration<double> wait) {
  next_.expires_after(Rounded(wait));
  next_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_ && in_flight_ == nullptr) CallNow();
  });
}

void FakeWorker::News() {
  if (stopped_ || silent_) return;
  news_ = true;
  if (away_) return;
  if (in_flight_ == nullptr) {
    CallAfter(std::chrono::duration<double>(0));
  } else if (in_flight_->request.may_wait() && in_flight_->request.finished().empty() && !in_flight_->cancelled) {
    in_flight_->cancelled = true;
    in_flight_->context.TryCancel();
  }
}

void FakeWorker::CallNow() {
  news_ = false;
  away_ = false;
  auto call = std::make_shared<Call>();
  v1::SynchronizeRequest& request = call->request;
  request.set_protocol(kProtocolVersion);
  request.set_worker(id_);
  request.set_incarnation(incarnation_);
  request.set_sequence(++sequence_);
  *request.mutable_abilities() = abilities_;
  for (const auto& [attempt, held] : held_) {
    v1::HeldAttempt& told = *request.add_held();
    told.set_attempt(attempt);
    told.set_phase(held.handing_in ? "uploading" : "training");
  }
  for (const auto& [attempt, report] : reports_) {
    if (request.finished_size() == kReportsPerCall) break;
    *request.add_finished() = report;
  }
  const int free = leaving_ ? 0 : std::max(0, options_.slots - static_cast<int>(held_.size()));
  if (options_.noop) request.set_free_noop_slots(free);
  else request.set_free_slots(free);
  request.set_leaving(leaving_ && held_.empty());
  request.set_may_wait(!leaving_);
  ++tally_.calls;
  tally_.reports += request.finished_size();
  call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  in_flight_ = call;
  stub_->async()->Synchronize(&call->context, &call->request, &call->response, [this, call](grpc::Status status) {
    call->status = std::move(status);
    boost::asio::post(io_, [this, call] { OnDone(call); });
  });
}

void FakeWorker::OnDone(const std::shared_ptr<Call>& call) {
  if (in_flight_ != call) return;  // Of an incarnation that crashed.
  in_flight_ = nullptr;
  if (stopped_ || silent_) return;
  if (call->status.ok()) return OnAnswer(*call);
  if (call->cancelled) return CallAfter(std::chrono::duration<double>(0));
  ++tally_.errors[static_cast<int>(call->status.error_code())];
  if (call->status.error_code() == grpc::StatusCode::ABORTED) {
    ++tally_.overtaken;
    return Crash();
  }
  away_ = true;
  CallAfter(backoff_.Next());
}

void FakeWorker::OnAnswer(const Call& call) {
  const auto now = std::chrono::steady_clock::now();
  backoff_.Reset();
  const v1::SynchronizeResponse& response = call.response;
  // When a fleet ends, all of it reports at once.
  if (!call.request.finished().empty() && !leaving_) tally_.report.Add(now - call.sent_at);
  lease_term_ = std::chrono::duration<double>(static_cast<double>(response.lease_term().seconds()) + response.lease_term().nanos() * 1e-9);
  bool changed = !response.leases().empty();
  for (const uint64_t attempt : response.acknowledged()) {
    const auto report = reports_.find(attempt);
    if (report == reports_.end()) continue;
    changed = true;
    ++tally_.acknowledged;
    if (report->second.outcome() == v1::AttemptReport::OUTCOME_SUCCEEDED) tally_.acknowledged_jobs += report->second.results_size();
    if (report->second.outcome() == v1::AttemptReport::OUTCOME_GIVEN_BACK) ++tally_.given_back;
    if (report->second.outcome() == v1::AttemptReport::OUTCOME_FAILED) ++tally_.failed;
    tally_.last_acknowledged = now;
    reports_.erase(report);
  }
  for (const v1::Directive& directive : response.directives()) Obey(directive);
  renewed_at_ = call.sent_at;
  for (const v1::Lease& lease : response.leases()) {
    Take(lease);
    if (incarnation_ != call.request.incarnation()) return;  // It crashed over this one.
  }
  if (stopped_ || silent_ || in_flight_ != nullptr) return;
  if (leaving_ && IsIdle() && call.request.leaving()) return Stop();
  const std::chrono::duration<double> took = now - call.sent_at;
  const bool owes = std::ranges::any_of(reports_, [&](const auto& entry) {
    return std::ranges::none_of(call.request.finished(), [&](const auto& sent) { return sent.attempt() == entry.first; });
  });
  const bool at_once = changed || news_ || owes || leaving_ || took >= kPause;
  CallAfter(at_once ? std::chrono::duration<double>(0) : kPause - took);
}

void FakeWorker::Take(const v1::Lease& lease) {
  const uint64_t attempt = lease.attempt();
  // Sent again, because the call before was lost: it is held, or done, already.
  if (stopped_ || silent_ || leaving_ || held_.contains(attempt) || reports_.contains(attempt)) return;
  const auto now = std::chrono::steady_clock::now();
  if (tally_.leases == 0) tally_.first_lease = now;
  ++tally_.leases;
  tally_.leased_jobs += lease.jobs_size();
  if (!freed_.empty()) {
    tally_.assign.Add(now - freed_.front());
    freed_.pop_front();
  }
  if (Happens(options_.crash_share, attempt, kCrash)) {
    ++tally_.crashes;
    return Crash();
  }
  auto timer = std::make_shared<boost::asio::steady_timer>(io_);
  held_[attempt] = {.lease = lease, .timer = timer, .handing_in = false};
  if (Happens(options_.silent_share, attempt, kSilent)) {
    ++tally_.silences;
    return FallSilent();
  }
  if (options_.train_s == 0) return Finish(attempt);
  const double share = 0.5 + FractionOf(std::to_string(attempt), options_.seed + kTrain);
  timer->expires_after(Rounded(std::chrono::duration<double>(share * options_.train_s)));
  timer->async_wait([this, attempt, timer](boost::system::error_code error) {
    if (!error && held_.contains(attempt)) Finish(attempt);
  });
}

void FakeWorker::Obey(const v1::Directive& directive) {
  const auto found = held_.find(directive.attempt());
  if (found == held_.end()) return;
  if (directive.action() == v1::Directive::ACTION_DROP) {
    ++tally_.drops;
    if (std::chrono::steady_clock::now() - renewed_at_ < lease_term_) ++tally_.false_drops;
    found->second.timer->cancel();
    held_.erase(found);
    return News();
  }
  for (const std::string& job : directive.dropped_jobs()) {
    auto& jobs = *found->second.lease.mutable_jobs();
    for (int i = 0; i < jobs.size(); ++i) {
      if (jobs[i].id() != job) continue;
      ++tally_.dropped_jobs;
      jobs.DeleteSubrange(i, 1);
      break;
    }
  }
  if (directive.action() != v1::Directive::ACTION_STOP) return;
  v1::AttemptReport report;
  report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
  Report(directive.attempt(), std::move(report));
}

void FakeWorker::Finish(uint64_t attempt) {
  if (Happens(options_.fail_share, attempt, kFail)) {
    v1::AttemptReport report;
    report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
    report.set_detail("it was asked to fail");
    return Report(attempt, std::move(report));
  }
  if (options_.artifact_bytes > 0) return HandIn(attempt);
  Succeed(attempt);
}

void FakeWorker::Succeed(uint64_t attempt) {
  if (options_.noop) return Report(attempt, agent::NoopReport(held_.at(attempt).lease));
  v1::AttemptReport report;
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  for (const v1::LeasedJob& job : held_.at(attempt).lease.jobs()) *report.add_results() = ResultOf(job.id(), options_.lengths);
  report.set_engine("fake");
  Report(attempt, std::move(report));
}

void FakeWorker::HandIn(uint64_t attempt) {
  Held& held = held_.at(attempt);
  held.handing_in = true;
  v1::UploadHeader header;
  header.set_attempt(attempt);
  header.set_worker(id_);
  header.set_kind("weights");
  for (const v1::LeasedJob& job : held.lease.jobs()) header.add_jobs(job.id());
  boost::asio::post(FileMaker(), [this, attempt, incarnation = incarnation_, header = std::move(header)]() mutable {
    std::string content = ArtifactOf(attempt, static_cast<size_t>(options_.artifact_bytes));
    header.set_bytes(static_cast<double>(content.size()));
    header.set_sha256(Sha256Of(content));
    boost::asio::post(io_, [this, attempt, incarnation, header = std::move(header), content = std::move(content)]() mutable {
      if (!stopped_ && incarnation == incarnation_ && held_.contains(attempt)) Send(attempt, std::move(header), std::move(content));
    });
  });
}

void FakeWorker::Send(uint64_t attempt, v1::UploadHeader header, std::string content) {
  Upload(*artifacts_, std::move(header), std::move(content), [this, attempt, incarnation = incarnation_](const grpc::Status& status) {
    boost::asio::post(io_, [this, attempt, incarnation, status] {
      if (!stopped_ && incarnation == incarnation_ && held_.contains(attempt)) OnHandedIn(attempt, status);
    });
  });
}

void FakeWorker::OnHandedIn(uint64_t attempt, const grpc::Status& status) {
  if (status.ok()) {
    ++tally_.uploads;
    return Succeed(attempt);
  }
  if (status.error_code() == grpc::StatusCode::ABORTED) return;  // The next answer says that it is dropped.
  ++tally_.errors[static_cast<int>(status.error_code())];
  const std::shared_ptr<boost::asio::steady_timer> timer = held_.at(attempt).timer;
  timer->expires_after(Rounded(agent::Backoff().Next()));
  timer->async_wait([this, attempt, timer](boost::system::error_code error) {
    if (!error && held_.contains(attempt)) HandIn(attempt);
  });
}

void FakeWorker::Report(uint64_t attempt, v1::AttemptReport report) {
  held_.at(attempt).timer->cancel();
  held_.erase(attempt);
  report.set_attempt(attempt);
  reports_[attempt] = std::move(report);
  freed_.push_back(std::chrono::steady_clock::now());
  News();
}

void FakeWorker::Crash() {
  for (auto& [attempt, held] : held_) held.timer->cancel();
  held_.clear();
  reports_.clear();
  if (in_flight_ != nullptr) in_flight_->context.TryCancel();
  in_flight_ = nullptr;
  BeginIncarnation();
  CallAfter(std::chrono::duration<double>(0));
}

void FakeWorker::FallSilent() {
  silent_ = true;
  if (in_flight_ != nullptr) in_flight_->context.TryCancel();
  in_flight_ = nullptr;
  next_.expires_after(Rounded(2 * lease_term_));
  next_.async_wait([this](boost::system::error_code error) {
    if (error || stopped_) return;
    silent_ = false;
    // What it held is done meanwhile, as far as it knows: its reports come too late.
    std::vector<uint64_t> attempts;
    for (const auto& [attempt, held] : held_) attempts.push_back(attempt);
    for (const uint64_t attempt : attempts) Finish(attempt);
    CallAfter(std::chrono::duration<double>(0));
  });
}

bool FakeWorker::Happens(double share, uint64_t attempt, uint64_t salt) const {
  return share > 0 && FractionOf(std::to_string(attempt), options_.seed + (salt << 32)) < share;
}

}  // namespace longreach::fake
