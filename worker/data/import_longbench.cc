#include "worker/data/import_longbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "proto/base/sha256.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/longbench.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".jsonl";
constexpr size_t kBlock = 1 << 20;
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

absl::Status CheckSamples(const LongBenchFile& opened, const fs::path& file, const Task& task) {
  for (int64_t i = 0; i < opened.samples(); ++i) {
    ASSIGN_OR_RETURN(const LongBenchSample sample, opened.Sample(i));
    const auto refuse = [&](const std::string& why) { return absl::DataLossError(fmt::format("{}: sample {}: {}", file.string(), i + 1, why)); };
    if (!sample.task.empty() && sample.task != task.name) return refuse(fmt::format("is of the task '{}'; the file has another one's name", sample.task));
    if (task.classes && sample.classes.empty()) return refuse("has no list of texts 'all_classes'; take the file as LongBench publishes it");
  }
  return absl::OkStatus();
}

absl::StatusOr<FileEntry> Take(const fs::path& from, const fs::path& to, const Task& task, Manifest& manifest, Progress& progress) {
  ASSIGN_OR_RETURN(const LongBenchFile opened, LongBenchFile::Open(from));
  RETURN_IF_ERROR(CheckSamples(opened, from, task));
  manifest.samples += opened.samples();
  std::error_code error;
  fs::remove(to, error);  // Of an import that was interrupted.
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(to));
  Sha256 hash;
  for (size_t at = 0; at < opened.bytes().size(); at += kBlock) {
    const std::string_view block = opened.bytes().substr(at, kBlock);
    hash.Update(block);
    RETURN_IF_ERROR(out.Write(block));
    progress.Advance(static_cast<int64_t>(block.size()));
  }
  RETURN_IF_ERROR(out.Close());
  return FileEntry{.name = to.filename().string(), .bytes = static_cast<int64_t>(opened.bytes().size()), .sha256 = hash.Finish()};
}

}  // namespace

absl::StatusOr<Manifest> ImportLongBench(const LongBenchImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  ASSIGN_OR_RETURN(const Found found, Look(wanted));
  Manifest manifest;
  manifest.kind = Kind::kLongBench;
  manifest.source = wanted.source.string();
  manifest.skipped = found.skipped;
  int64_t total = 0;
  for (const Task& task : found.tasks) {
    std::error_code error;
    const fs::path file = wanted.source / (task.name + std::string(kEnding));
    total += static_cast<int64_t>(fs::file_size(file, error));
    if (error) return SystemError("look at", file, error.value());
  }
  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  progress.Start(total, 0, "bytes");
  for (const Task& task : found.tasks) {
    const std::string file = task.name + std::string(kEnding);
    absl::StatusOr<FileEntry> taken = Take(wanted.source / file, staging.path() / file, task, manifest, progress);
    if (!taken.ok()) {
      staging.Discard();  // It is begun anew in any case.
      return taken.status();
    }
    manifest.files.push_back(*std::move(taken));
  }
  progress.Finish();
  RETURN_IF_ERROR(staging.Publish(manifest));
  return ReadDataSet(wanted.folder, wanted.name);
}

}  // namespace longreach::data
