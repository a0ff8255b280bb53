#include "scheduler/experiments/transformer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "longreach/v1/options.pb.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/limits.h"
#include "proto/catalog/position_layers.h"
#include "scheduler/experiments/lengths.h"
#include "scheduler/experiments/position_layers.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/rope_scaling.h"
#include "scheduler/experiments/score_curve.h"

namespace longreach::experiments {
namespace {

constexpr int kMaxLength = 1'000'000;
// A length is one measurement row of each metric, and more than this many values belong into a series file.
constexpr int kMaxTestLengths = 1000;
constexpr int kMaxTrainingLengths = 100'000;

// What an encoding makes of the settings.
bool IsKerple(std::string_view encoding) { return encoding == "log_kerple" || encoding == "power_kerple"; }
bool Has(std::string_view encoding, catalog::EncodingTraits trait) {
  const catalog::Encoding* known = catalog::FindEncoding(encoding);
  return known != nullptr && known->Has(trait);
}

void CheckModel(const v1::Model& model, Checks& checks) {
  checks.Range("model.layers", model.layers(), 1, catalog::kMaxLayers);
  checks.Range("model.embedding_dim", model.embedding_dim(), 1, catalog::kMaxWidth);
  checks.Range("model.heads", model.heads(), 1, catalog::kMaxWidth);
  if (model.heads() > 0 && model.embedding_dim() % model.heads() != 0) {
    checks.Refuse(fmt::format("model.heads: {} does not divide model.embedding_dim, {}\n  set one of them so that it does", model.heads(),
                  model.embedding_dim()));
  }
  checks.Range("model.mlp_dim", model.mlp_dim(), 1, catalog::kMaxWidth);
  if (!(model.dropout() >= 0 && model.dropout() < 1)) {
    checks.Refuse(fmt::format("model.dropout: {} is not in [0, 1)", ShortestNumber(model.dropout())));
  }
  checks.Range("model.sandwich_dim", model.sandwich_dim(), 2, catalog::kMaxWidth);
  if (model.sandwich_dim() % 2 != 0) checks.Refuse(fmt::format("model.sandwich_dim: {} is odd; it must be even", model.sandwich_dim()));
  checks.Range("model.learned_rows", model.learned_rows(), 1, kMaxSize);
  checks.Range("model.t5_buckets", model.t5_buckets(), 4, catalog::kMaxWidth);
  if (model.t5_buckets() % 2 != 0) checks.Refuse(fmt::format("model.t5_buckets: {} is odd; it must be even", model.t5_buckets()));
  checks.Range("model.t5_max_distance", model.t5_max_distance(), 1, kMaxSize);
  if (model.t5_max_distance() <= model.t5_buckets() / 2) {
    checks.Refuse(fmt::format("model.t5_max_distance: {} is not above {}, half of model.t5_buckets: those have a distance each\n"
                  "  set a larger one, or fewer buckets", model.t5_max_distance(), model.t5_buckets() / 2));
  }
  checks.Range("model.fire_width", model.fire_width(), 1, catalog::kMaxWidth);
  checks.Range("model.fire_threshold", model.fire_threshold(), 1, kMaxSize);
}

void CheckPositions(const v1::Positions& positions, Checks& checks) {
  checks.Range("positions.max_position", positions.max_position(), 1, kMaxSize);
  if (positions.randomized_by() != "distance" && positions.randomized_by() != "position") {
    checks.Refuse(fmt::format("positions.randomized_by: '{}' is neither 'distance' nor 'position'", positions.randomized_by()));
  }
  checks.Range("positions.shift_max", positions.shift_max(), 0, kMaxSize);
  const std::string& at_test = positions.shift_at_test();
  if (at_test != "random" && at_test != "fixed" && at_test != "zero") {
    checks.Refuse(fmt::format("positions.shift_at_test: '{}' is none of 'random', 'fixed' and 'zero'", at_test));
  }
  if (at_test == "fixed" && positions.shift_max() == 0) {
    checks.Refuse("positions.shift_at_test: 'fixed' shifts by positions.shift_max, which is 0\n  set positions.shift_max, or use 'zero'");
  }
}

template <typename Lengths>
void CheckLengths(std::string_view field, const Lengths& lengths, int most, Checks& checks) {
  if (lengths.size() > most) {
    checks.Refuse(fmt::format("{}: {} lengths; at most {} in one job\n  a range has fewer with a step: {}..{}:{}", field, lengths.size(), most, lengths[0], lengths[lengths.size() - 1],
                              (lengths.size() + most - 1) / most));
  }
  std::set<int> seen;
  for (const int length : lengths) {
    checks.Range(field, length, 1, kMaxLength);
    if (!seen.insert(length).second) checks.Refuse(fmt::format("{}: {} is there twice\n  a list is one value; jobs of several lists are systems of a sweep, each with its own", field, length));
  }
}

void CheckTraining(const v1::Training& training, Checks& checks) {
  checks.Range("training.steps", training.steps(), 0, std::numeric_limits<int32_t>::max());
  checks.Range("training.batch_size", training.batch_size(), 1, kMaxSize);
  CheckLengths("training.lengths", training.lengths(), kMaxTrainingLengths, checks);
  if (!IsAboveZeroInFloat32(training.clip_norm())) {
    checks.Refuse(fmt::format("training.clip_norm: {} is not a finite number above 0 in float32\n  to clip nothing, set a norm that no gradient has, such as 1e30",
                              ShortestNumber(training.clip_norm())));
  }
}

void CheckEvaluation(const v1::Evaluation& evaluation, Checks& checks) {
  CheckLengths("evaluation.lengths", evaluation.lengths(), kMaxTestLengths, checks);
  CheckLengths("evaluation.attention_lengths", evaluation.attention_lengths(), kMaxTestLengths, checks);
  CheckLengths("evaluation.curve_lengths", evaluation.curve_lengths(), kMaxTestLengths, checks);
  CheckLengths("evaluation.output_lengths", evaluation.output_lengths(), kMaxTestLengths, checks);
  CheckLengths("evaluation.passkey_lengths", evaluation.passkey_lengths(), kMaxTestLengths, checks);
  for (const auto& [field, some] : {std::pair("evaluation.attention_lengths", &evaluation.attention_lengths()), {"evaluation.curve_lengths", &evaluation.curve_lengths()},
                                    {"evaluation.output_lengths", &evaluation.output_lengths()}}) {
    for (const int length : *some) {
      if (std::ranges::find(evaluation.lengths(), length) != evaluation.lengths().end()) continue;
      checks.Refuse(fmt::format("{}: {} is not among evaluation.lengths\n  add it there", field, length));
    }
  }
}

}  // namespace

void Checks::Refuse(const std::string& why) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(prefix_ + why);
}

