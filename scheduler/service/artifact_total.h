// What all artifacts take, held against --max-artifact-bytes.
#pragma once

#include <chrono>
#include <memory>

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

  // A file that was let in. Unless it has come to be, it counts no more when this object goes. The total outlives it.
  class Admitted {
   public:
    Admitted(ArtifactTotal& total, double bytes, SteadyTime at) : total_(total), bytes_(bytes), at_(at) {}
    Admitted(const Admitted&) = delete;
    ~Admitted() {
      if (!has_come_to_be_) total_.GiveBack(bytes_, at_);
    }
    void HasComeToBe() { has_come_to_be_ = true; }

   private:
    ArtifactTotal& total_;
    const double bytes_;
    const SteadyTime at_;
    bool has_come_to_be_ = false;
  };

  // Lets in a file of so many bytes, which counts from now on. RESOURCE_EXHAUSTED: all together would be more than `most`.
  absl::StatusOr<std::unique_ptr<Admitted>> Admit(sql::Connection& db, double bytes, double most, SteadyTime now);
  // How much there is left below `most`.
  absl::StatusOr<double> Left(sql::Connection& db, double most, SteadyTime now);

 private:
  struct Sum {
    double bytes = 0;
    SteadyTime good_until = SteadyTime::min();
  };
  static absl::Status MakeGood(Sum& sum, sql::Connection& db, SteadyTime now);
  void GiveBack(double bytes, SteadyTime admitted_at);

  Synchronized<Sum> sum_;
};

}  // namespace longreach::service
