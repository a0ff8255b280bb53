// The general engine: LibTorch operations and autograd, any encoding, any device. The oracle for all others.
//
// On the CPU a work unit is one member with some fixed groups of the batch's sequences, computed one after the other by one
// thread; units are added in order afterwards. So bits depend neither on pack nor on threads. On CUDA the whole pack
// is one unit, and its only group the whole batch; of a LLaMA decoder's batch it has as many groups as the memory asks for.
#include <chrono>
#include <cstring>

#include "worker/trainer/device.h"
#include "worker/trainer/engine/cut.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/engine/handover.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/engine/update.h"
#include "worker/trainer/kernels/cuda_plugin.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

using Clock = std::chrono::steady_clock;

// Members whose units' gradients are in memory at a time, and floats of these gradients.
constexpr int64_t kMembersAtATime = 64;
constexpr int64_t kGradientsAtATime = int64_t{1} << 28;
// Tokens of a test unit: activations stay small whatever the length.
constexpr int64_t kTestTokensAtATime = 4096;
constexpr int64_t kTestTokensAtATimeCuda = 1 << 19;

// Some sequences with their targets.
struct Group {
  int64_t first = 0;
  Feed feed;
  Tensor targets;  // int64 [B outputs].
};

// Sum over the group's outputs of the cross-entropy, for each member: [E], or [1].
Tensor CrossEntropy(const Tensor& logits, const Tensor& targets) {
  const int64_t members = logits.dim() == 3 ? logits.size(0) : 1;
  const Tensor log_p = at::log_softmax(logits, -1).view({-1, logits.size(-1)});
  const Tensor target = members == 1 ? targets : targets.repeat({members});
  if (members == 1) return at::nll_loss(log_p, target, {}, at::Reduction::Sum).view({1});
  return at::nll_loss(log_p, target, {}, at::Reduction::None).view({members, -1}).sum(1);
}

class LibtorchEngine final : public StepEngine {
 public:
  LibtorchEngine(const PackSettings& settings, const EngineOptions& options, CudaProducts products)
      : StepEngine(settings),
        settings_(settings),
        tf32_(products == CudaProducts::kTf32),
        device_(DeviceOf(options.cuda)),
        whole_pack_(options.cuda || options.whole_pack),
        whole_pack_floats_(options.whole_pack_floats),
        pool_(options.threads, options.recorder),
        model_(MakeModel(settings)),
        rule_(model_->Rule()) {
    if (options.alive && IsLarge(settings)) {
      *alive_.Lock() = options.alive;
      between_ = [this] { (*alive_.Lock())(); };
    }
    // Passkeys and the like are asked of its state without it, and may be all that is.
    SetPrecision();
    // An update's factors are megabytes, which a host would need longer to draw and send than a GPU to compute with.
    if (options.cuda) drawing_.emplace(DrawingDevice{device_, CudaDropFactors()});
    for (size_t i = 0; i < model_->layout().parameters().size(); ++i) {
      const int64_t offset = model_->layout().parameters()[i].offset;
      if (rule_.first <= offset && offset < rule_.last) trained_.push_back(i);
    }
  }

  std::string Name() const override { return tf32_ ? "libtorch-tf32" : "libtorch"; }
  int OperandBits() const override { return tf32_ ? 11 : 24; }
  const Model& model() const override { return *model_; }
  int threads() const override { return pool_.threads(); }
  at::Device device() const override { return device_; }
  const Tensor& gradients() const override { return gradients_; }

  std::vector<double> Gradients(const Batch& batch, PackState& state) override {
    Bind(batch, state);
    model_->encoding().Clamp(clamped_);
    const PassTerms terms = model_->Prepare(batch.positions, device_);
    return whole_pack_ ? ToHost(WholePackGradients(batch, terms, state)) : UnitGradients(batch, terms, state);
  }

