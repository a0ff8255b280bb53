#include "worker/trainer/llama/config.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "proto/base/json_reason.h"
#include "proto/base/text.h"
#include "proto/catalog/limits.h"

namespace longreach::trainer {

namespace {

using nlohmann::json;

// Far above any model of this type, and small enough that products of sizes stay numbers.
constexpr int64_t kMaxSize = 1 << 22;
constexpr int64_t kMaxPositions = 1 << 24;
constexpr size_t kShownValue = 60;

std::string Shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kShownValue) text = text.substr(0, kShownValue) + "...";
  return text;
}

absl::Status Wrong(std::string_view key, const json& value, std::string_view expected) {
  return absl::InvalidArgumentError(Text("'", key, "' is ", Shown(value), ", expected ", expected));
}

// A key that is not there counts as one that is null.
const json& ValueOf(const json& object, std::string_view key) {
  static const json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

// A whole number in [1, most]; where it is null, `otherwise`, or an error if that is 0.
absl::StatusOr<int64_t> Size(const json& object, std::string_view key, int64_t most, int64_t otherwise = 0) {
  const json& value = ValueOf(object, key);
  if (value.is_null() && otherwise > 0) return otherwise;
  if (value.is_null()) return absl::InvalidArgumentError(Text("there is no '", key, "'"));
  if (!value.is_number_integer() || value < 1 || value > most) return Wrong(key, value, Text("a whole number from 1 to ", most));
  return value.get<int64_t>();
}

absl::StatusOr<double> Positive(const json& object, std::string_view key, double otherwise) {
  const json& value = ValueOf(object, key);
  if (value.is_null()) return otherwise;
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0) {
    return Wrong(key, value, "a number above 0");
  }
  return value.get<double>();
}

absl::StatusOr<bool> Switch(const json& object, std::string_view key, bool otherwise) {
  const json& value = ValueOf(object, key);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) return Wrong(key, value, "true or false");
  return value.get<bool>();
}

// A key must not say something that would change the numbers.
absl::Status MustBeOff(const json& object, std::string_view key) {
  ASSIGN_OR_RETURN(const bool on, Switch(object, key, false));
  if (on) return absl::InvalidArgumentError(Text("'", key, "' is true: a model with biases is not computed here"));
  return absl::OkStatus();
}

absl::StatusOr<RopeScaling> ParseScaling(const json& scaling, std::string_view key) {
  RopeScaling result;
  if (scaling.is_null()) return result;
  if (!scaling.is_object()) return Wrong(key, scaling, "an object or null");
  const json& type = scaling.contains("rope_type") ? scaling["rope_type"] : ValueOf(scaling, "type");
  if (!type.is_string()) return absl::InvalidArgumentError(Text("'", key, "' has no 'rope_type' (or 'type'): ", Shown(scaling)));
  const std::string name = type.get<std::string>();
  std::vector<std::string> known = {"rope_type", "type", "factor", "rope_theta"};
  if (name == "default") return result;
  if (name == "linear") {
    result.kind = RopeScaling::Kind::kLinear;
  } else if (name == "dynamic") {
    result.kind = RopeScaling::Kind::kDynamic;
  } else if (name == "yarn") {
    result.kind = RopeScaling::Kind::kYarn;
    known.insert(known.end(), {"original_max_position_embeddings", "beta_fast", "beta_slow", "attention_factor"});
    ASSIGN_OR_RETURN(result.original_length, Size(scaling, "original_max_position_embeddings", kMaxPositions, INT64_MAX));
    if (result.original_length == INT64_MAX) result.original_length = 0;
    ASSIGN_OR_RETURN(result.beta_fast, Positive(scaling, "beta_fast", result.beta_fast));
    ASSIGN_OR_RETURN(result.beta_slow, Positive(scaling, "beta_slow", result.beta_slow));
    ASSIGN_OR_RETURN(result.attention_factor, Positive(scaling, "attention_factor", 0));
  } else {
    return absl::InvalidArgumentError(
        Text("'", key, "' is of the type '", name.substr(0, kShownValue), "'; known are default, linear, dynamic and yarn"));
  }
  for (const auto& [other, value] : scaling.items()) {
    if (std::ranges::find(known, other) == known.end()) {
      return absl::InvalidArgumentError(Text("'", key, "' of type '", name, "' has a key '", other.substr(0, kShownValue),
                                             "' whose effect is not known here"));
    }
  }
  if (!scaling.contains("factor")) return absl::InvalidArgumentError(Text("'", key, "' has no 'factor'"));
  ASSIGN_OR_RETURN(result.factor, Positive(scaling, "factor", 1));
  return result;
}

