// The answer to a question for measurements, page by page.
#pragma once

#include <functional>

#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// Calls `use` with each page from the first on, until it says false.
absl::Status ForEachMeasurementPage(Connection& connection, v1::ListMeasurementsRequest question,
                                    const std::function<absl::StatusOr<bool>(v1::ListMeasurementsResponse&)>& use);

}  // namespace longreach::client