  std::vector<StepResult> Update(const std::vector<double>& losses, const std::vector<double>& learning_rates,
                                 PackState& state) override {
    if (device_.is_cpu()) return UpdateOnCpu(pool_, gradients_, losses, learning_rates, rule_, state);
    UpdatesInOperations one(rule_, learning_rates, state);
    one.Take(gradients_, at::tensor(losses, at::kDouble).to(device_));
    std::vector<StepResult> results;
    one.Settle([&](const std::vector<StepResult>& made) { results = made; });
    return results;
  }

  void Train(int updates, const MakeBatch& batch, const std::vector<double>& learning_rates, PackState& state, const Updated& updated) override {
    if (!whole_pack_) return StepEngine::Train(updates, batch, learning_rates, state, updated);
    const Clock::time_point start = Clock::now();
    UpdatesInOperations all(rule_, learning_rates, state);
    for (int i = 0; i < updates; ++i) {
      const Batch one = batch(static_cast<uint64_t>(state.step + i));
      Bind(one, state);
      model_->encoding().Clamp(clamped_);
      const Tensor losses = WholePackGradients(one, model_->Prepare(one.positions, device_), state);
      all.Take(gradients_, losses);
    }
    all.Wait();
    handover_.Took(updates, std::chrono::duration<double>(Clock::now() - start).count());
    all.Settle(updated);
  }

  Tensor Logits(const Batch& batch, PackState& state) override {
    const torch::NoGradGuard no_grad;
    Bind(batch, state);
    model_->encoding().Clamp(clamped_);
    const Group group = MakeGroup(batch, model_->Prepare(batch.positions, device_), 0, batch.size, false);
    if (whole_pack_) {
      return model_->Forward(ViewParameters(model_->layout(), Flat(state)), group.feed)
          .view({state.size(), -1, model_->output_vocabulary()});
    }
    std::vector<Tensor> logits;
    for (int64_t m = 0; m < state.size(); ++m) {
      logits.push_back(model_->Forward(ViewParameters(model_->layout(), state.parameters[m]), group.feed));
    }
    return at::stack(logits);
  }

  std::vector<TestResult> Evaluate(const Batch& batch, PackState& state,
                                   const std::function<void()>& between) override {
    const c10::InferenceMode inference;
    Bind(batch, state);
    model_->encoding().Clamp(clamped_);
    const PassTerms terms = model_->Prepare(batch.positions, device_);
    std::vector<int64_t> live;
    for (int64_t m = 0; m < state.size(); ++m) {
      if (state.members[static_cast<size_t>(m)].live) live.push_back(m);
    }
    std::vector<TestResult> results(state.members.size());
    if (live.empty()) return results;
    if (whole_pack_) EvaluatePack(batch, terms, state, live, results, between);
    else EvaluateMembers(batch, terms, state, live, results, between);
    for (TestResult& result : results) result.loss /= static_cast<double>(batch.size * batch.outputs);
    return results;
  }

 private:
  // On a GPU the host hands over some updates and waits for none of them.
  int UpdatesAtSameRates() const override { return device_.is_cpu() ? 1 : handover_.updates(); }

  // One member's parameters as leaves of a graph, with a gradient buffer of their own.
  struct Unit {
    int64_t member = -1;
    ParameterSet leaves;
    ParameterSet gradients;  // Views of the buffer, of the trained ones.
  };

  // One unit of a test, on threads that share it or on the calling thread alone, which is null and calls nothing.
  using CountUnit = std::function<void(int64_t unit, ThreadPool* pool, const std::function<void()>& between)>;

  // Sequences of a test unit.
  int64_t TestRows(const Batch& batch, const PackState& state) const {
    const int64_t tokens =
        device_.is_cpu() ? kTestTokensAtATime : std::max<int64_t>(1, kTestTokensAtATimeCuda / state.size());
    return std::clamp<int64_t>(tokens / batch.tape, 1, batch.size);
  }
  Group TestGroup(const Batch& batch, const PassTerms& terms, int64_t rows, int64_t g) const {
    return MakeGroup(batch, terms, g * rows, std::min(rows, batch.size - g * rows), settings_.evaluation.dropout);
  }

