// What all artifacts take, held against --max-artifact-bytes.
#pragma once

#include <chrono>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "store/sql/connection.h"

namespace longreach::service {

class ArtifactTotal {
 public:
  // To sum up all files is to read a row of each, and every upload asks. So a sum holds for this long: what goes meanwhile counts
  // until then, and what comes is added.
  static constexpr std::chrono::seconds kHolds{5};

  // Lets in a file of so many bytes, which counts from now on. RESOURCE_EXHAUSTED: all together would be more than `most`.
  absl::Status Admit(sql::Connection& db, double bytes, double most, SteadyTime now);

 private:
  struct Sum {
    double bytes = 0;
    SteadyTime good_until = SteadyTime::min();
  };
  Synchronized<Sum> sum_;
};

}  // namespace longreach::service
