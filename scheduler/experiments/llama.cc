// The experiment kind "llama": a LLaMA decoder over bytes, or a published one over its tokens, with rotary positions (rope) or none
// (none, "NoPE"), pretrained, tuned or only evaluated beyond its training length. docs/models.md says what it computes. Defaults are
// those of TinyLlama-120M.
// Source: arXiv:2404.12224; lit_gpt/config.py of jzhang38/TinyLlama.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/limits.h"
#include "proto/catalog/longbench.h"
#include "proto/catalog/published_vocabulary.h"
#include "scheduler/experiments/llama_checks.h"
#include "scheduler/experiments/llama_mixture.h"
#include "scheduler/experiments/rate_schedule.h"
#include "scheduler/experiments/rope_scaling.h"
#include "scheduler/experiments/score_curve.h"

namespace longreach::experiments {

const Kind& Llama();

namespace {

v1::JobSpec LlamaDefaults() {
  v1::JobSpec job = DataDefaults();
  v1::Model& model = *job.mutable_model();
  model.set_layers(12);
  model.set_embedding_dim(768);
  model.set_heads(12);
  model.set_mlp_dim(2048);
  model.set_dropout(0);
  model.set_kv_heads(1);
  model.set_attention_scale(1);
  model.set_folder("");
  job.mutable_positions()->clear_rope_scaling_at();  // Always.
  v1::Training& training = *job.mutable_training();
  training.set_steps(50'000);
  training.set_batch_size(1024);
  training.add_lengths(2048);
  training.set_warmup_steps(2000);
  training.set_final_rate(0.1);
  training.set_schedule("cosine");
  training.set_weight_decay(0.1);
  training.set_trainable("all");
  training.set_scale_bound("clamp");
  training.set_scale_lower_bound(1);
  v1::Evaluation& evaluation = *job.mutable_evaluation();
  for (const int length : {2048, 4096, 8192, 16'384}) evaluation.add_lengths(length);
  evaluation.set_stride(0);
  evaluation.set_position_bins(0);
  evaluation.set_passkey_depths(10);
  evaluation.set_passkey_tests(10);
  evaluation.set_passkey_prompts("nope");
  evaluation.set_longbench_beams(5);
  evaluation.set_longbench_samples(0);
  return job;
}

// One list for each set of tasks: in the catalog's order, and none where all are meant.
void CompleteLongBench(v1::Evaluation& evaluation) {
  if (evaluation.longbench().empty()) {
    evaluation.clear_longbench();
    evaluation.clear_longbench_tasks();
    evaluation.clear_longbench_window();
    evaluation.clear_longbench_beams();
    evaluation.clear_longbench_samples();
    return;
  }
  auto& tasks = *evaluation.mutable_longbench_tasks();
  std::ranges::sort(tasks, {}, [](const std::string& name) { return catalog::FindLongBenchTask(name); });
  if (tasks.size() == static_cast<int>(catalog::kLongBenchTasks.size())) tasks.Clear();
}

bool HasInput(const v1::SweepSpec& sweep, std::string_view name) {
  return std::ranges::any_of(sweep.inputs(), [name](const v1::Input& input) { return input.name() == name; });
}

class LlamaKind final : public DataKind {
 public:
  std::string_view Name() const override { return "llama"; }
  const v1::JobSpec& Defaults() const override {
    static const v1::JobSpec defaults = LlamaDefaults();
    return defaults;
  }

  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override {
    Checks checks(prefix);
    CheckFolder(sweep, checks);
    RETURN_IF_ERROR(checks.status());
    RETURN_IF_ERROR(DataKind::Validate(sweep, prefix));
    if (sweep.training().trainable() == "head_scales" && !HasInput(sweep, "weights") && sweep.model().folder().empty()) {
      checks.Refuse("training.trainable: 'head_scales' leaves all weights as they are drawn\n  give an input 'weights', or model.folder");
    }
    // What is usual for weights would pull the scales towards 0 in every update, which nobody has asked for by leaving it out.
    const bool trains = !sweep.training().has_steps() || sweep.training().steps() > 0;
    if (trains && sweep.training().trainable() == "head_scales" && !sweep.training().has_weight_decay()) {
      checks.Refuse(fmt::format("training.weight_decay: is not given, and this kind's {} would shrink the scales of attention heads\n"
                                "  set it to 0, as the paper has it, or to what is meant",
                                ShortestNumber(Defaults().training().weight_decay())));
    }
    // 1 is to keep what the input says: so a job's own specification has it.
    if (HasInput(sweep, "attention_scale") && sweep.model().has_attention_scale() && sweep.model().attention_scale() != 1) {
      checks.Refuse("model.attention_scale: is given, and the input 'attention_scale' measures it\n  leave one of the two out");
    }
    if (sweep.evaluation().passkey_prompts() == kLandmarkPrompts && sweep.evaluation().has_passkey_depths()) {
      checks.Refuse("evaluation.passkey_depths: is given, and prompts of the kind 'landmark' draw how deep each key lies\n"
                    "  leave it out, or set evaluation.passkey_prompts to 'nope'");
    }
    for (const std::string& encoding : sweep.axes().encoding()) {
      if (encoding != "rope" && encoding != "none") {
        checks.Refuse(fmt::format("axes.encoding: '{}': this model has rotary positions or none\n  known: none, rope", encoding));
      }
      if (encoding == "none" && sweep.positions().has_rope_scaling() && sweep.positions().rope_scaling() != "none") {
        checks.Refuse(fmt::format("positions.rope_scaling: '{}' scales rotations, and the encoding 'none' has none\n  leave it out",
                                  sweep.positions().rope_scaling()));
      }
    }
    return checks.status();
  }

  // A folder has sizes and a base of its own, which a setting replaces or must agree with, also where it is this kind's default.
  v1::JobSpec SilentDefaults(const v1::Model& model) const override {
    v1::JobSpec silent = Defaults();
    if (!model.folder().empty()) ClearSizes({}, *silent.mutable_model());
    return silent;
  }

  void Complete(v1::JobSpec& job) const override {
    const v1::Model given = job.model();
    DataKind::Complete(job);
    CompleteFolder(given, *job.mutable_model());
    v1::Positions& positions = *job.mutable_positions();
    if (job.encoding() != "rope") {
      positions.clear_rope_scaling();
    }
    if (!positions.has_rope_scaling() || positions.rope_scaling() == "none") positions.clear_rope_factor();
    if (job.model().attention_scale_from() == 0) job.mutable_model()->clear_attention_scale_from();
    if (job.model().attention_scale_growth() == 0) job.mutable_model()->clear_attention_scale_growth();
    // The growth of the best scale is measured from there.
    const bool searches = !job.evaluation().attention_scales().empty() && job.training().steps() == 0;
    if (!NeedsOriginalLength(positions) && !searches) positions.clear_original_length();
    v1::Training& training = *job.mutable_training();
    if (training.steps() == 0) {
      training.clear_weight_decay();
      training.clear_trainable();
    }
    CompleteRateSchedule(training);
    CompleteMixture(training);
    if (job.evaluation().passkey_lengths().empty()) {
      job.mutable_evaluation()->clear_passkey_depths();
      job.mutable_evaluation()->clear_passkey_tests();
      job.mutable_evaluation()->clear_passkey_prompts();
    }
    if (job.evaluation().passkey_prompts() == kLandmarkPrompts) job.mutable_evaluation()->clear_passkey_depths();
    CompleteLongBench(*job.mutable_evaluation());
    // Left out, so that a worker that knows one protocol alone can do it.
    if (job.evaluation().perplexity_protocol() == "nope") job.mutable_evaluation()->clear_perplexity_protocol();
    // A bound inside of the forward pass is part of the model, trained or not.
    if (training.trainable() != "head_scales" && training.scale_bound() != "relu") training.clear_scale_bound();
    if (training.trainable() != "head_scales" || training.scale_bound() != "clamp") training.clear_scale_lower_bound();
  }

  double MeasurementsOf(const v1::JobSpec& job) const override {
    const v1::Evaluation& evaluation = job.evaluation();
    const double heads = static_cast<double>(job.model().layers()) * job.model().heads();
    const double bins = evaluation.position_bins(), scales = evaluation.attention_scales_size();
    // Of the whole model, of each head, and of each scale and bin.
    const double at_length = 4 + heads + (2 + scales) * (1 + bins);
    const double passkeys = evaluation.passkey_lengths_size() * (1.0 + evaluation.passkey_depths());
    const double curve = 4 * static_cast<double>(CurveValues(job.training(), evaluation));
    return heads + (1 + evaluation.lengths_size()) * at_length + curve + passkeys + 2.0 * evaluation.longbench_tasks_size();
  }

  Cost CostOf(const v1::JobSpec& job, const MakerStoresWeights& maker_does) const override {
    Cost cost = DataKind::CostOf(job, maker_does);
    CountFrozen(job, maker_does, cost);
    cost.flops += StudyFlops(job);
    // Generating a key costs next to nothing beside reading its prompt.
    const v1::Evaluation& evaluation = job.evaluation();
    const int depths = evaluation.passkey_prompts() == kLandmarkPrompts ? 1 : evaluation.passkey_depths();
    const double prompts = static_cast<double>(depths) * evaluation.passkey_tests();
    for (const int length : evaluation.passkey_lengths()) cost.flops += prompts * ForwardFlops(job.model(), length);
    cost.flops += LongBenchFlops(job);
    return cost;
  }

  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                             std::string_view prefix) const override {
    const std::string field = fmt::format("{}inputs.{}", prefix, input.name());
    if (input.name() == "attention_scale") return ValidateScale(input, maker, field);
    if (input.name() != "weights") {
      return UnknownWord(field, "input", input.name(), {"attention_scale", "weights"},
                         "this kind knows 'weights', initial parameters, and 'attention_scale', a measured factor of the logits");
    }
    RETURN_IF_ERROR(CheckWeightsInput(input, maker, job, prefix));
    Checks checks("");
    if (maker.model().folder() != job.model().folder()) {
      checks.Refuse(fmt::format("{}.from.model.folder: '{}' there and '{}' here, so its parameters do not fit\n  give both jobs the same", field,
                                maker.model().folder(), job.model().folder()));
    }
    // What was tuned as a factor of zero would count below it.
    if (maker.training().scale_bound() == "relu" && job.training().scale_bound() != "relu") {
      checks.Refuse(fmt::format("{}.from.training.scale_bound: 'relu' there and not here, where head scales below 0 would turn attention around\n"
                                "  set training.scale_bound to relu, also where nothing is trained",
                                field));
    }
    CheckSame(input, "model.kv_heads", maker.model().kv_heads(), job.model().kv_heads(), prefix, checks);
    return checks.status();
  }

 protected:
  void CheckOwn(const Settings& settings, Checks& checks) const override {
    const v1::Model& model = settings.model;
    checks.Range("model.kv_heads", model.kv_heads(), 1, kMaxSize);
    if (model.kv_heads() > 0 && model.heads() % model.kv_heads() != 0) {
      checks.Refuse(fmt::format("model.kv_heads: {} does not divide model.heads, {}\n  set one of them so that it does", model.kv_heads(),
                                model.heads()));
    }
    if (model.heads() > 0 && model.embedding_dim() / model.heads() % 2 != 0) {
      checks.Refuse(fmt::format("model.heads: {} heads of {} dimensions each; an even number is needed", model.heads(),
                                model.embedding_dim() / model.heads()));
    }
    CheckFactor("model.attention_scale", model.attention_scale(), 0, checks);
    if (model.dropout() != 0) checks.Refuse("model.dropout: this model has none\n  leave it out");
    if (model.break_symmetry()) checks.Refuse("model.break_symmetry: true: this model looks back only\n  leave it out");
    CheckScaleByPosition(model, settings.training, checks);
    // This kind's rate falls where the sweep says nothing: a final rate makes a difference with and without a schedule beside it.
    CheckRateSchedule(settings.training, settings.training, checks);
    CheckTuning(settings.training, checks);
    CheckMixture(settings.training, checks);
    CheckTests(settings.evaluation, !model.folder().empty(), checks);
  }
  int64_t TapeOf(const v1::Model&, int length) const override { return length; }
  double ForwardFlops(const v1::Model& model, int length) const override {
    const double d = model.embedding_dim(), tape = length;
    return model.layers() * (tape * 2 * BlockMatrices(model) + 2 * d * tape * tape) + tape * 2 * d * Vocabulary(model);
  }
  double Parameters(const v1::Model& model) const override {
    const double d = model.embedding_dim();
    return model.layers() * (BlockMatrices(model) + 2 * d + model.heads()) + 2 * d * Vocabulary(model) + d;
  }
  double TestExamples(int length) const override { return std::floor(kEnwik8TestBytes / length); }
  bool HasAnyNumberOfTests(const v1::JobSpec& job) const override { return job.task() == kTokensTask; }

 private:
  // Where weights are not trained there is nothing beside them, and where they are a folder's, they are in no file of ours.
  void CountFrozen(const v1::JobSpec& job, const MakerStoresWeights& maker_does, Cost& cost) const {
    const bool tunes = job.training().steps() > 0 && job.training().trainable() == "head_scales";
    if (job.training().steps() > 0 && !tunes) return;
    const double all = Parameters(job.model()), scales = job.model().layers() * job.model().heads();
    cost.memory_bytes = MemoryBytes(all, tunes ? scales : 0);
    const bool others = std::ranges::any_of(job.inputs(), [&](const v1::JobInput& input) {
      return input.name() == "weights" && (maker_does == nullptr || maker_does(input.job()));
    });
    cost.stores_weights = job.model().folder().empty() || others;
    cost.checkpoint_bytes = CheckpointBytes(cost.stores_weights ? all : scales, tunes ? scales : 0);
  }

  // As if every prompt filled its window and every answer had all of its tokens.
  double LongBenchFlops(const v1::JobSpec& job) const {
    const v1::Evaluation& evaluation = job.evaluation();
    if (evaluation.longbench().empty()) return 0;
    const int window = evaluation.longbench_window();
    const double prompt = ForwardFlops(job.model(), window);
    double flops = 0;
    for (const catalog::LongBenchTask& task : catalog::kLongBenchTasks) {
      const auto& tasks = evaluation.longbench_tasks();
      if (!tasks.empty() && std::ranges::find(tasks, task.name) == tasks.end()) continue;
      const int samples = evaluation.longbench_samples() > 0 ? std::min(evaluation.longbench_samples(), task.samples) : task.samples;
      const double answer = ForwardFlops(job.model(), window + task.most_new_tokens) - prompt;
      flops += samples * (prompt + evaluation.longbench_beams() * answer);
    }
    return flops;
  }

  static double Vocabulary(const v1::Model& model) { return model.folder().empty() ? kBytes : catalog::kPublishedVocabulary; }

  // Loss and entropy against position: windows of the longest length, once as the model is and once with each scale that is tried.
  double StudyFlops(const v1::JobSpec& job) const {
    const v1::Evaluation& evaluation = job.evaluation();
    if (evaluation.position_bins() == 0 || evaluation.lengths().empty()) return 0;
    const int longest = *std::ranges::max_element(evaluation.lengths());
    const double wanted = evaluation.examples(), all = TestExamples(longest);
    const double windows = wanted == 0 ? all : job.task() == kTokensTask ? wanted : std::min(wanted, all);
    return windows * (1.0 + evaluation.attention_scales_size()) * ForwardFlops(job.model(), longest);
  }

  // Sizes that nobody gave are the folder's.
  static void CompleteFolder(const v1::Model& given, v1::Model& model) {
    if (model.folder().empty()) return model.clear_folder();
    ClearSizes(given, model);
  }
  static void ClearSizes(const v1::Model& given, v1::Model& model) {
    if (!given.has_layers()) model.clear_layers();
    if (!given.has_embedding_dim()) model.clear_embedding_dim();
    if (!given.has_heads()) model.clear_heads();
    if (!given.has_kv_heads()) model.clear_kv_heads();
    if (!given.has_mlp_dim()) model.clear_mlp_dim();
    if (!given.has_rope_theta()) model.clear_rope_theta();
  }

  // Queries and outputs, keys and values, the three matrices of the MLP. 0: the sizes are a folder's, which is with the workers.
  static double BlockMatrices(const v1::Model& model) {
    if (model.heads() == 0) return 0;
    const double d = model.embedding_dim();
    return 2 * d * d + 2 * d * d * model.kv_heads() / model.heads() + 3 * d * model.mlp_dim();
  }

  absl::Status ValidateScale(const v1::Input& input, const v1::JobSpec& maker, std::string_view field) const {
    if (input.metric() != "best_attention_scale") {
      return absl::InvalidArgumentError(fmt::format("{}.metric: '{}' is no scale of attention\n  set it to 'best_attention_scale'", field,
                                                    input.metric().empty() ? input.artifact() : input.metric()));
    }
    if (maker.experiment() != Name() || maker.evaluation().attention_scales().empty()) {
      return absl::InvalidArgumentError(fmt::format("{}.from.evaluation.attention_scales: that job tries no scales\n  set them", field));
    }
    return absl::OkStatus();
  }
};

}  // namespace

const Kind& Llama() {
  static const LlamaKind kind;
  return kind;
}

}  // namespace longreach::experiments
