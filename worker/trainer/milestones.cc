#include "worker/trainer/milestones.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "proto/base/text.h"

namespace longreach::trainer {
namespace {

constexpr std::chrono::minutes kAtLeastEvery{10};

std::string Digits(double value, int digits) {
  std::ostringstream out;
  out << std::setprecision(digits) << value;
  return std::move(out).str();
}

}  // namespace

bool Milestones::Reached(int done, Clock::time_point now) {
  const int tenth = TenthOf(done);
  if (tenth == tenth_ && now - told_at_ < kAtLeastEvery) return false;
  tenth_ = tenth;
  told_at_ = now;
  return true;
}

void RecentLosses::Add(std::span<const LossPoint> points) {
  for (const LossPoint& point : points) {
    auto& [sum, count] = sums_[point.member];
    sum += point.loss;
    ++count;
  }
}

std::vector<double> RecentLosses::Take() {
  std::vector<double> means;
  for (const auto& [member, sum] : std::exchange(sums_, {})) means.push_back(sum.first / sum.second);
  return means;
}

std::string TrainedLine(int step, int steps, std::span<const double> losses, double steps_per_second) {
  const auto [least, largest] = std::ranges::minmax(losses);
  std::string line = Text("step ", step, " of ", steps, ", loss ", Digits(least, 4));
  if (losses.size() > 1) line += Text(" to ", Digits(largest, 4));
  if (steps_per_second > 0) line += Text(", ", Digits(steps_per_second, 3), " updates/s");
  return line;
}

std::string CurveLine(int step, int steps, const std::string& metric, std::span<const double> scores, std::span<const int> lengths) {
  const auto [least, largest] = std::ranges::minmax(scores);
  std::string line = Text("step ", step, " of ", steps, ", ", metric, " ", Digits(least, 4));
  if (scores.size() > 1) line += Text(" to ", Digits(largest, 4));
  return line + (lengths.size() > 1 ? Text(" over ", lengths.size(), " lengths") : Text(" at length ", lengths[0]));
}

std::string TestedLine(int done, int of) { return Text("tested ", done, " of ", of, of == 1 ? " length" : " lengths"); }

}  // namespace longreach::trainer
