#include "client/commands/measurement_pages.h"

#include <chrono>

namespace longreach::client {

absl::Status ForEachMeasurementPage(Connection& connection, v1::ListMeasurementsRequest question,
                                    const std::function<absl::StatusOr<bool>(v1::ListMeasurementsResponse&)>& use) {
  constexpr std::chrono::minutes kPatience(10);  // The first page may look at all jobs of a sweep.
  question.clear_page_token();
  do {
    ASSIGN_OR_RETURN(v1::ListMeasurementsResponse page, connection.Call(&Connection::Stub::ListMeasurements, question, kPatience));
    ASSIGN_OR_RETURN(const bool goes_on, use(page));
    if (!goes_on) return absl::OkStatus();
    question.set_page_token(page.next_page_token());
  } while (!question.page_token().empty());
  return absl::OkStatus();
}

}  // namespace longreach::client
