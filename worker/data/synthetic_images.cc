#include <fmt/format.h>

#include "worker/data/data_folder.h"
#include "worker/data/import_images.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

// Divisible by 5, for the bands, and larger than all sizes that images are usually kept at.
constexpr int kSide = 90;
constexpr int kBand = kSide / 5;
constexpr int kMark = 14;

// A stream of integers that depends on its three numbers alone (SplitMix64).
class Numbers {
 public:
  Numbers(uint32_t seed, uint64_t split, uint64_t image) : state_(Mixed(Mixed(seed + (split << 32)) + image)) {}

  // In [0, below).
  int Next(int below) {
    state_ += kStep;
    return static_cast<int>((Mixed(state_) >> 32) * static_cast<uint64_t>(below) >> 32);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  static uint64_t Mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state_;
};

// Bit 1: the top mark is on the right. Bit 0: the bottom one.
uint32_t ClassOf(int64_t index) { return static_cast<uint32_t>(index % 4); }

GrayImage Draw(Numbers numbers, uint32_t label) {
  GrayImage image{kSide, kSide, std::vector<uint8_t>(kSide * kSide)};
  for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(32 + numbers.Next(96));
  const auto mark = [&](int band, bool right) {
    const int row = band + numbers.Next(kBand - kMark + 1);
    const int col = (right ? kSide / 2 : 0) + numbers.Next(kSide / 2 - kMark + 1);
    for (int r = row; r < row + kMark; ++r) {
      for (int c = col; c < col + kMark; ++c) image.pixels[static_cast<size_t>(r * kSide + c)] = static_cast<uint8_t>(224 + numbers.Next(32));
    }
  };
  mark(0, (label & 2) != 0);
  mark(kSide - kBand, (label & 1) != 0);
  return image;
}

SplitSource SourceOf(const std::string& name, int64_t images, uint32_t seed) {
  const uint64_t split = name == "train" ? 0 : 1;
  SplitSource source;
  source.name = name;
  source.images = images;
  source.label = &ClassOf;
  source.describe = [name](int64_t index) { return fmt::format("{} {}", name, index); };
  source.image = [split, seed](int64_t index) -> absl::StatusOr<GrayImage> {
    return Draw(Numbers(seed, split, static_cast<uint64_t>(index)), ClassOf(index));
  };
  source.fingerprint = [name, seed](int64_t begin, int64_t end) -> absl::StatusOr<std::string> {
    return fmt::format("far rows {} {} {} {}", name, seed, begin, end);
  };
  return source;
}

}  // namespace

absl::StatusOr<Manifest> MakeSyntheticImages(const SyntheticImages& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  constexpr int64_t kMost = 10'000'000;
  for (const int64_t images : {wanted.train, wanted.valid}) {
    if (images < 1 || images > kMost) return absl::InvalidArgumentError(fmt::format("{} images; take 1 to {}", images, kMost));
  }
  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  Manifest manifest;
  manifest.source = fmt::format("generated: two marks in far rows, seed {}", wanted.seed);
  manifest.classes = {"left-left", "left-right", "right-left", "right-right"};
  const SplitSource splits[] = {SourceOf("train", wanted.train, wanted.seed), SourceOf("valid", wanted.valid, wanted.seed)};
  RETURN_IF_ERROR(WriteShards(wanted.shards, splits, staging, progress, manifest));
  RETURN_IF_ERROR(staging.Publish(std::move(manifest)));
  return ReadDataSet(wanted.folder, wanted.name);
}

}  // namespace longreach::data