void Checks::Range(std::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value < least) Refuse(fmt::format("{}: {} is below {}", field, value, least));
  if (value > most) Refuse(fmt::format("{}: {} is above {}", field, value, most));
}

void CheckFactor(std::string_view field, double value, double least, Checks& checks) {
  if (value > least && value <= kMostFactor) return;
  checks.Refuse(fmt::format("{}: {} is not a number above {}, at most {}", field, ShortestNumber(value), least, ShortestNumber(kMostFactor)));
}

void CheckWord(std::string_view field, const std::string& value, const std::vector<std::string>& known, Checks& checks) {
  if (std::ranges::find(known, value) != known.end()) return;
  const absl::Status unknown = UnknownWord(field, "word", value, known, fmt::format("known: {}", Join(known, ", ")));
  checks.Refuse(std::string(unknown.message().data(), unknown.message().size()));
}

v1::Revisions FirstRevisions() {
  v1::Revisions revisions;
  revisions.set_task(1);
  revisions.set_encoding(1);
  revisions.set_model(1);
  return revisions;
}

v1::JobSpec TransformerDefaults(int max_position) {
  v1::JobSpec job;
  v1::Model& model = *job.mutable_model();
  model.set_heads(8);
  model.set_dropout(0.1);
  model.set_kerple_shared(false);
  model.set_break_symmetry(false);
  model.set_sandwich_dim(128);
  model.set_learned_rows(max_position);
  model.set_t5_buckets(32);
  model.set_t5_max_distance(128);
  model.set_fire_width(32);
  model.set_fire_threshold(16);
  model.set_fire_shared(false);
  model.set_rope_theta(kUsualTheta);
  v1::Positions& positions = *job.mutable_positions();
  positions.set_max_position(max_position);
  positions.set_randomized_by("distance");
  positions.set_relative_as_released(false);
  positions.set_shift_max(0);
  positions.set_shift_at_test("random");
  positions.set_rope_scaling("none");
  positions.set_rope_factor(1);
  positions.set_original_length(0);
  positions.set_rope_scaling_at("tests");
  positions.set_none_every(0);
  v1::Training& training = *job.mutable_training();
  training.set_clip_norm(1.0);
  training.set_data_seed(0);
  v1::Evaluation& evaluation = *job.mutable_evaluation();
  evaluation.set_dropout(false);
  evaluation.set_seed(0);
  *job.mutable_revisions() = FirstRevisions();
  return job;
}

