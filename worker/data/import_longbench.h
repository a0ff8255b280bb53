// LongBench's folder becomes a data set: the files of its tasks, whole, each line looked at.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"

namespace longreach::data {

struct LongBenchImport {
  struct Task {
    std::string name;
    bool classes = false;  // Its samples name the classes to choose from.
  };

  std::filesystem::path folder;  // The machine's data folder.
  std::string name;
  std::filesystem::path source;  // Holds TASK.jsonl; what else LongBench publishes there is left out.
  std::vector<Task> tasks;       // Those that are taken.
};

// ALREADY_EXISTS; INVALID_ARGUMENT: a file that is none of LongBench's, or no task's; NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
// DATA_LOSS with the file and line.
absl::StatusOr<Manifest> ImportLongBench(const LongBenchImport& wanted, Progress& progress);

}  // namespace longreach::data
