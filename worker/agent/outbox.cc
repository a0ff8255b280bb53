#include "worker/agent/outbox.h"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <vector>

#include "proto/base/text.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

constexpr std::string_view kSharedPrefix = "from-";

// Where a report is written first (files.h); it stays behind one that found no room.
std::filesystem::path Unfinished(std::filesystem::path file) { return file += ".new"; }

}  // namespace

absl::StatusOr<Outbox> Outbox::Open(const std::filesystem::path& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  Outbox outbox(folder);
  std::vector<std::filesystem::path> files, unfinished;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".pb") files.push_back(entry.path());
    if (entry.path().string().ends_with(".pb.new")) unfinished.push_back(entry.path());
  }
  if (error) return absl::InternalError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  std::error_code ignored;
  for (const std::filesystem::path& file : unfinished) std::filesystem::remove(file, ignored);
  for (const std::filesystem::path& file : files) {
    const std::string bytes = ReadFile(file).value_or("");
    if (outbox.ReadShared(file, bytes)) continue;
    const std::optional<int64_t> attempt = ParseInteger(file.stem().string());
    v1::AttemptReport report;
    if (!attempt.has_value() || !report.ParseFromString(bytes) ||
        report.attempt() != static_cast<uint64_t>(*attempt)) {
      std::filesystem::path aside = file;
      aside += ".unreadable";
      std::filesystem::rename(file, aside, error);
      LogWarning(fmt::format("{} is no report; put aside as {}", file.string(), aside.string()));
      continue;
    }
    outbox.reports_[report.attempt()] = std::move(report);
  }
  return outbox;
}

// Such a file has the form of a call that hands its reports in, and the name of its first attempt.
bool Outbox::ReadShared(const std::filesystem::path& file, const std::string& bytes) {
  v1::SynchronizeRequest reports;
  if (!file.stem().string().starts_with(kSharedPrefix) || !reports.ParseFromString(bytes) || reports.finished().empty()) return false;
  if (file != SharedFileOf(reports.finished(0).attempt())) return false;
  const auto shared = std::make_shared<Shared>(Shared{.file = file, .left = static_cast<size_t>(reports.finished_size())});
  for (v1::AttemptReport& report : *reports.mutable_finished()) {
    shared_[report.attempt()] = shared;
    reports_[report.attempt()] = std::move(report);
  }
  return true;
}

Outbox::Write Outbox::AddAll(std::vector<v1::AttemptReport> reports) {
  v1::SynchronizeRequest together;
  const auto shared =
      std::make_shared<Shared>(Shared{.file = SharedFileOf(reports.front().attempt()), .left = reports.size()});
  for (v1::AttemptReport& report : reports) {
    *together.add_finished() = report;
    shared_[report.attempt()] = shared;
    reports_[report.attempt()] = std::move(report);
  }
  return [file = shared->file, bytes = together.SerializeAsString()] { return WriteFileSynced(file, bytes); };
}

Outbox::Write Outbox::Add(const v1::AttemptReport& report) {
  reports_[report.attempt()] = report;
  return [file = FileOf(report.attempt()), bytes = report.SerializeAsString()] { return WriteFileSynced(file, bytes); };
}

std::function<void()> Outbox::Remove(uint64_t attempt) {
  if (reports_.erase(attempt) == 0) return nullptr;
  std::filesystem::path file = FileOf(attempt);
  if (const auto found = shared_.find(attempt); found != shared_.end()) {
    file = found->second->file;
    const bool last = --found->second->left == 0;
    shared_.erase(found);
    if (!last) return nullptr;
  }
  return [file = std::move(file)] {
    std::error_code ignored;  // A report that comes back after a restart is acknowledged again.
    std::filesystem::remove(file, ignored);
    std::filesystem::remove(Unfinished(file), ignored);
  };
}

std::filesystem::path Outbox::SharedFileOf(uint64_t first) const { return folder_ / fmt::format("{}{}.pb", kSharedPrefix, first); }

std::filesystem::path Outbox::FileOf(uint64_t attempt) const { return folder_ / fmt::format("{}.pb", attempt); }

}  // namespace longreach::agent