void CheckSettings(const Settings& settings, Checks& checks) {
  CheckModel(settings.model, checks);
  CheckPositions(settings.positions, checks);
  CheckRopeScaling(settings, checks);
  CheckTraining(settings.training, checks);
  CheckEvaluation(settings.evaluation, checks);
  CheckScoreCurve(settings, checks);
}

void CheckOwnKind(const Settings& settings, std::string_view kind, Checks& checks) {
  for (const auto& [group, part] : {std::pair<std::string_view, const google::protobuf::Message*>("model", &settings.model),
                                    {"positions", &settings.positions},
                                    {"training", &settings.training},
                                    {"evaluation", &settings.evaluation}}) {
    std::vector<const google::protobuf::FieldDescriptor*> given;
    part->GetReflection()->ListFields(*part, &given);
    for (const google::protobuf::FieldDescriptor* field : given) {
      const std::string& only = field->options().GetExtension(v1::only_kind);
      if (only.empty() || only == kind) continue;
      std::vector<std::string> theirs = {fmt::format("'{}'", only)};
      bool is_ours = false;
      for (int i = 0; i < field->options().ExtensionSize(v1::also_kind); ++i) {
        const std::string& also = field->options().GetExtension(v1::also_kind, i);
        is_ours |= also == kind;
        theirs.push_back(fmt::format("'{}'", also));
      }
      if (is_ours) continue;
      checks.Refuse(fmt::format("{}.{}: is a setting of the {} {}, not of '{}'\n  leave it out", group, field->name(), theirs.size() == 1 ? "kind" : "kinds",
                                JoinWords(theirs, "and"), kind));
    }
  }
}

absl::Status CheckEncodings(const v1::Axes& axes, std::string_view prefix) {
  const std::string field = fmt::format("{}axes.encoding", prefix);
  for (const std::string& value : axes.encoding()) {
    const std::optional<EncodingName> name = ParseEncodingName(value);
    if (!name) {
      return absl::InvalidArgumentError(
          fmt::format("{}: '{}': only ':randomized' may follow a name, as in 'rope:randomized'", field, value));
    }
    const catalog::Encoding* encoding = catalog::FindEncoding(name->name);
    if (encoding == nullptr) {
      return UnknownWord(field, "encoding", name->name, Names(catalog::Encodings()), "'longreach list encodings' shows all of them");
    }
    if (name->randomized && (encoding->positions & catalog::kRandomized) == 0) {
      std::vector<std::string> admitted;
      for (const catalog::Encoding& other : catalog::Encodings()) {
        if (other.positions & catalog::kRandomized) admitted.emplace_back(other.name);
      }
      return absl::InvalidArgumentError(fmt::format("{}: '{}': {} admits no randomized positions\n  those that do: {}", field, value,
                                                    name->name, Join(admitted, ", ")));
    }
  }
  return absl::OkStatus();
}

