// Sweep files: YAML whose fields are the fields of SweepSpec, and three more that only the client reads.
#pragma once

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "client/spec/field_grid.h"
#include "client/spec/field_places.h"
#include "client/spec/yaml_tree.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// A sweep as it is asked for: a preset or a path, and --set arguments on top.
struct SweepSource {
  std::string spec;
  std::vector<std::string> overrides;
};

// What a sweep file says.
struct SweepFile {
  v1::SweepSpec spec;
  // Fields that have several values; CrossGrid() makes systems of them, after all --set arguments.
  FieldGrid grid;
  // How `results` prints the sweep; empty fields have the defaults of CompleteTable().
  v1::TableSpec table;
  bool has_table = false;
  // Paths of the fields that the table's title tells of: where one of them is set with --set, also of a system or an input, the usual
  // title takes its place.
  std::vector<std::string> title_depends_on;
  // One line for `list presets`.
  std::string summary;
  // Other sweeps, instead of one of its own: then `spec` has a name at most.
  std::vector<SweepSource> parts;
  // Where its fields stand; of a preset nowhere, which nobody can mend.
  FieldPlaces places;
};

// Reads the text of a sweep file. `name` is what error messages call it.
// INVALID_ARGUMENT with NAME:LINE:COLUMN, what is wrong, and a suggestion where one is near.
absl::StatusOr<SweepFile> ReadSweepFile(std::string_view text, std::string name);

// A name with '/' or ending in .yaml or .yml is a path; any other is a preset's.
bool LooksLikePath(const std::string& name);

// Reads a preset that is compiled in, or the file of that path. A sweep without a name gets that of its file. NOT_FOUND: neither; with
// the file that may be meant, of those in `folder`, where paths begin.
absl::StatusOr<SweepFile> LoadSweep(const std::string& preset_or_path, const std::filesystem::path& folder = {});

// Applies `--set PATH=VALUE[,VALUE...]` arguments to a file's sweep and its grid. Each replaces what the file said.
// INVALID_ARGUMENT: "--set PATH: what is wrong".
absl::Status ApplyOverrides(const std::vector<std::string>& overrides, SweepFile& file);

// A sweep that is ready to be sent, and what it was made of. Its grid is what its systems were made of.
struct LoadedSweep {
  SweepFile file;
  SweepSource source;
};

// The sweep with its overrides; of a file with parts, all of these in their order, with the overrides on top of each part's own. Paths
// of parts begin in the file's folder. Errors of LoadSweep(), ApplyOverrides() and CrossGrid(); INVALID_ARGUMENT: a part has parts, or two the same name.
absl::StatusOr<std::vector<LoadedSweep>> LoadSweeps(const SweepSource& source);

}  // namespace longreach::client
