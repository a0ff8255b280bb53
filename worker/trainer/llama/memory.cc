#include "worker/trainer/llama/memory.h"

#include <algorithm>
#include <cmath>

#include "proto/base/text.h"
#include "worker/trainer/engine/update.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/logits.h"
#include "worker/trainer/model/llama_network.h"

namespace longreach::trainer {

namespace {

constexpr double kFloat = 4;
// Tokens of a group of sequences that are trained together, and gradients that are there at a time: as the engine cuts batches.
constexpr double kGroupTokens = 1024;
constexpr double kMostGradients = 8;
// Tokens that a GPU tests at a time, of all members and of one: as engine and tests cut batches.
constexpr double kGpuTestTokens = 1 << 19, kTestTokens = 1 << 16;
// Logits of a member's test that are there at a time.
constexpr double kTestLogits = kLlamaLogitsAtATime;
// What UpdatesInOperations has of a parameter while it computes it.
constexpr double kFloatsOfAnUpdate = 9;

struct Sizes {
  double width, keys, mlp, layers, vocabulary;
};

Sizes SizesOf(const PackSettings::Model& model) {
  const double width = model.embedding_dim;
  return {.width = width, .keys = width * model.kv_heads / model.heads, .mlp = static_cast<double>(model.mlp_dim),
          .layers = static_cast<double>(model.layers), .vocabulary = static_cast<double>(model.vocabulary)};
}

double Parameters(const PackSettings::Model& model) {
  const auto [width, keys, mlp, layers, vocabulary] = SizesOf(model);
  return layers * (2 * width * width + 2 * width * keys + 3 * width * mlp) + 2 * vocabulary * width;
}

// Floats that a token leaves behind for the backward pass: in a block the stream, two norms, queries, keys, values, what was attended
// to, and four parts of the MLP.
double TrainingFloats(const PackSettings::Model& model) {
  const auto [width, keys, mlp, layers, vocabulary] = SizesOf(model);
  return layers * (8 * width + 2 * keys + 4 * mlp) + 2 * vocabulary;
}

// Without one a block leaves only its outputs.
double TestFloats(const PackSettings::Model& model, double length) {
  const auto [width, keys, mlp, layers, vocabulary] = SizesOf(model);
  return length * (4 * width + 2 * keys) + 2 * std::min(length * vocabulary, kTestLogits);
}

// Of windows that threads have each for itself, or of a long one that all have together, with parts of its logits.
double WindowFloats(const PackSettings::Model& model, double length, double windows, double threads) {
  if (length < kSharedLength) return windows * TestFloats(model, length);
  return TestFloats(model, length) + (threads - 1) * std::min(length * model.vocabulary, kTestLogits);
}

// Logits of attention that a GPU has at a time, and what the softmax makes of them.
double GpuAttentionFloats(const PackSettings::Model& model, double length, double windows) {
  return 2 * std::min(static_cast<double>(LogitsAtATime(at::kCUDA)), windows * model.heads * length * length);
}

// Windows are tested side by side on a GPU, with parts of their logits.
double GpuWindowFloats(const PackSettings& settings, int members, int length) {
  const auto [width, keys, mlp, layers, vocabulary] = SizesOf(settings.model);
  const double most = std::max(1.0, std::floor(std::min(kGpuTestTokens / members, kTestTokens) / length)), wanted = settings.evaluation.examples;
  const double windows = wanted > 0 ? std::min(most, wanted) : most;
  const double outputs = settings.evaluation.stride > 0 ? settings.evaluation.stride : length;
  return members * windows * length * (4 * width + 2 * keys) + 2 * members * std::min(windows * outputs * vocabulary, kTestLogits) +
         GpuAttentionFloats(settings.model, length, members * windows);
}

// Keys and values of all blocks.
double CacheFloats(const PackSettings::Model& model) {
  const auto [width, keys, mlp, layers, vocabulary] = SizesOf(model);
  return layers * 2 * keys;
}

// The setting that most memory is for, beside what is there whatever is computed.
class Most {
 public:
  Most(const PackSettings& settings, int members, MemoryOf where) {
    const double parameters = Parameters(settings.model);
    // Where all weights are trained, with two moments and the gradients of a pack's members, of which some are there in parts. Of head
    // scales these are next to nothing. A state that is written, or read from files that are mapped, is there once (checkpoint/).
    const bool all = settings.training.steps > 0 && settings.training.trainable == PackSettings::Training::Trainable::kAll;
    double copies = members;
    if (all && where == MemoryOf::kBesideGpu) copies = 3 * members;  // Gradients are the GPU's alone.
    else if (all) copies = 4 * members + (where == MemoryOf::kGpu ? 0 : kMostGradients - 1);
    fixed_ = parameters * copies;
    if (all && where == MemoryOf::kGpu) fixed_ += kFloatsOfAnUpdate * std::min<double>(kUpdatedAtATime, parameters * members);
    found_ = {.model_bytes = kFloat * fixed_, .bytes = kFloat * fixed_, .field = "model.layers", .length = settings.model.layers};
  }

