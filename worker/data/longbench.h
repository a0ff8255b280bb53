// LongBench's samples, in the files that they are published as: TASK.jsonl, one JSON object in each line.
// Source: the data of THUDM/LongBench.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "proto/base/file_to_read.h"
#include "proto/base/status.h"

namespace longreach::data {

struct LongBenchSample {
  std::string input;    // The question, where the task has one.
  std::string context;
  std::vector<std::string> answers;  // Never empty.
  std::vector<std::string> classes;  // Of tasks that choose one.
  std::string task;                  // "dataset", where the line says it.
};

class LongBenchFile {
 public:
  // Read and not mapped, here and later: what an import is given may be written by others. NOT_FOUND; DATA_LOSS: it cannot be read, there is no line in it, or one that is too long.
  static absl::StatusOr<LongBenchFile> Open(const std::filesystem::path& file);

  int64_t samples() const { return static_cast<int64_t>(lines_.size()); }
  // DATA_LOSS: a line that is no such object, which says where, and which field; or errors of FileToRead.
  absl::StatusOr<LongBenchSample> Sample(int64_t index) const;

 private:
  struct Line {
    int64_t number = 0;  // In the file, from 1.
    uint64_t begin = 0;
    size_t bytes = 0;
  };

  std::filesystem::path file_;
  std::shared_ptr<const FileToRead> opened_;  // Not by its name each time: another file may have that by then.
  std::vector<Line> lines_;  // Those with something in them.
};

}  // namespace longreach::data
