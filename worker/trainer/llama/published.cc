#include "worker/trainer/llama/published.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "proto/base/json_reason.h"
#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/tokenizer/sentence_pieces.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/llama/folder.h"
#include "worker/trainer/llama/longbench_study.h"
#include "worker/trainer/problems/llama_texts.h"
#include "worker/trainer/problems/named_by.h"

namespace longreach::trainer {

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kTokenizer = "tokenizer.model";

absl::Status CheckVocabulary(const LlamaConfig& config) {
  if (config.vocabulary <= data::kMaxVocabulary) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Text("'vocab_size' is ", config.vocabulary, ": tokens are kept in 16 bits, so at most ", data::kMaxVocabulary));
}

// Documents and prompts begin with BOS here, and nothing ends with EOS before it has been answered.
absl::Status CheckSpecialTokens(const std::filesystem::path& folder) {
  constexpr int64_t kMost = 16 << 20;
  const std::filesystem::path file = folder / "tokenizer_config.json";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, data::ReadFile(file, kMost));
  const nlohmann::json said = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return absl::InvalidArgumentError(Text(file.string(), ": it is not a JSON object: ", WhyNoJsonObject(text)));
  for (const auto& [name, usual] : {std::pair("add_bos_token", true), std::pair("add_eos_token", false)}) {
    const auto found = said.find(name);
    if (found == said.end() || *found == usual) continue;
    return absl::FailedPreconditionError(Text(file.string(), ": '", name, "' is ", found->dump(), ", and texts and prompts have it as ", usual ? "true" : "false",
                                              " here, so the model would not be fed as it is used to; its tokenizer.model may be left out of the folder to "
                                              "import, which leaves tests of packed tokens"));
  }
  return absl::OkStatus();
}

absl::Status CheckPositions(const PackSettings& settings, const LlamaConfig& config) {
  const std::string& name = settings.model.folder;
  if (settings.encoding == "none" && !config.nope) {
    return absl::InvalidArgumentError(Text("encoding: 'none', and the model of '", name,
                                           "' has rotary positions; take 'rope', or import it with --nope if it was trained without any"));
  }
  if (settings.encoding == "rope" && config.nope) {
    return absl::InvalidArgumentError(Text("encoding: 'rope', and the model of '", name, "' was trained without positions; take 'none'"));
  }
  if (settings.positions.rope_scaling != "none" && config.rope_scaling.kind != RopeScaling::Kind::kNone) {
    return absl::InvalidArgumentError(Text("positions.rope_scaling: '", settings.positions.rope_scaling, "', and config.json of '", name,
                                           "' has a scaling of its own; leave it out"));
  }
  return absl::OkStatus();
}

absl::StatusOr<data::Manifest> ReadModel(const PackRequest& request) {
  const std::string& name = request.settings.model.folder;
  return NamedBy("model.folder", data::ReadDataSet(DataSetPlace(request, name).parent_path(), name, request.data.model_sha256, data::Kind::kModel));
}

// That config.json is what the model's identity stands for. Whoever imported the model understood it: where it cannot be read it has been damaged since, or was
// imported by a newer build.
absl::Status CheckIsWholeHere(const PackRequest& request) {
  const std::string& name = request.settings.model.folder;
  const std::filesystem::path place = DataSetPlace(request, name);
  ASSIGN_OR_RETURN(const data::Manifest model, ReadModel(request));
  const auto config = std::ranges::find(model.files, kConfig, &data::FileEntry::name);
  ASSIGN_OR_RETURN(const std::string sha256, Sha256OfFile(place / kConfig));
  if (config == model.files.end() || config->sha256 != sha256) {
    return absl::DataLossError(Text((place / kConfig).string(), ": its bytes have changed since the import; 'longreach data remove ", name, "' and import it anew"));
  }
  const absl::Status read = ReadLlamaConfig(place).status();
  return read.ok() ? read : absl::FailedPreconditionError(read.message());
}

}  // namespace

std::filesystem::path DataSetPlace(const PackRequest& request, const std::string& name) {
  return (request.data.folder.empty() ? data::DefaultDataFolder() : request.data.folder) / name;
}

absl::Status ReadPublished(PackRequest& request) {
  PackSettings::Model& model = request.settings.model;
  if (model.folder.empty()) return absl::OkStatus();
  const std::filesystem::path place = DataSetPlace(request, model.folder);
  ASSIGN_OR_RETURN(const data::Manifest manifest, ReadModel(request));
  ASSIGN_OR_RETURN(LlamaConfig config, ReadLlamaConfig(place));
  RETURN_IF_ERROR(CheckVocabulary(config));
  config.nope = manifest.nope;
  const auto tokenizer = std::ranges::find(manifest.files, kTokenizer, &data::FileEntry::name);
  if (tokenizer != manifest.files.end()) model.tokenizer_sha256 = tokenizer->sha256;
  RETURN_IF_ERROR(CheckPositions(request.settings, config));
  for (const auto& [field, given, stored] :
       {std::tuple("model.layers", &model.layers, config.layers), std::tuple("model.embedding_dim", &model.embedding_dim, config.hidden_dim),
        std::tuple("model.heads", &model.heads, config.heads), std::tuple("model.kv_heads", &model.kv_heads, config.kv_heads),
        std::tuple("model.mlp_dim", &model.mlp_dim, config.mlp_dim)}) {
    if (*given != 0 && *given != stored) {
      return absl::InvalidArgumentError(Text(field, ": ", *given, ", and config.json of '", model.folder, "' says ", stored, "; leave it out"));
    }
    *given = static_cast<int>(stored);
  }
  if (model.rope_theta != 0) config.rope_theta = model.rope_theta;
  model.rope_theta = config.rope_theta;
  RETURN_IF_ERROR(Validate(config));
  model.vocabulary = static_cast<int>(config.vocabulary);
  model.config = std::make_shared<const LlamaConfig>(std::move(config));
  return absl::OkStatus();
}

