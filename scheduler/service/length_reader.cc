#include "scheduler/service/length_reader.h"

#include <algorithm>
#include <optional>
#include <set>

#include "proto/catalog/catalog.h"
#include "proto/types/words.h"
#include "scheduler/service/replies.h"

namespace longreach::service {

absl::StatusOr<std::vector<int>> LengthReader::LengthsOf(const TableSource& members, const v1::SweepSpec& sweep) {
  ASSIGN_OR_RETURN(const std::vector<int> of_tests, TestLengthsOfSweep(sweep));
  std::set<int> measured;
  RETURN_IF_ERROR(Read(members, false, [&measured](const TableJob&, std::span<const store::LengthValue> values) {
    for (const store::LengthValue& value : values) measured.insert(value.length);
  }));
  std::vector<int> lengths = of_tests;
  // While a job is trained it may be tested at some of its lengths only.
  const bool on_the_way = !measured.empty() && catalog::SliceKeys(table_.spec().slice()).contains(kStepAxis);
  if (on_the_way || !std::ranges::includes(of_tests, measured)) lengths.assign(measured.begin(), measured.end());
  std::erase_if(lengths, [&](int length) { return measured.empty() ? !table_.AsksForLength(length) : !table_.TakesLength(length); });
  return lengths;
}

absl::Status LengthReader::ReadAtEach(std::span<const int> lengths, const TableSource& source, bool extra, const std::function<void(const TableJob&)>& use) {
  return Read(source, extra, [&](TableJob& job, std::span<const store::LengthValue> values) {
    size_t next = 0;
    for (const int length : lengths) {
      while (next < values.size() && values[next].length < length) ++next;
      const bool there = next < values.size() && values[next].length == length;
      job.value = there ? std::optional(values[next].value) : std::nullopt;
      job.length = length;
      job.again = length != lengths.front();
      use(job);
      if (!table_.IsWanted(job, extra)) return;
    }
  });
}

absl::Status LengthReader::ReadMeans(const TableSource& source, bool extra, const std::function<void(const TableJob&)>& use) {
  return Read(source, extra, [&](TableJob& job, std::span<const store::LengthValue> values) {
    double sum = 0;
    job.lengths.clear();
    for (const store::LengthValue& value : values) {
      if (!table_.TakesLength(value.length)) continue;
      sum += value.value;
      job.lengths.push_back(value.length);
    }
    job.value = job.lengths.empty() ? std::nullopt : std::optional(sum / static_cast<double>(job.lengths.size()));
    use(job);
  });
}

absl::Status LengthReader::Read(const TableSource& source, bool extra,
                                const std::function<void(TableJob&, std::span<const store::LengthValue>)>& use) {
  const v1::TableSpec& spec = table_.spec();
  return ForEachJobOf(db_, source, spec, 0, [&](TableJob& job, const store::MeasuredJob& measured) -> absl::Status {
    std::vector<store::LengthValue> values;
    if (table_.IsWanted(job, extra)) {
      ASSIGN_OR_RETURN(values, store::ValuesAtLengths(db_, measured.num, spec.metric(), spec.slice()));
    }
    use(job, values);
    return absl::OkStatus();
  });
}

}  // namespace longreach::service
