#include "worker/data/recipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

const Recipe* FindRecipe(const std::string& name) {
  const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
  return found == std::end(kRecipes) ? nullptr : &*found;
}

// Behind 'longreach data import': the kind, and what it is made of.
std::string Source(const std::string& name, const std::string& kind) {
  if (kind == Word(Kind::kText) || FindKnownText(name).has_value()) return "text FILE";
  if (kind == Word(Kind::kTokens)) return "tokens PATH";
  if (kind == Word(Kind::kPairs)) return "pairs FILE --test FILE";
  if (kind.empty()) return "KIND PATH";
  return fmt::format("{} DIR", kind);
}

// A sweep that names a data set of this kind may name one that is made without a source.
bool HasRecipes(const std::string& name, const std::string& kind) {
  return !FindKnownText(name).has_value() && (kind.empty() || kind == Word(Kind::kText) || kind == Word(Kind::kImages));
}

absl::Status NotThere(const fs::path& folder, const std::vector<std::string>& names, const std::map<std::string, std::string>& kinds) {
  std::vector<std::string> recipes, quoted, commands;
  bool helps = false;
  for (const Recipe& one : kRecipes) recipes.emplace_back(one.name);
  for (const std::string& name : names) {
    const auto known = kinds.find(name);
    const std::string kind = known == kinds.end() ? "" : known->second;
    quoted.push_back(fmt::format("'{}'", name));
    commands.push_back(fmt::format("longreach data import {} --name {}", Source(name, kind), name));
    helps = helps || HasRecipes(name, kind);
  }
  const std::string besides = helps ? fmt::format(" ({} can be made without a source)", Join(recipes, " and ")) : "";
  if (names.size() == 1) {
    std::vector<std::string> had = DataSetNames(folder);
    if (helps) had.insert(had.end(), recipes.begin(), recipes.end());
    const std::string near = ClosestWord(names.front(), had);
    return absl::NotFoundError(fmt::format("there is no data set {} in {}; {}'{}' makes it{}", quoted.front(), folder.string(), near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                           commands.front(), besides));
  }
  return absl::NotFoundError(fmt::format("there are no data sets {} in {}; these commands make them{}:\n  {}", Join(quoted, ", "), folder.string(), besides,
                                         Join(commands, "\n  ")));
}

}  // namespace

std::span<const Recipe> Recipes() { return kRecipes; }

absl::Status CheckCanBeHad(const fs::path& folder, std::span<const std::string> names, const std::map<std::string, std::string>& kinds) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const absl::Status there = ReadDataSet(folder, name).status();
    if (there.ok() || std::ranges::find(missing, name) != missing.end()) continue;
    if (!absl::IsNotFound(there)) return there;
    if (FindRecipe(name) == nullptr) missing.push_back(name);
  }
  return missing.empty() ? absl::OkStatus() : NotThere(folder, missing, kinds);
}

absl::StatusOr<Manifest> Ensure(const fs::path& folder, const std::string& name, Progress& progress, bool& made) {
  made = false;
  absl::StatusOr<Manifest> there = ReadDataSet(folder, name);
  if (there.status().code() != absl::StatusCode::kNotFound) return there;
  const Recipe* const recipe = FindRecipe(name);
  if (recipe == nullptr) return NotThere(folder, {name}, {});
  made = true;
  return recipe->make(folder, progress);
}

}  // namespace longreach::data