  // The sums of a test's hits and losses, for all members together.
  void EvaluatePack(const Batch& batch, const PassTerms& terms, const PackState& state, const std::vector<int64_t>& live,
                    std::vector<TestResult>& results, const std::function<void()>& between) {
    const int64_t rows = TestRows(batch, state), groups = (batch.size + rows - 1) / rows;
    const ParameterSet all = ViewParameters(model_->layout(), Flat(state));
    for (int64_t g = 0; g < groups; ++g) CountPack(all, batch, TestGroup(batch, terms, rows, g), live, results, between);
  }

  // The same, a unit for each group of a member.
  void EvaluateMembers(const Batch& batch, const PassTerms& terms, const PackState& state, const std::vector<int64_t>& live,
                       std::vector<TestResult>& results, const std::function<void()>& between) {
    const int64_t rows = TestRows(batch, state), groups = (batch.size + rows - 1) / rows;
    std::vector<ParameterSet> parameters;
    for (const int64_t m : live) parameters.push_back(ViewParameters(model_->layout(), state.parameters[m]));
    std::vector<TestResult> units(live.size() * static_cast<size_t>(groups));
    const auto count = [&](int64_t unit, ThreadPool* pool, const std::function<void()>& in_between) {
      Group group = TestGroup(batch, terms, rows, unit % groups);
      group.feed.pool = pool;
      group.feed.between = in_between;
      bool missed = false;
      model_->ForwardInParts(parameters[static_cast<size_t>(unit / groups)], group.feed, [&](int64_t first, const Tensor& logits) {
        TestResult& result = units[static_cast<size_t>(unit)];
        result.loss += CrossEntropy(logits, group.targets.narrow(0, first, logits.size(0))).to(at::kDouble)[0].item<double>();
        CountHits(first, logits.argmax(-1), batch, group, result, missed);
      });
    };
    RunTests(static_cast<int64_t>(units.size()), batch.tape, count, between);
    for (size_t u = 0; u < units.size(); ++u) {
      TestResult& result = results[static_cast<size_t>(live[u / static_cast<size_t>(groups)])];
      result.AddCounts(units[u]);
      result.loss += units[u].loss;
    }
  }

  // All units on the pool, with a sign of life as often as a slow machine needs one.
  void RunTests(int64_t units, int64_t tape, const CountUnit& count, const std::function<void()>& between) {
    const bool large = IsLarge(settings_);
    // What is predicted last may not be on the tape.
    if (large && tape + 1 >= kSharedLength) {
      // Its threads write into tensors of this one, which they could not if those were made for inference.
      const c10::InferenceMode no_inference(false);
      const torch::NoGradGuard no_grad;
      for (int64_t unit = 0; unit < units; ++unit) count(unit, &pool_, between);
      return;
    }
    // A unit has kTestTokensAtATime, or one sequence that is longer.
    const int64_t at_a_time = (large ? 1 : std::clamp<int64_t>(8 * kTestTokensAtATime / tape, 1, 8)) * pool_.threads();
    for (int64_t done = 0; done < units; done += at_a_time) {
      pool_.Run(std::min(at_a_time, units - done), [&](int64_t i) {
        const c10::InferenceMode inference;
        count(done + i, nullptr, nullptr);
      });
      between();
    }
  }

  // Floats of a member's gradient: from the first that is trained on.
  int64_t Trained() const { return model_->layout().stride() - rule_.first; }
  int64_t Chunks() const { return (Trained() + kChunk - 1) / kChunk; }

  // The part of gradients [E, trained] that an item of work (member, chunk) is about.
  std::span<float> Chunk(const Tensor& flat, int64_t item) const {
    const int64_t first = item % Chunks() * kChunk;
    return {flat.data_ptr<float>() + item / Chunks() * Trained() + first,
            static_cast<size_t>(std::min(kChunk, Trained() - first))};
  }

  // [E, stride], or [stride] for one member.
  static Tensor Flat(const PackState& state) {
    return state.size() == 1 ? state.parameters[0] : state.parameters;
  }

