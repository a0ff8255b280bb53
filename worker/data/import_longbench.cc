#include "worker/data/import_longbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/longbench.h"
#include "worker/data/whole_files.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".jsonl";
// Published beside those in English and code.
constexpr std::array<std::string_view, 5> kChinese = {"dureader", "lsht", "multifieldqa_zh", "passage_retrieval_zh", "vcsum"};

using Task = LongBenchImport::Task;

// Which of the tasks a folder has, in their order; and what of it is left out.
struct Found {
  std::vector<Task> tasks;
  std::vector<std::string> skipped;
};

absl::StatusOr<Found> Look(const LongBenchImport& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(wanted.source, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.ends_with(kEnding) && !file.starts_with('.')) names.push_back(file.substr(0, file.size() - kEnding.size()));
  }
  if (error) return SystemError("read the folder", wanted.source, error.value());
  std::ranges::sort(names);
  Found found;
  const auto is_task = [&](std::string_view name) { return std::ranges::find(wanted.tasks, name, &Task::name) != wanted.tasks.end(); };
  for (const std::string& name : names) {
    if (is_task(name)) continue;
    const std::string file = name + std::string(kEnding);
    if (std::ranges::find(kChinese, name) != kChinese.end()) {
      found.skipped.push_back(file + ": in Chinese");
    } else if (name.ends_with("_e") && is_task(std::string_view(name).substr(0, name.size() - 2))) {
      found.skipped.push_back(file + ": of LongBench-E");
    } else {
      return absl::InvalidArgumentError(fmt::format("{} is no task of LongBench; take it out of the folder, or give it its task's name",
                                                    (wanted.source / file).string()));
    }
  }
  for (const Task& task : wanted.tasks) {
    if (std::ranges::find(names, task.name) != names.end()) found.tasks.push_back(task);
  }
  if (found.tasks.empty()) {
    return absl::InvalidArgumentError(fmt::format("there is no file of a task in {}, such as {}{}; name the folder that LongBench's data was unpacked to",
                                                  wanted.source.string(), wanted.tasks.front().name, kEnding));
  }
  return found;
}

// Adds the file's samples to the manifest.
absl::Status CheckSamples(const fs::path& file, const Task& task, Manifest& manifest) {
  ASSIGN_OR_RETURN(const LongBenchFile opened, LongBenchFile::Open(file));
  for (int64_t i = 0; i < opened.samples(); ++i) {
    ASSIGN_OR_RETURN(const LongBenchSample sample, opened.Sample(i));
    const auto refuse = [&](const std::string& why) { return absl::DataLossError(fmt::format("{}: sample {}: {}", file.string(), i + 1, why)); };
    if (!sample.task.empty() && sample.task != task.name) return refuse(fmt::format("is of the task '{}'; the file has another one's name", sample.task));
    if (task.classes && sample.classes.empty()) return refuse("has no list of texts 'all_classes'; take the file as LongBench publishes it");
  }
  manifest.samples += opened.samples();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Manifest> ImportLongBench(const LongBenchImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  ASSIGN_OR_RETURN(const Found found, Look(wanted));
  Manifest manifest;
  manifest.kind = Kind::kLongBench;
  manifest.source = wanted.source.string();
  manifest.skipped = found.skipped;
  std::vector<WholeFile> files;
  for (const Task& task : found.tasks) {
    const std::string file = task.name + std::string(kEnding);
    files.push_back({.from = wanted.source / file, .name = file});
  }
  const auto check = [&](size_t number) { return CheckSamples(files[number].from, found.tasks[number], manifest); };
  return ImportWholeFiles(wanted.folder, wanted.name, files, /*link=*/false, check, manifest, progress);
}

}  // namespace longreach::data
