// Data sets that every machine can make for itself: what quickstarts train on.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"

namespace longreach::data {

struct Recipe {
  std::string_view name;
  std::string_view summary;
  absl::StatusOr<Manifest> (*make)(const std::filesystem::path& folder, Progress& progress);
};

// Ascending by name.
std::span<const Recipe> Recipes();

// OK: each of these data sets is there, or has a recipe. NOT_FOUND: all that are neither, at once, each with the command that imports it, and the names of the
// recipes where one of these may take its place. Others: one of them is damaged. `kinds`: by name the words of those (manifest.h) whose kind is known.
absl::Status CheckCanBeHad(const std::filesystem::path& folder, std::span<const std::string> names, const std::map<std::string, std::string>& kinds = {});

// The data set of that name, made first if it is not there and there is a recipe for it; `made` says whether it was.
// NOT_FOUND: neither, as above.
absl::StatusOr<Manifest> Ensure(const std::filesystem::path& folder, const std::string& name, Progress& progress, bool& made);

}  // namespace longreach::data
