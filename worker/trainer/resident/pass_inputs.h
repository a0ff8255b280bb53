// What a batch is to the resident kernels: one piece of memory that is copied to where they run, and where things lie in it.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "worker/trainer/engine/batch.h"
#include "worker/trainer/model/encoder.h"
#include "worker/trainer/resident/launcher.h"

namespace longreach::trainer {

class PassInputs {
 public:
  // Encoder: on the CPU. `dropout`: the batch is trained on.
  PassInputs(const PackSettings& settings, const Encoder& encoder, const Batch& batch, bool dropout);

  size_t bytes() const { return bytes_.size(); }
  // Copies all of it to `to`, bytes() long.
  void CopyTo(void* to) const { std::memcpy(to, bytes_.data(), bytes_.size()); }
  // What StepArguments say of the batch, once it lies at `base` and the bits of dropout at `keep`.
  void Describe(const char* base, const uint64_t* keep, resident::StepArguments& arguments) const;
  // Words of dropout bits; 0: nothing is dropped.
  int64_t KeepWords() const { return keep_places_ * tokens_; }
  resident::KeepArguments Keep(uint64_t* keep) const;

 private:
  static constexpr size_t kNone = ~size_t{0};

  void AddPositions(const PackSettings& settings, const Encoder& encoder, const Batch& batch);
  template <typename T>
  size_t Add(std::span<const T> values) {
    const size_t at = (bytes_.size() + 255) / 256 * 256;
    bytes_.resize(at + values.size_bytes());
    std::memcpy(bytes_.data() + at, values.data(), values.size_bytes());
    return at;
  }

  resident::StepArguments shape_{};
  int64_t tokens_ = 0;
  int64_t keep_places_ = 0;
  RandomStream keep_stream_;
  uint32_t keep_threshold_ = 0;
  std::vector<char> bytes_;
  size_t tokens_at_ = kNone, targets_at_ = kNone, addition_at_ = kNone, rotation_at_ = kNone, tables_at_ = kNone, distances_at_ = kNone;
};

// How attention's logits are biased under these settings.
resident::BiasKind BiasKindOf(const PackSettings& settings, const Encoding& encoding);

}  // namespace longreach::trainer
