#include "worker/trainer/llama/folder.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/base/text.h"
#include "worker/data/files.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {

namespace {

constexpr int64_t kMaxText = 64 << 20;  // Of a config.json or an index.
constexpr char kWeights[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
constexpr char kHead[] = "lm_head.weight";
constexpr char kEmbedding[] = "model.embed_tokens.weight";

// A parameter of the decoder and where it is stored: matrices there are [out, in].
struct StoredName {
  std::string name;
  bool transposed = false;
};

StoredName StoredNameOf(const Parameter& parameter) {
  static const std::map<std::string, StoredName> kNames = {{"embed.w", {kEmbedding, false}},
                                                           {"norm.scale", {"model.norm.weight", false}},
                                                           {"out.w", {kHead, true}},
                                                           {"norm1.scale", {"input_layernorm.weight", false}},
                                                           {"norm2.scale", {"post_attention_layernorm.weight", false}},
                                                           {"attn.q.w", {"self_attn.q_proj.weight", true}},
                                                           {"attn.k.w", {"self_attn.k_proj.weight", true}},
                                                           {"attn.v.w", {"self_attn.v_proj.weight", true}},
                                                           {"attn.o.w", {"self_attn.o_proj.weight", true}},
                                                           {"mlp.gate.w", {"mlp.gate_proj.weight", true}},
                                                           {"mlp.up.w", {"mlp.up_proj.weight", true}},
                                                           {"mlp.down.w", {"mlp.down_proj.weight", true}}};
  if (!parameter.name.starts_with("layer")) return kNames.at(parameter.name);
  const size_t dot = parameter.name.find('.');
  const StoredName& within = kNames.at(parameter.name.substr(dot + 1));
  return {"model.layers." + parameter.name.substr(5, dot - 5) + "." + within.name, within.transposed};
}

std::string ScaleName(int64_t layer) { return Text("model.layers.", layer, ".self_attn.scale_param"); }

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

std::optional<at::ScalarType> TypeOf(std::string_view dtype) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "BF16") return at::kBFloat16;
  if (dtype == "F16") return at::kHalf;
  return std::nullopt;
}

// "F32" and "float32".
std::pair<std::string, std::string> NamesOf(at::ScalarType type) {
  if (type == at::kBFloat16) return {"BF16", "bfloat16"};
  if (type == at::kHalf) return {"F16", "float16"};
  return {"F32", "float32"};
}

// All tensors of a folder, wherever they are stored.
class StoredTensors {
 public:
  static absl::StatusOr<StoredTensors> Open(const std::filesystem::path& folder);

  const SafetensorsEntry* Find(const std::string& name) const {
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : found->second->Find(name);
  }
  // The tensor is there, of a type that TypeOf() knows.
  absl::StatusOr<Tensor> Read(const std::string& name) const {
    const SafetensorsEntry& entry = *Find(name);
    Tensor tensor = at::empty(entry.shape, *TypeOf(entry.dtype));
    RETURN_IF_ERROR(files_.at(name)->Read(entry.begin, {static_cast<char*>(tensor.mutable_data_ptr()), tensor.nbytes()}));
    return tensor;
  }
  // Both are there.
  absl::StatusOr<bool> AreTheSame(const std::string& name, const std::string& other) const {
    const SafetensorsEntry &entry = *Find(name), &others = *Find(other);
    if (entry.end - entry.begin != others.end - others.begin) return false;
    bool same = true;
    uint64_t from = others.begin;
    std::vector<char> beside;
    const auto compare = [&](std::string_view piece) {
      beside.resize(piece.size());
      const absl::Status read = files_.at(other)->Read(std::exchange(from, from + piece.size()), beside);
      same = same && piece == std::string_view(beside.data(), beside.size());
      return read;
    };
    RETURN_IF_ERROR(files_.at(name)->Give(entry.begin, entry.end, compare));
    return same;
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [name, file] : files_) names.insert(name);
    return names;
  }
  // By name, ascending.
  const std::vector<std::string>& files() const { return file_names_; }

 private:
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> files_;
  std::vector<std::string> file_names_;
};

