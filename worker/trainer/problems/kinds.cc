#include "worker/trainer/problems/kinds.h"

#include <algorithm>
#include <cmath>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/limits.h"
#include "proto/catalog/longbench.h"
#include "worker/trainer/pair_shape.h"
#include "worker/trainer/problems/mixture.h"
#include "worker/trainer/vocabulary.h"

namespace longreach::trainer {

namespace {

// Longest tape of tokens that come from a data set.
constexpr int kMaxDataLength = 1 << 20;

template <typename Names>
absl::Status UnknownTask(const std::string& task, std::string_view experiment, const Names& names) {
  const std::string closest = ClosestWord(task, names);
  return absl::InvalidArgumentError(
      Text("task: unknown name '", task, "' of experiment '", experiment, "'",
           closest.empty() ? "; known are " + Join(names, ", ") : "; did you mean '" + closest + "'?"));
}

absl::Status ValidateDataTask(const PackSettings& settings) {
  std::vector<std::string> names;
  for (const catalog::DataTask& task : catalog::DataTasks()) {
    if (task.experiment == settings.experiment) names.emplace_back(task.name);
  }
  if (std::ranges::find(names, settings.task) == names.end()) return UnknownTask(settings.task, settings.experiment, names);
  for (const auto& [field, lengths] : {std::pair("training.lengths", &settings.training.lengths),
                                       std::pair("evaluation.lengths", &settings.evaluation.lengths)}) {
    for (const int length : *lengths) {
      if (length < 1 || length > kMaxDataLength) {
        return absl::InvalidArgumentError(Text(field, ": ", length, " is not in 1..", kMaxDataLength));
      }
    }
  }
  return absl::OkStatus();
}

// Of a stack of blocks over `tape` tokens; `pairs` of positions that attend.
double Blocks(const PackSettings::Model& model, int layers, double tape, double pairs) {
  const double d = model.embedding_dim;
  return layers * (tape * (8 * d * d + 4 * d * model.mlp_dim) + 4 * d * pairs);
}

// The tasks of the Chomsky hierarchy.
int64_t AlgorithmicTape(const PackSettings& settings, int length) {
  const catalog::Task* task = catalog::FindTask(settings.task);
  return task == nullptr ? 0 : task->Tape(length);
}

absl::Status ValidateAlgorithmic(const PackSettings& settings) {
  std::vector<std::string> names;
  for (const catalog::Task& task : catalog::Tasks()) names.emplace_back(task.name);
  if (catalog::FindTask(settings.task) == nullptr) return UnknownTask(settings.task, settings.experiment, names);
  return absl::OkStatus();
}

// Of the encoder or its decoder over `tape` tokens.
double EncoderFlops(const PackSettings& settings, double tape) {
  const Vocabulary vocabulary = VocabularyOf(settings);
  const double d = settings.model.embedding_dim;
  return Blocks(settings.model, settings.model.layers, tape, tape * tape / (IsCausal(settings) ? 2 : 1)) +
         tape * 2 * d * (vocabulary.read + 1 + vocabulary.classes);
}

double AlgorithmicFlops(const PackSettings& settings, int length) {
  return EncoderFlops(settings, static_cast<double>(AlgorithmicTape(settings, length)));
}

// Pairs of sequences. Before the data set has been looked at: the least that there can be, by which nothing is refused that it would not be afterwards.
int64_t SequencesTape(const PackSettings& settings, int length) {
  int outputs = 1;
  if (settings.model.pairs != nullptr) {
    const auto found = settings.model.pairs->outputs.find(length);
    if (found != settings.model.pairs->outputs.end()) outputs = found->second;
  }
  return int64_t{length} + outputs;
}

// And with as many outputs as inputs, as a stand-in has them.
double SequencesFlops(const PackSettings& settings, int length) {
  return EncoderFlops(settings, settings.model.pairs == nullptr ? 2.0 * length : static_cast<double>(SequencesTape(settings, length)));
}

// Bytes, each predicted from those before it.
int64_t LanguageTape(const PackSettings&, int length) { return length; }

double LanguageFlops(const PackSettings& settings, int length) { return EncoderFlops(settings, length); }

absl::Status ValidatePasskeys(const PackSettings::Evaluation& tests) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  const bool landmark = tests.passkey_prompts == "landmark";
  if (!landmark && tests.passkey_prompts != "nope") {
    return refuse("evaluation.passkey_prompts: unknown name '", tests.passkey_prompts, "'; known are landmark, nope");
  }
  const int least = landmark ? catalog::kLeastLandmarkBytes : catalog::kLeastPasskeyBytes;
  for (size_t i = 0; i < tests.passkey_lengths.size(); ++i) {
    const int length = tests.passkey_lengths[i];
    if (length < least || length > kMaxDataLength) {
      return refuse("evaluation.passkey_lengths: ", length, " is not in ", least, "..", kMaxDataLength);
    }
    if (i > 0 && length <= tests.passkey_lengths[i - 1]) {
      return refuse("evaluation.passkey_lengths: ", length, " does not follow ", tests.passkey_lengths[i - 1], ": lengths ascend");
    }
  }
  if (tests.passkey_lengths.empty()) return absl::OkStatus();
  // A range of positions must hold one. Landmark attention's prompts have no ranges, whatever is set.
  const int64_t depths = landmark ? 0 : tests.passkey_depths;
  if (!landmark && (depths < 1 || depths > catalog::kLeastPasskeyBytes)) {
    return refuse("evaluation.passkey_depths: ", depths, " is not in 1..", catalog::kLeastPasskeyBytes);
  }
  if ((static_cast<int64_t>(tests.passkey_lengths.size()) + 1) * (depths + 1) > catalog::kMaxValuesOfMetric) {
    return refuse("evaluation.passkey_lengths: ", tests.passkey_lengths.size(), " lengths with ", depths, " depths each are more than ",
                  catalog::kMaxValuesOfMetric, " values");
  }
  if (tests.passkey_tests < 1 || tests.passkey_tests > catalog::kMaxPasskeyTests) {
    return refuse("evaluation.passkey_tests: ", tests.passkey_tests, " is not in 1..", catalog::kMaxPasskeyTests);
  }
  return absl::OkStatus();
}

absl::Status ValidateLongBench(const PackSettings& settings) {
  const PackSettings::Evaluation& tests = settings.evaluation;
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  if (tests.longbench.empty()) return absl::OkStatus();
  if (settings.model.folder.empty()) return refuse("evaluation.longbench: '", tests.longbench, "' is for a published model, and model.folder is empty");
  const catalog::LongBenchTask* before = nullptr;
  for (const std::string& name : tests.longbench_tasks) {
    const catalog::LongBenchTask* const task = catalog::FindLongBenchTask(name);
    if (task == nullptr) return refuse("evaluation.longbench_tasks: '", name, "' is no task of LongBench");
    if (before != nullptr && task <= before) return refuse("evaluation.longbench_tasks: '", name, "' does not follow '", before->name, "'");
    before = task;
  }
  if (tests.longbench_window < catalog::kLeastLongBenchWindow || tests.longbench_window > kMaxDataLength) {
    return refuse("evaluation.longbench_window: ", tests.longbench_window, " is not in ", catalog::kLeastLongBenchWindow, "..", kMaxDataLength);
  }
  if (tests.longbench_beams < 1 || tests.longbench_beams > catalog::kMaxLongBenchBeams) {
    return refuse("evaluation.longbench_beams: ", tests.longbench_beams, " is not in 1..", catalog::kMaxLongBenchBeams);
  }
  if (tests.longbench_samples < 0) return refuse("evaluation.longbench_samples: ", tests.longbench_samples, " is below 0");
  return absl::OkStatus();
}

// Sizes that settings give; those of a folder's config.json are checked when it is read.
absl::Status ValidateLlamaSizes(const PackSettings::Model& model) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  if (model.kv_heads < 1 || model.heads < 1 || model.heads % model.kv_heads != 0) {
    return refuse("model.kv_heads: ", model.kv_heads, " does not divide model.heads ", model.heads);
  }
  if (model.embedding_dim / model.heads % 2 != 0) return refuse("model.heads: ", model.heads, " gives heads of an odd size");
  return absl::OkStatus();
}

