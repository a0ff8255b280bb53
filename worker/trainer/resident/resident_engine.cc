#include "worker/trainer/resident/resident_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "worker/trainer/device.h"
#include "worker/trainer/encodings/layer_sets.h"
#include "worker/trainer/engine/handover.h"
#include "worker/trainer/engine/optimizer.h"
#include "worker/trainer/engine/update.h"
#include "worker/trainer/resident/pass_inputs.h"
#include "worker/trainer/sent.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer {

namespace {

using Clock = std::chrono::steady_clock;
using resident::MemberOutcome;
using resident::ModelPlaces;
using resident::StepArguments;

ModelPlaces PlacesOf(const PackSettings& settings, const Encoder& encoder) {
  const ParameterLayout& layout = encoder.layout();
  const auto at = [&](const std::string& name) { return static_cast<int>(layout.Find(name)->offset); };
  ModelPlaces places;
  places.layers = settings.model.layers;
  places.tokens = encoder.input_vocabulary() + 1;
  places.classes = encoder.output_vocabulary();
  places.stride = static_cast<int>(layout.stride());
  places.embed = at("embed.w");
  places.out_w = at("out.w");
  places.out_b = at("out.b");
  const resident::BiasKind bias = BiasKindOf(settings, encoder.encoding());
  const LayerSets sets(places.layers, settings.positions.none_every, settings.model.kerple_shared);
  for (int l = 0; l < places.layers; ++l) {
    const std::string place = "layer" + std::to_string(l) + ".";
    resident::LayerPlaces& layer = places.layer[l];
    layer = {.q = at(place + "attn.q.w"), .k = at(place + "attn.k.w"), .v = at(place + "attn.v.w"), .o = at(place + "attn.o.w"),
             .norm1_scale = at(place + "ln1.scale"), .norm1_offset = at(place + "ln1.offset"),
             .norm2_scale = at(place + "ln2.scale"), .norm2_offset = at(place + "ln2.offset"),
             .mlp1_w = at(place + "ffn1.w"), .mlp1_b = at(place + "ffn1.b"), .mlp2_w = at(place + "ffn2.w"), .mlp2_b = at(place + "ffn2.b"),
             .kerple_a = -1, .kerple_p = -1};
    constexpr int kSquare = resident::kDim * resident::kDim;
    TORCH_CHECK(layer.k == layer.q + kSquare && layer.v == layer.k + kSquare, "queries, keys and values do not follow each other");
    if (bias != resident::BiasKind::kLogKerple && bias != resident::BiasKind::kPowerKerple) continue;
    const std::string kerple = sets.Place(sets.Of(l)) + "kerple_" + (bias == resident::BiasKind::kLogKerple ? "log" : "power");
    layer.kerple_a = at(kerple + "_a");
    layer.kerple_p = at(kerple + "_p");
  }
  return places;
}

class ResidentEngine final : public StepEngine {
 public:
  ResidentEngine(const PackSettings& settings, const EngineOptions& options, resident::Launcher launcher)
      : StepEngine(settings),
        settings_(settings),
        launcher_(std::move(launcher)),
        device_(DeviceOf(launcher_.cuda)),
        tests_(MakeLibtorchEngine(settings, options)),
        encoder_(settings, catalog::FindTask(settings.task)->input_vocabulary, catalog::FindTask(settings.task)->output_vocabulary),
        places_(PlacesOf(settings, encoder_)) {}

  std::string Name() const override { return launcher_.name; }
  const Model& model() const override { return tests_->model(); }
  int threads() const override { return tests_->threads(); }
  int OperandBits() const override { return launcher_.operands == resident::Operands::kFloat16 ? 11 : 8; }
  bool SamplesSequences() const override { return true; }
  at::Device device() const override { return device_; }
  const Tensor& gradients() const override { return gradients_; }

  std::vector<double> Gradients(const Batch& batch, PackState& state) override {
    StepArguments arguments = Members(state, 1);
    arguments.make_gradients = true;
    Launch(batch, arguments);
    std::vector<double> losses;
    for (const MemberOutcome& outcome : Outcomes(state.size())) losses.push_back(outcome.loss);
    return losses;
  }

  std::vector<StepResult> Update(const std::vector<double>& losses, const std::vector<double>& learning_rates, PackState& state) override {
    StepArguments arguments = Members(state, 1);
    std::vector<MemberOutcome> outcomes;
    for (const double loss : losses) outcomes.push_back({.loss = loss, .norm = 0});
    outcomes_.copy_(OnHost(outcomes.data(), outcomes.size() * sizeof(MemberOutcome)));
    SetRates(learning_rates, state.step, arguments);
    arguments.update = true;
    launcher_.train(arguments);
    return Settle(Outcomes(state.size()), 0, learning_rates, state);
  }

