#include "worker/agent/noop.h"

#include <charconv>
#include <cstdint>
#include <string>

namespace longreach::agent {

bool IsNoop(const v1::Lease& lease) { return !lease.jobs().empty() && lease.jobs(0).spec().experiment() == kNoop; }

v1::AttemptReport NoopReport(const v1::Lease& lease) {
  constexpr size_t kDigits = 12;
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  report.set_engine(std::string(kNoop));
  for (const v1::LeasedJob& job : lease.jobs()) {
    const std::string_view digits = std::string_view(job.id()).substr(0, kDigits);
    uint64_t first = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), first, 16);
    if (digits.size() != kDigits || read.ptr != digits.data() + digits.size()) {
      report.clear_results();
      report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
      report.set_detail("refused: a job's id is not 64 hexadecimal digits");
      return report;
    }
    v1::MemberResult& result = *report.add_results();
    result.set_job(job.id());
    v1::Measurement& echo = *result.add_measurements();
    echo.set_metric("echo");
    echo.set_value(static_cast<double>(first) / static_cast<double>(uint64_t{1} << (4 * kDigits)));
  }
  return report;
}

}  // namespace longreach::agent
