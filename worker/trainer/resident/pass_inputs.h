// What a batch is to the resident kernels: one piece of memory where they run, how it is filled, and where things lie in it. What the host
// has made of the batch is copied to its begin; sequences that are yet to be drawn are drawn behind that.
#pragma once

#include <cstring>
#include <optional>
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

  size_t size() const { return size_; }
  // What the host has made, which goes to the begin.
  std::span<const char> made() const { return bytes_; }
  // How the sequences are drawn into that memory, which begins at `base`; nullopt: they are among what the host has made.
  std::optional<resident::SampleArguments> Sample(char* base) const;
  // What StepArguments say of the batch, with the bits of dropout at `keep`.
  void Describe(const char* base, const uint64_t* keep, resident::StepArguments& arguments) const;
  // Words of dropout bits; 0: nothing is dropped.
  int64_t KeepWords() const { return keep_places_ * tokens_; }
  resident::KeepArguments Keep(uint64_t* keep) const;

 private:
  static constexpr size_t kNone = ~size_t{0};

  void AddPositions(const PackSettings& settings, const Encoder& encoder, const Batch& batch);
  // Room for so many bytes, at its place.
  size_t Place(size_t bytes) {
    const size_t at = (size_ + 255) / 256 * 256;
    size_ = at + bytes;
    return at;
  }
  template <typename T>
  size_t Add(std::span<const T> values) {
    const size_t at = Place(values.size_bytes());
    bytes_.resize(size_);
    std::memcpy(bytes_.data() + at, values.data(), values.size_bytes());
    return at;
  }
  size_t AddTokens(const std::vector<uint16_t>& tokens);

  resident::StepArguments shape_{};
  int64_t tokens_ = 0;
  int64_t keep_places_ = 0;
  RandomStream keep_stream_;
  uint32_t keep_threshold_ = 0;
  std::optional<resident::SampleArguments> sample_;
  std::vector<char> bytes_;
  size_t size_ = 0;
  size_t tokens_at_ = kNone, targets_at_ = kNone, addition_at_ = kNone, rotation_at_ = kNone, tables_at_ = kNone, distances_at_ = kNone;
};

// How attention's logits are biased under these settings.
resident::BiasKind BiasKindOf(const PackSettings& settings, const Encoding& encoding);

}  // namespace longreach::trainer
