// The agent's dealings with its trainer children.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "proto/base/text.h"
#include "worker/agent/abilities.h"
#include "worker/agent/agent.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

constexpr size_t kCheckpointsOnDisk = 2;
// Between two looks whether all that wait have a trainer to expect.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

void Agent::MakeSlots() {
  for (int i = 0; i < options_.packs; ++i) {
    TrainerSlot::Options options = {.name = options_.packs == 1 ? "the trainer" : fmt::format("trainer {} of {}", i + 1, options_.packs),
                                    .number = i,
                                    .trainers = &trainers_,
                                    .log = state_.trainer_log(options_.one_process ? 0 : i),
                                    .hang_floor_s = options_.hang_floor_s};
    TrainerSlot::Handlers handlers = {
        .on_ready = [this](const v1::TrainerReady& ready) { OnTrainerReady(ready); },
        .on_measured = [this](const v1::PacksMeasured& measured) { OnPacksMeasured(measured); },
        .on_unusable = [this](const std::string& why) { OnTrainerUnusable(why); },
        .on_checkpoint = [this](const AttemptPtr& attempt,
                                const v1::CheckpointWritten& written) { OnCheckpointWritten(attempt, written); },
        .on_finished = [this](const AttemptPtr& attempt, const v1::PackFinished& finished) { OnFinished(attempt, finished); },
        .on_failed = [this](const AttemptPtr& attempt, const std::string& detail) { Fail(attempt, detail); },
        .on_suspected = [this](const AttemptPtr& attempt, const std::string& detail) { Suspect(attempt, detail); },
        .on_bus_error = [this](const AttemptPtr& attempt) { DoubtDataOf(attempt); },
        // What happened had nothing to do with it, and counts against nobody.
        .on_interrupted = [this](const AttemptPtr& attempt,
                                 const std::string& detail) { GiveUp(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, detail); },
        .on_free =
            [this](const AttemptPtr& abandoned) {
              RemoveFolderOf(abandoned->number());  // What the trainer wrote there after the attempt was forgotten.
              TryStart();
              synchronizer_.News();
            },
        .on_shared_end = [this] { OnSharedEnd(); },
        // One that hangs is silent itself.
        .others_are_silent = [this] { return std::ranges::count_if(slots_, [](const auto& slot) { return slot->silent(); }) > 1; }};
    slots_.push_back(std::make_unique<TrainerSlot>(io_, std::move(options), std::move(handlers)));
  }
}

void Agent::OnTrainerReady(const v1::TrainerReady& ready) {
  packs_at_end_ = 0;
  if (abilities_.name().empty()) options_.on_usable();
  abilities_ = AbilitiesOf(ready, options_.name, options_.threads, options_.packs, pack_limit_);
  if (pack_limit_ == 0) {
    LogInfo("measuring how many jobs are worth training together; --pack-limit says it without");
    v1::MeasurePacks measure;
    measure.set_threads(ShareOfThreads(abilities_.threads(), options_.packs, options_.packs - 1));
    measure.set_cuda(options_.cuda);
    measure.set_engine(options_.engine);
    return slots_.front()->Measure(measure);
  }
  Ready();
}

// A trainer is, and what this worker can do is known.
void Agent::Ready() {
  if (!std::exchange(ever_ready_, true)) {
    LogInfo(fmt::format("worker {} ({}) on {}, {} thread(s){}, scheduler {}", options_.name, state_.worker().substr(0, 8),
                        abilities_.device(), abilities_.threads(),
                        options_.packs == 1 ? "" : fmt::format(" for up to {} packs", options_.packs), options_.scheduler));
  }
  TryStart();
  synchronizer_.News();
}

void Agent::OnPacksMeasured(const v1::PacksMeasured& measured) {
  std::vector<std::string> trials;
  for (const v1::PackTrial& trial : measured.trials()) {
    trials.push_back(fmt::format("{:.3g} with {}", trial.job_steps_per_second(), trial.jobs()));
  }
  LogInfo(fmt::format("up to {} job(s) are trained together; job-steps/s by their number: {}", measured.limit(), Join(trials, ", ")));
  pack_limit_ = measured.limit();
  abilities_.set_pack_limit(pack_limit_);
  Ready();
}

