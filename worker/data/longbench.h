// LongBench's samples, in the files that they are published as: TASK.jsonl, one JSON object in each line.
// Source: the data of THUDM/LongBench.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/mapped_file.h"

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
  // NOT_FOUND, PERMISSION_DENIED; DATA_LOSS: there is no line in it.
  static absl::StatusOr<LongBenchFile> Open(const std::filesystem::path& file);

  int64_t samples() const { return static_cast<int64_t>(lines_.size()); }
  // DATA_LOSS: a line that is no such object; says where, and which field.
  absl::StatusOr<LongBenchSample> Sample(int64_t index) const;
  std::string_view bytes() const;

 private:
  struct Line {
    int64_t number = 0;  // In the file, from 1.
    size_t begin = 0;
    size_t end = 0;
  };

  std::filesystem::path file_;
  MappedFile mapped_;
  std::vector<Line> lines_;  // Those with something in them.
};

}  // namespace longreach::data
