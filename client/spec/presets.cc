#include "client/spec/presets.h"

#include <filesystem>
#include <string_view>
#include <system_error>
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

std::vector<LoadedSweep> PartsOf(const std::string& preset_or_path) {
  if (!LooksLikePath(preset_or_path)) return PartsOfPreset(preset_or_path);
  // A pipe is not read for the sake of a look.
  if (std::error_code error; !std::filesystem::is_regular_file(preset_or_path, error)) return {};
  if (const absl::StatusOr<SweepFile> file = LoadSweep(preset_or_path); !file.ok() || file->parts.empty()) return {};
  absl::StatusOr<std::vector<LoadedSweep>> parts = LoadSweeps({.spec = preset_or_path, .overrides = {}});
  return parts.ok() ? *std::move(parts) : std::vector<LoadedSweep>();
}

}  // namespace longreach::client