// Tokens are for a published model, and bytes for one of our own.
absl::Status ValidateLlamaTask(const PackSettings& settings) {
  const bool tokens = settings.task == "tokens", folder = !settings.model.folder.empty();
  if (tokens && !folder) return absl::InvalidArgumentError("model.folder: is empty, and the task 'tokens' is for a published model");
  if (!tokens && folder) {
    return absl::InvalidArgumentError(Text("task: '", settings.task, "' does not go with model.folder '", settings.model.folder, "', which reads tokens"));
  }
  return absl::OkStatus();
}

// Scales by position have no gradients and no place in files of weights: they belong to a test.
absl::Status ValidateScaleByPosition(const PackSettings& settings) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  const int from = settings.model.attention_scale_from;
  const double growth = settings.model.attention_scale_growth;
  if (from < 0) return refuse("model.attention_scale_from: ", from, " is below 0");
  if (!std::isfinite(growth)) return refuse("model.attention_scale_growth: ", ShortestNumber(growth), " is not a finite number");
  if (growth != 0 && from == 0) {
    return refuse("model.attention_scale_growth: ", ShortestNumber(growth), " needs model.attention_scale_from, the position that it grows from");
  }
  if (from > 0 && settings.training.steps > 0) {
    return refuse("model.attention_scale_from: ", from, " is for tests; training.steps is ", settings.training.steps);
  }
  return absl::OkStatus();
}

