#include "worker/data/recipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "proto/base/text.h"
#include "worker/data/data_folder.h"
#include "worker/data/import_images.h"
#include "worker/data/import_text.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

// The folder of the highest version: /usr/include/c++/12.
std::optional<fs::path> NewestVersion(const fs::path& folder) {
  std::optional<fs::path> newest;
  int64_t highest = -1;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::optional<int64_t> version = ParseInteger(entry->path().filename().string());
    if (!version.has_value() || *version <= highest || entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
    highest = *version;
    newest = entry->path();
  }
  return newest;
}

// Licences first: what is tested comes from the end, and then is code, as most of the training text.
absl::StatusOr<Manifest> MakeDebianText(const fs::path& folder, Progress& progress) {
  std::vector<fs::path> sources;
  std::error_code ignored;
  if (fs::is_directory("/usr/share/common-licenses", ignored)) sources.push_back("/usr/share/common-licenses");
  if (const std::optional<fs::path> headers = NewestVersion("/usr/include/c++"); headers.has_value()) sources.push_back(*headers);
  if (sources.empty()) {
    return absl::NotFoundError(
        "there is neither /usr/share/common-licenses nor /usr/include/c++ here; 'longreach data import text FILE... --name debian-text' "
        "takes any other text");
  }
  return ImportText({.folder = folder, .name = "debian-text", .sources = sources}, progress);
}

absl::StatusOr<Manifest> MakeFarRows(const fs::path& folder, Progress& progress) {
  SyntheticImages wanted;
  wanted.folder = folder;
  wanted.name = "far-rows";
  // The small ones are for tapes that two cores can train on in minutes.
  wanted.shards.sizes = {{6, 6}, {8, 8}, {12, 12}, {16, 16}};
  for (const ImageSize& size : DefaultSizes()) wanted.shards.sizes.push_back(size);
  return MakeSyntheticImages(wanted, progress);
}

constexpr Recipe kRecipes[] = {
    {"debian-text", "the licences and C++ headers of this machine, as a text corpus", &MakeDebianText},
    {"far-rows", "generated images; the class depends on a top and a bottom row", &MakeFarRows},
};

}  // namespace

std::span<const Recipe> Recipes() { return kRecipes; }

absl::StatusOr<Manifest> Ensure(const fs::path& folder, const std::string& name, Progress& progress, bool& made) {
  made = false;
  absl::StatusOr<Manifest> there = ReadDataSet(folder, name);
  if (there.status().code() != absl::StatusCode::kNotFound) return there;
  const auto recipe = std::ranges::find(kRecipes, name, &Recipe::name);
  if (recipe != std::end(kRecipes)) {
    made = true;
    return recipe->make(folder, progress);
  }
  const bool text = FindKnownText(name).has_value();
  std::vector<std::string> names;
  for (const Recipe& one : kRecipes) names.emplace_back(one.name);
  return absl::NotFoundError(fmt::format("there is no data set '{}' in {}; 'longreach data import {} --name {}' makes it{}", name, folder.string(),
                                         text ? "text FILE" : "KIND PATH", name,
                                         text ? "" : fmt::format(" ({} can be made without a source)", Join(names, " and "))));
}

}  // namespace longreach::data