absl::StatusOr<StoredTensors> StoredTensors::Open(const std::filesystem::path& folder) {
  StoredTensors tensors;
  std::error_code error;
  // Where both are there transformers reads this one: an index may be left from an earlier state of the folder.
  if (std::filesystem::exists(folder / kWeights, error)) {
    ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(folder / kWeights));
    const auto shared = std::make_shared<const SafetensorsFile>(std::move(file));
    for (const auto& [name, entry] : shared->entries()) tensors.files_[name] = shared;
    tensors.file_names_ = {kWeights};
    return tensors;
  }
  if (!std::filesystem::exists(folder / kIndex, error)) {
    const bool pickled = std::filesystem::exists(folder / "pytorch_model.bin", error) ||
                         std::filesystem::exists(folder / "pytorch_model.bin.index.json", error);
    return absl::NotFoundError(Text(folder.string(), " has no ", kWeights, " and no ", kIndex,
                                    pickled ? ", only pytorch_model.bin: save it with safe_serialization=True and load that" : ""));
  }
  const std::filesystem::path index = folder / kIndex;
  const auto wrong = [&](const auto&... parts) { return absl::InvalidArgumentError(Text(index.string(), ": ", parts...)); };
  ASSIGN_OR_RETURN(const std::string text, data::ReadFile(index, kMaxText));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    return wrong("there is no object 'weight_map'");
  }
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> shards;
  for (const auto& [name, shard] : json["weight_map"].items()) {
    if (!shard.is_string()) return wrong("the file of '", name, "' is not a text");
    const std::string file = shard.get<std::string>();
    if (std::filesystem::path(file).filename() != file) {
      return wrong("the file of '", name, "', '", file, "', is not in the same folder");
    }
    if (!shards.contains(file)) {
      ASSIGN_OR_RETURN(SafetensorsFile read, SafetensorsFile::Open(folder / file));
      shards[file] = std::make_shared<const SafetensorsFile>(std::move(read));
    }
    if (shards[file]->Find(name) == nullptr) return wrong("'", name, "' is said to be in ", file, ", which has no such tensor");
    tensors.files_[name] = shards[file];
  }
  tensors.file_names_ = {kIndex};
  for (const auto& [file, shard] : shards) tensors.file_names_.push_back(file);
  return tensors;
}

// Every tensor that the decoder wants is there, of its shape and a type that can be read, and none that would change what is
// computed is left over.
absl::Status CheckTensors(const LlamaDecoder& decoder, const StoredTensors& tensors) {
  const LlamaConfig& config = decoder.config();
  std::set<std::string> left = tensors.names();
  const auto check = [&](const std::string& name, const std::vector<int64_t>& shape) -> absl::Status {
    const SafetensorsEntry* const entry = tensors.Find(name);
    if (entry == nullptr) {
      return absl::InvalidArgumentError(Text("there is no tensor '", name, "', expected with shape ", ShapeText(shape)));
    }
    if (entry->shape != shape) {
      return absl::InvalidArgumentError(Text("tensor '", name, "' has the shape ", ShapeText(entry->shape),
          ", but config.json says ", ShapeText(shape)));
    }
    if (!TypeOf(entry->dtype)) {
      return absl::InvalidArgumentError(Text("tensor '", name, "' is of type ", entry->dtype, ", expected F32, BF16 or F16"));
    }
    left.erase(name);
    return absl::OkStatus();
  };
  for (const Parameter& parameter : decoder.layout().parameters()) {
    const StoredName stored = StoredNameOf(parameter);
    std::vector<int64_t> shape = parameter.shape;
    if (stored.transposed) std::ranges::reverse(shape);
    RETURN_IF_ERROR(check(stored.name, shape));
  }
  if (tensors.Find(ScaleName(0)) != nullptr) {
    for (int64_t layer = 0; layer < config.layers; ++layer) RETURN_IF_ERROR(check(ScaleName(layer), {config.heads}));
  }
  if (config.tied && left.erase(kHead) > 0) {
    ASSIGN_OR_RETURN(const bool same, tensors.AreTheSame(kHead, kEmbedding));
    if (!same) {
      return absl::InvalidArgumentError(Text("config.json says 'tie_word_embeddings', but '", kHead, "' is not the same as '",
          kEmbedding, "'"));
    }
  }
  // Older checkpoints hold the frequencies, which config.json determines.
  std::erase_if(left, [](const std::string& name) { return name.ends_with("rotary_emb.inv_freq"); });
  if (!left.empty()) {
    return absl::InvalidArgumentError(Text("tensor '", *left.begin(), "' has no place in a LLaMA of ", config.layers, " layers",
                                           left.size() > 1 ? Text(" (nor have ", left.size() - 1, " others)") : ""));
  }
  return absl::OkStatus();
}

