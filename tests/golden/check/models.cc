#include "tests/golden/check/models.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "tests/golden/check/rounding_spread.h"
#include "tests/golden/check/stored.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::golden {

namespace {

using trainer::Batch;
using trainer::PackSettings;
using trainer::PackState;
using trainer::Parameter;
using trainer::PositionUse;
using trainer::StepEngine;

constexpr int kUpdates = 3;
constexpr double kLearningRate = 3e-4;
constexpr double kLogits = 1e-4;
constexpr double kLossRelative = 1e-5;
constexpr double kGradientRelative = 1e-4;
constexpr double kGradientAbsolute = 1e-6;
constexpr double kParameter = 2e-6;
// Below this share of the largest gradient of its tensor the sign of a gradient may be rounding, and Adam
// moves by its sign.
constexpr double kGradientWithSign = 1e-5;
// The same for gradients of later updates, whose own tolerance is this: parameters that moved by a rounded
// sign change them.
constexpr double kLaterGradientWithSign = kGradientRelative;

// The same for engines whose products have rounded operands, besides kTimesSpread times what rounding the parameters makes of this very model and
// batch (rounding_spread.h). Of a tensor's gradient: of its norm, and of that of the whole gradient.
constexpr double kRoundedLoss = 4e-3;
constexpr double kRoundedNorm = 0.04;
constexpr double kRoundedTensor = 0.1;
constexpr double kRoundedShareOfWhole = 0.02;
constexpr double kTimesSpread = 2;
// The share of these errors that operands of 11 bits make in the first update, where 8 make them whole. Later ones are of parameters that Adam moved
// by other signs.
constexpr double kShareOfElevenBits = 0.25;

// The stored model: its own file, and the one that holds the parameters it shares.
struct Stored {
  const SafetensorsFile* file;
  const SafetensorsFile* shared;

