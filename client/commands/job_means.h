// What each job has at several test lengths, and one value out of it.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

struct JobMean {
  v1::Job job = {};
  std::optional<double> value = {};  // The mean of its values, as tables make it; nothing: it diverged.
  std::vector<int> lengths = {};     // At which it has them.
  std::vector<double> values = {};   // One at each of these.
};

// Takes jobs as pages of measurements have them. One with many values goes on in the next page, where it is named again.
class JobMeans {
 public:
  explicit JobMeans(std::function<void(JobMean&)> use) : use_(std::move(use)) {}

  void Add(const v1::JobMeasurements& of_job);
  // After the last page.
  void End();

 private:
  std::function<void(JobMean&)> use_;
  std::optional<JobMean> open_;  // More of it may come; its value is a sum until then.
};

}  // namespace longreach::client
