// `--set PATH=VALUE`: one in each line of the input, on top of a preset's specification.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/output/text.h"
#include "client/spec/spec_reader.h"
#include "proto/base/text.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/ranges.h"

using longreach::fuzz::Must;

namespace {

void Apply(const char* name, std::string_view text) {
  const auto preset = longreach::client::LoadSweep(name);
  Must(preset.ok(), "the preset can be read");
  longreach::client::SweepFile file = *preset;
  absl::Status applied = longreach::client::ApplyOverrides(longreach::Split(text, '\n'), file);
  if (applied.ok()) applied = longreach::client::CrossGrid(file.grid, file.spec);
  if (applied.ok()) {
    longreach::v1::SweepSpec sent;
    Must(sent.ParseFromString(file.spec.SerializeAsString()), "what --set says can be sent");
  } else {
    const std::string message(applied.message());
    Must(message.starts_with("--set "), "an error begins with the option", message);
    Must(longreach::client::Printable(message, true) == message, "an error holds nothing that a terminal obeys", message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (longreach::fuzz::HasLongRange(text)) return 0;
  Apply("quickstart", text);
  Apply("table-2", text);  // It has an input.
  return 0;
}