std::vector<int> LengthsOf(const Settings& settings) {
  std::set<int> lengths(settings.evaluation.lengths().begin(), settings.evaluation.lengths().end());
  if (settings.training.steps() > 0) lengths.insert(settings.training.lengths().begin(), settings.training.lengths().end());
  return {lengths.begin(), lengths.end()};
}

void CheckEncodingFits(const EncodingName& encoding, const Settings& settings, std::span<const Tape> tapes, Checks& checks) {
  // The longest: what has room for it has room for all.
  const auto longer_than = [&](int64_t limit) {
    const auto found = std::ranges::max_element(tapes, {}, &Tape::tokens);
    return found == tapes.end() || found->tokens <= limit ? nullptr : &*found;
  };
  const v1::Model& model = settings.model;
  const v1::Positions& positions = settings.positions;
  const int64_t max_position = positions.max_position();
  if (Has(encoding.name, catalog::kEvenWidth) && model.embedding_dim() % 2 != 0) {
    checks.Refuse(fmt::format("model.embedding_dim: {} is odd, and {} needs an even one", model.embedding_dim(), encoding.name));
  }
  if (Has(encoding.name, catalog::kEvenHeads) && (model.embedding_dim() / model.heads()) % 2 != 0) {
    checks.Refuse(fmt::format("model.heads: {} heads of {} dimensions each, and {} turns pairs of them\n  choose an even number for each head",
                  model.heads(), model.embedding_dim() / model.heads(), encoding.name));
  }
  if (encoding.randomized) {
    if (const Tape* tape = longer_than(max_position)) {
      checks.Refuse(fmt::format("positions.max_position: {} at length {} has a tape of {} tokens, and {} draws that many distinct positions below {}\n"
                    "  set positions.max_position to at least {}, or shorten evaluation.lengths and training.lengths",
                    tape->task, tape->length, tape->tokens, ToText(encoding), max_position, tape->tokens));
    }
    if (encoding.name == "learned" && model.learned_rows() < max_position) {
      checks.Refuse(fmt::format("model.learned_rows: {} rows, and positions of learned:randomized go up to positions.max_position, {}\n"
                    "  set model.learned_rows to at least that", model.learned_rows(), max_position));
    }
  } else if (encoding.name == "learned") {
    if (const Tape* tape = longer_than(model.learned_rows())) {
      checks.Refuse(fmt::format("model.learned_rows: {} at length {} has a tape of {} tokens, and the table has {} rows\n"
                    "  set model.learned_rows to at least {}, or shorten evaluation.lengths and training.lengths",
                    tape->task, tape->length, tape->tokens, model.learned_rows(), tape->tokens));
    }
  } else if (encoding.name == "shape") {
    // A shift that is drawn is no further than there is room for; a fixed one is.
    const int64_t shift = positions.shift_at_test() == "fixed" ? positions.shift_max() : 0;
    if (const Tape* tape = longer_than(max_position - shift)) {
      checks.Refuse(fmt::format("positions.max_position: {} at length {} has a tape of {} tokens{}, and the encoding shape has {} positions\n"
                    "  set positions.max_position to at least {}, or shorten evaluation.lengths and training.lengths",
                    tape->task, tape->length, tape->tokens, shift > 0 ? fmt::format(", which tests shift by {}", shift) : "", max_position, tape->tokens + shift));
    }
  }
}

void CheckAttentionFits(const Settings& settings, std::span<const Tape> tapes, Checks& checks) {
  std::map<std::string_view, double> values;  // By task.
  for (const Tape& tape : tapes) {
    if (std::ranges::find(settings.evaluation.attention_lengths(), tape.length) == settings.evaluation.attention_lengths().end()) continue;
    const double tokens = static_cast<double>(tape.tokens);
    values[tape.task] += settings.model.layers() * tokens * tokens;
    if (values[tape.task] <= static_cast<double>(catalog::kMaxAttentionValues)) continue;
    checks.Refuse(fmt::format("evaluation.attention_lengths: {} at length {} has a tape of {} tokens, and matrices of {} layers have more than "
                  "{} values together\n  choose shorter or fewer lengths", tape.task, tape.length, tape.tokens, settings.model.layers(),
                  catalog::kMaxAttentionValues));
  }
}