  std::optional<Tensor> Initial(const std::string& parameter) const {
    if (std::optional<Tensor> own = Floats(*file, "param/" + parameter)) return own;
    return shared == nullptr ? std::nullopt : Floats(*shared, "param/" + parameter);
  }
  // Metadata are texts of JSON: "2", "\"rope\"".
  nlohmann::json Describes(const std::string& key) const {
    return nlohmann::json::parse(file->Metadata(key), nullptr, false);
  }
};

absl::StatusOr<PackSettings> Settings(const Stored& stored) {
  PackSettings settings;
  const auto text = [&](const std::string& key) {
    const nlohmann::json value = stored.Describes(key);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const auto number = [&](const std::string& key) {
    const nlohmann::json value = stored.Describes(key);
    return value.is_number_integer() && value.get<int64_t>() > 0 && value.get<int64_t>() < (1 << 20)
               ? value.get<int>()
               : 0;
  };
  settings.task = text("task");
  settings.encoding = text("encoding");
  const std::string prefix = "rand_";
  settings.randomized = settings.encoding.starts_with(prefix);
  if (settings.randomized) settings.encoding.erase(0, prefix.size());
  const std::string variant = text("variant");
  if (!variant.empty() && variant != "as_released") {
    return absl::InvalidArgumentError("unknown variant '" + variant + "'");
  }
  settings.positions.relative_as_released = variant == "as_released";
  settings.positions.max_position = number("noise_max_length");
  settings.model.layers = number("num_layers");
  settings.model.embedding_dim = number("embedding_dim");
  settings.model.heads = number("num_heads");
  settings.model.dropout = 0;
  const std::optional<Tensor> mlp = stored.Initial("layer0.ffn1.w");
  settings.model.mlp_dim = mlp && mlp->dim() == 2 ? static_cast<int>(mlp->size(1)) : 0;
  const std::optional<Tensor> table = stored.Initial("pos.table");
  if (table && table->dim() == 2) settings.model.learned_rows = static_cast<int>(table->size(0));
  settings.training.steps = kUpdates;
  settings.training.batch_size = number("batch");
  settings.training.lengths = {1};
  settings.evaluation.examples = number("batch");
  RETURN_IF_ERROR(trainer::Validate(settings));
  return settings;
}

// Batch S with the positions that the file holds.
absl::StatusOr<Batch> StoredBatch(const Stored& stored, const PackSettings& settings, PositionUse use,
                                  int s) {
  const std::string prefix = "batch" + std::to_string(s) + "/";
  const catalog::Task& task = *catalog::FindTask(settings.task);
  const SafetensorsEntry* shape = stored.file->Find(prefix + "input");
  const auto tokens = Integers(*stored.file, prefix + "input"),
             targets = Integers(*stored.file, prefix + "target");
  const auto bad = [&](std::string_view why) { return absl::InvalidArgumentError(Text(prefix, ": ", why)); };
  if (!tokens || !targets || shape->shape.size() != 2 || tokens->empty()) {
    return bad("no input [B, n] and target [B, out]");
  }
  const int64_t size = shape->shape[0], length = shape->shape[1];
  if (size != settings.training.batch_size ||
      static_cast<int64_t>(targets->size()) != size * task.OutputTokens(length)) {
    return bad("not of the size that the description says");
  }
  const auto within = [](const std::vector<int64_t>& values, int64_t limit) {
    return std::ranges::all_of(values, [&](int64_t value) { return value >= 0 && value < limit; });
  };
  if (!within(*tokens, task.input_vocabulary) || !within(*targets, task.output_vocabulary)) {
    return bad("a token is not in the vocabulary");
  }
  const std::vector<uint8_t> inputs(tokens->begin(), tokens->end());
  const std::vector<uint8_t> outputs(targets->begin(), targets->end());
  // The mask of the accuracy is the task's own work.
  const int64_t out = task.OutputTokens(length);
  std::vector<int32_t> valid;
  for (int64_t b = 0; b < size; ++b) {
    std::vector<uint8_t> target(static_cast<size_t>(out));
    valid.push_back(trainer::tasks::FindTask(settings.task)
                        ->Solve({inputs.data() + b * length, static_cast<size_t>(length)}, target));
    if (!std::equal(target.begin(), target.end(), outputs.begin() + b * out)) {
      return bad("a target is not the solution of its input");
    }
  }
  Batch batch = trainer::OnTape(size, inputs, outputs, valid, task.input_vocabulary);

  const auto draw = [&](int layer) {
    return Integers(*stored.file, prefix + "draw" + std::to_string(layer));
  };
  if (const auto offsets = Integers(*stored.file, prefix + "offsets")) {
    if (static_cast<int64_t>(offsets->size()) != size || !within(*offsets, 1 << 20)) {
      return bad("not one offset per sequence");
    }
    batch.positions.embedding =
        at::tensor(*offsets, at::kLong).unsqueeze(1) + at::arange(batch.tape, at::kLong);
    return batch;
  }
  if (!settings.randomized) {
    batch.positions = trainer::DrawPositions(settings, use, batch.tape, size, {});
    return batch;
  }
  const int draws = use == PositionUse::kEmbedding ? 1 : settings.model.layers;
  for (int layer = 0; layer < draws; ++layer) {
    std::optional<std::vector<int64_t>> drawn = draw(layer);
    if (drawn && use == PositionUse::kDistances) drawn->insert(drawn->begin(), 0);
    if (!drawn || static_cast<int64_t>(drawn->size()) != batch.tape ||
        !within(*drawn, settings.positions.max_position)) {
      return bad(Text("draw", layer, " does not fit the tape"));
    }
    if (use == PositionUse::kEmbedding) batch.positions.embedding = at::tensor(*drawn, at::kLong);
    if (use == PositionUse::kRotation) batch.positions.rotation.push_back(at::tensor(*drawn, at::kLong));
    if (use == PositionUse::kDistances) {
      batch.positions.distances.push_back(trainer::Distances::ByOffset(*drawn));
    }
  }
  return batch;
}

// One way of computing the model: where in a pack of how many it sits.
struct Arrangement {
  std::string name;
  int members;
  int member;
  bool whole_pack;
  std::string engine = "libtorch";
  bool cuda = false;
};

class ModelCheck {
 public:
  ModelCheck(const Stored& stored, const PackSettings& settings, const Arrangement& arrangement, RoundingSpreads& spreads, FileCheck& check)
      : stored_(stored),
        arrangement_(arrangement),
        spreads_(spreads),
        check_(check),
        engine_(trainer::MakeEngine(
            settings, {.threads = 2, .cuda = arrangement.cuda, .whole_pack = arrangement.whole_pack, .engine = arrangement.engine},
            [](const std::string&) {})),
        member_(arrangement.member) {}

  void Run(const std::vector<Batch>& batches) {
    // An engine that does not know these settings leaves them to LibTorch, which is checked by itself.
    if (!engine_->Name().starts_with(arrangement_.engine)) return;
    if (!Start()) return;
    if (engine_->OperandBits() < std::numeric_limits<float>::digits) return RunRounded(batches);
    const trainer::ParameterLayout& layout = engine_->model().layout();
    CompareScalarOrTensor("step0/logits", batches[0]);
    const trainer::TestResult test = engine_->Evaluate(batches[0], state_, [] {})[Index()];
    if (const auto accuracy = Floats(*stored_.file, "step0/accuracy")) {
      check_.Compare(Name("step0/accuracy"),
                     static_cast<double>(test.hits) / static_cast<double>(test.counted) - Value(*accuracy),
                     1e-6);
    }
    for (int update = 0; update < kUpdates; ++update) {
      const std::vector<double> losses = engine_->Gradients(batches[static_cast<size_t>(update)], state_);
      if (update > 0) RememberSigns();
      if (update == 0) {
        if (const auto loss = Floats(*stored_.file, "step0/loss")) {
          check_.Compare(Name("test loss"), test.loss - Value(*loss), kLossRelative * std::abs(Value(*loss)));
        }
        for (const Parameter& parameter : layout.parameters()) CompareGradient(parameter);
      }
      const trainer::StepResult result = engine_->Update(losses, learning_rates_, state_)[Index()];
      const std::string step = "step" + std::to_string(update) + "/";
      if (const auto loss = Floats(*stored_.file, step + "loss")) {
        check_.Compare(Name(step + "loss"), result.loss - Value(*loss),
                       kLossRelative * std::abs(Value(*loss)));
      }
      if (const auto norm = Floats(*stored_.file, step + "grad_norm")) {
        check_.Compare(Name(step + "grad_norm"), result.gradient_norm - Value(*norm),
                       kGradientRelative * Value(*norm) + kGradientAbsolute);
      }
      for (const Parameter& parameter : layout.parameters()) CompareUpdated(parameter, update + 1);
    }
  }

  // Of an engine with rounded operands: losses and sizes of gradients. Its member begins with the stored parameters.
  void RunRounded(const std::vector<Batch>& batches) {
    const RoundingSpread& spread = spreads_.Of(engine_->OperandBits(), state_.parameters[member_].cpu());
    for (int update = 0; update < kUpdates; ++update) {
      const std::vector<double> losses = engine_->Gradients(batches[static_cast<size_t>(update)], state_);
      const std::string step = "step" + std::to_string(update) + "/";
      const std::optional<Tensor> loss = Floats(*stored_.file, step + "loss"), norm = Floats(*stored_.file, step + "grad_norm");
      check_.Require(loss && norm, Text(step, " has no loss or no grad_norm"));
      if (!loss || !norm) return;
      if (update == 0) {
        const std::span<const Parameter> parameters = engine_->model().layout().parameters();
        for (size_t p = 0; p < parameters.size(); ++p) CompareSize(parameters[p], Value(*norm), spread.size[p]);
      }
      const trainer::StepResult result = engine_->Update(losses, learning_rates_, state_)[Index()];
      const double share = update == 0 ? Share() : 1;
      check_.Compare(Name(step + "loss"), result.loss - Value(*loss),
                     share * kRoundedLoss * std::abs(Value(*loss)) + kTimesSpread * spread.loss[static_cast<size_t>(update)]);
      check_.Compare(Name(step + "grad_norm"), result.gradient_norm - Value(*norm),
                     share * kRoundedNorm * Value(*norm) + kTimesSpread * spread.norm[static_cast<size_t>(update)]);
    }
  }

 private:
  double Share() const { return engine_->OperandBits() >= 11 ? kShareOfElevenBits : 1; }

  void CompareSize(const Parameter& parameter, double whole, double spread) {
    double size = 0;
    if (const auto norm = Floats(*stored_.file, "gradnorm/" + parameter.name)) {
      size = Value(*norm);
    } else if (const auto gradient = Floats(*stored_.file, "grad/" + parameter.name)) {
      size = gradient->to(at::kDouble).norm().item<double>();
    } else {
      return check_.Require(false, Text("no gradient of ", parameter.name));
    }
    check_.Compare(Name("size of grad/" + parameter.name), Part(Gradients(), parameter).to(at::kDouble).norm().item<double>() - size,
                   Share() * (kRoundedTensor * size + kRoundedShareOfWhole * whole) + kTimesSpread * spread);
  }

  // From where the engine computes.
  Tensor Gradients() const { return engine_->gradients().cpu(); }
  size_t Index() const { return static_cast<size_t>(member_); }
  std::string Name(const std::string& what) const { return arrangement_.name + " " + what; }
  static double Value(const Tensor& tensor) {
    return tensor.numel() == 1 ? tensor.item<double>() : std::nan("");
  }
  Tensor Part(const Tensor& flat, const Parameter& parameter) const {
    return flat[member_].narrow(0, parameter.offset, parameter.size).view(parameter.shape);
  }

  // A pack whose other members have other seeds and learning rates, with the stored parameters in its member.
  bool Start() {
    const trainer::ParameterLayout& layout = engine_->model().layout();
    std::vector<trainer::Member> members(static_cast<size_t>(arrangement_.members));
    for (size_t m = 0; m < members.size(); ++m) {
      members[m].seed = static_cast<uint32_t>(100 + m);
      learning_rates_.push_back(m == Index() ? kLearningRate : 0.01 * static_cast<double>(m + 1));
    }
    state_ = trainer::InitialState(layout, members);
    int64_t stored_numbers = 0;
    for (const Parameter& parameter : layout.parameters()) {
      const std::optional<Tensor> initial = stored_.Initial(parameter.name);
      const bool fits = initial && initial->sizes() == at::IntArrayRef(parameter.shape);
      check_.Require(fits, "param/" + parameter.name +
                               " is missing (here and in the file it shares with) or has another shape");
      if (!fits) return false;
      Part(state_.parameters, parameter).copy_(*initial);
      stored_numbers += initial->numel();
    }
    const nlohmann::json count = stored_.Describes("num_parameters");
    check_.Require(count.is_number_integer() && count.get<int64_t>() == stored_numbers,
                   Text("num_parameters is not ", stored_numbers));
    state_.MoveTo(engine_->device());
    return true;
  }

  void CompareScalarOrTensor(const std::string& name, const Batch& batch) {
    const std::optional<Tensor> logits = Floats(*stored_.file, name);
    if (!logits) return;
    const Tensor ours = engine_->Logits(batch, state_)[member_].cpu();
    if (ours.numel() != logits->numel()) {
      check_.Require(false, Name(name) + ": has another shape");
      return;
    }
    CompareTensors(Name(name), ours.view(logits->sizes()), *logits, kLogits, check_);
  }

  void CompareGradient(const Parameter& parameter) {
    const Tensor ours = Part(Gradients(), parameter);
    if (const auto gradient = Floats(*stored_.file, "grad/" + parameter.name)) {
      const double largest = gradient->abs().max().item<double>();
      CompareTensors(Name("grad/" + parameter.name), ours, *gradient,
                     kGradientRelative * largest + kGradientAbsolute, check_);
    }
    if (const auto norm = Floats(*stored_.file, "gradnorm/" + parameter.name)) {
      check_.Compare(Name("gradnorm/" + parameter.name),
                     ours.to(at::kDouble).norm().item<double>() - Value(*norm),
                     kGradientRelative * Value(*norm) + kGradientAbsolute);
    }
  }

  void CompareUpdated(const Parameter& parameter, int updates) {
    const std::string name = "after" + std::to_string(updates) + "/" + parameter.name;
    const std::optional<Tensor> after = Floats(*stored_.file, name);
    if (!after) return;
    const std::optional<Tensor> gradient = Floats(*stored_.file, "grad/" + parameter.name);
    const Tensor ours = Clamped(parameter);
    const bool fits = gradient && after->sizes() == ours.sizes() && gradient->sizes() == ours.sizes();
    check_.Require(fits, Name(name) + ": has no gradient of its shape beside it");
    if (!fits) return;
    const Tensor error = (ours.to(at::kDouble) - after->to(at::kDouble)).abs();
    Tensor with_sign = gradient->abs() > kGradientWithSign * gradient->abs().max();
    if (later_signs_.defined()) {
      with_sign = with_sign.logical_and(
          later_signs_.narrow(0, parameter.offset, parameter.size).view(parameter.shape));
    }
    const auto worst = [&](const Tensor& where) {
      const Tensor chosen = at::where(where, error, at::zeros_like(error));
      return chosen.max().item<double>();
    };
    check_.Compare(Name(name), worst(with_sign), kParameter);
    check_.Compare(Name(name) + " where the gradient is rounding", worst(with_sign.logical_not()),
                   2 * kLearningRate * updates);
  }

  // Keeps which gradients of the updates after the first have had a sign in all of them.
  void RememberSigns() {
    const Tensor gradient = Gradients()[member_];
    Tensor signs = at::zeros({gradient.numel()}, at::kBool);
    for (const Parameter& parameter : engine_->model().layout().parameters()) {
      const Tensor part = gradient.narrow(0, parameter.offset, parameter.size).abs();
      signs.narrow(0, parameter.offset, parameter.size).copy_(part > kLaterGradientWithSign * part.max());
    }
    later_signs_ = later_signs_.defined() ? later_signs_.logical_and(signs) : signs;
  }

  // A parameter as the next forward pass will see it.
  Tensor Clamped(const Parameter& parameter) {
    const Tensor copy = state_.parameters[member_].to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    engine_->model().encoding().Clamp(trainer::ViewParameters(engine_->model().layout(), copy));
    return copy.narrow(0, parameter.offset, parameter.size).view(parameter.shape);
  }

  const Stored& stored_;
  Arrangement arrangement_;
  RoundingSpreads& spreads_;
  FileCheck& check_;
  std::unique_ptr<StepEngine> engine_;
  int64_t member_;
  PackState state_;
  std::vector<double> learning_rates_;
  Tensor later_signs_;  // [stride], once there was a second update.
};

void CheckModel(const Stored& stored, bool on_gpu, FileCheck& check) {
  const absl::StatusOr<PackSettings> settings = Settings(stored);
  check.Require(settings.ok(), Text("its description: ", settings.status().message()));
  if (!settings.ok()) return;
  std::vector<Batch> batches;
  for (int s = 0; s < kUpdates; ++s) {
    const std::unique_ptr<StepEngine> engine = trainer::MakeLibtorchEngine(*settings, {.threads = 1});
    absl::StatusOr<Batch> batch = StoredBatch(stored, *settings, engine->model().encoding().Use(), s);
    check.Require(batch.ok(), std::string(batch.status().message()));
    if (!batch.ok()) return;
    batches.push_back(*std::move(batch));
  }
  std::vector<Arrangement> arrangements = {{"in a batched pack of 3", 3, 2, true}};
  for (const std::string& engine : trainer::EngineNames()) {
    arrangements.push_back({engine + " alone", 1, 0, false, engine});
    arrangements.push_back({engine + " in a pack of 3", 3, 1, false, engine});
  }
  for (const std::string& engine : trainer::RoundedEngineNames()) arrangements.push_back({engine + " in a pack of 3", 3, 1, false, engine});
  // What a GPU would run, lane by lane.
  for (const char* engine : {"emulated-bf16", "emulated-fp16", "emulated-spread-fp16"}) arrangements.push_back({Text(engine, " in a pack of 2"), 2, 1, false, engine});
  if (on_gpu) {
    for (const char* engine : {"libtorch", "libtorch-tf32", "resident-bf16", "resident-fp16", "spread-bf16", "spread-fp16"}) {
      arrangements.push_back({Text(engine, " on the GPU in a pack of 3"), 3, 1, false, engine, true});
    }
  }
  RoundingSpreads spreads(*settings, batches, kLearningRate);
  for (const Arrangement& arrangement : arrangements) {
    ModelCheck(stored, *settings, arrangement, spreads, check).Run(batches);
  }
}

// The names that the folder's own index gives, and those of the files that are there.
std::set<std::string> ModelNames(const std::filesystem::path& models, Report& report) {
  std::set<std::string> names;
  FileCheck index("models/index.json");
  std::ifstream in(models / "index.json");
  if (in) {
    const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
    index.Require(json.is_object(), "is not a JSON object");
    if (json.is_object()) {
      for (const auto& [name, description] : json.items()) names.insert(name);
    }
    report.Add(index);
  } else {
    report.Absent(index.file());
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(models, error)) {
    if (entry.path().extension() == ".safetensors") names.insert(entry.path().stem().string());
  }
  return names;
}

}  // namespace

void CheckModels(const std::filesystem::path& folder, bool on_gpu, Report& report) {
  const std::filesystem::path models = folder / "models";
  std::error_code error;
  if (!std::filesystem::exists(models, error)) {
    report.Absent("models/");
    return;
  }
  std::map<std::string, absl::StatusOr<SafetensorsFile>> shared;
  for (const std::string size : {"small", "full"}) {
    shared.emplace(size, SafetensorsFile::Open(models / (size + "_none.safetensors")));
  }
  for (const std::string& name : ModelNames(models, report)) {
    const std::string relative = "models/" + name + ".safetensors";
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder / relative);
    if (absl::IsNotFound(file.status())) {
      report.Absent(relative);
      continue;
    }
    FileCheck check(relative);
    check.Require(file.ok(), std::string(file.status().message()));
    if (file.ok()) {
      const auto with = shared.find(name.substr(0, name.find('_')));
      CheckModel(
          {.file = &*file, .shared = with != shared.end() && with->second.ok() ? &*with->second : nullptr},
          on_gpu, check);
    }
    report.Add(check);
  }
}

}  // namespace longreach::golden