// Bytes again, or tokens, by a decoder of other blocks.
absl::Status ValidateLlama(const PackSettings& settings) {
  RETURN_IF_ERROR(ValidateDataTask(settings));
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  const PackSettings::Model& model = settings.model;
  if (settings.encoding != "rope" && settings.encoding != "none") {
    return refuse("encoding: '", settings.encoding, "' does not go with experiment 'llama', whose positions are 'rope' or 'none'");
  }
  if (settings.randomized) return refuse("encoding: '", catalog::ToText({.name = settings.encoding, .randomized = true}), "' does not go with experiment 'llama'");
  RETURN_IF_ERROR(ValidateLlamaTask(settings));
  if (model.folder.empty()) RETURN_IF_ERROR(ValidateLlamaSizes(model));
  if (model.dropout != 0 || settings.evaluation.dropout) return refuse("model.dropout: a LLaMA decoder has none");
  if (!(model.attention_scale > 0) || !std::isfinite(model.attention_scale)) {
    return refuse("model.attention_scale: ", ShortestNumber(model.attention_scale), " is not a positive number");
  }
  RETURN_IF_ERROR(ValidateScaleByPosition(settings));
  RETURN_IF_ERROR(ValidateMixture(settings.training));
  const PackSettings::Evaluation& tests = settings.evaluation;
  if (tests.stride < 0) return refuse("evaluation.stride: ", tests.stride, " is negative");
  if (!tests.lengths.empty() && tests.stride >= tests.lengths.front()) {
    return refuse("evaluation.stride: ", tests.stride, " bytes of a window of ", tests.lengths.front(), " cannot be scored");
  }
  if (tests.perplexity_protocol != PackSettings::Evaluation::PerplexityProtocol::kNope && tests.stride == 0) {
    return refuse("evaluation.perplexity_protocol: is one of sliding windows, and evaluation.stride is 0");
  }
  if (tests.position_bins < 0 || (tests.position_bins > 0 && (tests.lengths.empty() || tests.lengths.back() % tests.position_bins != 0))) {
    return refuse("evaluation.position_bins: ", tests.position_bins, " bins do not divide the longest of evaluation.lengths");
  }
  if (!tests.attention_scales.empty() && tests.position_bins == 0) {
    return refuse("evaluation.attention_scales: need evaluation.position_bins, in which the best one is found");
  }
  if (tests.attention_scales.size() > catalog::kMaxAttentionScales || (!tests.attention_scales.empty() && tests.position_bins >= catalog::kMaxValuesOfMetric)) {
    return refuse("evaluation.attention_scales: ", tests.attention_scales.size(), " scales in ", tests.position_bins, " bins are more than are tried");
  }
  RETURN_IF_ERROR(ValidatePasskeys(tests));
  RETURN_IF_ERROR(ValidateLongBench(settings));
  if (!tests.attention_lengths.empty()) return refuse("evaluation.attention_lengths: experiment 'llama' keeps no attention matrices");
  return absl::OkStatus();
}

double LlamaFlops(const PackSettings& settings, int length) {
  const PackSettings::Model& model = settings.model;
  const double d = model.embedding_dim, tape = length;
  const double block = 2 * d * d + 2 * d * d * model.kv_heads / std::max(1, model.heads) + 3 * d * model.mlp_dim;
  return model.layers * (tape * 2 * block + 2 * d * tape * tape) + tape * 2 * d * model.vocabulary;
}

// Pixels, then one class.
int64_t ImagesTape(const PackSettings& settings, int length) {
  const absl::StatusOr<ImageShape> shape = ImageShapeOf(settings.model, length);
  return shape.ok() ? shape->tape : 0;
}

absl::Status ValidateImages(const PackSettings& settings) {
  RETURN_IF_ERROR(ValidateDataTask(settings));
  for (const std::vector<int>* lengths : {&settings.training.lengths, &settings.evaluation.lengths}) {
    for (const int length : *lengths) RETURN_IF_ERROR(ImageShapeOf(settings.model, length).status());
  }
  for (const auto& [field, value, most] : {std::tuple("model.decoder_layers", settings.model.decoder_layers, catalog::kMaxLayers),
                                           std::tuple("model.classes", settings.model.classes, 1 << 16)}) {
    if (value < 1 || value > most) return absl::InvalidArgumentError(Text(field, ": ", value, " is not in 1..", most));
  }
  return absl::OkStatus();
}

