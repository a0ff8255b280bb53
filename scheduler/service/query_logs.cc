#include "scheduler/service/query_logs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/types/artifact_kind.h"
#include "scheduler/service/log_text.h"
#include "scheduler/service/references.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/jobs.h"

namespace longreach::service {
namespace {

// A job that is given back again and again has thousands of attempts.
constexpr size_t kMostAttemptsNamed = 20;

// By attempt.
absl::StatusOr<std::map<int64_t, store::ArtifactRow>> AllLogs(sql::Connection& db, int64_t job) {
  ASSIGN_OR_RETURN(std::vector<store::ArtifactRow> rows, store::ArtifactsOf(db, job));
  std::map<int64_t, store::ArtifactRow> logs;
  // Of two of one attempt that of the later step, which comes behind.
  for (store::ArtifactRow& row : rows) {
    if (row.kind == ArtifactKind::kLog) logs.insert_or_assign(row.attempt, std::move(row));
  }
  return logs;
}

absl::StatusOr<std::optional<store::ArtifactRow>> RowOfLog(sql::Connection& db, int64_t job, std::optional<int64_t> attempt) {
  if (!attempt) return store::NewestArtifact(db, job, ArtifactKind::kLog);
  ASSIGN_OR_RETURN(const auto logs, AllLogs(db, job));
  const auto found = logs.find(*attempt);
  if (found == logs.end()) return std::nullopt;
  return found->second;
}

std::string NamedAttempts(const std::vector<std::string>& numbers) { return numbers.empty() ? "none" : JoinSome(numbers, kMostAttemptsNamed); }

// `reference` is what the job was called.
absl::Status WhyNotOf(sql::Connection& db, int64_t num, std::string_view reference, int64_t attempt) {
  ASSIGN_OR_RETURN(const store::JobRow job, store::GetJob(db, num));
  if (job.state == store::State::kLeased && job.attempt == attempt) {
    return absl::FailedPreconditionError(fmt::format("attempt {} of job '{}' has not ended, and leaves its log when it does; 'longreach logs {:.8} --follow' shows what it prints until then",
                                                     attempt, reference, job.id));
  }
  ASSIGN_OR_RETURN(const std::vector<store::AttemptRow> attempts, store::AttemptsOfJob(db, num));
  ASSIGN_OR_RETURN(const auto logs, AllLogs(db, num));
  std::vector<std::string> all, with_log;
  for (const store::AttemptRow& row : attempts) {  // The newest first, as 'longreach job' lists them.
    all.push_back(std::to_string(row.id));
    if (logs.contains(row.id)) with_log.push_back(all.back());
  }
  const bool is_one = std::ranges::find(attempts, attempt, &store::AttemptRow::id) != attempts.end();
  return absl::NotFoundError(fmt::format("{}; the job's attempts: {}; those that have left a log: {}",
                                         is_one ? fmt::format("attempt {} of job '{}' has left no log", attempt, reference) : fmt::format("job '{}' has no attempt {}", reference, attempt),
                                         NamedAttempts(all), NamedAttempts(with_log)));
}

}  // namespace

absl::StatusOr<std::optional<LeftLog>> FindLog(sql::Connection& db, const store::ArtifactFiles& files, int64_t job, std::optional<int64_t> attempt) {
  ASSIGN_OR_RETURN(const std::optional<store::ArtifactRow> row, RowOfLog(db, job, attempt));
  if (!row.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(store::ArtifactReader reader, store::ArtifactReader::Open(files, row->sha256));
  LeftLog log{.attempt = row->attempt};
  while (true) {
    ASSIGN_OR_RETURN(std::string chunk, reader.Next(kLogBytes));
    if (chunk.empty()) return log;
    log.tail += chunk;
    if (log.tail.size() > kLogBytes) {
      log.tail.erase(0, log.tail.size() - kLogBytes);
      log.cut = true;
    }
  }
}

absl::StatusOr<v1::GetLogResponse> GetLog(sql::Connection& db, const store::ArtifactFiles& files, const v1::GetLogRequest& request) {
  ASSIGN_OR_RETURN(const int64_t job, ResolveJob(db, request.job()));
  std::optional<int64_t> attempt;
  if (request.has_attempt()) attempt = request.attempt();
  ASSIGN_OR_RETURN(const std::optional<LeftLog> log, FindLog(db, files, job, attempt));
  if (!log.has_value() && attempt) return WhyNotOf(db, job, request.job(), *attempt);
  if (!log.has_value()) {
    // As one hands in none that is lost, or that fails before its trainer starts.
    return absl::NotFoundError(fmt::format("no attempt of job '{0}' has handed in a log yet; 'longreach explain {0}' says where it is", request.job()));
  }
  // Not from the middle of a character.
  const size_t start = log->cut ? RestOfCharacter(log->tail) : 0;
  v1::GetLogResponse response;
  response.set_text(ValidUtf8(std::string_view(log->tail).substr(start)));
  response.set_attempt(static_cast<uint32_t>(log->attempt));
  return response;
}

}  // namespace longreach::service
