// Sweep files: refused with one line's place and reason, or read; what is read is a message that can be sent.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/output/text.h"
#include "client/spec/spec_reader.h"
#include "tests/fuzz/must.h"

using longreach::fuzz::Must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = longreach::client::ReadSweepFile(text, "sweep.yaml");
  if (read.ok()) {
    longreach::v1::SweepSpec sent;
    Must(sent.ParseFromString(read->spec.SerializeAsString()), "what a sweep file says can be sent");
    longreach::v1::TableSpec table;
    Must(table.ParseFromString(read->table.SerializeAsString()), "what its table says can be sent");
  } else {
    const std::string message(read.status().message());
    Must(message.starts_with("sweep.yaml"), "an error begins with the file's name", message);
    Must(longreach::client::Printable(message, true) == message, "an error holds nothing that a terminal obeys", message);
  }
  return 0;
}
