#include "worker/agent/spec_to_settings.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <string_view>
#include <vector>

#include "proto/base/build_info.h"
#include "proto/types/canonical.h"

namespace longreach::agent {
namespace {

using trainer::PackSettings;

// Sets `to` if the field is there: the struct's own defaults are those of spec.proto. A job on the wire has all that its
// kind uses, but for settings that came later, where they say what was done before.
#define LONGREACH_TAKE(to, from, field) \
  if ((from).has_##field()) (to).field = (from).field()

// The value that goes by this word.
template <typename Value>
absl::Status TakeWord(std::string_view field, const std::string& word, std::initializer_list<std::pair<std::string_view, Value>> known,
                      Value& to) {
  std::string words;
  for (const auto& [name, value] : known) {
    if (name == word) {
      to = value;
      return absl::OkStatus();
    }
    words += fmt::format("{}'{}'", words.empty() ? "" : ", ", name);
  }
  return absl::InvalidArgumentError(fmt::format("{} is '{}'; it is one of {}", field, word, words));
}

absl::StatusOr<PackSettings::Model> ModelOf(const v1::Model& from) {
  PackSettings::Model to;
  LONGREACH_TAKE(to, from, layers);
  LONGREACH_TAKE(to, from, embedding_dim);
  LONGREACH_TAKE(to, from, heads);
  LONGREACH_TAKE(to, from, mlp_dim);
  LONGREACH_TAKE(to, from, dropout);
  LONGREACH_TAKE(to, from, kerple_shared);
  LONGREACH_TAKE(to, from, break_symmetry);
  LONGREACH_TAKE(to, from, sandwich_dim);
  LONGREACH_TAKE(to, from, learned_rows);
  LONGREACH_TAKE(to, from, causal);
  if (from.has_norm()) {
    using Norm = PackSettings::Model::Norm;
    RETURN_IF_ERROR(TakeWord<Norm>("model.norm", from.norm(), {{"post", Norm::kPost}, {"pre", Norm::kPre}}, to.norm));
  }
  if (from.has_length_scaling()) {
    using Scaling = PackSettings::Model::LengthScaling;
    RETURN_IF_ERROR(TakeWord<Scaling>("model.length_scaling", from.length_scaling(),
                                      {{"log", Scaling::kLog}, {"log_beyond", Scaling::kLogBeyond}, {"none", Scaling::kNone}}, to.length_scaling));
  }
  LONGREACH_TAKE(to, from, length_scaling_from);
  LONGREACH_TAKE(to, from, t5_buckets);
  LONGREACH_TAKE(to, from, t5_max_distance);
  LONGREACH_TAKE(to, from, fire_width);
  LONGREACH_TAKE(to, from, fire_threshold);
  LONGREACH_TAKE(to, from, fire_shared);
  LONGREACH_TAKE(to, from, decoder_layers);
  LONGREACH_TAKE(to, from, classes);
  LONGREACH_TAKE(to, from, row_delimiter);
  LONGREACH_TAKE(to, from, count_delimiters);
  LONGREACH_TAKE(to, from, kv_heads);
  LONGREACH_TAKE(to, from, rope_theta);
  LONGREACH_TAKE(to, from, attention_scale);
  LONGREACH_TAKE(to, from, attention_scale_from);
  LONGREACH_TAKE(to, from, attention_scale_growth);
  if (!from.folder().empty()) {
    // What the job does not say is the folder's.
    to.folder = from.folder();
    to.layers = from.layers();
    to.embedding_dim = from.embedding_dim();
    to.heads = from.heads();
    to.kv_heads = from.kv_heads();
    to.mlp_dim = from.mlp_dim();
    to.rope_theta = from.rope_theta();
  }
  if (from.has_pixel_embedding()) {
    if (from.pixel_embedding() == "lookup") {
      to.pixel_embedding = PackSettings::Model::PixelEmbedding::kLookup;
    } else if (from.pixel_embedding() == "linear") {
      to.pixel_embedding = PackSettings::Model::PixelEmbedding::kLinear;
    } else {
      return absl::InvalidArgumentError(
          fmt::format("model.pixel_embedding is '{}'; it is 'lookup' or 'linear'", from.pixel_embedding()));
    }
  }
  return to;
}

absl::StatusOr<PackSettings::Positions> PositionsOf(const v1::Positions& from) {
  PackSettings::Positions to;
  LONGREACH_TAKE(to, from, max_position);
  LONGREACH_TAKE(to, from, relative_as_released);
  LONGREACH_TAKE(to, from, shift_max);
  LONGREACH_TAKE(to, from, rope_scaling);
  LONGREACH_TAKE(to, from, rope_factor);
  LONGREACH_TAKE(to, from, original_length);
  LONGREACH_TAKE(to, from, data_rows);
  LONGREACH_TAKE(to, from, data_shift);
  LONGREACH_TAKE(to, from, none_every);
  if (from.has_rope_scaling_at()) {
    using At = PackSettings::Positions::RopeScalingAt;
    RETURN_IF_ERROR(TakeWord<At>("positions.rope_scaling_at", from.rope_scaling_at(), {{"always", At::kAlways}, {"tests", At::kTests}}, to.rope_scaling_at));
  }
  if (from.has_randomized_by()) {
    if (from.randomized_by() == "distance") {
      to.randomized_by = PackSettings::Positions::RandomizedBy::kDistance;
    } else if (from.randomized_by() == "position") {
      to.randomized_by = PackSettings::Positions::RandomizedBy::kPosition;
    } else {
      return absl::InvalidArgumentError(
          fmt::format("positions.randomized_by is '{}'; it is 'distance' or 'position'", from.randomized_by()));
    }
  }
  if (from.has_shift_at_test()) {
    if (from.shift_at_test() == "random") {
      to.shift_at_test = PackSettings::Positions::ShiftAtTest::kRandom;
    } else if (from.shift_at_test() == "fixed") {
      to.shift_at_test = PackSettings::Positions::ShiftAtTest::kFixed;
    } else if (from.shift_at_test() == "zero") {
      to.shift_at_test = PackSettings::Positions::ShiftAtTest::kZero;
    } else {
      return absl::InvalidArgumentError(
          fmt::format("positions.shift_at_test is '{}'; it is 'random', 'fixed' or 'zero'", from.shift_at_test()));
    }
  }
  return to;
}

absl::StatusOr<PackSettings::Training> TrainingOf(const v1::Training& from) {
  using Training = PackSettings::Training;
  PackSettings::Training to;
  LONGREACH_TAKE(to, from, steps);
  LONGREACH_TAKE(to, from, batch_size);
  to.lengths.assign(from.lengths().begin(), from.lengths().end());
  LONGREACH_TAKE(to, from, clip_norm);
  LONGREACH_TAKE(to, from, data_seed);
  LONGREACH_TAKE(to, from, warmup_steps);
  LONGREACH_TAKE(to, from, final_rate);
  LONGREACH_TAKE(to, from, weight_decay);
  LONGREACH_TAKE(to, from, scale_lower_bound);
  to.mixture.assign(from.mixture().begin(), from.mixture().end());
  to.mixture_weights.assign(from.mixture_weights().begin(), from.mixture_weights().end());
  if (from.has_schedule()) {
    Training::Schedule schedule{};
    RETURN_IF_ERROR(TakeWord<Training::Schedule>("training.schedule", from.schedule(),
                                                 {{"constant", Training::Schedule::kConstant},
                                                  {"cosine", Training::Schedule::kCosine},
                                                  {"linear", Training::Schedule::kLinear}},
                                                 schedule));
    to.schedule = schedule;
  }
  if (from.has_trainable()) {
    RETURN_IF_ERROR(TakeWord<Training::Trainable>("training.trainable", from.trainable(),
                                                  {{"all", Training::Trainable::kAll}, {"head_scales", Training::Trainable::kHeadScales}},
                                                  to.trainable));
  }
  if (from.has_scale_bound()) {
    RETURN_IF_ERROR(TakeWord<Training::ScaleBound>("training.scale_bound", from.scale_bound(),
                                                   {{"clamp", Training::ScaleBound::kClamp},
                                                    {"none", Training::ScaleBound::kNone},
                                                    {"relu", Training::ScaleBound::kRelu}},
                                                   to.scale_bound));
  }
  return to;
}

absl::StatusOr<PackSettings::Evaluation> EvaluationOf(const v1::Evaluation& from) {
  PackSettings::Evaluation to;
  to.lengths.assign(from.lengths().begin(), from.lengths().end());
  LONGREACH_TAKE(to, from, examples);
  LONGREACH_TAKE(to, from, dropout);
  LONGREACH_TAKE(to, from, seed);
  to.attention_lengths.assign(from.attention_lengths().begin(), from.attention_lengths().end());
  LONGREACH_TAKE(to, from, curve_every);
  to.curve_lengths.assign(from.curve_lengths().begin(), from.curve_lengths().end());
  to.output_lengths.assign(from.output_lengths().begin(), from.output_lengths().end());
  LONGREACH_TAKE(to, from, stride);
  LONGREACH_TAKE(to, from, position_bins);
  to.attention_scales.assign(from.attention_scales().begin(), from.attention_scales().end());
  to.passkey_lengths.assign(from.passkey_lengths().begin(), from.passkey_lengths().end());
  LONGREACH_TAKE(to, from, passkey_depths);
  LONGREACH_TAKE(to, from, passkey_tests);
  LONGREACH_TAKE(to, from, passkey_prompts);
  to.longbench = from.longbench();
  to.longbench_tasks.assign(from.longbench_tasks().begin(), from.longbench_tasks().end());
  LONGREACH_TAKE(to, from, longbench_window);
  LONGREACH_TAKE(to, from, longbench_beams);
  LONGREACH_TAKE(to, from, longbench_samples);
  if (from.has_perplexity_protocol()) {
    using Protocol = PackSettings::Evaluation::PerplexityProtocol;
    RETURN_IF_ERROR(TakeWord<Protocol>("evaluation.perplexity_protocol", from.perplexity_protocol(),
                                       {{"nope", Protocol::kNope}, {"nope_in_order", Protocol::kNopeInOrder}, {"yarn", Protocol::kYarn}}, to.perplexity_protocol));
  }
  return to;
}

#undef LONGREACH_TAKE

// A job that is trained without what it needs of another has a result that looks like any other. A scheduler that is newer may know inputs that this worker
// does not.
absl::Status TakeInputs(const v1::PackMember& from, trainer::Member& to) {
  if (from.has_attention_scale()) to.attention_scale = from.attention_scale();
  if (from.has_weights()) to.weights = trainer::MemberFile{from.weights().path(), from.weights().member()};
  for (const v1::JobInput& input : from.spec().inputs()) {
    const bool weights = input.name() == "weights" && to.weights.has_value();
    if (weights) to.weights->job = input.job();
    if (weights || (input.name() == "attention_scale" && to.attention_scale.has_value())) continue;
    return absl::InvalidArgumentError(fmt::format("job {} needs the input '{}', which did not come with it or which this worker ({}) does not know; update the worker", from.job(),
                                                  input.name(), BuildDescription()));
  }
  return absl::OkStatus();
}

// What all members of a pack have in common.
v1::JobSpec Shared(v1::JobSpec spec) {
  spec.clear_learning_rate();
  spec.clear_seed();
  spec.clear_inputs();
  return spec;
}

}  // namespace

absl::StatusOr<PackSettings> SettingsOf(const v1::JobSpec& spec) {
  if (const absl::Status known = RefuseUnknownFields(spec); !known.ok()) {
    return absl::InvalidArgumentError(fmt::format("{} ({}); it comes from a newer scheduler: update this worker",
                                                  std::string_view(known.message().data(), known.message().size()), BuildDescription()));
  }
  PackSettings settings;
  settings.experiment = spec.experiment();
  settings.task = spec.task();
  settings.encoding = spec.encoding();
  settings.randomized = spec.randomized();
  settings.data = spec.data();
  ASSIGN_OR_RETURN(settings.model, ModelOf(spec.model()));
  ASSIGN_OR_RETURN(settings.positions, PositionsOf(spec.positions()));
  ASSIGN_OR_RETURN(settings.training, TrainingOf(spec.training()));
  ASSIGN_OR_RETURN(settings.evaluation, EvaluationOf(spec.evaluation()));
  return settings;
}

absl::StatusOr<trainer::PackRequest> RequestOf(const v1::StartPack& start) {
  if (start.members().empty()) {
    return absl::InvalidArgumentError(fmt::format("attempt {} has no members", start.attempt()));
  }
  const v1::JobSpec shared = Shared(start.members(0).spec());
  trainer::PackRequest request;
  ASSIGN_OR_RETURN(request.settings, SettingsOf(shared));
  for (const v1::PackMember& from : start.members()) {
    if (!google::protobuf::util::MessageDifferencer::Equals(Shared(from.spec()), shared)) {
      return absl::InvalidArgumentError(
          fmt::format("jobs {} and {} of attempt {} differ in more than learning rate, seed and inputs",
                      start.members(0).job(), from.job(), start.attempt()));
    }
    trainer::Member to;
    to.job = from.job();
    to.learning_rate = from.spec().learning_rate();
    to.seed = from.spec().seed();
    for (const v1::MemberPath& checkpoint : from.checkpoints()) {
      to.checkpoints.push_back({checkpoint.path(), checkpoint.member()});
    }
    RETURN_IF_ERROR(TakeInputs(from, to));
    request.members.push_back(std::move(to));
  }
  request.folder = start.folder();
  request.threads = start.threads();
  request.memory_bytes = start.memory_bytes();
  request.cuda = start.cuda();
  request.engine = start.engine();
  request.checkpoint_every_s = start.checkpoint_every_s();
  request.data = {.folder = start.data_folder(),
                  .sha256 = start.data_sha256(),
                  .model_sha256 = start.model_sha256(),
                  .longbench_sha256 = start.longbench_sha256(),
                  .mixture_sha256 = {start.mixture_sha256().begin(), start.mixture_sha256().end()},
                  .verified_stamps = {start.verified_stamps().begin(), start.verified_stamps().end()}};
  return request;
}

}  // namespace longreach::agent
