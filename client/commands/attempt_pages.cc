#include "client/commands/attempt_pages.h"

#include <optional>

namespace longreach::client {

absl::Status ForEachJobAttempts(Connection& connection, v1::ListAttemptsRequest question, const std::function<absl::Status(v1::JobAttempts&)>& use) {
  AttemptPages pages(connection, std::move(question));
  while (true) {
    ASSIGN_OR_RETURN(std::optional<v1::ListAttemptsResponse> page, pages.Next());
    if (!page.has_value()) return absl::OkStatus();
    for (v1::JobAttempts& job : *page->mutable_jobs()) RETURN_IF_ERROR(use(job));
  }
}

}  // namespace longreach::client
