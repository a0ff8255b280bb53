#include "tests/golden/check/nope/models.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "proto/base/text.h"
#include "tests/golden/check/nope/checks.h"
#include "tests/golden/check/stored.h"
#include "worker/trainer/device.h"

namespace longreach::golden {

namespace {

using nlohmann::json;
using trainer::AttentionTrace;
using trainer::LlamaConfig;
using trainer::LlamaDecoder;
using trainer::LlamaFeed;
using trainer::LlamaModel;
using trainer::RopeScaling;
using trainer::ThreadPool;

// Of the set's README, for an implementation in float32.
constexpr double kLlamaLogits = 2e-4;
constexpr double kEntropy = 1e-4;
constexpr double kTokenLoss = 1e-4;
constexpr double kGradient = 1e-5;

LlamaFeed FeedOf(const Tensor& tokens, ThreadPool* pool) {
  LlamaFeed feed;
  feed.batch = tokens.size(0);
  feed.length = tokens.size(1);
  feed.tokens = tokens.reshape({-1});
  feed.pool = pool;
  return feed;
}

// input_ids [B, T].
absl::StatusOr<Tensor> Tokens(NopeSet& set, const std::string& file, int64_t vocabulary) {
  ASSIGN_OR_RETURN(const SafetensorsFile inputs, set.Safetensors(file));
  ASSIGN_OR_RETURN(const std::vector<int64_t> ids, inputs.Longs("input_ids"));
  const std::vector<int64_t>& shape = inputs.Find("input_ids")->shape;
  if (shape.size() != 2 || ids.empty() || !std::ranges::all_of(ids, [&](int64_t id) { return id >= 0 && id < vocabulary; })) {
    return absl::InvalidArgumentError(Text(file, ": input_ids are not [B, T] tokens of the vocabulary"));
  }
  return at::tensor(ids, at::kLong).view(shape);
}

void CompareValue(const std::string& what, double ours, const json& stored, double tolerance, FileCheck& check) {
  check.Compare(what, stored.is_number() ? ours - stored.get<double>() : std::nan(""), tolerance);
}

// Everything that a case stores, from one pass over its input.
void CheckPass(const NopeCase& run, const Tensor& tokens, const SafetensorsFile& stored, const json& record, FileCheck& check,
               FileCheck& manifest) {
  ThreadPool pool(kNopeThreads);
  std::vector<AttentionTrace> traces;
  LlamaFeed feed = FeedOf(tokens.to(run.device()), &pool);
  feed.traces = &traces;
  feed.trace_probabilities = stored.Find("attn_item0") != nullptr;
  Tensor logits, token_losses;
  {
    const torch::NoGradGuard no_gradient;
    if (run.factors.defined()) feed.head_factors = run.Factors();
    logits = run.decoder->Logits(run.parameters,
        run.decoder->Hidden(run.parameters, feed)).view({tokens.size(0), tokens.size(1), -1});
    LlamaFeed plain = feed;
    plain.traces = nullptr;
    token_losses = run.decoder->TokenLosses(run.parameters, plain);
  }
  for (const json& name : record.is_null() ? json::array({"logits"}) : record.at("tensors")) {
    check.Require(stored.Find(name.get<std::string>()) != nullptr, "lacks " + name.dump());
  }
  const double loss = token_losses.to(at::kDouble).mean().item<double>();
  std::vector<Tensor> entropies, weights;
  for (const AttentionTrace& trace : traces) {
    entropies.push_back(trace.entropy);
    if (trace.probabilities.defined()) weights.push_back(trace.probabilities[0]);
  }
  const Tensor entropy = at::stack(entropies);  // [L, B, H, T].
  if (const auto expected = Floats(stored, "logits")) CompareTensors("logits", logits, *expected, kLlamaLogits, check);
  if (const auto expected = Floats(stored, "nll")) CompareTensors("nll", token_losses, *expected, kTokenLoss, check);
  if (const auto expected = Floats(stored, "loss")) CompareTensors("loss", at::tensor({loss}), *expected, kNopeLoss, check);
  if (const auto expected = Floats(stored, "entropy_nats")) CompareTensors("entropy_nats", entropy, *expected, kEntropy, check);
  if (const auto expected = Floats(stored, "mean_entropy_nats")) {
    CompareTensors("mean_entropy_nats", entropy.mean({0, 1, 2}), *expected, kEntropy, check);
  }
  if (const auto expected = Floats(stored, "attn_item0")) {
    CompareTensors("attn_item0", at::stack(weights), *expected, kEntropy, check);
  }
  if (const auto expected = Floats(stored, "head_scale"); expected && run.factors.defined()) {
    CompareTensors("head_scale", run.factors, *expected, 0, check);
  }
  if (const auto expected = Floats(stored, "dloss_dscale")) {
    const Tensor factors = run.factors.detach().clone().requires_grad_(true);
    feed.traces = nullptr;
    feed.head_factors = run.relu ? at::relu(factors) : factors;
    const Tensor mean = run.decoder->TokenLosses(run.parameters, feed).mean();
    const Tensor gradient = torch::autograd::grad({mean}, {factors})[0];
    CompareTensors("dloss_dscale", gradient, *expected, kGradient, check);
  }
  if (record.is_null()) return;
  const std::string name = record.at("name").get<std::string>();
  CompareValue(name + " loss", loss, record.at("loss"), kNopeLoss, manifest);
  CompareValue(name + " ppl", std::exp(loss) / record.at("ppl").get<double>(), 1, kNopePerplexityRelative, manifest);
  CompareValue(name + " mean entropy", entropy.mean().item<double>(), record.at("mean_entropy_nats_all"), kEntropy, manifest);
}

const json* RecordOf(const json& manifest, const std::string& name) {
  for (const json& record : manifest.at("cases")) {
    if (record.at("name") == name) return &record;
  }
  return nullptr;
}

// One file of cases/. Those that the manifest does not have run a model's folder as it is: NAME.WHAT runs models/NAME.
void CheckCase(NopeSet& set, const json& manifest_json, const std::string& name, Report& report, FileCheck& manifest) {
  const std::string file = "cases/" + name + ".safetensors";
  FileCheck check(file);
  const json* const record = RecordOf(manifest_json, name);
  const std::string model = name.substr(0, name.find('.'));
  absl::StatusOr<NopeCase> run = record != nullptr ? MakeCase(set, manifest_json, name)
      : AsStored(set.folder() / "models" / model);
  const absl::StatusOr<SafetensorsFile> stored = set.Safetensors(file);
  check.Require(run.ok(), std::string(run.status().message()));
  check.Require(stored.ok(), std::string(stored.status().message()));
  if (run.ok() && stored.ok()) {
    const std::string inputs = record != nullptr ? record->at("inputs").get<std::string>()
        : Text("inputs/", model.substr(0, model.find('_')), ".safetensors");
    const absl::StatusOr<Tensor> tokens = Tokens(set, inputs, run->model.config.vocabulary);
    check.Require(tokens.ok(), std::string(tokens.status().message()));
    if (tokens.ok()) {
      const auto pass = [&] { CheckPass(*run, *tokens, *stored, record != nullptr ? *record : json(), check, manifest); };
      pass();
      if (set.on_gpu()) {
        for (FileCheck* one : {&check, &manifest}) one->SetPlace("on the GPU");
        run = OnGpu(*std::move(run));
        pass();
        manifest.SetPlace("");
      }
    }
  }
  report.Add(check);
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || (a.scalar_type() == b.scalar_type() && at::equal(a, b)));
}

// The folder loads; what is written of it and read again is the same; a sharded one is the same as its model in one file.
void CheckFolder(NopeSet& set, const std::string& name, Report& report) {
  const std::string relative = "models/" + name;
  FileCheck check(relative);
  const absl::StatusOr<LlamaModel> model = trainer::LoadLlama(set.folder() / relative);
  check.Require(model.ok(), std::string(model.status().message()));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(set.folder() / relative, error)) {
    set.Claim(relative + "/" + entry.path().filename().string());
  }
  if (model.ok()) {
    std::string beside = (std::filesystem::temp_directory_path(error) / "golden_check_XXXXXX").string();
    check.Require(mkdtemp(beside.data()) != nullptr, "no folder to write to at " + beside);
    const std::filesystem::path copy = std::filesystem::path(beside) / "model";
    const absl::Status written = trainer::WriteLlama(copy, *model);
    check.Require(written.ok(), std::string(written.message()));
    const absl::StatusOr<LlamaModel> again = trainer::LoadLlama(copy);
    check.Require(again.ok() && SameBits(model->parameters, again->parameters) &&
        SameBits(model->head_factors, again->head_factors),
                  "written and read again it has other bits");
    std::filesystem::remove_all(beside, error);
    if (const size_t sharded = name.find("_sharded"); sharded != std::string::npos) {
      const absl::StatusOr<LlamaModel> whole = trainer::LoadLlama(set.folder() / "models" / name.substr(0, sharded));
      check.Require(whole.ok() && SameBits(model->parameters, whole->parameters), "has other bits than the model in one file");
    }
    if (const json generation = set.Json(relative + "/generation_config.json"); generation.is_object()) {
      check.Require(generation.value("bos_token_id", -1) == model->config.bos.value_or(-1),
          "generation_config.json has another bos_token_id");
      check.Require(model->config.eos == std::vector<int64_t>{generation.value("eos_token_id", int64_t{-1})},
                    "generation_config.json has another eos_token_id");
    }
  }
  report.Add(check);
}