// At the first start that is the end, because whoever started this worker can do something about it. Later it may be
// passing (no memory, a GPU that is reset), and what waits for it is not kept for long (WatchWaiting()).
void Agent::OnTrainerUnusable(const std::string& why) {
  if (ever_ready_ || leaving_) return;
  const bool was_ready = !abilities_.name().empty();  // So it was measuring.
  ends_with_ = absl::FailedPreconditionError(was_ready ? fmt::format("while measuring packs: {}\n  run it with --pack-limit 16, or another number", why) : why);
  if (attempts_.empty() && outbox_.reports().empty()) return End(ends_with_);
  // What an earlier process has finished needs no trainer, and its lease would not wait for one.
  LogWarning(fmt::format("{}; what was finished before is handed in first", why));
  BeginLeaving();
}

// Starts a cold slot when more attempts wait than children are there for them.
void Agent::StartAnotherIfNeeded() {
  if (AttemptsWaiting() <= SlotsIn(TrainerSlot::State::kIdle) + SlotsIn(TrainerSlot::State::kStarting)) return;
  if (TrainerSlot* const cold = FirstIn(TrainerSlot::State::kCold); cold != nullptr) cold->Start();
}

// While attempts wait. A trainer that does not start, or that was killed and does not end, may be hours in coming (a GPU that is off
// the bus, or has no memory while another pack is trained), and the lease would be renewed for as long: what has none to expect is
// given back in time.
void Agent::WatchWaiting() {
  waiting_timer_.expires_after(kLook);
  waiting_timer_.async_wait([this](boost::system::error_code error) {
    if (error || ended_already_) return;
    const auto now = std::chrono::steady_clock::now();
    const int without = AttemptsWaiting() - SlotsIn(TrainerSlot::State::kIdle) - SlotsIn(TrainerSlot::State::kStarting);
    if (without <= 0) trainers_for_all_at_ = now;
    const std::chrono::duration<double> missed = now - trainers_for_all_at_;
    if (without > 0 && missed.count() >= options_.lease_patience_s) GiveBackNewest(without);
    if (AttemptsWaiting() > 0) WatchWaiting();
  });
}

// So many of those that wait: the others are the next to be trained.
void Agent::GiveBackNewest(int waiting) {
  const auto held = attempts_;  // GiveBack() forgets some.
  for (auto entry = held.rbegin(); waiting > 0 && entry != held.rend(); ++entry) {
    if (!entry->second->waits()) continue;
    GiveBack(entry->second, "no trainer has started for it; the log of this worker says why");
    --waiting;
  }
}

// Gives attempts that wait to the trainers that are free.
void Agent::TryStart() {
  if (ended_already_ || leaving_) return;
  const bool suspects = SuspectsLeft() > 0;
  for (const auto& [number, attempt] : attempts_) {
    if (attempt->stage != Attempt::Stage::kReady || (suspects && !attempt->suspected())) continue;
    if (suspects && SlotsIn(TrainerSlot::State::kTraining) + SlotsIn(TrainerSlot::State::kAbandoning) >= suspects_at_a_time_) break;
    TrainerSlot* const slot = FirstIn(TrainerSlot::State::kIdle);
    if (slot == nullptr) break;
    const v1::StartPack wanted = WithoutDropped(attempt->start, attempt->dropped);
    if (wanted.members().empty()) continue;  // The scheduler will drop it.
    if (!attempt->begun()) {
      attempt->start = wanted;
      for (const v1::PackMember& member : wanted.members()) attempt->members.push_back(member.job());
    }
    v1::StartPack start = GoingOn(*attempt);
    start.set_log((attempt->folder / "log").string());
    start.set_cache(state_.cache().string());
    // In one process they are not counted anew whenever a pack begins or ends.
    start.set_threads(options_.one_process ? ShareOfThreads(abilities_.threads(), options_.packs, options_.packs - 1) : abilities_.threads());
    if (options_.packs > 1) start.set_memory_bytes(abilities_.memory_bytes());
    start.set_cuda(options_.cuda);
    start.set_engine(options_.engine);
    start.set_checkpoint_every_s(options_.checkpoint_every_s);
    start.set_data_folder(options_.data_folder.string());
    slot->Train(attempt, start);
    // Its files keep the members that they have.
    if (wanted.members_size() != start.members_size()) slot->Tell(DropOf(*attempt));
  }
  ShareThreads();
}

