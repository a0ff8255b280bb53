#include "client/commands/jobs_in_turn.h"

#include <utility>

namespace longreach::client {
namespace {

// Each takes a thread here and a reading connection there.
constexpr size_t kJobsAskedAtATime = 8;

}  // namespace

JobsInTurn::JobsInTurn(Connection& connection, std::vector<std::string> ids) : connection_(connection), ids_(std::move(ids)) { Ask(); }

void JobsInTurn::Ask() {
  for (; asked_ < ids_.size() && answers_.size() < kJobsAskedAtATime; ++asked_) {
    v1::GetJobRequest request;
    request.set_job(ids_[asked_]);
    answers_.push_back(connection_.Start(&Connection::Stub::GetJob, request));
  }
}

absl::StatusOr<v1::GetJobResponse> JobsInTurn::Next() {
  if (answers_.empty()) return absl::InternalError("no further job was asked for");
  absl::StatusOr<v1::GetJobResponse> answer = answers_.front().get();
  answers_.pop_front();
  // Whoever gets another error ends, and would have to wait for calls that were begun behind it.
  if (answer.ok() || absl::IsNotFound(answer.status())) Ask();
  return answer;
}

}  // namespace longreach::client
