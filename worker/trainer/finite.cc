#include "worker/trainer/finite.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

bool IsFinite(const Measurement& one) { return std::isfinite(one.value); }

}  // namespace

const Measurement* FirstNotFinite(const std::vector<Measurement>& measured) {
  const auto found = std::ranges::find_if_not(measured, IsFinite);
  return found == measured.end() ? nullptr : &*found;
}

std::string NameOf(const Measurement& one) {
  return Text(one.metric, one.slice.empty() ? "" : " " + one.slice, one.length == 0 ? "" : Text(" at length ", one.length));
}

std::string AddFinite(const std::vector<Measurement>& measured, std::vector<Measurement>& all) {
  std::ranges::copy_if(measured, std::back_inserter(all), IsFinite);
  const Measurement* wrong = FirstNotFinite(measured);
  if (wrong == nullptr) return "";
  const auto left_out = std::ranges::count_if(measured, [](const Measurement& one) { return !IsFinite(one); });
  return Text("left out, as not finite: ", NameOf(*wrong), left_out > 1 ? Text(" and ", left_out - 1, " more") : "");
}

}  // namespace longreach::trainer