absl::Status CheckFolder(const std::filesystem::path& folder, const LlamaDecoder& decoder, const StoredTensors& tensors) {
  const absl::Status checked = CheckTensors(decoder, tensors);
  return checked.ok() ? checked : absl::Status(checked.code(), Text(folder.string(), ": ", checked.message()));
}

std::set<at::ScalarType> TypesOf(const ParameterLayout& layout, const StoredTensors& tensors) {
  std::set<at::ScalarType> types;
  for (const Parameter& parameter : layout.parameters()) types.insert(*TypeOf(tensors.Find(StoredNameOf(parameter).name)->dtype));
  return types;
}

// Else every number that the model computes would be none, and nothing would say why.
absl::StatusOr<Tensor> ReadFinite(const std::filesystem::path& folder, const StoredTensors& tensors, const std::string& name) {
  ASSIGN_OR_RETURN(const Tensor read, tensors.Read(name));
  const Tensor finite = at::isfinite(read).flatten();
  if (finite.all().item<bool>()) return read;
  const int64_t place = at::argmin(finite.to(at::kByte)).item<int64_t>();
  return absl::DataLossError(Text(folder.string(), ": tensor '", name, "' has at place ", place, " of ", read.numel(), " the number ",
                                  read.flatten()[place].item<double>(), ", which is not finite; import the model from a sound copy"));
}

// Of tensors that were checked. `to` may have more behind the decoder's own.
absl::Status Copy(const std::filesystem::path& folder, const ParameterLayout& layout, const StoredTensors& tensors, const ParameterSet& to) {
  for (size_t i = 0; i < layout.parameters().size(); ++i) {
    const StoredName stored = StoredNameOf(layout.parameters()[i]);
    ASSIGN_OR_RETURN(const Tensor read, ReadFinite(folder, tensors, stored.name));
    Tensor target = to[i];
    target.copy_(stored.transposed ? read.t() : read);
  }
  return absl::OkStatus();
}

// An undefined one: the folder has none.
absl::StatusOr<Tensor> HeadFactorsOf(const std::filesystem::path& folder, const LlamaConfig& config, const StoredTensors& tensors) {
  if (tensors.Find(ScaleName(0)) == nullptr) return Tensor();
  std::vector<Tensor> factors;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    ASSIGN_OR_RETURN(const Tensor read, ReadFinite(folder, tensors, ScaleName(layer)));
    factors.push_back(read.to(at::kFloat));
  }
  return at::stack(factors);
}

// A matrix that has to be turned is made when it is asked for, and goes when it was taken: all of them would be the model once more.
TensorBytes StoredBytesOf(const Tensor& tensor) {
  return {tensor.nbytes(), [tensor](const TakeBytes& take) {
            const Tensor stored = tensor.cpu().contiguous();
            return take({static_cast<const char*>(stored.const_data_ptr()), stored.nbytes()});
          }};
}

}  // namespace

absl::StatusOr<LlamaConfig> ReadLlamaConfig(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return absl::NotFoundError(Text("'", folder.string(), "' is not a folder"));
  const std::filesystem::path file = folder / "config.json";
  if (!std::filesystem::exists(file, error)) {
    return absl::NotFoundError(Text(folder.string(), " has no config.json: is it a model's folder?"));
  }
  ASSIGN_OR_RETURN(const std::string text, data::ReadFile(file, kMaxText));
  absl::StatusOr<LlamaConfig> config = ParseLlamaConfig(text);
  if (!config.ok()) return absl::Status(config.status().code(), Text(file.string(), ": ", config.status().message()));
  return config;
}

