// The answer to a question for measurements, page by page.
#pragma once

#include <functional>
#include <utility>

#include "client/commands/pages.h"

namespace longreach::client {

class MeasurementPages : public Pages<v1::ListMeasurementsRequest, v1::ListMeasurementsResponse> {
 public:
  // The connection outlives it.
  MeasurementPages(Connection& connection, v1::ListMeasurementsRequest question) : Pages(connection, &Connection::Stub::ListMeasurements, std::move(question)) {}
};

// Calls `use` with each page from the first on, until it says false.
absl::Status ForEachMeasurementPage(Connection& connection, v1::ListMeasurementsRequest question,
                                    const std::function<absl::StatusOr<bool>(v1::ListMeasurementsResponse&)>& use);

}  // namespace longreach::client
