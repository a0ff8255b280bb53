// The answer to a question for measurements, page by page.
#pragma once

#include <functional>
#include <future>
#include <optional>

#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// Each page is asked for while the one before is used: a large sweep's pages are as much work here as there.
class MeasurementPages {
 public:
  // The connection outlives it.
  MeasurementPages(Connection& connection, v1::ListMeasurementsRequest question);

  // The next one; nothing: that was the last.
  absl::StatusOr<std::optional<v1::ListMeasurementsResponse>> Next();

 private:
  void Ask();

  Connection& connection_;
  v1::ListMeasurementsRequest question_;
  std::future<absl::StatusOr<v1::ListMeasurementsResponse>> next_;
};

// Calls `use` with each page from the first on, until it says false.
absl::Status ForEachMeasurementPage(Connection& connection, v1::ListMeasurementsRequest question,
                                    const std::function<absl::StatusOr<bool>(v1::ListMeasurementsResponse&)>& use);

}  // namespace longreach::client