absl::StatusOr<LlamaModel> LoadLlama(const std::filesystem::path& folder, const LlamaLoading& loading) {
  LlamaModel model;
  ASSIGN_OR_RETURN(model.config, ReadLlamaConfig(folder));
  if (loading.nope) model.config.nope = *loading.nope;
  ASSIGN_OR_RETURN(const StoredTensors tensors, StoredTensors::Open(folder));
  const LlamaDecoder decoder(model.config);
  const ParameterLayout& layout = decoder.layout();
  RETURN_IF_ERROR(CheckFolder(folder, decoder, tensors));
  const std::set<at::ScalarType> types = TypesOf(layout, tensors);
  const at::ScalarType type = loading.type.value_or(types.size() == 1 ? *types.begin() : at::kFloat);
  try {
    model.parameters = at::zeros({layout.stride()}, type);
  } catch (const std::exception&) {
    return absl::ResourceExhaustedError(Text(folder.string(), ": no memory for ",
        layout.stride() * static_cast<int64_t>(c10::elementSize(type)),
                                             " bytes of parameters", type == at::kFloat ? "; as bfloat16 they take half of it"
                                                 : ""));
  }
  RETURN_IF_ERROR(Copy(folder, layout, tensors, ViewParameters(layout, model.parameters)));
  ASSIGN_OR_RETURN(model.head_factors, HeadFactorsOf(folder, model.config, tensors));
  return model;
}

absl::StatusOr<Tensor> LoadLlamaInto(const std::filesystem::path& folder, const LlamaConfig& config, const ParameterSet& parameters) {
  ASSIGN_OR_RETURN(const StoredTensors tensors, StoredTensors::Open(folder));
  const LlamaDecoder decoder(config);
  RETURN_IF_ERROR(CheckFolder(folder, decoder, tensors));
  RETURN_IF_ERROR(Copy(folder, decoder.layout(), tensors, parameters));
  return HeadFactorsOf(folder, config, tensors);
}

absl::StatusOr<StoredLlama> InspectLlama(const std::filesystem::path& folder) {
  StoredLlama stored;
  ASSIGN_OR_RETURN(stored.config, ReadLlamaConfig(folder));
  ASSIGN_OR_RETURN(const StoredTensors tensors, StoredTensors::Open(folder));
  const LlamaDecoder decoder(stored.config);
  RETURN_IF_ERROR(CheckFolder(folder, decoder, tensors));
  stored.parameters = decoder.layout().count();
  for (const at::ScalarType type : TypesOf(decoder.layout(), tensors)) stored.types.push_back(NamesOf(type).first);
  stored.files = tensors.files();
  stored.files.insert(stored.files.begin(), "config.json");
  return stored;
}

absl::Status WriteLlama(const std::filesystem::path& folder, const LlamaModel& model) {
  RETURN_IF_ERROR(Validate(model.config));
  std::error_code error;
  for (const char* file : {"config.json", kWeights, kIndex}) {
    if (std::filesystem::exists(folder / file, error)) {
      return absl::AlreadyExistsError(Text(folder.string(), " holds ", file, " already: name a folder that is not there yet"));
    }
  }
  RETURN_IF_ERROR(data::MakeFolders(folder));
  const LlamaDecoder decoder(model.config);
  const auto [dtype, dtype_name] = NamesOf(model.parameters.scalar_type());
  const ParameterSet set = ViewParameters(decoder.layout(), model.parameters);
  std::vector<SafetensorsPart> parts;
  const auto add = [&](const std::string& name, const std::string& type, const Tensor& tensor) {
    parts.push_back({.name = name, .dtype = type, .shape = tensor.sizes().vec(), .bytes = StoredBytesOf(tensor)});
  };
  for (size_t i = 0; i < set.size(); ++i) {
    const StoredName stored = StoredNameOf(decoder.layout().parameters()[i]);
    add(stored.name, dtype, stored.transposed ? set[i].t() : set[i]);
  }
  if (model.head_factors.defined()) {
    const Tensor factors = model.head_factors.to(at::kFloat);
    for (int64_t layer = 0; layer < model.config.layers; ++layer) add(ScaleName(layer), "F32", factors[layer]);
  }
  RETURN_IF_ERROR(WriteSafetensors(folder / kWeights, {{"format", "pt"}}, parts));
  return data::WriteFile(folder / "config.json", LlamaConfigJson(model.config, dtype_name));
}

}  // namespace longreach::trainer
