#include "client/commands/measurement_pages.h"

#include <optional>

namespace longreach::client {

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