  void Train(int updates, const MakeBatch& batch, const std::vector<double>& learning_rates, PackState& state, const Updated& updated) override {
    const Clock::time_point start = Clock::now();
    StepArguments arguments = Members(state, updates);
    arguments.make_gradients = true;
    arguments.update = true;
    for (int i = 0; i < updates; ++i) {
      SetRates(learning_rates, state.step + i, arguments);
      Launch(batch(static_cast<uint64_t>(state.step + i)), arguments);
      arguments.outcomes += state.size();
    }
    const std::vector<MemberOutcome> outcomes = Outcomes(updates * state.size());
    handover_.Took(updates, std::chrono::duration<double>(Clock::now() - start).count());
    for (int i = 0; i < updates; ++i) updated(Settle(outcomes, i, learning_rates, state));
  }

  bool RecordPhases() override { return records_phases_ = true; }

  std::vector<PhaseShare> TakePhases() override {
    if (!clocks_.defined()) return {};
    const Tensor host = clocks_.to(at::kCPU);
    clocks_ = Tensor();
    const uint64_t* clocks = static_cast<const uint64_t*>(host.data_ptr());
    std::vector<double> sums(resident::kPhases, 0);
    double all = 0;
    const int64_t blocks = host.numel() / static_cast<int64_t>(resident::kPhaseClocks * sizeof(uint64_t));
    for (int64_t block = 0; block < blocks; ++block, clocks += resident::kPhaseClocks) {
      for (size_t phase = 0; phase < sums.size(); ++phase) {
        sums[phase] += static_cast<double>(clocks[phase]);
        all += static_cast<double>(clocks[phase]);
      }
    }
    std::vector<PhaseShare> shares;
    for (size_t phase = 0; phase < sums.size(); ++phase) shares.push_back({.phase = resident::kPhaseNames[phase], .share = sums[phase] / all});
    return shares;
  }

  double TakeBytes() override { return std::exchange(bytes_, 0); }

  Tensor Logits(const Batch& batch, PackState& state) override { return tests_->Logits(batch, state); }
  std::vector<TestResult> Evaluate(const Batch& batch, PackState& state, const std::function<void()>& between) override {
    return tests_->Evaluate(batch, state, between);
  }

 private:
  int UpdatesAtSameRates() const override { return launcher_.cuda ? handover_.updates() : 2; }