double ImagesFlops(const PackSettings& settings, int length) {
  const PackSettings::Model& model = settings.model;
  const double d = model.embedding_dim, tape = static_cast<double>(ImagesTape(settings, length));
  // A block of the decoder has one token, and keys and values of all pixels.
  const double decoder = 12 * d * d + 4 * d * model.mlp_dim + tape * (4 * d * d + 4 * d);
  return Blocks(model, model.layers, tape, tape * tape) + tape * 2 * d * 257 + model.decoder_layers * decoder +
         2 * d * model.classes;
}

constexpr ExperimentKind kKinds[] = {
    {.name = "algorithmic", .causal = false, .of_sequences = true, .needs_data = false, .large = false,
     .Tape = AlgorithmicTape, .Validate = ValidateAlgorithmic, .ForwardFlops = AlgorithmicFlops, .Make = MakeAlgorithmic},
    {.name = "images", .causal = false, .of_sequences = false, .needs_data = true, .large = false,
     .Tape = ImagesTape, .Validate = ValidateImages, .ForwardFlops = ImagesFlops, .Make = MakeImages},
    {.name = "language", .causal = true, .of_sequences = false, .needs_data = true, .large = false,
     .Tape = LanguageTape, .Validate = ValidateDataTask, .ForwardFlops = LanguageFlops, .Make = MakeLanguage},
    {.name = "llama", .causal = true, .of_sequences = false, .needs_data = true, .large = true,
     .Tape = LanguageTape, .Validate = ValidateLlama, .ForwardFlops = LlamaFlops, .Make = MakeLlama},
    {.name = "sequences", .causal = false, .of_sequences = true, .needs_data = true, .large = false,
     .Tape = SequencesTape, .Validate = ValidateDataTask, .ForwardFlops = SequencesFlops, .Make = MakeSequences},
};

}  // namespace

std::span<const ExperimentKind> ExperimentKinds() { return kKinds; }

const ExperimentKind* FindExperimentKind(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &ExperimentKind::name);
  return found == std::end(kKinds) ? nullptr : &*found;
}

bool IsCausal(const PackSettings& settings) {
  const ExperimentKind* kind = FindExperimentKind(settings.experiment);
  return kind != nullptr && (kind->causal || settings.model.causal);
}

bool IsLarge(const PackSettings& settings) {
  const ExperimentKind* kind = FindExperimentKind(settings.experiment);
  return kind != nullptr && kind->large;
}

int64_t TapeOf(const PackSettings& settings, int length) {
  const ExperimentKind* kind = FindExperimentKind(settings.experiment);
  return kind == nullptr ? 0 : kind->Tape(settings, length);
}

int64_t OutputsOf(const PackSettings& settings, int length) {
  if (settings.experiment == "sequences") return SequencesTape(settings, length) - length;
  const catalog::Task* task = catalog::FindTask(settings.task);
  return task == nullptr ? 0 : task->OutputTokens(task->InputTokens(length));
}

int64_t LongestTape(const PackSettings& settings, std::span<const int> lengths) {
  int64_t longest = 0;
  for (const int length : lengths) longest = std::max(longest, TapeOf(settings, length));
  return longest;
}

absl::StatusOr<ImageShape> ImageShapeOf(const PackSettings::Model& model, int length) {
  int rows = std::max(1, static_cast<int>(std::sqrt(static_cast<double>(length))));
  while (length % rows != 0) --rows;
  const bool counted = model.row_delimiter && model.count_delimiters;
  ImageShape shape{.rows = rows, .cols = length / rows - (counted ? 1 : 0), .tape = 0};
  if (shape.cols < 1) {
    return absl::InvalidArgumentError(
        Text("a length of ", length, " leaves no pixel beside the delimiters\n  choose rows x (columns + 1), as 506 = 22 x 23"));
  }
  shape.tape = int64_t{rows} * (shape.cols + (model.row_delimiter ? 1 : 0));
  return shape;
}

double MatmulFlops(const PackSettings& settings, int length) {
  const ExperimentKind* kind = FindExperimentKind(settings.experiment);
  return kind == nullptr ? 0 : 3.0 * settings.training.batch_size * kind->ForwardFlops(settings, length);
}

}  // namespace longreach::trainer
