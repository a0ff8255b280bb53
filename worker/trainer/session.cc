#include "worker/trainer/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "proto/base/resources.h"
#include "proto/base/text.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/finite.h"
#include "worker/trainer/learning_rate.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/llama/published.h"
#include "worker/trainer/llama/study.h"
#include "worker/trainer/loss_points.h"
#include "worker/trainer/milestones.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/measurements.h"

namespace longreach::trainer {

namespace {

// Between two tries to write what cannot be left out.
constexpr std::chrono::milliseconds kPauseOnFullDisk{500};

double SecondsOf(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Parameters, and gradients and two moments of those that are trained (from `first_trained` on), are there whatever else is computed; a
// checkpoint, written or gone on from, is no second state. What an allocator says where they do not fit names neither the model nor what to change.
absl::Status CheckStateFits(const PackRequest& request, const ParameterLayout& layout, int64_t first_trained) {
  const size_t members = request.members.size();
  const double numbers = static_cast<double>(layout.stride()) + 3 * static_cast<double>(layout.stride() - first_trained);
  const double bytes = static_cast<double>(sizeof(float)) * numbers * static_cast<double>(members);
  ASSIGN_OR_RETURN(const Capabilities machine, DescribeMachine(request.cuda));
  if (bytes <= machine.memory_bytes) return absl::OkStatus();
  const auto gib = [](double of) { return static_cast<int64_t>(std::ceil(of / (1 << 30))); };
  return absl::ResourceExhaustedError(Text("out of memory: the model has ", layout.stride(), " parameters: ", members,
                                           members == 1 ? " job of it takes " : " jobs of it at a time take ", gib(bytes),
                                           " GiB for parameters, gradients and moments, and ", request.cuda ? "the GPU" : "this machine", " has ",
                                           gib(machine.memory_bytes), "; take a smaller one (model.layers, model.embedding_dim, model.mlp_dim)"));
}

}  // namespace

Session::Session(const PackRequest& request, Observer& observer)
    : request_(request), observer_(observer), curve_(request.settings), speed_(request.settings.training.steps), last_checkpoint_(Clock::now()) {}

absl::StatusOr<PackResult> Session::Run() {
  Report(Progress::Phase::kStarting);
  RETURN_IF_ERROR(Prepare());
  RETURN_IF_ERROR(TrainSteps());
  if (!stop_) RETURN_IF_ERROR(EvaluateLengths());
  if (!stop_) RETURN_IF_ERROR(EvaluatePasskeys());
  if (!stop_) RETURN_IF_ERROR(EvaluateLongBench());
  return stop_ ? StopHere() : Finish();
}

absl::StatusOr<PackResult> Session::StopHere() {
  const absl::Status written = abandoned_ ? absl::OkStatus() : Checkpoint();
  // A disk that is full, broken or away: the steps since the last checkpoint are made again, and the job is not to blame. No more than on its way (CheckpointIfDue()).
  if (!written.ok()) observer_.OnLine(Text("stopped without a checkpoint: ", written.message()));
  PackResult result;
  result.stopped = true;
  result.step = state_.step;
  result.engine = engine_->Name();
  return result;
}

absl::Status Session::Prepare() {
  const auto log = [this](const std::string& line) { observer_.OnLine(line); };
  // A sign of life between two things that may each take minutes where a disk is slow.
  const auto further = [this] { Report(Progress::Phase::kStarting); };
  int threads = request_.threads;
  if (request_.settings.experiment == "llama") {
    ASSIGN_OR_RETURN(threads, LlamaThreads());
  }
  if (!request_.settings.evaluation.longbench.empty()) {
    ASSIGN_OR_RETURN(longbench_, LongBenchStudy::Of(request_, threads));
    further();
  }
  ASSIGN_OR_RETURN(problem_, MakeProblem(request_.settings, request_.data));
  further();
  const auto alive = [this] { Report(Progress::Phase::kTraining); };
  engine_ = MakeEngine(request_.settings, {.threads = threads, .cuda = request_.cuda, .engine = request_.engine, .alive = alive}, log);
  // What cannot be asked in the end is said before anything is trained.
  if (!request_.settings.evaluation.passkey_lengths.empty()) {
    ASSIGN_OR_RETURN(std::unique_ptr<tokenizer::Tokenizer> tokenizer, PublishedTokenizer(request_));
    passkeys_.emplace(request_.settings, engine_->threads(), std::move(tokenizer));
  }
  further();
  const ParameterLayout& layout = engine_->model().layout();
  const int64_t first_trained = request_.settings.training.steps > 0 ? engine_->model().Rule().first : layout.stride();
  RETURN_IF_ERROR(CheckStateFits(request_, layout, first_trained));
  const auto begin = [&]() -> absl::Status {
    RETURN_IF_ERROR(BeginAnew(layout, first_trained));
    further();
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(begin());
  RETURN_IF_ERROR(RestoreCheckpoints(request_.settings, layout, request_.members, state_, begin, log));
  further();
  state_.MoveTo(engine_->device());
  log(Text("engine ", engine_->Name(), state_.step > 0 ? Text(", from step ", state_.step) : ""));
  return absl::OkStatus();
}

absl::Status Session::BeginAnew(const ParameterLayout& layout, int64_t first_trained) {
  const bool published = !request_.settings.model.folder.empty();
  state_ = PackState();  // There is no room for two.
  state_ = InitialState(layout, request_.members, /*draw=*/!published, first_trained);
  RETURN_IF_ERROR(LoadPublished(request_, layout, state_));
  RETURN_IF_ERROR(LoadWeights(layout, request_.members, state_, published, request_.settings.model.pairs.get()));
  if (request_.settings.experiment == "llama") SetAttentionScales(request_.settings, layout, request_.members, state_);
  return absl::OkStatus();
}

absl::StatusOr<int> Session::LlamaThreads() const {
  const int threads = request_.threads > 0 ? request_.threads : AvailableThreads(), members = static_cast<int>(request_.members.size());
  ASSIGN_OR_RETURN(const Capabilities machine, DescribeMachine(request_.cuda));
  const bool shares = request_.memory_bytes > 0;
  double memory = shares ? request_.memory_bytes : machine.memory_bytes;
  const std::string owner = shares ? "each of the packs that are trained here at a time" : "this machine";
  if (request_.cuda) {
    RETURN_IF_ERROR(ThreadsThatFit(request_.settings, members, 1, memory, owner + ", on its GPU,", MemoryOf::kGpu).status());
    // As large a part of the machine's as of the GPU's.
    memory *= AvailableMemory() / machine.memory_bytes;
    RETURN_IF_ERROR(ThreadsThatFit(request_.settings, members, 1, memory, owner + ", beside its GPU,", MemoryOf::kBesideGpu).status());
    return threads;
  }
  ASSIGN_OR_RETURN(const int fit, ThreadsThatFit(request_.settings, members, threads, memory, owner));
  if (fit < threads) observer_.OnLine(Text(fit, " of ", threads, " threads: the memory of ", owner, " suffices for no more"));
  return fit;
}

absl::Status Session::TrainSteps() {
  const PackSettings& settings = request_.settings;
  Milestones milestones(state_.step, settings.training.steps, Clock::now());
  RecentLosses losses;
  // Where it begins: not with the newest checkpoint, if that could not be used.
  if (state_.step < settings.training.steps) Report(Progress::Phase::kTraining);
  while (state_.step < settings.training.steps) {
    // Also of a checkpoint that was made before they were.
    TestOnTheWay();
    Poll();
    if (stop_ || !state_.AnyLive()) return absl::OkStatus();
    engine_->Train(
        std::min(engine_->UpdatesAtATime(), curve_.UpdatesUntilTests(state_.step)),
        [&](uint64_t step) { return problem_->TrainingBatchFor(*engine_, step); }, LearningRates(), state_,
        [&](const std::vector<StepResult>& results) {
          std::vector<LossPoint> points = AddLosses(results, settings.training.steps, state_);
          losses.Add(points);
          if (!losses.empty() && milestones.Reached(state_.step, Clock::now())) {
            observer_.OnLine(TrainedLine(state_.step, settings.training.steps, losses.Take(), speed_.per_second()));
          }
          Report(Progress::Phase::kTraining, std::move(points));
        });
    // Not of each of them: where some are handed over together, their results come in one moment.
    speed_.Made(state_.step, Clock::now());
    CheckpointIfDue();
  }
  return absl::OkStatus();
}

void Session::TestOnTheWay() {
  const int lengths = static_cast<int>(curve_.lengths().size()), first = state_.curve_tests;
  const Clock::time_point begin = Clock::now();
  while (state_.curve_tests < curve_.TestsBy(state_.step)) {
    Poll();
    if (stop_ || !state_.AnyLive()) return;
    const std::optional<std::vector<Tested>> results = EvaluateLength(curve_.lengths()[static_cast<size_t>(state_.curve_tests % lengths)]);
    if (!results) return;
    Keep(*results, &MemberState::on_the_way);
    ++state_.curve_tests;
    if (const std::string line = curve_.LineAfter(state_.curve_tests, *problem_, state_.members); !line.empty()) observer_.OnLine(line);
    Report(Progress::Phase::kTraining);
    CheckpointIfDue();
  }
  // Some lengths of the point may have been tested before a checkpoint that this has gone on from.
  const int made = state_.curve_tests - first;
  if (made > 0) speed_.Tested(Clock::now() - begin, made == lengths ? request_.settings.evaluation.curve_every : 0);
}

std::vector<double> Session::LearningRates() const {
  const RateSchedule schedule = ScheduleOf(request_.settings);
  std::vector<double> rates;
  for (const Member& member : request_.members) rates.push_back(RateAt(schedule, member.learning_rate, state_.step));
  return rates;
}

absl::Status Session::EvaluateLengths() {
  const std::vector<int>& lengths = request_.settings.evaluation.lengths;
  const int all = static_cast<int>(lengths.size());
  Milestones milestones(state_.lengths_done, all, Clock::now());
  Report(Progress::Phase::kEvaluating);
  while (state_.lengths_done < all) {
    Poll();
    if (stop_ || !state_.AnyLive()) return absl::OkStatus();
    const int length = lengths[static_cast<size_t>(state_.lengths_done)];
    const std::optional<std::vector<Tested>> results = EvaluateLength(length);
    if (!results) return absl::OkStatus();
    if (const std::string basis = problem_->BasisOf(length); !basis.empty()) observer_.OnLine(basis);
    Keep(*results, &MemberState::at_end);
    ++state_.lengths_done;
    if (milestones.Reached(state_.lengths_done, Clock::now())) observer_.OnLine(TestedLine(state_.lengths_done, all));
    Report(Progress::Phase::kEvaluating);
    CheckpointIfDue();
  }
  return absl::OkStatus();
}

void Session::Keep(const std::vector<Tested>& results, TestScores MemberState::*scores) {
  for (size_t m = 0; m < results.size(); ++m) {
    MemberState& member = state_.members[m];
    if (!member.live) continue;
    TestScores& of_member = member.*scores;
    of_member.accuracy.push_back(results[m].accuracy);
    of_member.loss.push_back(results[m].loss);
    if (problem_->ScoresExactMatch()) of_member.exact_match.push_back(results[m].exact_match);
  }
}

absl::Status Session::EvaluatePasskeys() {
  if (!passkeys_) return absl::OkStatus();
  return Ask(passkeys_->cells(), state_.cells_done, &MemberState::passkey, [this](const Tensor& member, int cell) {
    return passkeys_->Accuracy(member, cell, [this] { GoOnTesting(); });
  });
}

absl::Status Session::EvaluateLongBench() {
  if (!longbench_) return absl::OkStatus();
  return Ask(longbench_->samples(), state_.samples_done, &MemberState::longbench, [this](const Tensor& member, int sample) {
    return longbench_->Score(member, sample, [this] { GoOnTesting(); });
  });
}

absl::Status Session::Ask(int questions, int& done, std::vector<double> MemberState::*scores, const Question& question) {
  Milestones milestones(done, questions, Clock::now());
  while (done < questions) {
    Poll();
    if (stop_ || !state_.AnyLive()) return absl::OkStatus();
    std::vector<double> of_members(state_.members.size(), 0);
    try {
      for (size_t m = 0; m < of_members.size(); ++m) {
        if (!state_.members[m].live) continue;
        ASSIGN_OR_RETURN(of_members[m], question(state_.parameters[static_cast<int64_t>(m)], done));
      }
    } catch (const Stopped&) {
      return absl::OkStatus();
    }
    for (size_t m = 0; m < of_members.size(); ++m) {
      if (state_.members[m].live) (state_.members[m].*scores).push_back(of_members[m]);
    }
    ++done;
    if (milestones.Reached(done, Clock::now())) observer_.OnLine(Text("answered ", done, " of ", questions, " questions"));
    Report(Progress::Phase::kEvaluating);
    CheckpointIfDue();
  }
  return absl::OkStatus();
}

std::vector<TestResult> Session::TestLength(int length, double& windows) {
  const PositionUse use = engine_->model().encoding().Use();
  std::vector<TestResult> results(state_.members.size());
  windows = 0;
  const int parts = problem_->TestParts(length);
  for (int part = 0; part < parts; ++part) {
    const Batch batch = problem_->TestBatch(use, length, part);
    const std::vector<TestResult> of_part = engine_->Evaluate(batch, state_, [this] { GoOnTesting(); });
    const double before = windows;
    windows += static_cast<double>(batch.size);
    for (size_t m = 0; m < results.size(); ++m) {
      results[m].AddCounts(of_part[m]);
      // A mean over the sequences, short ones too; of one part it is that part's own.
      results[m].loss = before == 0 ? of_part[m].loss
                                    : results[m].loss + (of_part[m].loss - results[m].loss) * ((windows - before) / windows);
    }
  }
  return results;
}

std::optional<std::vector<Tested>> Session::EvaluateLength(int length) {
  double windows = 0;
  std::vector<TestResult> results;
  try {
    results = TestLength(length, windows);
  } catch (const Stopped&) {
    return std::nullopt;
  }
  std::vector<Tested> tested;
  for (const TestResult& result : results) {
    tested.push_back({.accuracy = ShareOf(result),
                      .loss = result.loss,
                      .exact_match = static_cast<double>(result.exact) / std::max(1.0, windows)});
  }
  return tested;
}

absl::StatusOr<PackResult> Session::Finish() {
  // Points that were told before a crash on the way may never have been written down: the end tells them all.
  Report(Progress::Phase::kWriting, PointsSoFar(state_, request_.settings.training.steps));
  PackResult result;
  result.step = state_.step;
  result.engine = engine_->Name();
  for (const MemberState& member : state_.members) {
    MemberResult& of_member = result.results.emplace_back();
    of_member.dropped = member.dropped;
    of_member.diverged = member.diverged;
    of_member.diverged_at = member.diverged_at;
    if (!member.live) continue;
    of_member.measurements = MeasurementsOf(member);
  }
  RETURN_IF_ERROR(JudgeTests(result));
  AddCurve(result);
  try {
    RETURN_IF_ERROR(Study(result));
    ScoreOutputs(result);
    RETURN_IF_ERROR(WriteAttention(result));
  } catch (const Stopped&) {
    return StopHere();
  }
  result.weights = request_.folder / "weights.safetensors";
  RETURN_IF_ERROR(Insist([&] {
    return WriteWeights(result.weights, request_.settings, engine_->model().layout(), request_.members, state_);
  }));
  // Who was dropped since is not asked what others are, and what it has is not all.
  for (size_t m = 0; m < state_.members.size(); ++m) {
    if (state_.members[m].dropped) result.results[m] = {.dropped = true, .measurements = {}};
  }
  return stop_ ? StopHere() : result;
}

absl::Status Session::JudgeTests(PackResult& result) {
  for (MemberResult& member : result.results) {
    const Measurement* wrong = FirstNotFinite(member.measurements);
    if (wrong == nullptr) continue;
    // Nothing was trained that could have diverged.
    if (request_.settings.training.steps == 0) return absl::InternalError(Text("measured ", NameOf(*wrong), ": not a finite number"));
    // The last update may have been one too many, or a test have left the numbers that there are.
    member.diverged = true;
    member.diverged_at = state_.step;
    member.measurements.clear();
  }
  return absl::OkStatus();
}

void Session::AddCurve(PackResult& result) {
  for (size_t m = 0; m < state_.members.size(); ++m) {
    if (!state_.members[m].live || result.results[m].diverged) continue;
    // At the end the model is sound: that it was not at a point before takes nothing of that, and there is no value there.
    const std::string left_out = AddFinite(curve_.Measurements(*problem_, state_.members[m]), result.results[m].measurements);
    if (!left_out.empty()) observer_.OnLine(left_out);
  }
}

absl::Status Session::Insist(const std::function<absl::Status()>& write) {
  Report(Progress::Phase::kWriting);
  bool told = false;
  while (true) {
    const absl::Status written = Write(write);
    const bool is_full = written.code() == absl::StatusCode::kResourceExhausted;
    Report(Progress::Phase::kWriting, {}, is_full);
    if (!is_full) {
      if (told && written.ok()) observer_.OnLine("there was room again, and it is written");
      return written;
    }
    if (!std::exchange(told, true)) observer_.OnLine(Text("what is computed waits until there is room for it: ", written.message()));
    Poll();
    if (stop_) return absl::OkStatus();
    std::this_thread::sleep_for(kPauseOnFullDisk);
  }
}

absl::Status Session::Write(const std::function<absl::Status()>& write) {
  const absl::Status written = write();
  return written.code() == absl::StatusCode::kResourceExhausted && observer_.MakeRoom() ? write() : written;
}

std::vector<Measurement> Session::MeasurementsOf(const MemberState& member) const {
  std::vector<Measurement> all = MeasurementsOfTests(*problem_, request_.settings.evaluation.lengths, member.at_end);
  const auto add = [&all](const std::vector<Measurement>& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (passkeys_) add(passkeys_->Measurements(member.passkey));
  if (longbench_) add(longbench_->Measurements(member.longbench));
  return all;
}

void Session::GoOnTesting() {
  // Tests on the way are a part of the training.
  Report(state_.step < request_.settings.training.steps ? Progress::Phase::kTraining : Progress::Phase::kEvaluating);
  Poll();
  if (stop_) throw Stopped();
}

void Session::Poll() {
  const Observer::Wish wish = observer_.Poll();
  abandoned_ = abandoned_ || wish.abandon;
  stop_ = stop_ || wish.stop || abandoned_;
  LimitThreads(wish.threads);
  for (const int m : wish.dropped) {
    if (m < 0 || m >= static_cast<int>(state_.members.size())) continue;
    MemberState& member = state_.members[static_cast<size_t>(m)];
    member.dropped = true;
    member.live = false;
  }
}

void Session::Report(Progress::Phase phase, std::vector<LossPoint> points, bool waits_for_room) {
  observer_.OnProgress({.phase = phase,
                        .waits_for_room = waits_for_room,
                        .step = state_.step,
                        .steps_per_second = speed_.per_second(),
                        .lengths_done = state_.lengths_done,
                        .passkey_cells_done = state_.cells_done,
                        .longbench_samples_done = state_.samples_done,
                        .points = std::move(points)});
}

void Session::CheckpointIfDue() {
  const double age = SecondsOf(Clock::now() - last_checkpoint_);
  if (request_.checkpoint_every_s == 0 || age < request_.checkpoint_every_s) return;
  last_checkpoint_ = Clock::now();
  const absl::Status written = Checkpoint();
  // A full disk costs at most what is trained until the next one can be written.
  if (!written.ok()) observer_.OnLine(Text("no checkpoint, training goes on: ", written.message()));
}

absl::Status Session::Checkpoint() {
  // While it is tested a pack stays at its last step: then the lengths, cells and samples done are in the name too.
  std::string tested = state_.lengths_done > 0 ? Text("-", state_.lengths_done) : "";
  // And on the way those of the point that it is at: of two names the one with the larger numbers is further.
  if (const std::optional<int> made = curve_.TestsOfPointAt(state_.step, state_.curve_tests)) tested = Text("-t", *made);
  if (state_.cells_done > 0) tested += Text("-", state_.cells_done);
  if (state_.samples_done > 0) tested += Text("-s", state_.samples_done);
  const std::filesystem::path file =
      request_.folder / Text("checkpoint-", state_.step, tested, ".safetensors");
  Report(Progress::Phase::kWriting);
  RETURN_IF_ERROR(Write([&] { return WriteCheckpoint(file, request_.settings, engine_->model().layout(), request_.members, state_); }));
  last_checkpoint_ = Clock::now();
  observer_.OnCheckpoint(file, state_.step);
  return absl::OkStatus();
}

}  // namespace longreach::trainer