// An absent one is transformers' default, an explicit null is none.
absl::Status ParseTokens(const json& object, int64_t usual_bos, int64_t usual_eos, LlamaConfig& config) {
  const auto token = [&](const json& value) { return value.is_number_integer() && value >= 0 && value < config.vocabulary; };
  const std::string expected = Text("a token below ", config.vocabulary);
  const auto value_of = [&](const char* key, int64_t usual) {
    return !object.contains(key) && token(usual) ? json(usual) : ValueOf(object, key);
  };
  if (const json bos = value_of("bos_token_id", usual_bos); !bos.is_null()) {
    if (!token(bos)) return Wrong("bos_token_id", bos, expected);
    config.bos = bos.get<int64_t>();
  }
  const json eos = value_of("eos_token_id", usual_eos);
  for (const json& value : eos.is_array() ? eos : eos.is_null() ? json::array() : json::array({eos})) {
    if (!token(value)) return Wrong("eos_token_id", value, expected);
    config.eos.push_back(value.get<int64_t>());
  }
  return absl::OkStatus();
}

// Which of the two it is, and what transformers takes of it where a key is absent.
struct Architecture {
  std::string_view type, name;
  double rope_theta;
  int64_t kv_heads;  // 0: as many as heads.
  bool tied;
  int64_t bos, eos;
};
constexpr Architecture kLlama = {.type = "llama", .name = "LlamaForCausalLM", .rope_theta = 10'000, .kv_heads = 0, .tied = false, .bos = 1, .eos = 2};
constexpr Architecture kSmolLm3 = {
    .type = "smollm3", .name = "SmolLM3ForCausalLM", .rope_theta = 2'000'000, .kv_heads = 4, .tied = true, .bos = 128'000, .eos = 128'001};

absl::StatusOr<Architecture> ArchitectureOf(const json& object) {
  const json& type = ValueOf(object, "model_type");
  if (!type.is_null() && type != kLlama.type && type != kSmolLm3.type) return Wrong("model_type", type, "\"llama\" or \"smollm3\"");
  const Architecture& architecture = type == kSmolLm3.type ? kSmolLm3 : kLlama;
  const json& architectures = ValueOf(object, "architectures");
  if (!architectures.is_null() && architectures != json::array({architecture.name})) {
    return Wrong("architectures", architectures, Text("[\"", architecture.name, "\"]"));
  }
  const json& activation = ValueOf(object, "hidden_act");
  if (!activation.is_null() && activation != "silu") return Wrong("hidden_act", activation, "\"silu\"");
  RETURN_IF_ERROR(MustBeOff(object, "attention_bias"));
  RETURN_IF_ERROR(MustBeOff(object, "mlp_bias"));
  return architecture;
}

// SmolLM3's: a list that has 0 where a layer does not rotate, and 1 where one does, in spite of its name; without it, every such layer does not.
absl::StatusOr<std::vector<int64_t>> ParseUnrotated(const json& object, int64_t layers) {
  std::vector<int64_t> unrotated;
  ASSIGN_OR_RETURN(const int64_t interval, Size(object, "no_rope_layer_interval", kMaxPositions, 4));
  const json& list = ValueOf(object, "no_rope_layers");
  const auto is_switch = [](const json& value) { return value == 0 || value == 1; };
  if (!list.is_null() && (!list.is_array() || static_cast<int64_t>(list.size()) != layers || !std::ranges::all_of(list, is_switch))) {
    return Wrong("no_rope_layers", list, Text("0 or 1 for each of ", layers, " layers"));
  }
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (list.is_null() ? (layer + 1) % interval == 0 : list[static_cast<size_t>(layer)] == 0) unrotated.push_back(layer);
  }
  ASSIGN_OR_RETURN(const bool slides, Switch(object, "use_sliding_window", false));
  if (slides) return absl::InvalidArgumentError("'use_sliding_window' is true: attention over a part of the tokens is not computed here");
  const json& types = ValueOf(object, "layer_types");
  const auto is_full = [](const json& type) { return type == "full_attention"; };
  if (!types.is_null() && (!types.is_array() || !std::ranges::all_of(types, is_full))) return Wrong("layer_types", types, "\"full_attention\" for all layers");
  return unrotated;
}

}  // namespace

