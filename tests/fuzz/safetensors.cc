// Headers of safetensors files: refused with the reason, or every tensor can be read and lies within the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "client/figure/attention_series.h"
#include "client/figure/entropy_series.h"
#include "tests/fuzz/must.h"
#include "worker/trainer/checkpoint/member_checkpoint.h"
#include "worker/trainer/checkpoint/safetensors.h"

using longreach::client::AttentionSeries;
using longreach::client::EntropySeries;
using longreach::fuzz::Must;
using longreach::trainer::MemberCheckpoint;
using longreach::trainer::SafetensorsFile;
using longreach::trainer::SafetensorsPart;
using longreach::trainer::TakeBytes;

namespace {

// A file that is only memory.
const std::string& FileOf(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("safetensors", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  Must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == static_cast<ssize_t>(size), "the test's own file can be written");
  return path;
}

// What is read can be written, and is read again as the same.
void MustBeWrittenTheSame(const SafetensorsFile& file) {
  static const std::string copy = (std::filesystem::temp_directory_path() / ("fuzz-safetensors-" + std::to_string(getpid()))).string();
  std::vector<SafetensorsPart> parts;
  for (const auto& [name, entry] : file.entries()) {
    parts.push_back({.name = name, .dtype = entry.dtype, .shape = entry.shape,
                     .bytes = {entry.end - entry.begin, [&file, begin = entry.begin, end = entry.end](const TakeBytes& take) { return file.Give(begin, end, take); }}});
  }
  Must(WriteSafetensors(copy, file.metadata(), parts).ok(), "what was read can be written");
  const absl::StatusOr<SafetensorsFile> again = SafetensorsFile::Open(copy);
  unlink(copy.c_str());
  Must(again.ok(), "what was written can be read", again.status().message());
  Must(again->metadata() == file.metadata() && again->entries().size() == file.entries().size(), "it is the same");
}

// As the matrices that a figure is drawn of: refused, or each is a share.
void MayBeAttention(std::string_view bytes, int length) {
  const absl::StatusOr<AttentionSeries> series = AttentionSeries::Parse(std::string(bytes), length);
  if (!series.ok()) return;
  Must(series->layers() > 0 && series->tape() > 0, "there are matrices");
  const float last = series->At(series->layers() - 1, series->tape() - 1, series->tape() - 1);
  Must(last >= 0 && last <= 1.001f, "they are shares");
}

// As the entropies that a figure is drawn of: refused, or each can be read, and bins end at numbers.
void MayBeEntropies(std::string_view bytes) {
  const absl::StatusOr<EntropySeries> series = EntropySeries::Parse(std::string(bytes));
  if (!series.ok()) return;
  Must(series->layers() > 0 && series->heads() > 0 && series->bins() > 0, "there are entropies");
  Must(series->bin_width() > 0 && series->bins() * series->bin_width() > 0, "bins have a width");
  (void)series->At(series->layers() - 1, series->heads() - 1, series->bins() - 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const int length : {0, 7}) MayBeAttention({reinterpret_cast<const char*>(data), size}, length);
  MayBeEntropies({reinterpret_cast<const char*>(data), size});
  const std::string& path = FileOf(data, size);
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) {
    Must(file.status().code() == absl::StatusCode::kDataLoss, "a damaged file is DATA_LOSS", file.status().message());
    return 0;
  }
  for (const auto& [name, entry] : file->entries()) {
    Must(entry.begin <= entry.end && entry.end <= file->payload_bytes(), "a tensor lies within its file", name);
    Must(entry.count() >= 0, "a tensor has a size", name);
    (void)file->Floats(name);
    (void)file->Doubles(name);
    (void)file->Integers(name);
    (void)file->Longs(name);
  }
  MustBeWrittenTheSame(*file);
  // As a checkpoint, whatever settings it names.
  for (const int member : {-1, 0, 1, 5}) {
    const absl::StatusOr<MemberCheckpoint> found = longreach::trainer::ReadMemberCheckpoint(*file, member, "job", file->Metadata("settings"));
    if (found.ok()) {
      Must(found->state.at_end.accuracy.size() == static_cast<size_t>(found->point.lengths_done), "a member has its scores");
      Must(found->state.on_the_way.accuracy.size() == static_cast<size_t>(found->point.curve_tests), "a member has its scores on the way");
    }
  }
  return 0;
}