  // The process's setting: each engine makes it its own before it computes. Engines of several threads have the same, as one worker's are of one kind.
  void SetPrecision() const {
    if (!device_.is_cpu()) at::globalContext().setAllowTF32CuBLAS(tf32_);
  }

  // Makes what belongs to these buffers, if they are others than at the call before.
  void Bind(const Batch& batch, PackState& state) {
    SetPrecision();
    const Cut cut = whole_pack_ ? WholePackCut(settings_, batch, state.size(), whole_pack_floats_) : CutOf(settings_, batch);
    // Buffers are by unit, whatever groups it has.
    const bool same_units = cut.units == cut_.units;
    cut_ = cut;
    if (state.parameters.data_ptr() == bound_parameters_ && state.size() == bound_members_ && same_units) return;
    const c10::InferenceMode no_inference(false);
    bound_parameters_ = state.parameters.data_ptr();
    bound_members_ = state.size();
    clamped_ = ViewParameters(model_->layout(), Flat(state));
    units_.clear();
  }

  void BindGradients(const PackState& state) {
    if (gradients_.defined() && gradients_.size(0) == state.size() && !units_.empty()) return;
    gradients_ = at::zeros({state.size(), Trained()}, at::TensorOptions(at::kFloat).device(device_));
    const int64_t fitting = std::max<int64_t>(1, kGradientsAtATime / (cut_.units * Trained()));
    const int64_t members = whole_pack_ ? 1 : std::min({kMembersAtATime, fitting, state.size()});
    units_.assign(static_cast<size_t>(members * cut_.units), {});
    others_ = at::zeros({members, cut_.units - 1, Trained()}, at::TensorOptions(at::kFloat).device(device_));
  }

  void MakeLeaves(Unit& unit, const Tensor& parameters, const Tensor& gradient) {
    unit.leaves = ViewParameters(model_->layout(), parameters);
    for (Tensor& leaf : unit.leaves) leaf = leaf.detach();
    unit.gradients.clear();
    for (const size_t i : trained_) {
      unit.leaves[i].requires_grad_(true);
      unit.gradients.push_back(ViewParameter(model_->layout().parameters()[i], gradient, rule_.first));
    }
  }

  std::vector<double> UnitGradients(const Batch& batch, const PassTerms& terms, PackState& state) {
    BindGradients(state);
    const int64_t units = cut_.units;
    const auto make = [&](int64_t g) { return TrainingGroup(batch, terms, g); };
    // Where each unit has one group all of them are made once, for all members.
    std::vector<Group> feeds(static_cast<size_t>(units == cut_.groups ? units : 0));
    pool_.Run(static_cast<int64_t>(feeds.size()), [&](int64_t g) { feeds[static_cast<size_t>(g)] = make(g); });
    std::vector<double> losses(state.members.size() * static_cast<size_t>(units));
    const int64_t at_a_time = static_cast<int64_t>(units_.size()) / units;
    for (int64_t first = 0; first < state.size(); first += at_a_time) {
      const int64_t members = std::min(at_a_time, state.size() - first);
      pool_.Run(members * units, [&](int64_t item) {
        const int64_t m = first + item / units, u = item % units;
        if (!state.members[static_cast<size_t>(m)].live) return;
        Unit& unit = units_[static_cast<size_t>(item)];
        if (unit.member != m) {
          MakeLeaves(unit, state.parameters[m], u == 0 ? gradients_[m] : others_[item / units][u - 1]);
          unit.member = m;
        }
        double& loss = losses[static_cast<size_t>(m * units + u)];
        for (int64_t g = u; g < cut_.groups; g += units) {
          const Tensor of_group = feeds.empty() ? Backward(unit, make(g), batch, g != u)
                                                : Backward(unit, feeds[static_cast<size_t>(g)], batch, false);
          loss += *of_group.const_data_ptr<double>();
        }
      });
      if (units > 1) AddUnits(state, first, members);
    }
    std::vector<double> sums(state.members.size(), 0);
    for (size_t i = 0; i < losses.size(); ++i) sums[i / static_cast<size_t>(units)] += losses[i];
    return sums;
  }