  void Add(const std::string& field, int length, double floats) {
    const double bytes = kFloat * (fixed_ + floats);
    if (bytes > found_.bytes) found_ = {.model_bytes = kFloat * fixed_, .bytes = bytes, .field = field, .length = length};
  }
  const LlamaMemory& found() const { return found_; }

 private:
  double fixed_ = 0;
  LlamaMemory found_;
};

void AddTraining(const PackSettings& settings, int members, int threads, MemoryOf where, Most& most) {
  if (settings.training.steps == 0) return;
  const double batch = settings.training.batch_size;
  for (const int length : settings.training.lengths) {
    double tokens = std::min<double>(threads, batch) * std::max<double>(length, kGroupTokens);
    if (where == MemoryOf::kGpu) tokens = members * std::min(static_cast<double>(SequencesAtATime(settings, members, length)), batch) * length;
    most.Add("training.lengths", length, tokens * TrainingFloats(settings.model));
  }
}

}  // namespace

int64_t SequencesAtATime(const PackSettings& settings, int64_t members, int64_t length, double most) {
  return static_cast<int64_t>(std::max(1.0, most / (static_cast<double>(members * length) * TrainingFloats(settings.model))));
}

LlamaMemory EstimateMemory(const PackSettings& settings, int members, int threads, MemoryOf where) {
  Most most(settings, members, where);
  if (where == MemoryOf::kBesideGpu) return most.found();
  const bool gpu = where == MemoryOf::kGpu;
  const PackSettings::Model& model = settings.model;
  const PackSettings::Evaluation& tests = settings.evaluation;
  // What else a prompt or a window takes that is computed by itself.
  const auto attention = [&](int length) { return gpu ? GpuAttentionFloats(model, length, 1) : 0; };
  AddTraining(settings, members, threads, where, most);
  for (const int length : tests.lengths) {
    const double windows = tests.examples > 0 ? std::min(threads, tests.examples) : threads;
    most.Add("evaluation.lengths", length, gpu ? GpuWindowFloats(settings, members, length) : WindowFloats(model, length, windows, threads));
  }
  if (gpu && tests.position_bins > 0 && !tests.lengths.empty()) {
    const int longest = tests.lengths.back();
    most.Add("evaluation.lengths", longest, TestFloats(model, longest) + attention(longest));
  }
  for (const int length : tests.passkey_lengths) {
    const double prompts = length < kSharedLength && !gpu ? std::min(threads, tests.passkey_tests) : 1;
    most.Add("evaluation.passkey_lengths", length, prompts * (TestFloats(model, length) + length * CacheFloats(model)) + attention(length));
  }
  if (!tests.longbench.empty()) {
    // One prompt at a time; the beams of its answer have keys and values of their own.
    const int window = tests.longbench_window;
    most.Add("evaluation.longbench_window", window,
             TestFloats(model, window) + static_cast<double>(tests.longbench_beams) * window * CacheFloats(model) + attention(window));
  }
  return most.found();
}

absl::StatusOr<int> ThreadsThatFit(const PackSettings& settings, int members, int threads, double there, std::string_view owner,
                                   MemoryOf where) {
  for (int fewer = threads; fewer > 1; --fewer) {
    if (EstimateMemory(settings, members, fewer, where).bytes <= there) return fewer;
  }
  const LlamaMemory least = EstimateMemory(settings, members, 1, where);
  if (least.bytes <= there) return 1;
  if (least.model_bytes > there) {
    return absl::InvalidArgumentError(Text("model.layers: ", settings.model.layers, " layers of width ", settings.model.embedding_dim, " take ",
                                           static_cast<int64_t>(least.model_bytes), " bytes of memory at any length, and ", owner, " has ",
                                           static_cast<int64_t>(there), "; set model.layers, model.embedding_dim or model.mlp_dim to less"));
  }
  return absl::InvalidArgumentError(Text(least.field, ": ", least.length, " takes at least ", static_cast<int64_t>(least.bytes),
                                         " bytes of memory, with one thread, and ", owner, " has ", static_cast<int64_t>(there),
                                         "; set a smaller one"));
}

}  // namespace longreach::trainer
