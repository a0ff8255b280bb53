#include "worker/trainer/llama/longbench_study.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "proto/base/text.h"
#include "worker/data/data_folder.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/published.h"
#include "worker/trainer/longbench/prompts.h"
#include "worker/trainer/longbench/truncation.h"
#include "worker/trainer/problems/named_by.h"

namespace longreach::trainer {

namespace {

// Models go on with the next dialogue, so an answer ends with its line, which has something in it.
constexpr std::string_view kEndsWithItsLine = "samsum";

std::string FileOf(const longbench::Task& task) { return Text(task.name, ".jsonl"); }

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

absl::StatusOr<std::vector<const longbench::Task*>> AskedLongBenchTasks(const PackRequest& request) {
  const PackSettings::Evaluation& tests = request.settings.evaluation;
  ASSIGN_OR_RETURN(const data::Manifest manifest,
                   NamedBy("evaluation.longbench", data::ReadDataSet(DataSetPlace(request, tests.longbench).parent_path(), tests.longbench,
                                                                     request.data.longbench_sha256, data::Kind::kLongBench)));
  const auto is_asked = [&](std::string_view task) {
    return tests.longbench_tasks.empty() || std::ranges::find(tests.longbench_tasks, task) != tests.longbench_tasks.end();
  };
  std::vector<const longbench::Task*> asked;
  std::vector<std::string> missing;
  for (const longbench::Task& task : catalog::kLongBenchTasks) {
    if (!is_asked(task.name)) continue;
    if (std::ranges::find(manifest.files, FileOf(task), &data::FileEntry::name) == manifest.files.end()) missing.emplace_back(task.name);
    else asked.push_back(&task);
  }
  if (missing.empty()) return asked;
  return absl::InvalidArgumentError(Text("evaluation.longbench_tasks: the data set '", tests.longbench, "' has no ", Join(missing, ", "),
                                         "; ask for those that it has, or import it with them under another name"));
}

absl::StatusOr<std::unique_ptr<LongBenchStudy>> LongBenchStudy::Of(const PackRequest& request, int threads) {
  std::unique_ptr<LongBenchStudy> study(new LongBenchStudy(request, threads));
  const PackSettings::Evaluation& tests = request.settings.evaluation;
  ASSIGN_OR_RETURN(const std::vector<const longbench::Task*> tasks, AskedLongBenchTasks(request));
  for (const longbench::Task* const task : tasks) {
    Asked asked{.task = task, .file = {}, .samples = 0};
    ASSIGN_OR_RETURN(asked.file, data::LongBenchFile::Open(DataSetPlace(request, tests.longbench) / FileOf(*task)));
    asked.samples = static_cast<int>(asked.file.samples());
    if (tests.longbench_samples > 0) asked.samples = std::min(asked.samples, tests.longbench_samples);
    study->samples_ += asked.samples;
    study->tasks_.push_back(std::move(asked));
  }
  ASSIGN_OR_RETURN(study->tokenizer_, PublishedTokenizer(request));
  study->eos_ = request.settings.model.config->eos;
  ASSIGN_OR_RETURN(const std::vector<int64_t> newline, study->tokenizer_->Encode("\n"));
  if (newline.empty()) return absl::InvalidArgumentError(Text("the tokenizer of '", request.settings.model.folder, "' has no id for a new line"));
  study->newline_ = newline.back();
  return study;
}

absl::StatusOr<std::vector<int64_t>> LongBenchStudy::PromptOf(const longbench::Task& task, const data::LongBenchSample& sample) {
  const std::string whole = longbench::MakePrompt(task, sample.context, sample.input);
  ASSIGN_OR_RETURN(const std::string prompt, longbench::TruncateMiddle(*tokenizer_, whole, tests_.longbench_window));
  return tokenizer_->EncodeWithBos(prompt);
}

absl::StatusOr<double> LongBenchStudy::Score(const Tensor& member, int sample, const std::function<void()>& between) {
  auto asked = tasks_.begin();
  for (; sample >= asked->samples; ++asked) sample -= asked->samples;
  const longbench::Task& task = *asked->task;
  ASSIGN_OR_RETURN(const data::LongBenchSample texts, asked->file.Sample(sample));
  ASSIGN_OR_RETURN(const std::vector<int64_t> prompt, PromptOf(task, texts));
  GenerationRule rule{.beams = tests_.longbench_beams, .most_new_tokens = task.most_new_tokens, .eos = eos_};
  if (task.name == kEndsWithItsLine) {
    rule.eos.push_back(newline_);
    rule.least_new_tokens = 1;
  }
  const ParameterSet parameters = ViewParameters(model_.layout(), member);
  const torch::NoGradGuard no_gradient;
  const FrozenModel model{.decoder = &model_.decoder(), .parameters = &parameters, .head_factors = model_.HeadFactors(parameters),
                          .pool = &pool_, .between = between};
  DecoderContinuation continuation(model, DecoderContinuation::Memory::kCache);
  const Generated answer = rule.beams == 1 ? Greedy(continuation, prompt, rule) : BeamSearch(continuation, prompt, rule);
  ASSIGN_OR_RETURN(const std::string prediction, tokenizer_->Decode(answer.tokens));
  return longbench::Score(task, prediction, texts.answers, texts.classes);
}

std::vector<Measurement> LongBenchStudy::Measurements(const std::vector<double>& scores) const {
  std::vector<Measurement> all;
  std::vector<double> means;
  std::span<const double> rest(scores);
  for (const Asked& asked : tasks_) {
    means.push_back(MeanOf(rest.first(static_cast<size_t>(asked.samples))));
    rest = rest.subspan(static_cast<size_t>(asked.samples));
    all.push_back({.metric = "longbench", .length = 0, .slice = Text("longbench_task=", asked.task->name), .value = means.back()});
  }
  all.push_back({.metric = "longbench", .length = 0, .slice = "", .value = MeanOf(means)});
  return all;
}

}  // namespace longreach::trainer
