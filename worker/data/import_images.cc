#include "worker/data/import_images.h"

#include <fmt/format.h>

#include "worker/data/byte_source.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

constexpr int64_t kMaxImageFile = int64_t{256} << 20;

SplitSource SourceOf(const std::string& name, const std::vector<ListedImage>& images) {
  SplitSource source;
  source.name = name;
  source.images = static_cast<int64_t>(images.size());
  const auto at = [&images](int64_t index) -> const ListedImage& { return images[static_cast<size_t>(index)]; };
  source.label = [at](int64_t index) { return at(index).label; };
  source.describe = [at](int64_t index) { return at(index).file.string(); };
  source.image = [at](int64_t index) -> absl::StatusOr<GrayImage> {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(at(index).file, kMaxImageFile));
    return DecodeGray(bytes);
  };
  source.fingerprint = [at](int64_t begin, int64_t end) -> absl::StatusOr<std::string> {
    std::string text;
    for (int64_t i = begin; i < end; ++i) {
      const absl::StatusOr<std::string> line = FingerprintOf(at(i).file);
      // One that cannot be looked at is broken, which is said when it is read.
      text += fmt::format("{} {}\n", at(i).label, line.ok() ? *line : at(i).file.string());
    }
    return text;
  };
  return source;
}

}  // namespace

absl::StatusOr<Manifest> ImportImages(const ImagesImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  ASSIGN_OR_RETURN(const ImageListing listing, ListImages(wanted.source, wanted.listing));
  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  Manifest manifest;
  manifest.source = wanted.source.string();
  manifest.classes = listing.classes;
  const SplitSource splits[] = {SourceOf("train", listing.train), SourceOf("valid", listing.valid)};
  RETURN_IF_ERROR(WriteShards(wanted.shards, splits, staging, progress, manifest));
  RETURN_IF_ERROR(staging.Publish(std::move(manifest)));
  return ReadDataSet(wanted.folder, wanted.name);
}

}  // namespace longreach::data