  // The gradients of some members' other units to that of the first, in order.
  void AddUnits(const PackState& state, int64_t first, int64_t members) {
    const int64_t others = cut_.units - 1, chunks = Chunks();
    pool_.Run(members * chunks, [&](int64_t item) {
      const int64_t m = item / chunks;
      const int64_t begin = item % chunks * kChunk;
      if (!state.members[static_cast<size_t>(first + m)].live) return;
      const std::span<float> sum = Chunk(gradients_, first * chunks + item);
      for (int64_t u = 0; u < others; ++u) {
        AddTo(sum, {others_.data_ptr<float>() + (m * others + u) * Trained() + begin, sum.size()});
      }
    });
  }

  // Losses of the members: float64 [E], on the device.
  Tensor WholePackGradients(const Batch& batch, const PassTerms& terms, PackState& state) {
    BindGradients(state);
    if (units_[0].member < 0) {
      MakeLeaves(units_[0], Flat(state), state.size() == 1 ? gradients_[0] : gradients_);
      units_[0].member = 0;
    }
    Tensor losses = Backward(units_[0], TrainingGroup(batch, terms, 0), batch, false);
    for (int64_t g = 1; g < cut_.groups; ++g) losses += Backward(units_[0], TrainingGroup(batch, terms, g), batch, true);
    return losses;
  }

  // Of those that the batch is cut into.
  Group TrainingGroup(const Batch& batch, const PassTerms& terms, int64_t g) const {
    const int64_t first = batch.size * g / cut_.groups;
    Group group = MakeGroup(batch, terms, first, batch.size * (g + 1) / cut_.groups - first, true);
    group.feed.between = between_;
    return group;
  }

  // Forward, loss and backward; the gradient is left in the unit's buffer, or with `add` added to what is there. Returns the
  // loss of each member: float64 [E], on the device.
  Tensor Backward(Unit& unit, const Group& group, const Batch& batch, bool add) {
    const at::AutoGradMode with_gradient(true);
    const Tensor losses = CrossEntropy(model_->Forward(unit.leaves, group.feed), group.targets) *
                          (1.0 / static_cast<double>(batch.size * batch.outputs));
    // Of parameters that have no part in it (queries of a decoder of one token) there is none.
    const torch::autograd::variable_list gradients =
        torch::autograd::grad({losses.sum()}, TrainedOf(unit.leaves), {}, std::nullopt, false, /*allow_unused=*/true);
    {
      const torch::NoGradGuard no_grad;
      for (size_t i = 0; i < gradients.size(); ++i) {
        Tensor& buffer = unit.gradients[i];
        if (!gradients[i].defined()) {
          if (!add) buffer.zero_();
        } else if (add) {
          buffer.add_(gradients[i]);
        } else {
          buffer.copy_(gradients[i]);
        }
      }
    }
    return losses.detach().to(at::kDouble).contiguous();
  }

  // Waits for the device.
  static std::vector<double> ToHost(const Tensor& values_E) {
    const Tensor host = Received(values_E);
    return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
  }

  torch::autograd::variable_list TrainedOf(const ParameterSet& leaves) const {
    torch::autograd::variable_list trained;
    for (const size_t i : trained_) trained.push_back(leaves[i]);
    return trained;
  }

