#include "worker/data/shard_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "proto/base/resources.h"
#include "proto/base/sha256.h"
#include "proto/base/synchronized.h"
#include "proto/base/text.h"
#include "worker/data/files.h"
#include "worker/data/shard.h"

namespace longreach::data {
namespace {

using Json = nlohmann::json;

// Raised when the same files give other pixels: what an older build left half-way is then made anew.
constexpr int kPixelRevision = 1;
constexpr size_t kBrokenShown = 20;

struct Slice {
  const SplitSource& split;
  int64_t begin = 0;
  int64_t end = 0;
  std::string file;  // "train-00003.images".
};

// What is known of a finished shard; lies beside it until the data set is published.
struct Finished {
  FileEntry file;  // No bytes: all its images were broken.
  int64_t images = 0;
  std::vector<std::string> broken;
  bool unread = false;  // Of some images not the bytes are broken: they could not be read, and the next time they may.
};

std::filesystem::path NoteOf(const Staging& staging, const Slice& slice) { return staging.path() / (slice.file + ".json"); }

// The shard that an interrupted import left, if it is whole and of these very images.
std::optional<Finished> FindFinished(const Staging& staging, const Slice& slice, const std::string& fingerprint) {
  const absl::StatusOr<std::string> text = ReadFile(NoteOf(staging, slice), int64_t{1} << 26);
  if (!text.ok()) return std::nullopt;
  const Json note = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!note.is_object()) return std::nullopt;
  const auto is = [&note](const char* field, auto type) { return note.contains(field) && note[field].type() == type; };
  if (!is("fingerprint", Json::value_t::string) || !is("sha256", Json::value_t::string) || !is("broken", Json::value_t::array) ||
      !note.contains("images") || !note["images"].is_number_integer() || note["fingerprint"] != fingerprint) {
    return std::nullopt;
  }
  Finished finished;
  finished.images = note["images"].get<int64_t>();
  for (const Json& line : note["broken"]) {
    if (!line.is_string()) return std::nullopt;
    finished.broken.push_back(line.get<std::string>());
  }
  if (finished.images == 0) return finished;
  const std::filesystem::path file = staging.path() / slice.file;
  const absl::StatusOr<std::string> sha256 = Sha256OfFile(file);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (!sha256.ok() || error || note["sha256"] != *sha256) return std::nullopt;
  finished.file = {.name = slice.file, .bytes = static_cast<int64_t>(bytes), .sha256 = *sha256};
  return finished;
}

absl::Status WriteFinished(const Staging& staging, const Slice& slice, const std::string& fingerprint, const Finished& finished) {
  const Json note = {{"fingerprint", fingerprint}, {"sha256", finished.file.sha256}, {"images", finished.images}, {"broken", finished.broken}};
  return WriteFile(NoteOf(staging, slice), note.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Calls `work` with 0 ... count - 1, on so many threads.
void InParallel(int threads, int64_t count, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next = 0;
  const auto loop = [&] {
    for (int64_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(loop);
  loop();
}

absl::StatusOr<Finished> MakeShard(const ShardImport& wanted, const Staging& staging, const Slice& slice, int threads, Progress& progress) {
  const int64_t slots = slice.end - slice.begin;
  ShardBuilder builder(slots, wanted.sizes);
  std::vector<std::string> broken(static_cast<size_t>(slots));
  std::atomic<bool> unread = false;
  InParallel(threads, slots, [&](int64_t slot) {
    const int64_t index = slice.begin + slot;
    const absl::StatusOr<GrayImage> image = slice.split.image(index);
    if (image.ok()) {
      for (size_t size = 0; size < wanted.sizes.size(); ++size) {
        Resize(*image, wanted.sizes[size], wanted.fit, builder.pixels(slot, size));
      }
      builder.SetLabel(slot, slice.split.label(index));
    } else {
      if (!absl::IsDataLoss(image.status())) unread = true;
      broken[static_cast<size_t>(slot)] = fmt::format("{}: {}", slice.split.describe(index), std::string(image.status().message()));
    }
    progress.Advance(1);
  });
  Finished finished;
  for (std::string& line : broken) {
    if (!line.empty()) finished.broken.push_back(std::move(line));
  }
  finished.unread = unread;
  finished.images = builder.images();
  if (finished.images == 0) return finished;
  const std::string bytes = builder.Finish();
  RETURN_IF_ERROR(WriteFile(staging.path() / slice.file, bytes));
  finished.file = {.name = slice.file, .bytes = static_cast<int64_t>(bytes.size()), .sha256 = Sha256Of(bytes)};
  return finished;
}

absl::Status BrokenError(const std::vector<std::string>& broken, int64_t images) {
  std::string text = fmt::format("{} of {} images cannot be used:", broken.size(), images);
  for (size_t i = 0; i < std::min(broken.size(), kBrokenShown); ++i) text += "\n  " + broken[i];
  if (broken.size() > kBrokenShown) text += fmt::format("\n  and {} more", broken.size() - kBrokenShown);
  return absl::DataLossError(text + "\nget them again, or leave them out with --skip-broken; what is done is kept for the next import");
}

}  // namespace

absl::Status WriteShards(const ShardImport& wanted, std::span<const SplitSource> splits, const Staging& staging, Progress& progress,
                         Manifest& manifest) {
  const int threads = wanted.threads > 0 ? wanted.threads : AvailableThreads();
  std::string how = fmt::format("pixels {} fit {}", kPixelRevision, Word(wanted.fit));
  for (const ImageSize& size : wanted.sizes) how += fmt::format(" {}x{}", size.rows, size.cols);
  manifest.kind = Kind::kImages;
  manifest.sizes = wanted.sizes;
  manifest.fit = Word(wanted.fit);

  std::vector<Slice> slices;
  std::vector<std::string> fingerprints;
  std::vector<std::optional<Finished>> finished;
  int64_t total = 0;
  int64_t done = 0;
  for (const SplitSource& split : splits) {
    total += split.images;
    for (int64_t begin = 0; begin < split.images; begin += kImagesPerShard) {
      const int64_t end = std::min(begin + kImagesPerShard, split.images);
      slices.push_back({split, begin, end, fmt::format("{}-{:05}.images", split.name, begin / kImagesPerShard)});
      ASSIGN_OR_RETURN(const std::string images, split.fingerprint(begin, end));
      fingerprints.push_back(Sha256Of(how + "\n" + images));
      finished.push_back(FindFinished(staging, slices.back(), fingerprints.back()));
      if (finished.back().has_value()) done += end - begin;
    }
  }
  progress.Start(total, done, "images");
  for (size_t i = 0; i < slices.size(); ++i) {
    const Slice& slice = slices[i];
    if (!finished[i].has_value()) {
      ASSIGN_OR_RETURN(finished[i], MakeShard(wanted, staging, slice, threads, progress));
      if (!finished[i]->unread) RETURN_IF_ERROR(WriteFinished(staging, slice, fingerprints[i], *finished[i]));
    }
    manifest.skipped.insert(manifest.skipped.end(), finished[i]->broken.begin(), finished[i]->broken.end());
    if (finished[i]->images == 0) continue;
    manifest.files.push_back(finished[i]->file);
    (slice.split.name == "train" ? manifest.train_shards : manifest.valid_shards).push_back({slice.file, finished[i]->images});
  }
  progress.Finish();
  if (!manifest.skipped.empty() && !wanted.skip_broken) return BrokenError(manifest.skipped, total);
  if (manifest.train_shards.empty() || manifest.valid_shards.empty()) {
    return absl::InvalidArgumentError(fmt::format("no {} image is left without the broken ones", manifest.train_shards.empty() ? "training" : "validation"));
  }
  return absl::OkStatus();
}

std::vector<ImageSize> DefaultSizes() { return {{22, 22}, {22, 23}, {45, 44}, {45, 45}}; }

absl::StatusOr<std::vector<ImageSize>> ParseSizes(std::string_view text) {
  std::vector<ImageSize> sizes;
  for (const std::string& part : Split(text, ',')) {
    const std::vector<std::string> sides = Split(part, 'x');
    const int64_t rows = ParseInteger(sides[0]).value_or(0);
    const int64_t cols = sides.size() == 2 ? ParseInteger(sides[1]).value_or(0) : 0;
    if (rows < 1 || rows > kMaxSide || cols < 1 || cols > kMaxSide) {
      return absl::InvalidArgumentError(fmt::format("'{}' is not ROWSxCOLUMNS with sides of 1 to {}", part, kMaxSide));
    }
    const ImageSize size{static_cast<int>(rows), static_cast<int>(cols)};
    if (std::ranges::find(sizes, size) != sizes.end()) return absl::InvalidArgumentError(fmt::format("the size {} is there twice", part));
    sizes.push_back(size);
  }
  if (sizes.size() > kMaxSizes) return absl::InvalidArgumentError(fmt::format("{} sizes; at most {}", sizes.size(), kMaxSizes));
  return sizes;
}

}  // namespace longreach::data