absl::Status CheckTokenizer(const PackRequest& request) {
  const std::string& name = request.settings.model.folder;
  std::error_code error;
  if (std::filesystem::exists(DataSetPlace(request, name) / kTokenizer, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(Text("model.folder: the model '", name, "' was imported without ", kTokenizer,
                                         ", and passkeys and LongBench need it; import it under another name from a folder that has it"));
}

absl::Status CheckPublished(const PackSettings& settings, const DataSource& data, Known known) {
  if (settings.model.folder.empty()) return absl::OkStatus();
  PackRequest request{.settings = settings, .members = {}, .folder = {}, .data = data};
  if (known == Known::kBytes) RETURN_IF_ERROR(CheckIsWholeHere(request));
  RETURN_IF_ERROR(ReadPublished(request));
  // A corpus's identity does not say which tokenizer made it.
  if (known == Known::kBytes) request.settings.model.tokenizer_sha256.clear();
  if (settings.task == "tokens" && !settings.data.empty()) {
    request.data.folder = DataSetPlace(request, settings.data).parent_path();
    RETURN_IF_ERROR(LlamaTexts::Open(request.settings, &request.data).status());
  }
  const PackSettings::Evaluation& tests = settings.evaluation;
  if (!tests.longbench.empty() || !tests.passkey_lengths.empty()) RETURN_IF_ERROR(CheckTokenizer(request));
  return tests.longbench.empty() ? absl::OkStatus() : AskedLongBenchTasks(request).status();
}

absl::StatusOr<std::unique_ptr<tokenizer::Tokenizer>> PublishedTokenizer(const PackRequest& request) {
  const PackSettings::Model& model = request.settings.model;
  if (!model.config) return nullptr;
  RETURN_IF_ERROR(CheckTokenizer(request));
  ASSIGN_OR_RETURN(std::unique_ptr<tokenizer::Tokenizer> tokenizer,
                   tokenizer::TokenizerOfFolder(DataSetPlace(request, model.folder), {.vocabulary = model.config->vocabulary, .bos = model.config->bos}));
  return tokenizer;
}

absl::Status LoadPublished(const PackRequest& request, const ParameterLayout& layout, PackState& state) {
  if (!request.settings.model.config) return absl::OkStatus();
  const Parameter& scales = *layout.Find("attn.scales");
  for (size_t m = 0; m < request.members.size(); ++m) {
    const Tensor row = state.parameters[static_cast<int64_t>(m)];
    ASSIGN_OR_RETURN(const Tensor factors, LoadLlamaInto(DataSetPlace(request, request.settings.model.folder), *request.settings.model.config,
                                                         ViewParameters(layout, row)));
    Tensor own = row.narrow(0, scales.offset, scales.size);
    if (factors.defined()) {
      own.copy_(factors.flatten());
    } else {
      own.fill_(1);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelFolder> CheckModelFolder(const std::filesystem::path& folder) {
  return Caught<ModelFolder>([&]() -> absl::StatusOr<ModelFolder> {
    ASSIGN_OR_RETURN(StoredLlama stored, InspectLlama(folder));
    if (const absl::Status known = CheckVocabulary(stored.config); !known.ok()) {
      return absl::Status(known.code(), Text((folder / "config.json").string(), ": ", known.message()));
    }
    ModelFolder model{.files = std::move(stored.files), .description = "", .nope = stored.config.nope};
    model.description = Text(stored.config.layers, " layers", stored.config.unrotated.empty() ? "" : Text(" (", stored.config.unrotated.size(), " without positions)"), " of width ", stored.config.hidden_dim, ", ", stored.parameters, " parameters (",
                             Join(stored.types, ", "), "), ", stored.config.vocabulary, " tokens");
    std::error_code error;
    if (!std::filesystem::exists(folder / kTokenizer, error)) {
      if (std::filesystem::exists(folder / "tokenizer.json", error)) {
        model.skipped.push_back(Text("tokenizer.json: it is not read; passkeys and LongBench need ", kTokenizer));
      }
      return model;
    }
    RETURN_IF_ERROR(CheckSpecialTokens(folder));
    RETURN_IF_ERROR(tokenizer::TokenizerOfFolder(folder, {.vocabulary = stored.config.vocabulary, .bos = stored.config.bos}).status());
    model.files.emplace_back(kTokenizer);
    return model;
  });
}

}  // namespace longreach::trainer