  Group MakeGroup(const Batch& batch, const PassTerms& terms, int64_t first, int64_t count,
                  bool dropout) const {
    Group group{.first = first, .feed = {}, .targets = {}};
    Feed& feed = group.feed;
    feed.batch = count;
    feed.tape = batch.tape;
    feed.outputs = batch.outputs;
    feed.window = batch.window;
    feed.terms = terms;
    feed.tokens = Sent(model_->TokenRows(batch.tokens, first * batch.tape, count * batch.tape), device_);
    if (terms.addition.defined() && terms.addition.dim() == 3) {
      feed.terms.addition = terms.addition.narrow(0, first, count);
    }
    if (terms.given_positions.defined()) feed.terms.given_positions = terms.given_positions.narrow(0, first, count);
    if (dropout) feed.keep = DropoutFactors(settings_, *model_, batch, first, count, drawing_);
    group.targets = at::empty({count * batch.outputs}, at::kLong);
    for (int64_t i = 0; i < group.targets.numel(); ++i) {
      group.targets.data_ptr<int64_t>()[i] = batch.targets[static_cast<size_t>(first * batch.outputs + i)];
    }
    group.targets = Sent(group.targets, device_);
    return group;
  }

  // Adds a group's outputs to the members' sums. Where the logits are: what leaves the device is a number for each output.
  void CountPack(const ParameterSet& parameters, const Batch& batch, const Group& group, const std::vector<int64_t>& live,
                 std::vector<TestResult>& results, const std::function<void()>& between) {
    const int64_t members = static_cast<int64_t>(results.size());
    Tensor losses = at::zeros({members}, at::TensorOptions(at::kDouble).device(device_));
    std::vector<Tensor> best;
    Feed feed = group.feed;
    feed.between = between;
    model_->ForwardInParts(parameters, feed, [&](int64_t first, const Tensor& logits) {
      const Tensor of_members = logits.view({members, -1, model_->output_vocabulary()});
      losses += CrossEntropy(of_members, group.targets.narrow(0, first, of_members.size(1))).to(at::kDouble);
      best.push_back(of_members.argmax(-1));
    });
    const Tensor all = Received(at::cat(best, 1));
    losses = Received(losses);
    for (const int64_t m : live) {
      TestResult& result = results[static_cast<size_t>(m)];
      result.loss += losses[m].item<double>();
      bool missed = false;
      CountHits(0, all[m], batch, group, result, missed);
    }
    between();
  }

  // Of a group's outputs from `first` on, of which these tokens are the most likely ones, [count]. `missed` goes from one such part to the next: whether
  // the sequence that it may end within has had a miss.
  static void CountHits(int64_t first, const Tensor& most_likely, const Batch& batch, const Group& group, TestResult& result, bool& missed) {
    const Tensor best = most_likely.contiguous();
    for (int64_t i = 0; i < best.size(0); ++i) {
      const int64_t sequence = group.first + (first + i) / batch.outputs, output = (first + i) % batch.outputs;
      if (output == 0) missed = false;
      if (output < batch.valid[static_cast<size_t>(sequence)]) {
        const bool hit = best.const_data_ptr<int64_t>()[i] == batch.targets[static_cast<size_t>(sequence * batch.outputs + output)];
        result.Count(output, hit);
        missed = missed || !hit;
      }
      if (output + 1 == batch.outputs && !missed) ++result.exact;
    }
  }

  PackSettings settings_;
  bool tf32_;
  at::Device device_;
  std::optional<DrawingDevice> drawing_;  // Of a GPU.
  bool whole_pack_;
  double whole_pack_floats_;
  ThreadPool pool_;
  std::unique_ptr<Model> model_;
  UpdateRule rule_;
  Handover handover_;
  Synchronized<std::function<void()>> alive_;
  std::function<void()> between_;  // Calls it, where there is one.
  std::vector<size_t> trained_;  // By index.

  const void* bound_parameters_ = nullptr;
  int64_t bound_members_ = 0;
  Cut cut_;
  ParameterSet clamped_;
  Tensor gradients_;        // [E, trained].
  Tensor others_;           // [members at a time, units - 1, trained]: of all units but the first.
  std::vector<Unit> units_; // By member at a time.
};

}  // namespace

std::unique_ptr<StepEngine> MakeLibtorchEngine(const PackSettings& settings, const EngineOptions& options, CudaProducts products) {
  return std::make_unique<LibtorchEngine>(settings, options, products);
}

}  // namespace longreach::trainer