// The names of what lies in a part of the set, sorted.
std::vector<std::string> NamesIn(const NopeSet& set, const std::string& part) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(set.folder() / part, error)) {
    names.push_back(entry.is_directory() ? entry.path().filename().string() : entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

absl::StatusOr<NopeCase> Ready(LlamaModel model) {
  NopeCase run;
  run.model = std::move(model);
  run.decoder = std::make_unique<LlamaDecoder>(run.model.config);
  run.parameters = trainer::ViewParameters(run.decoder->layout(), run.model.parameters);
  run.factors = run.model.head_factors;
  return run;
}

}  // namespace

NopeCase OnGpu(NopeCase run) {
  run.model.parameters = run.model.parameters.to(trainer::DeviceOf(true));
  run.parameters = trainer::ViewParameters(run.decoder->layout(), run.model.parameters);
  return run;
}

absl::StatusOr<NopeCase> AsStored(const std::filesystem::path& folder) {
  // Expected numbers are in float32, of weights as they are stored.
  ASSIGN_OR_RETURN(LlamaModel model, trainer::LoadLlama(folder, {.type = at::kFloat, .nope = {}}));
  return Ready(std::move(model));
}

absl::StatusOr<NopeCase> MakeCase(NopeSet& set, const json& manifest, const std::string& name) {
  const json* const record = RecordOf(manifest, name);
  if (record == nullptr) return absl::NotFoundError(Text("manifest.json has no case '", name, "'"));
  const std::filesystem::path folder = set.folder() / record->at("model").get<std::string>();
  ASSIGN_OR_RETURN(LlamaModel model, trainer::LoadLlama(folder, {.type = at::kFloat, .nope = record->at("nope").get<bool>()}));
  // The case's own settings go over those of the folder, by the same reader.
  json config = json::parse(trainer::LlamaConfigJson(model.config, "float32"));
  for (const char* key : {"rope_scaling", "rope_theta", "max_position_embeddings"}) config[key] = record->at(key);
  ASSIGN_OR_RETURN(model.config, trainer::ParseLlamaConfig(config.dump()));
  ASSIGN_OR_RETURN(NopeCase run, Ready(std::move(model)));
  run.relu = record->at("relu_on_scale").get<bool>();
  const json& factor = record->at("query_factor");
  const LlamaConfig& of = run.model.config;
  if (factor.is_number()) {
    run.factors = factor == 1.0 ? Tensor() : at::full({of.layers, of.heads}, factor.get<double>(), at::kFloat);
  } else {
    ASSIGN_OR_RETURN(const SafetensorsFile outputs, set.Safetensors(record->at("outputs").get<std::string>()));
    const std::optional<Tensor> stored = Floats(outputs, "head_scale");
    if (!stored || stored->sizes() != at::IntArrayRef{of.layers, of.heads}) {
      return absl::InvalidArgumentError(Text(name, " has no head_scale of its model's shape"));
    }
    run.factors = *stored;
  }
  return run;
}

void CheckNopeModels(NopeSet& set, Report& report) {
  for (const std::string& name : NamesIn(set, "models")) CheckFolder(set, name, report);
  CheckJson(set, "manifest.json", report, [&](const json& manifest, FileCheck& check) {
    for (const std::string& name : NamesIn(set, "cases")) CheckCase(set, manifest, name, report, check);
    for (const json& record : manifest.at("cases")) {
      const std::string outputs = record.at("outputs").get<std::string>();
      if (!set.Has(outputs)) report.Absent(outputs);
    }
  });
}

}  // namespace longreach::golden
