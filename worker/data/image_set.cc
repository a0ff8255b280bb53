#include "worker/data/image_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "worker/data/data_folder.h"
#include "worker/data/shard.h"

namespace longreach::data {

const ImageView::Run& ImageView::RunOf(int64_t image) const {
  return *std::prev(std::ranges::upper_bound(runs_, image, {}, &Run::first));
}

std::span<const uint8_t> ImageView::pixels(int64_t image) const {
  const Run& run = RunOf(image);
  const auto area = static_cast<size_t>(size_.rows) * static_cast<size_t>(size_.cols);
  return {run.pixels + static_cast<size_t>(image - run.first) * area, area};
}

int ImageView::label(int64_t image) const {
  const Run& run = RunOf(image);
  return static_cast<int>(ReadLabel(run.labels + sizeof(uint32_t) * static_cast<size_t>(image - run.first)));
}

absl::StatusOr<ImageSet> ImageSet::Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadDataSet(folder, name, sha256, Kind::kImages));
  ImageSet set;
  set.name_ = name;
  set.sizes_ = manifest.sizes;
  set.classes_ = manifest.classes;
  set.sha256_ = manifest.Identity();
  const auto open = [&](const std::vector<ShardEntry>& entries, Split& split) -> absl::Status {
    for (const ShardEntry& entry : entries) {
      const std::filesystem::path path = folder / name / entry.file;
      Shard& shard = split.shards.emplace_back();
      ASSIGN_OR_RETURN(shard.file, MappedFile::Open(path));
      absl::StatusOr<ShardLayout> layout = ParseShard(shard.file.bytes());
      if (!layout.ok()) return absl::DataLossError(fmt::format("{}, {}", path.string(), std::string(layout.status().message())));
      if (layout->images != entry.images || layout->sizes != set.sizes_) {
        return absl::DataLossError(fmt::format("{}: its header is not what the manifest says; import the data set anew", path.string()));
      }
      // A label past the end would be read as a class that is none. 4 bytes an image are soon read.
      for (int64_t i = 0; i < layout->images; ++i) {
        const size_t at = layout->labels + sizeof(uint32_t) * static_cast<size_t>(i);
        if (ReadLabel(&shard.file.bytes()[at]) >= set.classes_.size()) {
          return absl::DataLossError(fmt::format("{}, at byte {}: class {} of {}; import the data set anew", path.string(), at,
                                                 ReadLabel(&shard.file.bytes()[at]), set.classes_.size()));
        }
      }
      shard.first = split.count;
      shard.count = entry.images;
      split.count += entry.images;
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(open(manifest.train_shards, set.train_));
  RETURN_IF_ERROR(open(manifest.valid_shards, set.valid_));
  return set;
}

absl::StatusOr<ImageView> ImageSet::Train(ImageSize size) const { return View(train_, size); }
absl::StatusOr<ImageView> ImageSet::Valid(ImageSize size) const { return View(valid_, size); }

absl::Status ImageSet::HasSizes(const std::vector<ImageSize>& wanted) const {
  std::vector<ImageSize> all, missing;  // Each once.
  for (const ImageSize& one : wanted) {
    if (std::ranges::find(all, one) != all.end()) continue;
    all.push_back(one);
    if (std::ranges::find(sizes_, one) == sizes_.end()) missing.push_back(one);
  }
  if (missing.empty()) return absl::OkStatus();
  const auto words = [](const std::vector<ImageSize>& sizes, std::string_view between) {
    std::string text;
    for (const ImageSize& one : sizes) text += fmt::format("{}{}x{}", text.empty() ? "" : between, one.rows, one.cols);
    return text;
  };
  return absl::FailedPreconditionError(
      fmt::format("the data set '{}' has its images at {} (rows x columns), not at {}; import it under another name with "
                  "'--sizes {}'",
                  name_, words(sizes_, ", "), words(missing, ", "), words(all, ",")));
}

absl::StatusOr<ImageView> ImageSet::View(const Split& split, ImageSize size) const {
  RETURN_IF_ERROR(HasSizes({size}));
  const auto found = std::ranges::find(sizes_, size);
  const auto index = static_cast<size_t>(found - sizes_.begin());
  ImageView view;
  view.size_ = size;
  view.count_ = split.count;
  for (const Shard& shard : split.shards) {
    ASSIGN_OR_RETURN(const ShardLayout layout, ParseShard(shard.file.bytes()));
    const uint8_t* bytes = shard.file.bytes().data();
    view.runs_.push_back({.first = shard.first, .labels = bytes + layout.labels, .pixels = bytes + layout.pixels[index]});
  }
  return view;
}

}  // namespace longreach::data
