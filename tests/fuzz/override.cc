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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto preset = longreach::client::LoadSweep("quickstart");
  Must(preset.ok(), "the preset can be read");
  longreach::v1::SweepSpec spec = preset->spec;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (longreach::fuzz::HasLongRange(text)) return 0;
  const absl::Status applied = longreach::client::ApplyOverrides(longreach::Split(text, '\n'), spec);
  if (applied.ok()) {
    longreach::v1::SweepSpec sent;
    Must(sent.ParseFromString(spec.SerializeAsString()), "what --set says can be sent");
  } else {
    const std::string message(applied.message());
    Must(message.starts_with("--set "), "an error begins with the option", message);
    Must(longreach::client::Printable(message, true) == message, "an error holds nothing that a terminal obeys", message);
  }
  return 0;
}