// Among the packs that are being trained now.
void Agent::ShareThreads() {
  if (options_.packs == 1 || options_.one_process) return;
  const int packs = SlotsIn(TrainerSlot::State::kTraining);
  int pack = 0;
  for (const auto& slot : slots_) {
    if (slot->state() == TrainerSlot::State::kTraining) slot->UseThreads(ShareOfThreads(abilities_.threads(), packs, pack++));
  }
}

TrainerSlot* Agent::SlotOf(const AttemptPtr& attempt) const {
  const auto found = std::ranges::find(slots_, attempt, [](const auto& slot) { return slot->attempt(); });
  return found == slots_.end() ? nullptr : found->get();
}

TrainerSlot* Agent::FirstIn(TrainerSlot::State state) const {
  const auto found = std::ranges::find(slots_, state, [](const auto& slot) { return slot->state(); });
  return found == slots_.end() ? nullptr : found->get();
}

int Agent::SlotsIn(TrainerSlot::State state) const {
  return static_cast<int>(std::ranges::count(slots_, state, [](const auto& slot) { return slot->state(); }));
}

int Agent::AttemptsWaiting() const {
  return static_cast<int>(std::ranges::count_if(attempts_, [](const auto& entry) { return entry.second->waits(); }));
}

void Agent::OnCheckpointWritten(const AttemptPtr& attempt, const v1::CheckpointWritten& written) {
  attempt->checkpoints.push_back({written.path(), written.step()});
  while (attempt->checkpoints.size() > kCheckpointsOnDisk) {
    const std::filesystem::path oldest = attempt->checkpoints.front().file;
    attempt->checkpoints.pop_front();
    // One that is being uploaded is removed after that; one that was written again is the newest.
    if (attempt->uploading == oldest || oldest == written.path()) continue;
    std::error_code ignored;
    std::filesystem::remove(oldest, ignored);
  }
  if (attempt->suspected()) OnCheckpointOfSuspect(attempt, written.step());
  if (!attempt->stopping) BeginCheckpointUpload(attempt);  // The last one is handed in with the report.
}

void Agent::OnFinished(const AttemptPtr& attempt, const v1::PackFinished& finished) {
  attempt->step = finished.step();
  attempt->report.set_engine(finished.engine());
  std::vector<FileToHandIn>& files = attempt->files;
  if (finished.stopped()) {
    attempt->report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
    attempt->report.set_detail(attempt->why_stopped);
    if (!attempt->checkpoints.empty()) HandInNewestCheckpoint(*attempt);
  } else {
    attempt->report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
    *attempt->report.mutable_results() = finished.results();
    if (!finished.weights().empty()) files.push_back({ArtifactKind::kWeights, finished.step(), finished.weights()});
    for (const v1::SeriesFile& series : finished.series()) files.push_back({ArtifactKind::kSeries, finished.step(), series.path(), series.job()});
  }
  KeepAndHandIn(attempt);
  TryStart();
  synchronizer_.News();  // There is room for the next one.
}

void Agent::HandInNewestCheckpoint(Attempt& attempt) {
  attempt.files.push_back({ArtifactKind::kCheckpoint, attempt.checkpoints.back().step, attempt.checkpoints.back().file});
}

void Agent::Fail(const AttemptPtr& attempt, const std::string& detail) {
  if (attempt->suspected()) OnSuspectFailed(*attempt);
  GiveUp(attempt, v1::AttemptReport::OUTCOME_FAILED, detail);
}

void Agent::GiveUp(const AttemptPtr& attempt, v1::AttemptReport::Outcome outcome, const std::string& detail) {
  attempt->report.Clear();
  attempt->report.set_outcome(outcome);
  attempt->report.set_detail(detail);
  // It may have been on its way: whoever tries again goes on from it.
  if (!attempt->checkpoints.empty() && attempt->checkpoints.back().file != attempt->handed_in) HandInNewestCheckpoint(*attempt);
  KeepAndHandIn(attempt);
  TryStart();  // The trainer may be free for another that waits.
  synchronizer_.News();
}

}  // namespace longreach::agent
