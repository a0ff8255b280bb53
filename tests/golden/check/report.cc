#include "tests/golden/check/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace longreach::golden {

namespace {

constexpr int kShownFailures = 3;

std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

}  // namespace

void FileCheck::Compare(std::string_view what, double error, double tolerance) {
  ++comparisons_;
  error = std::abs(error);
  largest_error_ = std::isnan(error) ? error : std::max(largest_error_, error);
  const double share = tolerance > 0 ? error / tolerance : (error == 0 ? 0 : HUGE_VAL);
  if (share > largest_share_) {
    largest_share_ = share;
    largest_at_ = Named(what);
  }
  if (error <= tolerance) return;
  if (++failures_ <= kShownFailures) {
    failure_text_ +=
        "\n    " + Named(what) + ": error " + Short(error) + ", allowed " + Short(tolerance);
  }
}

void FileCheck::Require(bool ok, std::string_view what) {
  ++comparisons_;
  if (ok) return;
  if (++failures_ <= kShownFailures) failure_text_ += "\n    " + Named(what);
}

std::string FileCheck::Line() const {
  std::string line =
      file_ + ": " + (passed() ? "passed, " : "FAILED, ") + std::to_string(comparisons_) + " comparisons";
  line += ", largest error " + Short(largest_error_);
  if (largest_share_ > 0) {
    line += "; nearest to its limit, at " + Short(100 * largest_share_) + " %: " + largest_at_;
  }
  if (comparisons_ == 0) line += ": nothing was compared";
  line += failure_text_;
  if (failures_ > kShownFailures) line += "\n    and " + std::to_string(failures_ - kShownFailures) + " more";
  return line;
}

void Report::Add(const FileCheck& check) {
  ++(check.passed() ? passed_ : failed_);
  out_ << check.Line() << std::endl;
}

void Report::Absent(std::string_view file) { out_ << file << ": absent" << std::endl; }

void Report::NotCovered(std::string_view file) {
  ++not_covered_;
  out_ << file << ": not covered" << std::endl;
}

void Report::PrintSummary() const {
  out_ << passed_ << " passed, " << failed_ << " failed";
  if (not_covered_ > 0) out_ << ", " << not_covered_ << " not covered";
  out_ << std::endl;
}

}  // namespace longreach::golden