  static Tensor OnHost(const void* values, size_t bytes) {
    Tensor copy = at::empty({static_cast<int64_t>(bytes)}, at::kByte);
    std::memcpy(copy.data_ptr(), values, bytes);
    return copy;
  }
  Tensor OnDevice(const void* values, size_t bytes) const { return OnHost(values, bytes).to(device_); }
  static void AtLeast(Tensor& buffer, size_t bytes, at::Device device) {
    if (buffer.defined() && static_cast<size_t>(buffer.numel()) >= bytes) return;
    buffer = Tensor();  // Before there is a larger one.
    buffer = at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).device(device));
  }

  // What arguments say of the members, with room for the outcomes of so many updates, all zero.
  StepArguments Members(const PackState& state, int updates) {
    const int64_t blocks = state.size() * launcher_.slices;
    if (!gradients_.defined() || gradients_.size(0) != state.size()) {
      gradients_ = at::zeros_like(state.parameters);  // What lies between parameters stays so.
      parts_ = launcher_.slices == 1 ? Tensor() : at::zeros({blocks, state.parameters.size(1)}, state.parameters.options());
      sums_ = at::zeros({blocks * static_cast<int64_t>(sizeof(resident::SliceSums))}, at::TensorOptions(at::kByte).device(device_));
    }
    std::vector<int> live;
    for (const MemberState& member : state.members) live.push_back(member.live ? 1 : 0);
    live_ = OnDevice(live.data(), live.size() * sizeof(int));
    outcomes_ = at::zeros({static_cast<int64_t>(sizeof(MemberOutcome)) * updates * state.size()}, at::TensorOptions(at::kByte).device(device_));
    StepArguments arguments{};
    arguments.places = places_;
    arguments.layers = settings_.model.layers;
    arguments.members = static_cast<int>(state.size());
    arguments.parameters = state.parameters.data_ptr<float>();
    arguments.moment1 = state.moment1.data_ptr<float>();
    arguments.moment2 = state.moment2.data_ptr<float>();
    arguments.gradients = gradients_.data_ptr<float>();
    arguments.slices = launcher_.slices;
    arguments.parts = parts_.defined() ? parts_.data_ptr<float>() : arguments.gradients;
    arguments.sums = static_cast<resident::SliceSums*>(sums_.data_ptr());
    arguments.live = static_cast<int*>(live_.data_ptr());
    arguments.outcomes = static_cast<MemberOutcome*>(outcomes_.data_ptr());
    arguments.clip_norm = static_cast<float>(settings_.training.clip_norm);
    arguments.operands = launcher_.operands;
    if (records_phases_) {
      const int64_t bytes = blocks * static_cast<int64_t>(resident::kPhaseClocks * sizeof(uint64_t));
      if (!clocks_.defined() || clocks_.numel() != bytes) clocks_ = at::zeros({bytes}, at::TensorOptions(at::kByte).device(device_));
      arguments.clocks = static_cast<uint64_t*>(clocks_.data_ptr());
    }
    return arguments;
  }

  void SetRates(const std::vector<double>& learning_rates, int updates_done, StepArguments& arguments) {
    if (learning_rates != rates_) {
      rates_ = learning_rates;
      const std::vector<float> rates(learning_rates.begin(), learning_rates.end());
      rates_on_device_ = OnDevice(rates.data(), rates.size() * sizeof(float));
    }
    const AdamStep step = MakeAdamStep(0, 1, 0, updates_done + 1);
    arguments.correction1 = step.correction1;
    arguments.correction2 = step.correction2;
    arguments.learning_rates = static_cast<const float*>(rates_on_device_.data_ptr());
  }

  // What an update of a member moves, counted from the buffers: whatever of it stays in caches is moved all the same. Of the last layer only
  // `asked` rows are made.
  double BytesOfUpdate(double tokens, double asked) const {
    // Kept rows of D features (SliceWork, LayerRows), each time they are written or read, 4 bytes a feature or 2; the keep-bits.
    constexpr double kRow = 4.0 * resident::kDim, kHalfRow = 2.0 * resident::kDim, kDenominators = 4.0 * resident::kHeads, kBits = 8;
    // Forward h and the denominators, backward again, then dh; of what is made x1, x2, o and h forward, the MLP's x1, x2, dh and du backward,
    // attention's x1, o and du.
    constexpr double kOfToken = 3 * kRow + 2 * kDenominators, kOfMade = 7 * kRow + 4 * kHalfRow + 4 * kBits;
    // Where not all is asked for, h and o are read once more.
    const double again = asked < tokens ? asked * (kRow + kHalfRow) : 0;
    const double before = settings_.model.layers - 1;
    const double ends = (2 * tokens + asked) * kRow;  // The first h, and dh at both ends.
    // By parameter: read to be rounded, the 2 rounded bytes written and read three times by each slice, the gradient written and read twice, and
    // Adam's three read and written. Gradients of several slices, or scaled ones, are written and read before.
    const double slices = launcher_.slices;
    const bool has_parts = slices > 1 || launcher_.operands == resident::Operands::kFloat16;
    const double of_parameter = 4 + 2 + slices * 3 * 2 + 3 * 4 + (3 + 3) * 4 + (has_parts ? slices * (4 + 4) : 0);
    return before * tokens * (kOfToken + kOfMade) + tokens * kOfToken + asked * kOfMade + again + ends +
           static_cast<double>(model().layout().stride()) * of_parameter;
  }

  // One update of all members. Copies and kernels follow each other in one stream, so one buffer serves all updates.
  void Launch(const Batch& batch, StepArguments& arguments) {
    const PassInputs inputs(settings_, encoder_, batch, true);
    AtLeast(inputs_, inputs.size(), device_);
    AtLeast(keep_, static_cast<size_t>(inputs.KeepWords()) * sizeof(uint64_t), device_);
    const int64_t slices = launcher_.slices, sequences = (batch.size + slices - 1) / slices;  // Of the largest slice.
    arguments.work_bytes = resident::WorkBytes(settings_.model.layers);
    arguments.slice_bytes = resident::SliceBytes(settings_.model.layers, static_cast<int>(sequences * batch.tape));
    AtLeast(work_, arguments.work_bytes * static_cast<size_t>(arguments.members), device_);
    AtLeast(slice_work_, arguments.slice_bytes * static_cast<size_t>(arguments.members * slices), device_);
    arguments.work = static_cast<char*>(work_.data_ptr());
    arguments.slice_work = static_cast<char*>(slice_work_.data_ptr());
    const std::span<const char> made = inputs.made();
    const Tensor host = at::empty({static_cast<int64_t>(made.size())}, at::TensorOptions(at::kByte).pinned_memory(launcher_.cuda));
    std::ranges::copy(made, static_cast<char*>(host.data_ptr()));
    inputs_.narrow(0, 0, host.numel()).copy_(host, /*non_blocking=*/true);
    char* const there = static_cast<char*>(inputs_.data_ptr());
    uint64_t* const keep = static_cast<uint64_t*>(keep_.data_ptr());
    inputs.Describe(there, keep, arguments);
    if (const std::optional<resident::SampleArguments> sample = inputs.Sample(there)) launcher_.sample(*sample);
    if (inputs.KeepWords() > 0) launcher_.fill_keep(inputs.Keep(keep));
    launcher_.train(arguments);
    bytes_ += arguments.members * BytesOfUpdate(static_cast<double>(batch.size * batch.tape), static_cast<double>(batch.size * arguments.outputs));
  }

  // Waits for the device.
  std::vector<MemberOutcome> Outcomes(int64_t count) const {
    const Tensor host = Received(outcomes_);
    const MemberOutcome* first = static_cast<const MemberOutcome*>(host.data_ptr());
    return {first, first + count};
  }

  // What update `i` has made of the members, and counts it.
  std::vector<StepResult> Settle(const std::vector<MemberOutcome>& outcomes, int i, const std::vector<double>& learning_rates, PackState& state) {
    std::vector<double> losses, norms;
    for (int64_t m = 0; m < state.size(); ++m) {
      const MemberOutcome& outcome = outcomes[static_cast<size_t>(i * state.size() + m)];
      losses.push_back(outcome.loss);
      norms.push_back(outcome.norm);
    }
    std::vector<StepResult> results;
    MakeSteps(losses, norms, learning_rates, {.clip_norm = settings_.training.clip_norm}, state, results);
    ++state.step;
    return results;
  }

  PackSettings settings_;
  resident::Launcher launcher_;
  at::Device device_;
  std::unique_ptr<StepEngine> tests_;
  Encoder encoder_;  // What makes positions and tables.
  Handover handover_;

  // Where the kernels run.
  const ModelPlaces places_;
  Tensor gradients_;  // [E, stride].
  Tensor parts_;      // [E K, stride]; undefined where there is one slice.
  Tensor sums_;       // SliceSums [E, K].
  Tensor live_;       // int [E].
  Tensor outcomes_;   // MemberOutcome [updates, E].
  bool records_phases_ = false;
  Tensor clocks_;     // uint64 [E, K, kPhaseClocks].
  double bytes_ = 0;
  Tensor inputs_;
  Tensor keep_;
  Tensor work_;
  Tensor slice_work_;
  std::vector<double> rates_;
  Tensor rates_on_device_;
};

}  // namespace

