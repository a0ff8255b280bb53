#include "client/commands/measurement_pages.h"

#include <chrono>
#include <utility>

namespace longreach::client {

MeasurementPages::MeasurementPages(Connection& connection, v1::ListMeasurementsRequest question) : connection_(connection), question_(std::move(question)) {
  question_.clear_page_token();
  Ask();
}

void MeasurementPages::Ask() {
  constexpr std::chrono::minutes kPatience(10);  // The first page may look at all jobs of a sweep.
  next_ = connection_.Start(&Connection::Stub::ListMeasurements, question_, kPatience);
}

absl::StatusOr<std::optional<v1::ListMeasurementsResponse>> MeasurementPages::Next() {
  if (!next_.valid()) return std::nullopt;
  ASSIGN_OR_RETURN(v1::ListMeasurementsResponse page, next_.get());
  question_.set_page_token(page.next_page_token());
  if (!question_.page_token().empty()) Ask();
  return std::optional(std::move(page));
}

absl::Status ForEachMeasurementPage(Connection& connection, v1::ListMeasurementsRequest question,
                                    const std::function<absl::StatusOr<bool>(v1::ListMeasurementsResponse&)>& use) {
  MeasurementPages pages(connection, std::move(question));
  while (true) {
    ASSIGN_OR_RETURN(std::optional<v1::ListMeasurementsResponse> page, pages.Next());
    if (!page.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool goes_on, use(*page));
    if (!goes_on) return absl::OkStatus();
  }
}

}  // namespace longreach::client