void CheckSomethingToDo(const v1::SweepSpec& sweep, const Settings& settings, Checks& checks) {
  const bool weights = std::ranges::any_of(sweep.inputs(), [](const v1::Input& input) { return input.name() == "weights"; });
  if (settings.training.steps() == 0 && !weights && settings.model.folder().empty()) {
    checks.Refuse("training.steps: 0 steps train nothing\n  set training.steps, or give an input 'weights' to evaluate");
  }
}

// Tests of weights that go by how long the tapes were that these were trained on.
bool GoesByTrainedLengths(const Settings& settings) {
  const v1::Model& model = settings.model;
  const v1::Positions& positions = settings.positions;
  const bool scales_logits = !model.length_scaling().empty() && model.length_scaling() != "none" && model.length_scaling_from() == 0;
  return scales_logits || (positions.has_rope_scaling_at() && NeedsOriginalLength(positions) && positions.original_length() == 0);
}

void CompleteSettings(v1::JobSpec& job, Settings whole) {
  PutLengthsInOrder(whole.training, whole.evaluation);
  CompleteScoreCurve(whole.training, whole.evaluation);
  const std::string& encoding = job.encoding();
  if (!IsKerple(encoding)) whole.model.clear_kerple_shared();
  if (!IsKerple(encoding) && encoding != "sandwich") whole.model.clear_break_symmetry();
  if (encoding != "sandwich") whole.model.clear_sandwich_dim();
  if (encoding != "learned") whole.model.clear_learned_rows();
  if (encoding != "t5") whole.model.clear_t5_buckets();
  if (encoding != "t5") whole.model.clear_t5_max_distance();
  if (encoding != "fire") {
    whole.model.clear_fire_width();
    whole.model.clear_fire_threshold();
    whole.model.clear_fire_shared();
  }
  if (!job.randomized() && encoding != "shape") whole.positions.clear_max_position();
  if (!job.randomized() || !Has(encoding, catalog::kOfDistance)) whole.positions.clear_randomized_by();
  if (!job.randomized() || encoding != "relative") whole.positions.clear_relative_as_released();
  if (encoding != "shape") whole.positions.clear_shift_max();
  if (encoding != "shape") whole.positions.clear_shift_at_test();
  if (encoding != "rope") whole.model.clear_rope_theta();
  if (whole.positions.has_rope_scaling_at()) CompleteRopeScaling(job, whole);
  CompletePositionLayers(job, whole.positions);
  if (whole.training.steps() == 0) {
    whole.training.clear_batch_size();
    if (!GoesByTrainedLengths(whole)) whole.training.clear_lengths();
    whole.training.clear_clip_norm();
    whole.training.clear_data_seed();
  }
  *job.mutable_model() = whole.model;
  *job.mutable_positions() = whole.positions;
  *job.mutable_training() = whole.training;
  *job.mutable_evaluation() = whole.evaluation;
}

void CheckSame(const v1::Input& input, std::string_view what, int64_t there, int64_t here, std::string_view prefix, Checks& checks) {
  if (there == here) return;
  checks.Refuse(fmt::format("{}inputs.{}.from: {} is {} there and {} here, so its parameters do not fit", prefix, input.name(), what, there, here));
}

