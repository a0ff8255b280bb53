// One pack's way from its first update to its results. Train() makes one and catches what LibTorch throws.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/llama/longbench_study.h"
#include "worker/trainer/llama/passkey_study.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/score_curve.h"
#include "worker/trainer/series.h"
#include "worker/trainer/speed.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class Session {
 public:
  // The request has been validated; both outlive the session.
  Session(const PackRequest& request, Observer& observer);

  absl::StatusOr<PackResult> Run();

 private:
  using Clock = std::chrono::steady_clock;
  // Breaks off an evaluation batch or a series.
  struct Stopped {};

  absl::Status Prepare();
  // The state before the first update.
  absl::Status BeginAnew(const ParameterLayout& layout, int64_t first_trained);
  // As many as asked for, or as the memory suffices for.
  absl::StatusOr<int> LlamaThreads() const;
  absl::Status TrainSteps();
  // The tests of the curve of scores that are due once so many updates are done. They change nothing of what is trained.
  void TestOnTheWay();
  absl::Status EvaluateLengths();
  // Of one test length, part by part, with as many sequences as go into `windows`. Throws Stopped.
  std::vector<TestResult> TestLength(int length, double& windows);
  // What comes of it. Nothing when it was stopped on the way.
  std::optional<std::vector<Tested>> EvaluateLength(int length);
  // Adds a length's results to those of the members.
  void Keep(const std::vector<Tested>& results, TestScores MemberState::*scores);
  // After the lengths: passkey retrieval, cell by cell.
  absl::Status EvaluatePasskeys();
  // And LongBench, sample by sample.
  absl::Status EvaluateLongBench();
  // What of a member, [stride], is right about the question of that number.
  using Question = std::function<absl::StatusOr<double>(const Tensor& member, int number)>;
  // Questions one by one, from number `done` on, each to all members; the answers are added to their `scores`.
  absl::Status Ask(int questions, int& done, std::vector<double> MemberState::*scores, const Question& question);
  absl::StatusOr<PackResult> StopHere();
  absl::StatusOr<PackResult> Finish();
  // Each member's learning rate of the next update.
  std::vector<double> LearningRates() const;
  // The curve of scores, of members that have not diverged.
  void AddCurve(PackResult& result);
  // Members whose tests have left the finite numbers have diverged. INTERNAL: nothing was trained.
  absl::Status JudgeTests(PackResult& result);
  // What a LLaMA decoder is asked beyond the losses of its windows, into the results and files of entropies. Throws Stopped.
  absl::Status Study(PackResult& result);
  // Accuracy at each of the outputs, of lengths that are tested once more for it: a job that is interrupted has nothing to remember. Throws Stopped.
  void ScoreOutputs(PackResult& result);
  // The attention of the members. Throws Stopped.
  absl::Status WriteAttention(PackResult& result);
  // A member's series as a file whose name begins so. Throws Stopped.
  absl::Status WriteSeries(const std::string& name, size_t member, const Series& series, PackResult& result);
  std::vector<Measurement> MeasurementsOf(const MemberState& member) const;
  // A result is worth waiting for: on a full disk it is tried again until there is space, or somebody wants a stop.
  absl::Status Insist(const std::function<absl::Status()>& write);
  // Writes a file; where there is no space, once more if some can be made.
  absl::Status Write(const std::function<absl::Status()>& write);

  // Between two parts of a test: the sign of life. Throws Stopped.
  void GoOnTesting();
  // Asks the observer: drops members, remembers a wish to stop.
  void Poll();
  void Report(Progress::Phase phase, std::vector<LossPoint> points = {}, bool waits_for_room = false);
  absl::Status Checkpoint();
  // Checkpoint() when the last one is old enough. One that cannot be written is a line in the log.
  void CheckpointIfDue();

  const PackRequest& request_;
  Observer& observer_;
  std::unique_ptr<Problem> problem_;
  std::unique_ptr<StepEngine> engine_;
  PackState state_;
  ScoreCurve curve_;
  std::optional<PasskeyStudy> passkeys_;  // Where they are asked for.
  std::unique_ptr<LongBenchStudy> longbench_;
  bool stop_ = false;
  bool abandoned_ = false;  // Stopped, and nobody wants a checkpoint.
  Speed speed_;
  Clock::time_point last_checkpoint_;
};

}  // namespace longreach::trainer
