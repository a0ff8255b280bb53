// Data sets that every machine can make for itself: what quickstarts train on.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

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

// The data set of that name, made first if it is not there and there is a recipe for it; `made` says whether it was.
// NOT_FOUND: neither; the text says how to import it, and names the recipes.
absl::StatusOr<Manifest> Ensure(const std::filesystem::path& folder, const std::string& name, Progress& progress, bool& made);

}  // namespace longreach::data
