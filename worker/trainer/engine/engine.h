// A training step behind one door: LibTorch's engine, which does any model on any device, and the fused ones (lanes on a CPU, resident on
// a GPU). All read the flat buffers of PackState.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/engine/batch.h"
#include "worker/trainer/engine/names.h"
#include "worker/trainer/engine/recorded_work.h"
#include "worker/trainer/engine/state.h"
#include "worker/trainer/learning_rate.h"
#include "worker/trainer/llama/memory.h"

namespace longreach::trainer {

struct StepResult {
  double loss = 0;           // Mean cross-entropy over batch and outputs, before the update.
  double gradient_norm = 0;  // Before clipping.
};

// Outputs whose most likely token is the target, among those that count.
struct Hits {
  int64_t hits = 0;
  int64_t counted = 0;

  void Count(bool hit) {
    ++counted;
    if (hit) ++hits;
  }
  void Add(const Hits& others) {
    hits += others.hits;
    counted += others.counted;
  }
};

// Sums over a test batch.
struct TestResult : Hits {
  std::vector<Hits> by_output;  // At each place among the outputs that some sequence has, from the first on.
  int64_t exact = 0;            // Sequences whose outputs are all hits, of those that count.
  double loss = 0;              // Mean cross-entropy over batch and outputs.

  Hits& AtOutput(int64_t output) {
    if (static_cast<int64_t>(by_output.size()) <= output) by_output.resize(static_cast<size_t>(output) + 1);
    return by_output[static_cast<size_t>(output)];
  }
  // An output of a sequence that counts.
  void Count(int64_t output, bool hit) {
    Hits::Count(hit);
    AtOutput(output).Count(hit);
  }
  // All but the loss of another part of the batch.
  void AddCounts(const TestResult& part) {
    Add(part);
    for (size_t o = part.by_output.size(); o-- > 0;) AtOutput(static_cast<int64_t>(o)).Add(part.by_output[o]);
    exact += part.exact;
  }
};

struct EngineOptions {
  int threads = 0;  // 0: all available.
  bool cuda = false;
  // The whole pack as one unit of batched products: how it is done on CUDA. On the CPU for tests.
  bool whole_pack = false;
  // By a name that CheckEngine() (train.h) takes: one of the lists in names.cc. Empty: the default.
  std::string engine = "";
  // Called within an update of a LLaMA decoder, after each of its blocks: also from the threads that compute, one at a time. A sign of life;
  // must not throw.
  std::function<void()> alive = nullptr;
  // Where a LLaMA decoder's pack is one unit, its batches are cut by what they leave behind (llama/memory.h): fewer for tests.
  double whole_pack_floats = kGpuFloatsAtATime;
  // Takes the time of each item of work, which one thread then does. Borrowed.
  WorkRecorder* recorder = nullptr;
};

class StepEngine {
 public:
  explicit StepEngine(const PackSettings& settings) : same_rates_(ScheduleOf(settings).constant()) {}
  virtual ~StepEngine() = default;

  // "libtorch": recorded with the attempt.
  virtual std::string Name() const = 0;
  virtual const Model& model() const = 0;
  virtual int threads() const = 0;
  // Significant bits of what goes into its matrix products: float32's, or fewer.
  virtual int OperandBits() const { return 24; }
  // Whether batches may come with their sequences yet to be drawn (Batch::unsampled).
  virtual bool SamplesSequences() const { return false; }
  // Where the buffers of a state must lie.
  virtual at::Device device() const = 0;

  // The two halves of an update. Both skip members that are not live, whose results are zero.
  // Fills gradients() with d loss / d parameters.
  virtual std::vector<double> Gradients(const Batch& batch, PackState& state) = 0;
  // Clips each member's gradient by its own norm and takes an Adam step. A member whose loss or gradient is
  // not finite is left as it is and marked as diverged. Counts the step.
  virtual std::vector<StepResult> Update(const std::vector<double>& losses,
                                         const std::vector<double>& learning_rates, PackState& state) = 0;

  // How many updates Train() is best asked for. One where the settings' learning rates change from update to update.
  int UpdatesAtATime() const { return same_rates_ ? UpdatesAtSameRates() : 1; }
  // Updates in a row, each as Gradients() and Update() make it. `batch` makes that of an update, by its number; `updated` gets the
  // results of each, in order, when `state` counts it and says who is still live. Parameters may be those of a later update by then.
  // Learning rates are the same in all of them.
  using MakeBatch = std::function<Batch(uint64_t step)>;
  using Updated = std::function<void(const std::vector<StepResult>& results)>;
  virtual void Train(int updates, const MakeBatch& batch, const std::vector<double>& learning_rates, PackState& state,
                     const Updated& updated) {
    for (int i = 0; i < updates; ++i) {
      const std::vector<double> losses = Gradients(batch(static_cast<uint64_t>(state.step)), state);
      updated(Update(losses, learning_rates, state));
    }
  }

  // Of the last floats of each member, from the first that is trained on: [E, trained].
  virtual const Tensor& gradients() const = 0;

  // Takes the time of an update's phases from now on. False: the engine knows none.
  virtual bool RecordPhases() { return false; }
  // Which share of the time went into which phase, in their order, since RecordPhases() or the call before this one.
  virtual std::vector<PhaseShare> TakePhases() { return {}; }
  // Bytes that updates had to move to and from memory since the call before this one; 0: the engine does not know.
  virtual double TakeBytes() { return 0; }

  // Logits of the outputs, [E, B outputs, V_out]; without dropout. For tests and golden vectors.
  virtual Tensor Logits(const Batch& batch, PackState& state) = 0;

  // `between` is called now and then from the calling thread; it may throw to break off.
  virtual std::vector<TestResult> Evaluate(const Batch& batch, PackState& state,
                                           const std::function<void()>& between) = 0;

 private:
  // UpdatesAtATime() where learning rates stay as they are.
  virtual int UpdatesAtSameRates() const { return 1; }

  bool same_rates_;
};

// The engine that `options` ask for. Where it cannot do what the settings ask for, it is "libtorch", which
// can do all, and `log` gets a line that says so. Throws when no engine of this machine has that name.
std::unique_ptr<StepEngine> MakeEngine(const PackSettings& settings, const EngineOptions& options,
                                       const std::function<void(const std::string&)>& log);

// The engine that is taken when nobody asks for one, where it knows the settings; by its full name. Of a GPU: for the thread's current one.
std::string UsualEngine(bool cuda);

// How its products of matrices read float32 on CUDA: whole, or with TF32's 11 significant bits. On a CPU always whole.
enum class CudaProducts { kFloat32, kTf32 };
std::unique_ptr<StepEngine> MakeLibtorchEngine(const PackSettings& settings, const EngineOptions& options,
                                               CudaProducts products = CudaProducts::kFloat32);

}  // namespace longreach::trainer