absl::Status Validate(const LlamaConfig& config) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  const std::pair<const char*, int64_t> sizes[] = {
      {"hidden_size", config.hidden_dim},           {"intermediate_size", config.mlp_dim},
      {"num_attention_heads", config.heads},        {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},                {"vocab_size", config.vocabulary}};
  for (const auto& [name, size] : sizes) {
    if (size < 1 || size > kMaxSize) return refuse("'", name, "' is ", size, ", expected 1 to ", kMaxSize);
  }
  if (config.layers < 1 || config.layers > catalog::kMaxLayers) {
    return refuse("'num_hidden_layers' is ", config.layers, ", expected 1 to ", catalog::kMaxLayers);
  }
  if (config.heads % config.kv_heads != 0) {
    return refuse(config.heads, " attention heads cannot share ", config.kv_heads, " key-value heads evenly");
  }
  if (config.heads * config.head_dim > kMaxSize) {
    return refuse(config.heads, " heads of ", config.head_dim, " features are too wide");
  }
  if (config.head_dim % 2 != 0) return refuse("'head_dim' is ", config.head_dim, ": a rotation needs pairs of features");
  if (config.max_positions < 1 || config.max_positions > kMaxPositions) {
    return refuse("'max_position_embeddings' is ", config.max_positions, ", expected 1 to ", kMaxPositions);
  }
  if (!std::isfinite(config.rope_theta) || config.rope_theta <= 1) {
    return refuse("'rope_theta' is ", config.rope_theta, ", expected a number above 1");
  }
  if (!std::isfinite(config.norm_epsilon) || config.norm_epsilon <= 0) {
    return refuse("'rms_norm_eps' is ", config.norm_epsilon, ", expected a number above 0");
  }
  const RopeScaling& scaling = config.rope_scaling;
  if (!std::isfinite(scaling.factor) || scaling.factor < 1) {
    return refuse("the rope scaling's 'factor' is ", scaling.factor, ", expected 1 or more");
  }
  if (scaling.kind == RopeScaling::Kind::kYarn && scaling.beta_fast < scaling.beta_slow) {
    return refuse("the rope scaling's 'beta_fast' is ", scaling.beta_fast, ", less than its 'beta_slow', ", scaling.beta_slow);
  }
  if (scaling.kind != RopeScaling::Kind::kNone && config.head_dim == 2) {
    return refuse("'head_dim' is 2: too small for a rope scaling");
  }
  return absl::OkStatus();
}

