#include "client/commands/job_means.h"

#include <utility>

namespace longreach::client {

void JobMeans::Add(const v1::JobMeasurements& of_job) {
  if (open_ && open_->job.id() != of_job.job().id()) End();
  if (of_job.measurements().empty() && !of_job.job().diverged()) return;
  if (!open_) open_ = JobMean{.job = of_job.job()};
  if (of_job.job().diverged()) return;
  for (const v1::Measurement& one : of_job.measurements()) {
    open_->value = open_->value.value_or(0) + one.value();
    open_->lengths.push_back(one.length());
    open_->values.push_back(one.value());
  }
}

void JobMeans::End() {
  if (!open_) return;
  JobMean mean = *std::exchange(open_, std::nullopt);
  if (mean.value.has_value()) *mean.value /= static_cast<double>(mean.lengths.size());
  use_(mean);
}

}  // namespace longreach::client
