#include "client/commands/measurement_pages.h"

#include <chrono>

namespace longreach::client {

absl::Status ForEachMeasurementPage(Connection& connection, v1::ListMeasurementsRequest question,
                                    const std::function<absl::StatusOr<bool>(v1::ListMeasurementsResponse&)>& use) {
  constexpr std::chrono::minutes kPatience(10);  // The first page may look at all jobs of a sweep.
  question.clear_page_token();
  auto next = connection.Start(&Connection::Stub::ListMeasurements, question, kPatience);
  while (next.valid()) {
    ASSIGN_OR_RETURN(v1::ListMeasurementsResponse page, next.get());
    question.set_page_token(page.next_page_token());
    // Asked for while this one is used: a large sweep's pages are as much work here as there.
    if (!question.page_token().empty()) next = connection.Start(&Connection::Stub::ListMeasurements, question, kPatience);
    ASSIGN_OR_RETURN(const bool goes_on, use(page));
    if (!goes_on) break;
  }
  return absl::OkStatus();
}

}  // namespace longreach::client