absl::StatusOr<LlamaConfig> ParseLlamaConfig(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return absl::InvalidArgumentError(Text("it is not a JSON object: ", WhyNoJsonObject(text)));
  ASSIGN_OR_RETURN(const Architecture usual, ArchitectureOf(object));
  LlamaConfig config;
  ASSIGN_OR_RETURN(config.hidden_dim, Size(object, "hidden_size", kMaxSize));
  ASSIGN_OR_RETURN(config.mlp_dim, Size(object, "intermediate_size", kMaxSize));
  ASSIGN_OR_RETURN(config.layers, Size(object, "num_hidden_layers", catalog::kMaxLayers));
  ASSIGN_OR_RETURN(config.heads, Size(object, "num_attention_heads", kMaxSize));
  ASSIGN_OR_RETURN(config.kv_heads, Size(object, "num_key_value_heads", kMaxSize, usual.kv_heads > 0 && !object.contains("num_key_value_heads") ? usual.kv_heads : config.heads));
  if (ValueOf(object, "head_dim").is_null() && config.hidden_dim % config.heads != 0) {
    return absl::InvalidArgumentError(
        Text("there is no 'head_dim', and 'hidden_size', ", config.hidden_dim, ", is not a multiple of ", config.heads,
            " heads"));
  }
  ASSIGN_OR_RETURN(config.head_dim, Size(object, "head_dim", kMaxSize, std::max<int64_t>(config.hidden_dim / config.heads, 1)));
  ASSIGN_OR_RETURN(config.vocabulary, Size(object, "vocab_size", kMaxSize));
  ASSIGN_OR_RETURN(config.max_positions, Size(object, "max_position_embeddings", kMaxPositions));
  ASSIGN_OR_RETURN(config.norm_epsilon, Positive(object, "rms_norm_eps", 1e-6));  // What transformers takes where none is given.
  ASSIGN_OR_RETURN(config.rope_theta, Positive(object, "rope_theta", usual.rope_theta));
  ASSIGN_OR_RETURN(config.tied, Switch(object, "tie_word_embeddings", usual.tied));
  ASSIGN_OR_RETURN(config.nope, Switch(object, "nope", false));
  RETURN_IF_ERROR(ParseTokens(object, usual.bos, usual.eos, config));
  if (usual.type == kSmolLm3.type && !config.nope) {
    ASSIGN_OR_RETURN(config.unrotated, ParseUnrotated(object, config.layers));
  }
  // Transformers 5 has both the base and the scaling in one object.
  const char* const key = object.contains("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const json& scaling = ValueOf(object, key);
  // Without positions there is nothing to scale, whatever is written there for other readers.
  if (!config.nope) {
    ASSIGN_OR_RETURN(config.rope_scaling, ParseScaling(scaling, key));
  }
  if (scaling.is_object()) {
    ASSIGN_OR_RETURN(config.rope_theta, Positive(scaling, "rope_theta", config.rope_theta));
  }
  RETURN_IF_ERROR(Validate(config));
  return config;
}

std::string LlamaConfigJson(const LlamaConfig& config, std::string_view dtype) {
  const Architecture& architecture = config.unrotated.empty() || config.nope ? kLlama : kSmolLm3;
  nlohmann::ordered_json object = {{"architectures", {architecture.name}},
                                   {"model_type", architecture.type},
                                   {"hidden_size", config.hidden_dim},
                                   {"intermediate_size", config.mlp_dim},
                                   {"num_hidden_layers", config.layers},
                                   {"num_attention_heads", config.heads},
                                   {"num_key_value_heads", config.kv_heads},
                                   {"head_dim", config.head_dim},
                                   {"vocab_size", config.vocabulary},
                                   {"max_position_embeddings", config.max_positions},
                                   {"rms_norm_eps", config.norm_epsilon},
                                   {"rope_theta", config.rope_theta},
                                   {"rope_scaling", nullptr},
                                   {"hidden_act", "silu"},
                                   {"attention_bias", false},
                                   {"mlp_bias", false},
                                   {"tie_word_embeddings", config.tied},
                                   {"torch_dtype", dtype}};
  // A null where there is none: without the key readers take a default.
  object["bos_token_id"] = config.bos ? nlohmann::ordered_json(*config.bos) : nlohmann::ordered_json();
  object["eos_token_id"] = config.eos.empty() ? nlohmann::ordered_json() : config.eos.size() == 1 ? nlohmann::ordered_json(config.eos[0]) : nlohmann::ordered_json(config.eos);
  if (architecture.type == kSmolLm3.type) {
    std::vector<int> rotates(static_cast<size_t>(config.layers), 1);
    for (const int64_t layer : config.unrotated) rotates[static_cast<size_t>(layer)] = 0;
    object["no_rope_layers"] = rotates;
    object["use_sliding_window"] = false;
    object["pad_token_id"] = nullptr;  // The usual one is beyond a small vocabulary.
  }
  const RopeScaling& scaling = config.rope_scaling;
  nlohmann::ordered_json& stored = object["rope_scaling"];
  if (config.nope) {
    object["nope"] = true;
    // Transformers knows no such switch. With positions divided by this its rotation is the identity, to the last bit: cosines are 1,
    // and what the sines add is below what float32 has room for. "type", as the authors' release of transformers calls it.
    stored = {{"type", "linear"}, {"factor", 1e30}};
    return object.dump(2) + "\n";
  }
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone: break;
    case RopeScaling::Kind::kNtk: object["rope_theta"] = NtkBase(config.rope_theta, scaling.factor, config.head_dim); break;
    case RopeScaling::Kind::kLinear: stored = {{"rope_type", "linear"}, {"factor", scaling.factor}}; break;
    case RopeScaling::Kind::kDynamic: stored = {{"rope_type", "dynamic"}, {"factor", scaling.factor}}; break;
    case RopeScaling::Kind::kYarn:
      stored = {{"rope_type", "yarn"}, {"factor", scaling.factor}, {"beta_fast", scaling.beta_fast}, {"beta_slow", scaling.beta_slow}};
      // Left out where it is max_position_embeddings, which readers take then: some releases of transformers (4.51 to 4.55) replace the factor
      // by the ratio of the two, which is 1 there, and rotate without any scaling.
      if (scaling.original_length > 0 && scaling.original_length != config.max_positions) {
        stored["original_max_position_embeddings"] = scaling.original_length;
      }
      if (scaling.attention_factor > 0) stored["attention_factor"] = scaling.attention_factor;
      break;
  }
  return object.dump(2) + "\n";
}

}  // namespace longreach::trainer
