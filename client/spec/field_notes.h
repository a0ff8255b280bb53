// What proto/longreach/v1/spec.proto says of the fields of a sweep, compiled in.
#pragma once

#include <string>
#include <vector>

namespace longreach::client {

struct FieldNote {
  std::string path;      // As --set takes it: "training.steps", an axis by its bare name.
  std::string type;      // As docs/reference/sweep-files.md calls it: "whole number", "list of texts", "list of groups".
  std::string standard;  // The default of the experiment kind "algorithmic", as the comment says it; empty: it says none.
  std::string kind;      // The experiment kind that alone has the field, or several as "algorithmic, llama or sequences"; empty: all have it.
  std::string text;      // One line.
};

// In the order of the file.
std::vector<FieldNote> FieldNotes();

}  // namespace longreach::client
