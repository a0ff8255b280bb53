// What Train() refuses, and with which words. The scheduler checks the same earlier; the trainer can be
// called without it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/limits.h"
#include "proto/catalog/packs.h"
#include "worker/trainer/learning_rate.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/score_curve.h"
#include "worker/trainer/tasks/support/task.h"
#include "worker/trainer/train.h"
#include "worker/trainer/validate.h"

namespace longreach::trainer {

namespace {

// Numbers beyond these are mistakes, not experiments: they would overflow shapes or fill any memory.
constexpr int kMaxRows = 1 << 24;

template <typename T>
absl::Status Refuse(std::string_view field, const T& value, std::string_view why) {
  return absl::InvalidArgumentError(Text(field, ": ", value, " ", why));
}

absl::Status InRange(std::string_view field, int value, int low, int high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(Text(field, ": ", value, " is not in ", low, "..", high));
}

template <typename Entries>
std::vector<std::string> Names(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

absl::Status Unknown(std::string_view field, const std::string& name, const std::vector<std::string>& known) {
  const std::string closest = ClosestWord(name, known);
  return absl::InvalidArgumentError(
      Text(field, ": unknown name '", name, "'",
           closest.empty() ? "; known are " + Join(known, ", ") : "; did you mean '" + closest + "'?"));
}

absl::Status ValidateLengths(std::string_view field, const std::vector<int>& lengths, int most) {
  for (size_t i = 0; i < lengths.size(); ++i) {
    RETURN_IF_ERROR(InRange(field, lengths[i], 1, most));
    if (i > 0 && lengths[i] <= lengths[i - 1]) {
      return Refuse(field, lengths[i], Text("does not follow ", lengths[i - 1], ": lengths ascend"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateModel(const PackSettings& settings, const catalog::Encoding& encoding) {
  const PackSettings::Model& model = settings.model;
  if (!model.folder.empty()) return absl::OkStatus();  // What its config.json says is checked when that is read.
  RETURN_IF_ERROR(InRange("model.layers", model.layers, 1, catalog::kMaxLayers));
  RETURN_IF_ERROR(InRange("model.embedding_dim", model.embedding_dim, 1, catalog::kMaxWidth));
  RETURN_IF_ERROR(InRange("model.heads", model.heads, 1, model.embedding_dim));
  RETURN_IF_ERROR(InRange("model.mlp_dim", model.mlp_dim, 1, catalog::kMaxWidth));
  RETURN_IF_ERROR(InRange("model.sandwich_dim", model.sandwich_dim, 2, catalog::kMaxWidth));
  RETURN_IF_ERROR(InRange("model.learned_rows", model.learned_rows, 1, kMaxRows));
  RETURN_IF_ERROR(InRange("model.t5_buckets", model.t5_buckets, 4, catalog::kMaxWidth));
  RETURN_IF_ERROR(InRange("model.t5_max_distance", model.t5_max_distance, 1, kMaxRows));
  RETURN_IF_ERROR(InRange("model.fire_width", model.fire_width, 1, catalog::kMaxWidth));
  RETURN_IF_ERROR(InRange("model.fire_threshold", model.fire_threshold, 1, kMaxRows));
  if (!(model.rope_theta > 0) || !std::isfinite(model.rope_theta)) {
    return Refuse("model.rope_theta", ShortestNumber(model.rope_theta), "is not a positive number");
  }
  if (model.embedding_dim % model.heads != 0) {
    return Refuse("model.heads", model.heads,
                  Text("does not divide model.embedding_dim ", model.embedding_dim));
  }
  if (!(model.dropout >= 0 && model.dropout < 1)) {
    return Refuse("model.dropout", ShortestNumber(model.dropout), "is not in [0, 1)");
  }
  if (model.sandwich_dim % 2 != 0) return Refuse("model.sandwich_dim", model.sandwich_dim, "is not even");
  if (model.t5_buckets % 2 != 0) return Refuse("model.t5_buckets", model.t5_buckets, "is not even");
  if (model.t5_max_distance <= model.t5_buckets / 2) {
    return Refuse("model.t5_max_distance", model.t5_max_distance, Text("is not above ", model.t5_buckets / 2, ", half of model.t5_buckets"));
  }
  if (encoding.Has(catalog::kEvenWidth) && model.embedding_dim % 2 != 0) {
    return Refuse("model.embedding_dim", model.embedding_dim,
                  Text("is not even, which '", settings.encoding, "' needs"));
  }
  if (encoding.Has(catalog::kEvenHeads) && model.embedding_dim / model.heads % 2 != 0) {
    return Refuse("model.heads", model.heads, Text("gives heads of an odd size, which '", settings.encoding, "' cannot rotate"));
  }
  return absl::OkStatus();
}

// What the encoder of sequences has alone.
absl::Status IsOfSequences(std::string_view field, std::string_view value, const ExperimentKind& kind) {
  if (kind.of_sequences) return absl::OkStatus();
  return Refuse(field, value, Text("is only for experiments 'algorithmic' and 'sequences', not for '", kind.name, "'"));
}

absl::Status ValidateLengthScaling(const PackSettings& settings, const ExperimentKind& kind) {
  const PackSettings::Model& model = settings.model;
  RETURN_IF_ERROR(InRange("model.length_scaling_from", model.length_scaling_from, 0, kMaxRows));
  if (model.length_scaling_from == 1) return Refuse("model.length_scaling_from", 1, "has the logarithm 0");
  if (model.length_scaling == PackSettings::Model::LengthScaling::kNone) return absl::OkStatus();
  if (!kind.of_sequences && kind.name != "language") {
    return Refuse("model.length_scaling", "a logarithm", Text("is only for experiments 'algorithmic', 'language' and 'sequences', not for '", kind.name, "'"));
  }
  if (settings.encoding == "relative") {
    return Refuse("encoding", "'relative'", "has terms beside the products of queries and keys that model.length_scaling would leave as they are");
  }
  if (model.length_scaling_from == 0 && settings.training.lengths.empty()) {
    return Refuse("model.length_scaling_from", 0, "is no training length, and there is no training to take it from");
  }
  return absl::OkStatus();
}

absl::Status ValidateRopeScaling(const PackSettings& settings) {
  const PackSettings::Positions& positions = settings.positions;
  const std::string& scaling = positions.rope_scaling;
  const std::vector<std::string> known = {"dynamic", "linear", "none", "ntk", "yarn"};
  if (std::ranges::find(known, scaling) == known.end()) return Unknown("positions.rope_scaling", scaling, known);
  if (!(positions.rope_factor >= 1) || !std::isfinite(positions.rope_factor)) {
    return Refuse("positions.rope_factor", ShortestNumber(positions.rope_factor), "is not a number from 1 on");
  }
  if (scaling == "none") return absl::OkStatus();
  if (settings.randomized) return Refuse("positions.rope_scaling", "'" + scaling + "'", "is for consecutive positions, and these are drawn");
  // LLaMA decoders are scaled in training, too, which goes on from one before: its length is known of a folder's alone, by the config.json.
  const bool known_length = settings.experiment == "llama" ? !settings.model.folder.empty() : !settings.training.lengths.empty();
  if ((scaling == "dynamic" || scaling == "yarn") && positions.original_length < 1 && !known_length) {
    return Refuse("positions.original_length", positions.original_length, Text("is no training length, which '", scaling, "' needs"));
  }
  return absl::OkStatus();
}

absl::Status ValidatePositionLayers(const PackSettings& settings) {
  const int every = settings.positions.none_every;
  if (every == 0) return absl::OkStatus();
  RETURN_IF_ERROR(InRange("positions.none_every", every, 2, catalog::kMaxLayers));
  if (!settings.model.folder.empty()) return Refuse("positions.none_every", every, Text("is for a model of one's own, and the config.json of '", settings.model.folder, "' says which layers rotate"));
  if (every > settings.model.layers) return Refuse("positions.none_every", every, Text("is above model.layers ", settings.model.layers));
  return absl::OkStatus();
}

// That there are positions for all tokens: of a data set only here is it known how many there are.
absl::Status ValidateTapes(const PackSettings& settings, bool shifted) {
  const PackSettings::Positions& positions = settings.positions;
  const bool learned = settings.encoding == "learned";
  if (learned && settings.randomized && settings.model.learned_rows < positions.max_position) {
    return Refuse("model.learned_rows", settings.model.learned_rows, Text("is below positions.max_position ", positions.max_position, ", up to which positions are drawn"));
  }
  if (!settings.randomized && !shifted && !learned) return absl::OkStatus();
  const bool drawn = settings.randomized || shifted;
  const int64_t most = drawn ? positions.max_position : settings.model.learned_rows;
  for (const bool test : {false, true}) {
    // One that is drawn is no further than there is room for.
    const int shift = test && shifted && positions.shift_at_test == PackSettings::Positions::ShiftAtTest::kFixed ? positions.shift_max : 0;
    for (const int length : test ? settings.evaluation.lengths : settings.training.lengths) {
      const int64_t tape = TapeOf(settings, length);
      if (tape + shift <= most) continue;
      return Refuse(test ? "evaluation.lengths" : "training.lengths", length,
                    Text("takes a tape of ", tape, " positions", shift > 0 ? Text(", which tests shift by ", shift) : "", ", more than ",
                         drawn ? Text("positions.max_position ", most, " from which they are drawn") : Text("model.learned_rows ", most)));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidatePositions(const PackSettings& settings, const catalog::Encoding& encoding) {
  using RandomizedBy = PackSettings::Positions::RandomizedBy;
  using ShiftAtTest = PackSettings::Positions::ShiftAtTest;
  const PackSettings::Positions& positions = settings.positions;
  RETURN_IF_ERROR(InRange("positions.max_position", positions.max_position, 1, kMaxRows));
  RETURN_IF_ERROR(InRange("positions.shift_max", positions.shift_max, 0, kMaxRows));
  RETURN_IF_ERROR(InRange("positions.data_rows", positions.data_rows, 0, kMaxRows));
  RETURN_IF_ERROR(InRange("positions.data_shift", positions.data_shift, 0, kMaxRows));
  if (positions.data_rows > 0 && settings.experiment != "sequences") {
    return Refuse("positions.data_rows", positions.data_rows, Text("is for experiment 'sequences', whose data may have positions, not for '", settings.experiment, "'"));
  }
  RETURN_IF_ERROR(ValidateRopeScaling(settings));
  RETURN_IF_ERROR(ValidatePositionLayers(settings));
  if (IsCausal(settings) && (positions.relative_as_released || settings.model.break_symmetry)) {
    return Refuse(positions.relative_as_released ? "positions.relative_as_released" : "model.break_symmetry", "true",
                  Text("tells the two sides apart, and ", settings.model.causal ? "a model with model.causal" : "experiment '" + settings.experiment + "'",
                       " looks back only"));
  }
  const bool shifted = (encoding.positions & catalog::kShifted) != 0;
  if (settings.randomized && (encoding.positions & catalog::kRandomized) == 0) {
    return Refuse("encoding", catalog::ToText({.name = settings.encoding, .randomized = true}),
                  "does not exist: this encoding takes no randomized positions");
  }
  if (positions.relative_as_released && !(settings.encoding == "relative" && settings.randomized &&
                                          positions.randomized_by == RandomizedBy::kDistance)) {
    return Refuse("positions.relative_as_released", "true",
                  "is only for relative:randomized with randomized_by 'distance'");
  }
  if (shifted && positions.shift_at_test == ShiftAtTest::kFixed && positions.shift_max == 0) {
    return Refuse("positions.shift_at_test", "'fixed'", "needs positions.shift_max, which is the shift");
  }
  return ValidateTapes(settings, shifted);
}

absl::Status IsTested(std::string_view field, int length, const PackSettings::Evaluation& evaluation) {
  return std::ranges::binary_search(evaluation.lengths, length) ? absl::OkStatus() : Refuse(field, length, "is not among evaluation.lengths");
}

absl::Status ValidateAttention(const PackSettings& settings) {
  double values = 0;
  for (const int length : settings.evaluation.attention_lengths) {
    RETURN_IF_ERROR(IsTested("evaluation.attention_lengths", length, settings.evaluation));
    const double tape = static_cast<double>(TapeOf(settings, length));
    values += settings.model.layers * tape * tape;
    if (values > static_cast<double>(catalog::kMaxAttentionValues)) {
      return Refuse("evaluation.attention_lengths", length,
                    Text("takes a tape of ", tape, " tokens: matrices of ", settings.model.layers, " layers have more than ",
                         catalog::kMaxAttentionValues, " values together"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateOutputs(const PackSettings& settings, const ExperimentKind& kind, int most) {
  const std::vector<int>& lengths = settings.evaluation.output_lengths;
  if (lengths.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(IsOfSequences("evaluation.output_lengths", Text(lengths.front()), kind));
  RETURN_IF_ERROR(ValidateLengths("evaluation.output_lengths", lengths, most));
  int64_t values = 0, longest = 0;
  for (const int length : lengths) {
    RETURN_IF_ERROR(IsTested("evaluation.output_lengths", length, settings.evaluation));
    values += OutputsOf(settings, length);
    longest = std::max(longest, OutputsOf(settings, length));
    if (values + longest > catalog::kMaxValuesOfMetric) {
      return Refuse("evaluation.output_lengths", length, Text("makes ", values, " outputs and ", longest, " means over lengths: more than ", catalog::kMaxValuesOfMetric, " values"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateCurve(const PackSettings& settings, int most) {
  const PackSettings::Evaluation& evaluation = settings.evaluation;
  RETURN_IF_ERROR(InRange("evaluation.curve_every", evaluation.curve_every, 0, std::numeric_limits<int>::max()));
  RETURN_IF_ERROR(ValidateLengths("evaluation.curve_lengths", evaluation.curve_lengths, most));
  for (const int length : evaluation.curve_lengths) {
    RETURN_IF_ERROR(IsTested("evaluation.curve_lengths", length, evaluation));
  }
  const ScoreCurve curve(settings);
  if (curve.Values() > catalog::kMaxValuesOfMetric) {
    return Refuse("evaluation.curve_every", evaluation.curve_every,
                  Text("makes ", curve.Values(), " values of a metric: more than ", catalog::kMaxValuesOfMetric));
  }
  return absl::OkStatus();
}

int LongestOf(const ExperimentKind& kind) {
  static_assert(catalog::kMaxInputLength == tasks::kMaxInputLength);
  return kind.needs_data ? std::numeric_limits<int>::max() : catalog::kMaxInputLength;
}

absl::Status ValidateTraining(const PackSettings::Training& training, int most) {
  RETURN_IF_ERROR(InRange("training.steps", training.steps, 0, std::numeric_limits<int>::max()));
  RETURN_IF_ERROR(
      InRange("training.batch_size", training.batch_size, 1, static_cast<int>(Draws::kMaxSequences)));
  RETURN_IF_ERROR(ValidateLengths("training.lengths", training.lengths, most));
  if (training.steps > 0 && training.lengths.empty()) {
    return absl::InvalidArgumentError("training.lengths: is empty, but there are steps to train");
  }
  if (!(training.clip_norm > 0)) {
    return Refuse("training.clip_norm", ShortestNumber(training.clip_norm), "is not a positive number");
  }
  return absl::OkStatus();
}

absl::Status ValidateEvaluation(const PackSettings& settings, const ExperimentKind& kind) {
  const PackSettings::Evaluation& evaluation = settings.evaluation;
  const int most = LongestOf(kind);
  // 0: all that a data set has.
  RETURN_IF_ERROR(InRange("evaluation.examples", evaluation.examples, kind.needs_data ? 0 : 1,
                          static_cast<int>(Draws::kMaxSequences)));
  RETURN_IF_ERROR(ValidateLengths("evaluation.lengths", evaluation.lengths, most));
  RETURN_IF_ERROR(ValidateLengths("evaluation.attention_lengths", evaluation.attention_lengths, most));
  RETURN_IF_ERROR(ValidateCurve(settings, most));
  RETURN_IF_ERROR(ValidateOutputs(settings, kind, most));
  return ValidateAttention(settings);
}

absl::Status ValidateMember(const Member& member, const PackSettings& settings) {
  if (!(member.learning_rate > 0) || !std::isfinite(member.learning_rate)) {
    return Refuse("learning_rate", ShortestNumber(member.learning_rate),
                  Text("is not a positive number (job ", member.job, ")"));
  }
  if (member.job.find('\n') != std::string::npos) {
    return absl::InvalidArgumentError("job: an id holds a line break");
  }
  if (settings.training.steps == 0 && !member.weights && settings.model.folder.empty()) {
    return Refuse("training.steps", 0,
                  Text("only evaluates, and job ", member.job, " has no weights to evaluate"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const PackSettings& settings) {
  const ExperimentKind* kind = FindExperimentKind(settings.experiment);
  if (kind == nullptr) return Unknown("experiment", settings.experiment, Names(ExperimentKinds()));
  RETURN_IF_ERROR(kind->Validate(settings));
  if (settings.model.causal) RETURN_IF_ERROR(IsOfSequences("model.causal", "true", *kind));
  if (settings.model.norm == PackSettings::Model::Norm::kPre) RETURN_IF_ERROR(IsOfSequences("model.norm", "'pre'", *kind));
  RETURN_IF_ERROR(ValidateLengthScaling(settings, *kind));
  if (kind->needs_data == settings.data.empty()) {
    return Refuse("data", "'" + settings.data + "'",
                  Text("does not go with experiment '", kind->name, "'",
                       kind->needs_data ? ", which needs the name of a data set" : ", which makes its own data"));
  }
  const catalog::Encoding* encoding = catalog::FindEncoding(settings.encoding);
  if (encoding == nullptr) return Unknown("encoding", settings.encoding, Names(catalog::Encodings()));
  RETURN_IF_ERROR(ValidateModel(settings, *encoding));

  RETURN_IF_ERROR(ValidateTraining(settings.training, LongestOf(*kind)));
  RETURN_IF_ERROR(ValidateSchedule(settings));
  RETURN_IF_ERROR(ValidateEvaluation(settings, *kind));
  return ValidatePositions(settings, *encoding);
}

absl::Status ValidateRequest(const PackRequest& request) {
  RETURN_IF_ERROR(Validate(request.settings));
  RETURN_IF_ERROR(InRange("members", static_cast<int>(std::min<size_t>(request.members.size(), catalog::kMaxJobsOfPack + 1)),
                          1, catalog::kMaxJobsOfPack));
  if (request.threads < 0) return Refuse("threads", request.threads, "is negative");
  RETURN_IF_ERROR(CheckEngine(request.engine, request.cuda));
  if (!(request.checkpoint_every_s >= 0)) {
    return Refuse("checkpoint_every_s", ShortestNumber(request.checkpoint_every_s), "is negative");
  }
  for (const Member& member : request.members) RETURN_IF_ERROR(ValidateMember(member, request.settings));
  std::error_code error;
  if (!std::filesystem::is_directory(request.folder, error)) {
    return Refuse("folder", request.folder.string(), "is not a folder");
  }
  return absl::OkStatus();
}

}  // namespace longreach::trainer
