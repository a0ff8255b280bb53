#include "client/spec/presets.h"

#include <string_view>
#include <utility>

#include "proto/catalog/catalog.h"

namespace longreach::client {

v1::TableSpec TableOfPreset(const std::string& sweep_name) {
  if (const catalog::File* preset = catalog::FindPreset(sweep_name); preset != nullptr) {
    absl::StatusOr<SweepFile> file = ReadSweepFile(preset->text, sweep_name);
    return file.ok() ? std::move(file)->table : v1::TableSpec();
  }
  for (const catalog::File& preset : catalog::Presets()) {
    for (const LoadedSweep& part : PartsOfPreset(std::string(preset.name))) {
      if (part.file.spec.name() == sweep_name) return part.file.table;
    }
  }
  return {};
}

std::vector<LoadedSweep> PartsOfPreset(const std::string& name) {
  const catalog::File* preset = catalog::FindPreset(name);
  // Most have none, and reading a long one takes milliseconds.
  if (preset == nullptr || preset->text.find("\nparts:") == std::string_view::npos) return {};
  absl::StatusOr<std::vector<LoadedSweep>> parts = LoadSweeps({.spec = name, .overrides = {}});
  return parts.ok() ? *std::move(parts) : std::vector<LoadedSweep>();
}

}  // namespace longreach::client
