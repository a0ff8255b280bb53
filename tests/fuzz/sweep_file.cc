// Sweep files: refused with one line's place and reason, or read; what is read is a message that can be sent.
#include <sys/mman.h>
#include <unistd.h>

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

// The same bytes as a file that a user names, and as --set arguments on top of it, one a line.
void LoadAndOverride(const std::string& text) {
  static const int fd = memfd_create("sweep", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  Must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "the test's own file can be written");
  auto loaded = longreach::client::LoadSweep(path);
  if (loaded.ok()) (void)longreach::client::ApplyOverrides(longreach::Split(text, '\n'), loaded->spec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (longreach::fuzz::HasLongRange(text)) return 0;
  if (text.find('\0') == std::string_view::npos) LoadAndOverride(std::string(text));
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