absl::Status CheckWeightsInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job, std::string_view prefix) {
  const std::string field = fmt::format("{}inputs.{}", prefix, input.name());
  if (input.name() != "weights") {
    return UnknownWord(field, "input", input.name(), {"weights"}, "this kind knows the input 'weights': initial parameters");
  }
  if (input.artifact() != "weights") {
    return absl::InvalidArgumentError(fmt::format("{}.artifact: '{}' is not what the input 'weights' takes\n  set it to 'weights'", field,
                                                input.artifact().empty() ? input.metric() : input.artifact()));
  }
  if (maker.experiment() != job.experiment()) {
    return absl::InvalidArgumentError(
      fmt::format("{}.from.experiment: parameters of '{}' do not fit into '{}'", field, maker.experiment(), job.experiment()));
  }
  const v1::Model& theirs = maker.model();
  const v1::Model& ours = job.model();
  Checks checks("");
  CheckSame(input, "model.layers", theirs.layers(), ours.layers(), prefix, checks);
  CheckSame(input, "model.embedding_dim", theirs.embedding_dim(), ours.embedding_dim(), prefix, checks);
  CheckSame(input, "model.heads", theirs.heads(), ours.heads(), prefix, checks);
  CheckSame(input, "model.mlp_dim", theirs.mlp_dim(), ours.mlp_dim(), prefix, checks);
  // Those of one layer are as many either way, and go by other names.
  const auto same_sets = [&](std::string_view what, bool there, bool here) {
    if (maker.encoding() != job.encoding() || there == here) return;
    checks.Refuse(fmt::format("{}.from: {} is {} there and {} here, so its parameters do not fit", field, what, there, here));
  };
  same_sets("model.kerple_shared", theirs.kerple_shared(), ours.kerple_shared());
  same_sets("model.fire_shared", theirs.fire_shared(), ours.fire_shared());
  const int64_t extra = EncodingParameters(job);
  CheckSame(input, "the number of the encoding's parameters", EncodingParameters(maker), extra, prefix, checks);
  // As many numbers may be those of other layers.
  if (extra > 0) CheckSame(input, "positions.none_every", maker.positions().none_every(), job.positions().none_every(), prefix, checks);
  // What the trained numbers are of: with another setting they would say something else.
  if (maker.encoding() == "t5" && job.encoding() == "t5") {
    CheckSame(input, "model.t5_max_distance", theirs.t5_max_distance(), ours.t5_max_distance(), prefix, checks);  // Distances of a bucket.
  }
  if (maker.encoding() == "fire" && job.encoding() == "fire") {  // L is a multiple of it.
    CheckSame(input, "model.fire_threshold", theirs.fire_threshold(), ours.fire_threshold(), prefix, checks);
  }
  if (extra > 0 && maker.encoding() != job.encoding()) {
    checks.Refuse(fmt::format("{}.from.axes.encoding: parameters of '{}' do not fit into '{}'", field, maker.encoding(), job.encoding()));
  }
  return checks.status();
}

int64_t EncodingParameters(const v1::JobSpec& job) {
  const v1::Model& model = job.model();
  const int64_t layers = catalog::LayersWithPositions(job.positions().none_every(), model.layers()), width = model.embedding_dim(), heads = model.heads(), learned_rows = model.learned_rows();
  const int64_t kerple_sets = model.kerple_shared() ? 1 : layers, t5_buckets = model.t5_buckets();
  const int64_t fire_sets = model.fire_shared() ? 1 : layers, fire_width = model.fire_width();
#define X(name, label, positions, traits, trained, revision) \
  if (job.encoding() == #name) return trained;
#include "proto/catalog/encodings.def"
#undef X
  return 0;
}

double BlockParameters(const v1::Model& model) {
  const double d = model.embedding_dim();
  const double mlp = model.mlp_dim();
  return model.layers() * (4 * d * d + 2 * d * mlp + mlp + d + 4 * d);  // Projections, MLP with biases, two layer norms.
}

void SetSizes(const v1::JobSpec& job, double parameters, int64_t tape, Cost& cost) {
  const double all = parameters + static_cast<double>(EncodingParameters(job));
  const double trained = job.training().steps() > 0 ? all : 0;
  cost.checkpoint_bytes = CheckpointBytes(all, trained);
  cost.memory_bytes = MemoryBytes(all, trained);
  // FIRE's hidden features of each pair are kept from forward to backward before and after ReLU, of each layer. All others have a bias of each pair at most,
  // as attention itself has.
  if (job.encoding() == "fire" && job.training().steps() > 0) {
    const double pairs = static_cast<double>(tape) * static_cast<double>(tape);
    cost.pair_bytes = 2 * 4.0 * pairs * job.model().fire_width() * job.model().layers();
  }
}

}  // namespace longreach::experiments
