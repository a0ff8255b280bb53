#include "worker/trainer/checkpoint/settings_hash.h"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "worker/trainer/learning_rate.h"

namespace longreach::trainer {

namespace {

// What the hash is of: lines "name=value" in this order of parts, each in the order of the settings. Names, values and order stay as they are:
// the checkpoints that are there have their hash. A part is left out where it says nothing, as it was before there was anything to say.
struct Lines {
  std::string all;
  std::string data;   // Of experiments with a data set.
  std::string llama;  // Of LLaMA decoders.
  std::string attention;
  std::string scale_by_position;
  std::string passkey;
  std::string longbench;
  std::string protocol;
  std::string mixture;
  std::string t5;
  std::string fire;
  std::string causal;
  std::string schedule;
  std::string norm;
  std::string length_scaling;
  std::string curve;
  std::string outputs;
  std::string rope_theta;    // This and the next of all but LLaMA decoders.
  std::string rope_scaling;
  std::string rope_scaling_at;
  std::string data_positions;
  std::string position_layers;
};

std::string Value(const std::string& text) { return text; }
std::string Value(double number) { return ShortestNumber(number); }
template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
std::string Value(T number) {
  return std::to_string(static_cast<int64_t>(number));
}
template <typename T>
std::string Value(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T& value : values) words.push_back(Value(value));
  return Join(words, ",");
}

template <typename T, typename... Rest>
std::string Named(std::string_view name, const T& value, const Rest&... rest) {
  std::string line = Text(name, "=", Value(value), "\n");
  if constexpr (sizeof...(rest) > 0) line += Named(rest...);
  return line;
}

std::string_view Word(PackSettings::Evaluation::PerplexityProtocol protocol) {
  using Protocol = PackSettings::Evaluation::PerplexityProtocol;
  switch (protocol) {
    case Protocol::kNope: return "nope";
    case Protocol::kNopeInOrder: return "nope_in_order";
    case Protocol::kYarn: return "yarn";
  }
  return "";
}

// Each of these names every field of its struct: where one comes new, the compiler asks which line it is to be. One that is left out at the
// value that stands for what was done before keeps older checkpoints valid.
void Add(const PackSettings::Model& model, Lines& lines) {
  const auto& [layers, embedding_dim, heads, mlp_dim, dropout, kerple_shared, break_symmetry, sandwich_dim, learned_rows, causal, norm,
               t5_buckets, t5_max_distance, fire_width, fire_threshold, fire_shared, decoder_layers, classes, row_delimiter, count_delimiters,
               pixel_embedding, kv_heads, rope_theta, attention_scale, attention_scale_from, attention_scale_growth, folder, length_scaling,
               length_scaling_from, config, tokenizer_sha256, vocabulary,
               pairs] = model;
  // These four are known only once the data sets have been looked at, which have identities of their own.
  static_cast<void>(config);
  static_cast<void>(tokenizer_sha256);
  static_cast<void>(vocabulary);
  static_cast<void>(pairs);
  lines.all += Named("layers", layers, "embedding_dim", embedding_dim, "heads", heads, "mlp_dim", mlp_dim, "dropout", dropout, "kerple_shared",
                     kerple_shared, "break_symmetry", break_symmetry, "sandwich_dim", sandwich_dim, "learned_rows", learned_rows);
  if (causal) lines.causal += Named("causal", causal);
  if (norm != PackSettings::Model::Norm::kPost) lines.norm += Named("norm", norm);
  if (length_scaling != PackSettings::Model::LengthScaling::kNone) {
    lines.length_scaling += Named("length_scaling", length_scaling, "length_scaling_from", length_scaling_from);
  }
  // Nothing but the encoding t5 looks at these.
  if (t5_buckets != 32 || t5_max_distance != 128) lines.t5 += Named("t5_buckets", t5_buckets, "t5_max_distance", t5_max_distance);
  // And at these nothing but fire.
  if (fire_width != 32 || fire_threshold != 16 || fire_shared) {
    lines.fire += Named("fire_width", fire_width, "fire_threshold", fire_threshold, "fire_shared", fire_shared);
  }
  lines.data += Named("decoder_layers", decoder_layers, "classes", classes, "row_delimiter", row_delimiter, "count_delimiters",
                      count_delimiters, "pixel_embedding", pixel_embedding);
  if (!folder.empty()) lines.llama += Named("folder", folder);
  if (rope_theta != 10'000) lines.rope_theta += Named("rope_theta", rope_theta);
  lines.llama += Named("kv_heads", kv_heads, "rope_theta", rope_theta, "attention_scale", attention_scale);
  if (attention_scale_from != 0) {
    lines.scale_by_position += Named("attention_scale_from", attention_scale_from, "attention_scale_growth", attention_scale_growth);
  }
}

void Add(const PackSettings::Positions& positions, Lines& lines) {
  const auto& [max_position, randomized_by, relative_as_released, shift_max, shift_at_test, rope_scaling, rope_factor, original_length,
               rope_scaling_at, data_rows, data_shift, none_every] = positions;
  lines.all += Named("max_position", max_position, "randomized_by", randomized_by, "relative_as_released", relative_as_released, "shift_max",
                     shift_max, "shift_at_test", shift_at_test);
  const std::string scaling = Named("rope_scaling", rope_scaling, "rope_factor", rope_factor, "original_length", original_length);
  lines.llama += scaling;
  if (rope_scaling != "none") lines.rope_scaling += scaling;
  if (rope_scaling_at != PackSettings::Positions::RopeScalingAt::kTests) lines.rope_scaling_at += Named("rope_scaling_at", rope_scaling_at);
  if (data_rows > 0) lines.data_positions += Named("data_rows", data_rows, "data_shift", data_shift);
  if (none_every > 0) lines.position_layers += Named("none_every", none_every);
}

void Add(const PackSettings::Training& training, Lines& lines) {
  const auto& [steps, batch_size, lengths, clip_norm, data_seed, warmup_steps, final_rate, schedule, weight_decay, trainable, scale_bound,
               scale_lower_bound, mixture, mixture_weights] = training;
  // What is left out of these is the experiment kind's: AddSchedule().
  static_cast<void>(warmup_steps);
  static_cast<void>(final_rate);
  static_cast<void>(schedule);
  lines.all += Named("steps", steps, "batch_size", batch_size, "training_lengths", lengths, "clip_norm", clip_norm, "data_seed", data_seed);
  lines.llama += Named("weight_decay", weight_decay, "trainable", trainable, "scale_bound", scale_bound, "scale_lower_bound", scale_lower_bound);
  if (!mixture.empty()) lines.mixture += Named("mixture", mixture, "mixture_weights", mixture_weights);
}

// LLaMA decoders had a warm-up and a cosine before there was anything else, and encoders a constant rate.
void AddSchedule(const PackSettings& settings, Lines& lines) {
  using Shape = RateSchedule::Shape;
  const RateSchedule schedule = ScheduleOf(settings);
  lines.llama += Named("warmup_steps", schedule.warmup_steps, "final_rate", schedule.final_share);
  const bool llama = settings.experiment == "llama";
  if (llama ? schedule.shape == Shape::kCosine : !HasSchedules(settings.experiment) || schedule.constant()) return;
  lines.schedule += Named("schedule", std::string(Word(schedule.shape)));
  if (llama) return;
  lines.schedule += Named("warmup_steps", schedule.warmup_steps);
  if (schedule.shape != Shape::kConstant) lines.schedule += Named("final_rate", schedule.final_share);
}

void Add(const PackSettings::Evaluation& evaluation, Lines& lines) {
  const auto& [lengths, examples, dropout, seed, attention_lengths, curve_every, curve_lengths, output_lengths, stride, perplexity_protocol, position_bins, attention_scales,
               passkey_lengths, passkey_depths, passkey_tests, passkey_prompts, longbench, longbench_tasks, longbench_window, longbench_beams,
               longbench_samples] = evaluation;
  lines.all += Named("test_lengths", lengths, "examples", examples, "test_dropout", dropout, "test_seed", seed);
  lines.llama += Named("stride", stride, "position_bins", position_bins, "attention_scales", attention_scales);
  if (curve_every > 0) lines.curve += Named("curve_every", curve_every, "curve_lengths", curve_lengths);
  if (!output_lengths.empty()) lines.outputs += Named("output_lengths", output_lengths);
  if (!attention_lengths.empty()) lines.attention += Named("attention_lengths", attention_lengths);
  if (!passkey_lengths.empty()) {
    lines.passkey += Named("passkey_lengths", passkey_lengths);
    // Those of landmark attention have no depths.
    lines.passkey += passkey_prompts == "nope" ? Named("passkey_depths", passkey_depths) : Named("passkey_prompts", passkey_prompts);
    lines.passkey += Named("passkey_tests", passkey_tests);
  }
  if (!longbench.empty()) {
    lines.longbench += Named("longbench", longbench, "longbench_tasks", longbench_tasks, "longbench_window", longbench_window,
                             "longbench_beams", longbench_beams, "longbench_samples", longbench_samples);
  }
  // Before there was a choice it was this one.
  if (perplexity_protocol != PackSettings::Evaluation::PerplexityProtocol::kNope) {
    lines.protocol += Named("perplexity_protocol", std::string(Word(perplexity_protocol)));
  }
}

}  // namespace

std::string SettingsHash(const PackSettings& settings) {
  const auto& [experiment, task, encoding, randomized, data, model, positions, training, evaluation] = settings;
  Lines lines;
  lines.all += Named("experiment", experiment, "task", task, "encoding", encoding, "randomized", randomized);
  lines.data += Named("data", data);
  Add(model, lines);
  Add(positions, lines);
  AddSchedule(settings, lines);
  Add(training, lines);
  Add(evaluation, lines);
  if (data.empty()) lines.data.clear();
  if (experiment == "llama") {
    lines.rope_theta.clear();
    lines.rope_scaling.clear();
  } else {
    lines.llama.clear();
  }
  return Sha256Of(lines.all + lines.data + lines.llama + lines.attention + lines.scale_by_position + lines.passkey + lines.longbench +
                  lines.protocol + lines.mixture + lines.t5 + lines.fire + lines.causal + lines.schedule + lines.norm + lines.curve + lines.rope_theta + lines.rope_scaling +
                  lines.rope_scaling_at + lines.length_scaling + lines.outputs + lines.data_positions + lines.position_layers);
}

}  // namespace longreach::trainer
