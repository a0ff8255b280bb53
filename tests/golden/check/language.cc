#include "tests/golden/check/language.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "proto/base/text.h"
#include "tests/golden/check/stored.h"
#include "worker/trainer/attention_series.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/engine.h"

namespace longreach::golden {

namespace {

using trainer::Batch;
using trainer::Distances;
using trainer::PackSettings;
using trainer::PackState;
using trainer::Parameter;
using trainer::StepEngine;

constexpr double kLanguageLogits = 2e-5;
constexpr double kAttention = 2e-6;
constexpr double kLanguageLossRelative = 1e-5;
constexpr double kLanguageGradientRelative = 1e-4;
constexpr double kLanguageGradientAbsolute = 1e-7;
// Of 256 logits every eighth is stored.
constexpr int64_t kEvery = 8;
constexpr int kMaxSize = 4096;

PackSettings SettingsOf(const SafetensorsFile& file, bool decoder) {
  const auto number = [&](const std::string& key) {
    const std::optional<int64_t> value = ParseInteger(file.Metadata(key));
    return value && *value > 0 && *value <= kMaxSize ? static_cast<int>(*value) : 0;
  };
  PackSettings settings;
  settings.experiment = decoder ? "language" : "images";
  settings.task = decoder ? "enwik8" : "imagenet";
  settings.data = "golden";
  settings.encoding = file.Metadata("encoding");
  settings.randomized = file.Metadata("randomized") == "true";
  PackSettings::Model& model = settings.model;
  model.layers = number("layers");
  model.decoder_layers = number("decoder_layers");
  model.embedding_dim = number("dim");
  model.heads = number("heads");
  model.mlp_dim = number("mlp");
  model.classes = number("classes");
  model.learned_rows = number("rows");
  model.sandwich_dim = number("sandwich_dim");
  if (settings.encoding == "t5") {
    model.t5_buckets = number("t5_buckets");
    model.t5_max_distance = number("t5_max_distance");
  }
  if (settings.encoding == "fire") {
    model.fire_width = number("fire_width");
    model.fire_threshold = number("fire_threshold");
    model.fire_shared = file.Metadata("fire_shared") == "true";
  }
  model.dropout = 0;
  settings.positions.max_position = number("rows");
  settings.training.lengths = {8};  // Of either kind: 8 bytes, or 2 x (3 + 1) pixels.
  return settings;
}

// What is stored as drawn, or else consecutive.
absl::Status TakePositions(const SafetensorsFile& file, const PackSettings& settings, trainer::PositionUse use, Batch& batch) {
  batch.positions = trainer::DrawPositions([&] {
    PackSettings plain = settings;
    plain.randomized = false;
    return plain;
  }(), use, batch.tape, batch.size, {});
  if (const auto drawn = Integers(file, "positions")) {
    const int64_t count = static_cast<int64_t>(drawn->size());
    if (count != batch.tape && count != batch.size * batch.tape) return absl::InvalidArgumentError("positions do not fit the tape");
    batch.positions.embedding = at::tensor(*drawn, at::kLong);
    if (count != batch.tape) batch.positions.embedding = batch.positions.embedding.view({batch.size, batch.tape});
  }
  for (int layer = 0; layer < settings.model.layers; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    if (const auto drawn = Integers(file, Text("positions", layer)); drawn && l < batch.positions.rotation.size()) {
      batch.positions.rotation[l] = at::tensor(*drawn, at::kLong);
    }
    if (const auto drawn = Integers(file, Text("distances", layer)); drawn && l < batch.positions.distances.size()) {
      if (static_cast<int64_t>(drawn->size()) != batch.tape) return absl::InvalidArgumentError("distances do not fit the tape");
      batch.positions.distances[l] = Distances::ByOffset(*drawn, settings.experiment == "language");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Batch> BatchOf(const SafetensorsFile& file, const PackSettings& settings, trainer::PositionUse use) {
  const SafetensorsEntry *tokens = file.Find("tokens"), *targets = file.Find("targets");
  const auto token_values = Integers(file, "tokens"), target_values = Integers(file, "targets");
  if (!token_values || !target_values || tokens->shape.size() != 2 || targets->shape.size() != 2 || token_values->empty() ||
      tokens->shape[0] != targets->shape[0]) {
    return absl::InvalidArgumentError("no tokens [B, T] and targets [B, outputs]");
  }
  Batch batch;
  batch.size = tokens->shape[0];
  batch.tape = tokens->shape[1];
  batch.outputs = targets->shape[1];
  batch.tokens.assign(token_values->begin(), token_values->end());
  batch.targets.assign(target_values->begin(), target_values->end());
  batch.valid.assign(static_cast<size_t>(batch.size), static_cast<int32_t>(batch.outputs));
  if (std::ranges::any_of(batch.tokens, [](uint16_t token) { return token > 256; })) {
    return absl::InvalidArgumentError("a token is neither a byte nor the begin");
  }
  RETURN_IF_ERROR(TakePositions(file, settings, use, batch));
  return batch;
}

struct PackPlace {
  std::string name;
  int members;
  int64_t member;
  bool whole_pack;
};

void CheckAt(const SafetensorsFile& file, const SafetensorsFile& shared, const PackSettings& settings, const PackPlace& place,
             FileCheck& check) {
  const bool decoder = settings.experiment == "language";
  const std::unique_ptr<StepEngine> engine =
      trainer::MakeLibtorchEngine(settings, {.threads = 2, .whole_pack = place.whole_pack});
  const absl::StatusOr<Batch> batch = BatchOf(file, settings, engine->model().encoding().Use());
  check.Require(batch.ok(), std::string(batch.status().message()));
  if (!batch.ok()) return;
  const trainer::ParameterLayout& layout = engine->model().layout();
  std::vector<trainer::Member> members(static_cast<size_t>(place.members));
  for (size_t m = 0; m < members.size(); ++m) members[m].seed = static_cast<uint32_t>(100 + m);
  PackState state = trainer::InitialState(layout, members);
  const auto part = [&](const Tensor& flat, const Parameter& parameter) {
    return flat[place.member].narrow(0, parameter.offset, parameter.size).view(parameter.shape);
  };
  for (const Parameter& parameter : layout.parameters()) {
    std::optional<Tensor> initial = Floats(file, "param/" + parameter.name);
    if (!initial) initial = Floats(shared, "param/" + parameter.name);
    const bool fits = initial && initial->sizes() == at::IntArrayRef(parameter.shape);
    check.Require(fits, "param/" + parameter.name + " is missing or has another shape");
    if (!fits) return;
    part(state.parameters, parameter).copy_(*initial);
  }
  const auto name = [&](const std::string& what) { return place.name + " " + what; };
  const auto some_columns = [&](const Tensor& all) { return decoder ? all.slice(-1, 0, all.size(-1), kEvery).contiguous() : all; };
  const std::optional<Tensor> logits = Floats(file, "logits"), loss = Floats(file, "loss");
  check.Require(logits && loss, "has no logits and loss");
  if (!logits || !loss) return;
  const Tensor ours = some_columns(engine->Logits(*batch, state)[place.member]);
  check.Require(ours.numel() == logits->numel(), "logits of another shape");
  if (ours.numel() != logits->numel()) return;
  CompareTensors(name("logits"), ours.view(logits->sizes()), *logits, kLanguageLogits, check);
  if (!place.whole_pack) {
    // As the figure of a trained job has it: of one member, by a model of its own.
    const std::optional<Tensor> attention = Floats(file, "attention");
    const Tensor attended = trainer::AttentionOf(engine->model(), trainer::ViewParameters(layout, state.parameters[place.member]),
                                                 *batch, [] {});
    check.Require(attention && attention->sizes() == attended.sizes(), "attention is missing or has another shape");
    if (attention && attention->sizes() == attended.sizes()) CompareTensors(name("attention"), attended, *attention, kAttention, check);
  }
  const double expected = loss->item<double>();
  const double tested = engine->Evaluate(*batch, state, [] {})[static_cast<size_t>(place.member)].loss;
  check.Compare(name("test loss"), tested - expected, kLanguageLossRelative * std::abs(expected));
  const double trained = engine->Gradients(*batch, state)[static_cast<size_t>(place.member)];
  check.Compare(name("loss"), trained - expected, kLanguageLossRelative * std::abs(expected));
  for (const Parameter& parameter : layout.parameters()) {
    Tensor gradient = part(engine->gradients(), parameter);
    if (const auto rows = Integers(file, "rows/" + parameter.name)) gradient = gradient.index_select(0, at::tensor(*rows, at::kLong));
    if (parameter.name == "out.w") gradient = some_columns(gradient);
    const std::optional<Tensor> stored = Floats(file, "grad/" + parameter.name);
    check.Require(stored && stored->sizes() == gradient.sizes(), "grad/" + parameter.name + " is missing or has another shape");
    if (!stored || stored->sizes() != gradient.sizes()) continue;
    CompareTensors(name("grad/" + parameter.name), gradient, *stored,
                   kLanguageGradientRelative * stored->abs().max().item<double>() + kLanguageGradientAbsolute, check);
  }
}

}  // namespace

void CheckLanguage(const std::filesystem::path& folder, Report& report) {
  std::set<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "vectors", error)) {
    if (entry.path().extension() == ".safetensors") files.insert(entry.path());
  }
  for (const std::filesystem::path& path : files) {
    FileCheck check("vectors/" + path.filename().string());
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    check.Require(file.ok(), std::string(file.status().message()));
    if (file.ok()) {
      const bool decoder = file->Metadata("model") == "decoder";
      const absl::StatusOr<SafetensorsFile> shared =
          SafetensorsFile::Open(folder / "vectors" / (decoder ? "decoder_none.safetensors" : "encoder_decoder_none.safetensors"));
      check.Require(shared.ok(), std::string(shared.status().message()));
      PackSettings settings = SettingsOf(*file, decoder);
      const absl::Status valid = trainer::Validate(settings);
      check.Require(valid.ok(), Text("its description: ", valid.message()));
      // A sweep has these for algorithmic tasks alone; the blocks are the same ones.
      if (file->Metadata("norm") == "pre") settings.model.norm = PackSettings::Model::Norm::kPre;
      if (shared.ok() && valid.ok()) {
        for (const PackPlace& place : {PackPlace{"alone", 1, 0, false}, PackPlace{"in a pack of 3", 3, 1, false},
                                       PackPlace{"in a batched pack of 3", 3, 2, true}}) {
          CheckAt(*file, *shared, settings, place, check);
        }
      }
    }
    report.Add(check);
  }
}

}  // namespace longreach::golden
