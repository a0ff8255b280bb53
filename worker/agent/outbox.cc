#include "worker/agent/outbox.h"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <vector>

#include "proto/base/text.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"

namespace longreach::agent {

absl::StatusOr<Outbox> Outbox::Open(const std::filesystem::path& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  Outbox outbox(folder);
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".pb") files.push_back(entry.path());
  }
  if (error) return absl::InternalError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  for (const std::filesystem::path& file : files) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
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

absl::Status Outbox::Add(const v1::AttemptReport& report) {
  reports_[report.attempt()] = report;
  return WriteFileSynced(FileOf(report.attempt()), report.SerializeAsString());
}

void Outbox::Remove(uint64_t attempt) {
  if (reports_.erase(attempt) == 0) return;
  std::error_code ignored;  // A report that comes back after a restart is acknowledged again.
  std::filesystem::remove(FileOf(attempt), ignored);
}

std::filesystem::path Outbox::FileOf(uint64_t attempt) const { return folder_ / fmt::format("{}.pb", attempt); }

}  // namespace longreach::agent