std::string WhyNotResident(const PackSettings& settings) {
  const PackSettings::Model& model = settings.model;
  if (settings.experiment != "algorithmic") return Text("experiment ", settings.experiment);
  if (model.causal) return "model.causal true";
  if (model.norm == PackSettings::Model::Norm::kPre) return "model.norm pre";
  if (model.length_scaling != PackSettings::Model::LengthScaling::kNone) return "model.length_scaling";
  const catalog::Task& task = *catalog::FindTask(settings.task);
  const Encoder encoder(settings, task.input_vocabulary, task.output_vocabulary);
  const Encoding& encoding = encoder.encoding();
  // Of biases that are trained the kernels have those of KERPLE alone.
  const bool kerple = settings.encoding == "log_kerple" || settings.encoding == "power_kerple";
  if (encoding.AddsContent() || (encoding.Trained() && !kerple)) return Text("encoding ", settings.encoding);
  // And of these in every layer.
  if (kerple && settings.positions.none_every > 0) return Text("encoding ", settings.encoding, " with positions.none_every");
  if (encoding.Use() == PositionUse::kDistances && settings.randomized &&
      settings.positions.randomized_by == PackSettings::Positions::RandomizedBy::kPosition) {
    return "positions.randomized_by position";
  }
  if (model.embedding_dim != resident::kDim) return Text("model.embedding_dim ", model.embedding_dim, " instead of ", resident::kDim);
  if (model.heads != resident::kHeads) return Text("model.heads ", model.heads, " instead of ", resident::kHeads);
  if (model.mlp_dim != resident::kHidden) return Text("model.mlp_dim ", model.mlp_dim, " instead of ", resident::kHidden);
  if (model.layers > resident::kMaxLayers) return Text("model.layers ", model.layers, ", more than ", resident::kMaxLayers);
  if (task.input_vocabulary + 1 > resident::kMaxTokens) return Text("task ", settings.task, " with its ", task.input_vocabulary, " tokens");
  if (task.output_vocabulary > resident::kMaxClasses) return Text("task ", settings.task, " with its ", task.output_vocabulary, " classes");
  for (const int length : settings.training.lengths) {
    const int64_t input = tasks::FindTask(settings.task)->InputLength(length), tape = input + task.OutputTokens(input);
    if (tape > resident::kMaxTape) return Text("training.lengths ", length, ": a tape of ", tape, " tokens, more than ", resident::kMaxTape);
  }
  return "";
}

std::unique_ptr<StepEngine> MakeResidentEngine(const PackSettings& settings, const EngineOptions& options, resident::Launcher launcher) {
  return std::make_unique<ResidentEngine>(settings, options, std::move(launcher));
}

}  // namespace longreach::trainer
