#include "client/commands/published_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/spec/spec_differences.h"
#include "client/spec/spec_reader.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

struct Printed {
  std::string preset;
  v1::SweepSpec spec;
};

// The preset, or the part of one, whose table has these published values.
std::optional<Printed> PresetOf(const std::string& published, const std::string& sweep) {
  std::optional<Printed> found;
  for (const catalog::File& preset : catalog::Presets()) {
    // Reading a long one takes milliseconds.
    if (preset.text.find(published) == std::string_view::npos && preset.text.find("\nparts:") == std::string_view::npos) continue;
    const absl::StatusOr<std::vector<LoadedSweep>> parts = LoadSweeps({.spec = std::string(preset.name), .overrides = {}});
    if (!parts.ok()) continue;
    for (const LoadedSweep& part : *parts) {
      if (part.file.table.published() != published) continue;
      // Of several, the one of the sweep's name.
      if (!found || part.file.spec.name() == sweep) found = Printed{.preset = std::string(part.file.spec.name()), .spec = part.file.spec};
    }
  }
  return found;
}

// Where a sweep is not as its preset; lists that only the preset has, too: in the sweep they are the default of its kind again.
std::set<std::string> Differences(const v1::SweepSpec& preset, const v1::SweepSpec& sweep) {
  std::set<std::string> differences = FieldsThatDiffer(preset, sweep);
  v1::SweepSpec common = preset;
  common.clear_systems();
  for (const v1::System& system : preset.systems()) {
    if (std::ranges::find(sweep.systems(), system.name(), &v1::System::name) != sweep.systems().end()) *common.add_systems() = system;
  }
  differences.merge(FieldsThatDiffer(sweep, common));
  return differences;
}

}  // namespace

void NoteOtherSettings(const v1::SweepSpec& spec, const v1::TableSpec& table, v1::Table& measured) {
  if (table.published().empty() || std::ranges::none_of(measured.cells(), [](const v1::TableCell& cell) { return cell.has_published(); })) return;
  const std::optional<Printed> preset = PresetOf(table.published(), spec.name());
  if (!preset) return;
  const std::set<std::string> differences = Differences(preset->spec, spec);
  if (differences.empty()) return;
  measured.add_notes(fmt::format("published values are of other settings: this sweep differs from the preset '{}' in {}", preset->preset,
                                 JoinSome({differences.begin(), differences.end()})));
}

}  // namespace longreach::client
