// Sweep files: refused with one line's place and reason, or read; what is read is a message that can be sent, and what a scheduler refuses of
// it is told whole.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/spec_reader.h"
#include "proto/base/text.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/ranges.h"

using longreach::fuzz::Must;

namespace {

// What parts an input: a sweep file, --set arguments on top of it, one a line, what a user calls a sweep, and what a scheduler says of the file.
constexpr std::string_view kParts = "\n%%\n";

std::string_view TakePart(std::string_view& text) {
  const size_t end = text.find(kParts);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + kParts.size());
  return part;
}

// `text` as a file that a user names.
absl::StatusOr<longreach::client::SweepFile> Load(std::string_view text) {
  static const int fd = memfd_create("sweep", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  Must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "the test's own file can be written");
  return longreach::client::LoadSweep(path);
}

void MustBeInert(const absl::Status& status) {
  const std::string message(status.message());
  Must(longreach::client::Printable(message, true) == message, "an error holds nothing that a terminal obeys", message);
}

// With or without a place in front.
void MustBeWhole(std::string_view refusal, const longreach::client::FieldPlaces& places) {
  const absl::Status refused = absl::InvalidArgumentError(std::string(refusal));
  const std::string said = longreach::client::SplitError(refused).message;
  const std::string told = longreach::client::SplitError(places.WithPlace(refused)).message;
  Must(told.ends_with(said), "a refusal is told whole", told);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (longreach::fuzz::HasLongRange(rest)) return 0;
  const std::string_view text = TakePart(rest);
  const std::string_view settings = TakePart(rest);
  const std::string_view name = TakePart(rest);
  if (auto loaded = Load(text); loaded.ok()) {
    MustBeInert(longreach::client::ApplyOverrides(longreach::Split(settings, '\n'), *loaded));
    MustBeInert(longreach::client::CrossGrid(loaded->grid, loaded->spec));
    MustBeWhole(rest, loaded->places);
  }
  // A path could be any file of this machine, or a pipe without an end.
  if (name.find('/') == std::string_view::npos) MustBeInert(longreach::client::LoadSweep(std::string(name)).status());
  const auto read = longreach::client::ReadSweepFile(text, "sweep.yaml");
  if (read.ok()) {
    longreach::v1::SweepSpec sent;
    Must(sent.ParseFromString(read->spec.SerializeAsString()), "what a sweep file says can be sent");
    longreach::v1::TableSpec table;
    Must(table.ParseFromString(read->table.SerializeAsString()), "what its table says can be sent");
  } else {
    const std::string message(read.status().message());
    Must(message.starts_with("sweep.yaml"), "an error begins with the file's name", message);
    MustBeInert(read.status());
  }
  return 0;
}
