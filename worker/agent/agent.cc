#include "worker/agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "proto/base/build_info.h"
#include "proto/base/utf8.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/packs.h"
#include "proto/types/wire_limits.h"
#include "worker/agent/abilities.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"
#include "worker/agent/noop.h"

namespace longreach::agent {
namespace {

// Reports in one call; the rest goes with the next.
constexpr size_t kReportBytesPerCall = 3 << 20;
constexpr int kReportsPerCall = 500;
// Attempts that a slot may answer for: one whose files are on their way while the next one trains.
constexpr int kHeldForEachSlot = 2;
// When leaving: how much longer than for an answer a scheduler is waited for that answers, and has no room for what it is to take.
constexpr int kTermsOfPatience = 15;

std::string Described(const v1::Lease& lease) {
  const v1::JobSpec& spec = lease.jobs(0).spec();
  return fmt::format("{} job(s), {} with {}{}", lease.jobs_size(), spec.task(), catalog::ToText({.name = spec.encoding(), .randomized = spec.randomized()}),
                     lease.jobs(0).has_checkpoint() ? fmt::format(", from step {}", lease.jobs(0).checkpoint().step()) : "");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Open(boost::asio::io_context& io, AgentOptions options, Ended ended) {
  ASSIGN_OR_RETURN(std::unique_ptr<Channels> channels, Channels::Open(options.scheduler, options.credentials));
  ASSIGN_OR_RETURN(StateFolder state, StateFolder::Open(options.state, SystemClock().Wall(), options.state_patience));
  ASSIGN_OR_RETURN(Outbox outbox, Outbox::Open(state.outbox()));
  if (options.name.empty()) options.name = HostName();
  return std::unique_ptr<Agent>(
      new Agent(io, std::move(options), std::move(channels), std::move(state), std::move(outbox), std::move(ended)));
}

Agent::Agent(boost::asio::io_context& io, AgentOptions options, std::unique_ptr<Channels> channels, StateFolder state,
             Outbox outbox, Ended ended)
    : io_(io),
      options_(std::move(options)),
      state_(std::move(state)),
      outbox_(std::move(outbox)),
      ended_(std::move(ended)),
      cache_(state_.cache()),
      channels_(std::move(channels)),
      transfers_([this] { return channels_->ForFile(); }, state_.worker(), state_.incarnation()),
      synchronizer_(io, [this] { return channels_->ForCall(); }, options_.scheduler,
                    {.make_request = [this] { return MakeRequest(); },
                     .on_response = [this](const v1::SynchronizeRequest& sent,
                                           const v1::SynchronizeResponse& response) { return OnResponse(sent, response); },
                     .on_refused = [this](absl::Status status) { End(std::move(status)); },
                     .own_trouble = [this] { return channels_->OwnTrouble(); }}),
      leave_timer_(io),
      waiting_timer_(io),
      log_timer_(io),
      trainers_(io, {.binary = options_.binary,
                     .build = options_.build,
                     .cuda = options_.cuda,
                     .cuda_plugin = options_.cuda_plugin,
                     .trainers = options_.one_process ? options_.packs : 1,
                     .hang_floor_s = options_.hang_floor_s}),
      data_watch_(options_.hang_floor_s),
      data_timer_(io),
      pool_(static_cast<size_t>(kHeldForEachSlot * options_.packs + 2)) {
  pack_limit_ = options_.pack_limit;
  MakeSlots();
}

Agent::~Agent() {
  pool_.join();
  reader_.join();
  disk_.join();
}

void Agent::Start() {
  if (ended_already_) return;  // Told to leave before it began.
  TakeUpFinished();
  // What is kept for the scheduler is held before the trainer is ready, which may take longer than its lease.
  if (!attempts_.empty() || !outbox_.reports().empty()) synchronizer_.News();
  slots_.front()->Start();
}

v1::SynchronizeRequest Agent::MakeRequest() const {
  v1::SynchronizeRequest request;
  request.set_protocol(kProtocolVersion);
  request.set_worker(state_.worker());
  request.set_incarnation(state_.incarnation());
  *request.mutable_abilities() = abilities_;
  if (options_.add_data_sets) options_.add_data_sets(*request.mutable_abilities());
  // A report of many jobs fills a call alone.
  const bool large = !outbox_.reports().empty() && outbox_.reports().begin()->second.ByteSizeLong() > kMaxReportBytes / 2;
  size_t points = large ? 0 : kPointsOfAllPerCall;
  for (const auto& [number, attempt] : attempts_) {
    *request.add_held() = HeldOf(*attempt, points);
    points -= static_cast<size_t>(std::prev(request.held().end())->points_size());
  }
  if (!attempts_.empty() || !outbox_.reports().empty()) request.set_store(state_.store());
  request.set_free_slots(FreeSlots());
  // More of them only when all that were done go with this call.
  const bool owes_more = outbox_.reports().size() > kReportsPerCall;
  request.set_free_noop_slots(leaving_ || owes_more || !ever_ready_ ? 0 : catalog::kMaxNoopsAtATime);
  AddReports(request);
  // Only with empty hands: what is held until then needs its lease for the last checkpoint.
  request.set_leaving(leaving_ && attempts_.empty());
  const bool tells_of_a_begin = std::ranges::any_of(attempts_, [](const auto& entry) { return entry.second->began_at.has_value(); });
  request.set_may_wait(!leaving_ && !tells_of_a_begin);
  return request;
}

// As many as a call carries. The attempts of the others are held until theirs goes: what a worker neither holds nor reports it has lost.
void Agent::AddReports(v1::SynchronizeRequest& request) const {
  size_t bytes = 0;
  bool full = false;
  for (const auto& [number, report] : outbox_.reports()) {
    bytes += report.ByteSizeLong();
    full = full || request.finished_size() == kReportsPerCall || (request.finished_size() > 0 && bytes > kReportBytesPerCall);
    if (!full) {
      *request.add_finished() = report;
    } else if (request.held_size() + request.finished_size() < kMaxAttemptsOfCall) {
      v1::HeldAttempt& held = *request.add_held();
      held.set_attempt(number);
      held.set_phase(std::string(Word(AttemptPhase::kUploading)));
    }
  }
}

// No more than could be trained at once: with them, no slot has two attempts before kHandingIn.
int Agent::FreeSlots() const {
  if (leaving_ || !ever_ready_ || SuspectsLeft() > 0 || std::chrono::steady_clock::now() < asks_from_) return 0;
  int room = SlotsIn(TrainerSlot::State::kIdle);
  // While one child does not start, no other is tried: its lease would be held for nothing.
  if (SlotsIn(TrainerSlot::State::kBroken) == 0) room += SlotsIn(TrainerSlot::State::kCold);
  // Children that are being started are for those that wait, and the idle ones for the rest of them.
  room -= std::max(0, AttemptsWaiting() - SlotsIn(TrainerSlot::State::kStarting));
  const int held = static_cast<int>(attempts_.size());
  return std::max(0, std::min(room, kHeldForEachSlot * options_.packs - held));
}

bool Agent::Holds(const AttemptPtr& attempt) const {
  const auto found = attempts_.find(attempt->number());
  return found != attempts_.end() && found->second == attempt;
}

void Agent::WriteDownStore(const std::string& store) {
  const absl::Status written = WithRoom([&] { return state_.SetStore(store); });
  const bool was_told = std::exchange(store_is_not_written_, !written.ok());
  if (written.ok() || was_told) return;
  LogWarning(fmt::format("which store this worker works for could not be written down: {}; it is tried again", std::string(written.message())));
}

// Else nothing of the call counted there. Who started a scheduler on another file will notice, so what is being trained goes on; where there
// are only results to hand in, waiting long and without a word gains nothing.
bool Agent::IsOfOurStore(const v1::SynchronizeRequest& sent, const std::string& store) {
  if (store.empty() || store == sent.store()) {
    other_store_.clear();
    if (!store.empty()) WriteDownStore(store);
    return true;
  }
  if (sent.store().empty()) {  // With empty hands it works for any.
    WriteDownStore(store);
    return true;
  }
  const std::string what = fmt::format("the scheduler at {} has store {}, and what this worker holds is of store {}", options_.scheduler,
                                       store.substr(0, 8), sent.store().substr(0, 8));
  if (std::exchange(other_store_, store) != store) {
    LogWarning(what + "; it is kept until that store's answers again");
    other_since_ = std::chrono::steady_clock::now();
  }
  const bool trains = std::ranges::any_of(attempts_, [](const auto& entry) { return entry.second->stage != Attempt::Stage::kHandingIn; });
  if (trains) other_since_ = std::chrono::steady_clock::now();
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - other_since_;
  if (waited.count() < options_.patience_s) return false;
  if (leaving_) {
    LeaveWithoutScheduler("without an answer from the scheduler of its store");
  } else if (!ForgetLost()) {  // Checkpoints alone are no reason to stand still.
    End(absl::FailedPreconditionError(fmt::format("{}: {} result(s) wait in {}; start the scheduler of that store, or this worker with another "
                                                  "--state; if that store is gone, remove that folder",
                                                  what, attempts_.size() + outbox_.reports().size(), options_.state.string())));
  }
  return false;
}

Synchronizer::Next Agent::OnResponse(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response) {
  if (!IsOfOurStore(sent, response.store())) return Synchronizer::Next::kAfterPause;
  transfers_.inbox().SetFolder(response.inbox());
  bool changed = false;
  for (const v1::HeldAttempt& held : sent.held()) {
    const auto found = attempts_.find(held.attempt());
    if (found == attempts_.end()) continue;
    // Points are only ever added behind, and one call is in flight at a time: these are the first ones.
    auto& points = found->second->points;
    points.erase(points.begin(), points.begin() + std::min<std::ptrdiff_t>(held.points_size(), std::ssize(points)));
    changed |= held.points_size() > 0 && !points.empty();
    NoteTold(held, *found->second);
    ReportWithFewPoints(AttemptPtr(found->second));
  }
  for (const uint64_t attempt : response.acknowledged()) {
    changed |= outbox_.reports().contains(attempt);
    OnAcknowledged(attempt);
  }
  for (const v1::Directive& directive : response.directives()) changed |= Follow(directive);
  std::vector<v1::AttemptReport> noops;
  std::erase_if(turned_down_, [&](const auto& entry) {
    return std::ranges::none_of(response.leases(), [&](const v1::Lease& lease) { return lease.attempt() == entry.first; });
  });
  for (const v1::Lease& lease : response.leases()) {
    if (!IsNoop(lease)) changed |= Take(lease);
    else if (!leaving_ && !outbox_.reports().contains(lease.attempt())) noops.push_back(NoopReport(lease));
  }
  changed |= ReportNoops(std::move(noops));
  if (response.refused() != refused_) {
    refused_ = response.refused();
    if (!refused_.empty()) LogWarning(fmt::format("the scheduler gives no work: {}", refused_));
  }
  // As it may be the machine that fails: other workers can do what waits here.
  if (!refused_.empty()) GiveBackWaiting(/*begun=*/true, "this worker gets no work");
  LeaveIfIdle(sent, response);
  if (sent.leaving() && outbox_.reports().empty()) End(ends_with_);
  if (changed) return Synchronizer::Next::kAtOnce;
  return AwaitsLogs() ? Synchronizer::Next::kAtNews : Synchronizer::Next::kAfterPause;
}

bool Agent::Follow(const v1::Directive& directive) {
  const auto found = attempts_.find(directive.attempt());
  if (found == attempts_.end()) return false;
  const AttemptPtr attempt = found->second;
  if (directive.action() == v1::Directive::ACTION_DROP) {
    Drop(attempt, "the scheduler dropped it");
    return true;
  }
  FollowLog(*attempt, directive);
  bool changed = false;
  for (const std::string& job : directive.dropped_jobs()) changed = attempt->dropped.insert(job).second || changed;
  if (changed && attempt->stage == Attempt::Stage::kTraining) SlotOf(attempt)->Tell(DropOf(*attempt));
  if (directive.action() == v1::Directive::ACTION_STOP && !attempt->stopping) {
    LogInfo(fmt::format("attempt {}: asked to stop", attempt->number()));
    Stop(attempt);
    changed = true;
  }
  return changed;
}

bool Agent::Take(const v1::Lease& lease) {
  // A lease is sent again until the worker is seen to hold it, so it may come after its own report.
  if (lease.jobs().empty() || attempts_.contains(lease.attempt()) || outbox_.reports().contains(lease.attempt())) {
    return false;
  }
  if (FreeSlots() == 0) return TurnDown(lease, "no trainer is free");
  auto attempt = std::make_shared<Attempt>();
  attempt->lease = lease;
  attempt->folder = state_.attempts() / std::to_string(lease.attempt());
  absl::Status made = MakeFolder(attempt->folder);
  if (!made.ok() && cache_.MakeRoom()) made = MakeFolder(attempt->folder);
  if (!made.ok()) {
    asks_from_ = std::chrono::steady_clock::now() + kPauseWithoutFiles;
    return TurnDown(lease, std::string(made.message()));
  }
  turned_down_.erase(attempt->number());
  LogInfo(fmt::format("attempt {}: taken, {}", attempt->number(), Described(lease)));
  attempts_[attempt->number()] = attempt;
  StartAnotherIfNeeded();
  trainers_for_all_at_ = std::chrono::steady_clock::now();
  WatchWaiting();
  BeginFetch(attempt);
  return true;
}

// It may be taken when it is sent again. One that still cannot be is another worker's.
bool Agent::TurnDown(const v1::Lease& lease, const std::string& why) {
  const auto now = std::chrono::steady_clock::now();
  const auto [since, first] = turned_down_.try_emplace(lease.attempt(), now);
  if (first) LogWarning(fmt::format("attempt {}: not begun: {}", lease.attempt(), why));
  if (std::chrono::duration<double>(now - since->second).count() < options_.lease_patience_s) return false;
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
  report.set_detail(ValidUtf8(fmt::format("not begun: {}", why)));
  turned_down_.erase(since);
  WriteReport(report);
  return true;
}

void Agent::Stop(const AttemptPtr& attempt) {
  if (attempt->stopping) return;
  attempt->stopping = true;
  switch (attempt->stage) {
    case Attempt::Stage::kFetching:
    case Attempt::Stage::kReady:
      if (attempt->begun()) return GiveUp(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, "");
      attempt->report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
      Report(attempt);
      break;
    case Attempt::Stage::kTraining: {
      v1::ToTrainer message;
      message.mutable_stop()->set_attempt(attempt->number());
      SlotOf(attempt)->Tell(message);
      break;
    }
    case Attempt::Stage::kHandingIn:
      break;  // It has ended anyway.
  }
}

void Agent::Drop(AttemptPtr attempt, const std::string& why) {
  LogInfo(fmt::format("attempt {}: dropped ({})", attempt->number(), why));
  Forget(attempt);
  // It would write a checkpoint first if it were asked to stop, and nobody wants that.
  if (TrainerSlot* const slot = SlotOf(attempt); slot != nullptr) slot->Abandon();
  ShareThreads();
  synchronizer_.News();
}

// Of one that waits: another worker may begin it, and nothing of it is the job's fault.
void Agent::GiveBack(const AttemptPtr& attempt, const std::string& why) {
  if (attempt->begun()) return GiveUp(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, fmt::format("not begun again: {}", why));
  LogWarning(fmt::format("attempt {}: not begun: {}", attempt->number(), why));
  attempt->report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
  attempt->report.set_detail(fmt::format("not begun: {}", why));
  Report(attempt);
}

void Agent::Leave() {
  if (leaving_ || ended_already_) return;
  if (!ever_ready_) return End(absl::OkStatus());
  LogInfo(attempts_.empty() ? "leaving" : "leaving after a checkpoint");
  BeginLeaving();
}

void Agent::BeginLeaving() {
  leaving_ = true;
  idle_since_ = std::chrono::steady_clock::now();
  const auto held = attempts_;  // Stop() may forget some.
  for (const auto& [number, attempt] : held) Stop(attempt);
  KeepWhatFoundNoRoom();
  synchronizer_.News();
  WatchLeaving();
}

// Only at an answer, and one without a lease: a timer could end the call that brings one. So it may be late by as long as a call is
// held open, and while the scheduler is away the worker stays, since work may come with the next answer.
void Agent::LeaveIfIdle(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response) {
  if (leaving_) return;
  const auto now = synchronizer_.answered_at();  // Of this answer.
  // While its trainer is being started it asks for nothing, and there may be something. One that does not start, or files
  // that do not come, is no reason to stay.
  const bool asked = sent.free_slots() > 0 || SlotsIn(TrainerSlot::State::kBroken) > 0 || now < asks_from_;
  const bool empty = sent.held().empty() && sent.finished().empty() && response.leases().empty() && attempts_.empty() && outbox_.reports().empty();
  if (!asked || !empty) return nothing_to_do_since_.reset();
  if (!nothing_to_do_since_.has_value()) nothing_to_do_since_ = now;
  const std::chrono::duration<double> idle = now - std::max(*nothing_to_do_since_, synchronizer_.in_touch_since());
  if (idle.count() < options_.leave_when_idle_s) return;
  LogInfo(fmt::format("nothing to do for {:.0f} s", idle.count()));
  Leave();
}

void Agent::WatchLeaving() {
  leave_timer_.expires_after(std::chrono::milliseconds(200));
  leave_timer_.async_wait([this](boost::system::error_code error) {
    if (error || ended_already_) return;
    const auto now = std::chrono::steady_clock::now();
    const int64_t uploaded = transfers_.uploaded();
    if (std::exchange(uploaded_before_, uploaded) != uploaded || SlotsIn(TrainerSlot::State::kTraining) > 0) idle_since_ = now;
    if (disk_work_ > 0 || now < transfers_.reading_until()) idle_since_ = now;
    // With empty hands only a goodbye is left, and that is a courtesy.
    const bool empty = attempts_.empty() && outbox_.reports().empty();
    const double patience_s = empty ? std::min(1.0, options_.patience_s) : options_.patience_s;
    const std::chrono::duration<double> silent = now - std::max(idle_since_, synchronizer_.answered_at());
    const std::chrono::duration<double> idle = now - idle_since_;
    if (!empty && idle.count() > std::min(1.0, options_.patience_s)) TellWhatIsAwaited();
    if (silent.count() > patience_s) return LeaveWithoutScheduler("without an answer from the scheduler");
    // One that answers but never takes what we have. A large file on a slow link is taken, if late.
    if (idle.count() > kTermsOfPatience * patience_s) return LeaveWithoutScheduler("though the scheduler has not taken all that is to be handed in");
    WatchLeaving();
  });
}

// Whoever ends a machine looks on, and would take a worker that waits in silence for one that hangs.
void Agent::TellWhatIsAwaited() {
  if (std::exchange(awaited_is_told_, true)) return;
  LogInfo(fmt::format("the scheduler has not taken what came of {} attempt(s) ({} kept in {} for this worker's next start): waiting for it, at most {:g} s, and {:g} s without an answer",
                      attempts_.size() + outbox_.reports().size(), KeptOnDisk(), options_.state.string(), kTermsOfPatience * options_.patience_s, options_.patience_s));
}

size_t Agent::KeptOnDisk() const {
  const auto kept = std::ranges::count_if(attempts_, [](const auto& entry) { return entry.second->kept; });
  return outbox_.reports().size() - in_memory_.size() + static_cast<size_t>(kept);
}

void Agent::LeaveWithoutScheduler(std::string_view how) {
  const auto held = attempts_;
  for (const auto& [number, attempt] : held) {
    if (attempt->kept) continue;
    // Its files are not stored, so whatever it was, it is not a success.
    attempt->report.Clear();
    attempt->report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
    Report(attempt);
  }
  // A report that finds no room now, either, is told of when that is known.
  const size_t waiting = KeptOnDisk();
  const std::string folder = options_.state.string();
  const std::string waits = waiting == 0 ? "" : fmt::format("; {} report(s) wait in {} for this worker's next start", waiting, folder);
  const std::string lost = in_memory_.empty() ? "" : fmt::format("; {} report(s) are lost, for which there was no room in {}", in_memory_.size(), folder);
  LogWarning(fmt::format("left {}{}{}", how, waits, lost));
  End(ends_with_);
}

void Agent::End(absl::Status status) {
  if (ended_already_) return;
  ended_already_ = true;
  if (!ever_ready_) state_.GoIfNew();  // A device that does not open, as one that is not there, leaves nothing.
  synchronizer_.Stop();
  leave_timer_.cancel();
  waiting_timer_.cancel();
  log_timer_.cancel();
  data_timer_.cancel();
  for (const auto& [number, attempt] : attempts_) {
    attempt->transfers.request_stop();
    attempt->checkpoint_upload.request_stop();
  }
  for (const auto& slot : slots_) slot->Close();
  ended_(std::move(status));
}

}  // namespace longreach::agent
