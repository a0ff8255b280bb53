// What is measured of trained members beside their tests: what a LLaMA decoder is asked, accuracy at each of the outputs, attention.
#include "worker/trainer/session.h"

#include "proto/base/text.h"
#include "worker/trainer/attention_series.h"
#include "worker/trainer/finite.h"
#include "worker/trainer/llama/position_series.h"
#include "worker/trainer/llama/study.h"
#include "worker/trainer/problems/measurements.h"

namespace longreach::trainer {

absl::Status Session::Study(PackResult& result) {
  if (request_.settings.experiment != "llama") return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<LlamaStudy> study, LlamaStudy::Of(request_.settings, request_.data, engine_->threads()));
  for (size_t m = 0; m < state_.members.size(); ++m) {
    if (!state_.members[m].live || result.results[m].diverged) continue;
    const StudyResult studied = study->Measure(state_.parameters[static_cast<int64_t>(m)], [this] { GoOnTesting(); });
    // Tests have found the model sound. A study asks it for more, as with scales of attention at which a softmax overflows: what has no answer there is no
    // reason to lose the answers that there are, or to call the job diverged.
    const std::string left_out = AddFinite(studied.measurements, result.results[m].measurements);
    if (!left_out.empty()) observer_.OnLine(left_out);
    if (!studied.entropy.defined()) continue;
    RETURN_IF_ERROR(WriteSeries("positions", m, PositionSeries(request_.settings, studied, request_.members[m].job, state_.step), result));
  }
  return absl::OkStatus();
}

void Session::ScoreOutputs(PackResult& result) {
  const std::vector<int>& lengths = request_.settings.evaluation.output_lengths;
  std::vector<std::vector<std::vector<Hits>>> by_member(state_.members.size());
  for (const int length : lengths) {
    double windows = 0;
    const std::vector<TestResult> tested = TestLength(length, windows);
    for (size_t m = 0; m < tested.size(); ++m) by_member[m].push_back(tested[m].by_output);
  }
  for (size_t m = 0; m < by_member.size(); ++m) {
    if (lengths.empty() || !state_.members[m].live || result.results[m].diverged) continue;
    const std::vector<Measurement> scores = OutputScores(lengths, by_member[m]);
    std::vector<Measurement>& all = result.results[m].measurements;
    all.insert(all.end(), scores.begin(), scores.end());
  }
}

absl::Status Session::WriteAttention(PackResult& result) {
  if (request_.settings.evaluation.attention_lengths.empty()) return absl::OkStatus();
  for (size_t m = 0; m < state_.members.size(); ++m) {
    if (!state_.members[m].live || result.results[m].diverged) continue;
    const Series matrices = ComputeAttentionSeries(request_.settings, *problem_, state_.parameters[static_cast<int64_t>(m)],
                                                   request_.members[m].job, state_.step, [this] { GoOnTesting(); });
    RETURN_IF_ERROR(WriteSeries("attention", m, matrices, result));
  }
  return absl::OkStatus();
}

absl::Status Session::WriteSeries(const std::string& name, size_t member, const Series& series, PackResult& result) {
  const std::filesystem::path file = request_.folder / Text(name, "-", member, ".safetensors");
  result.series.push_back({.file = file, .member = static_cast<int>(member)});
  RETURN_IF_ERROR(Insist([&] { return WriteSeriesFile(file, series); }));
  if (stop_) throw Stopped();
  return absl::OkStatus();
}

}  // namespace longreach::trainer
