// Canonical texts: what is accepted can be written, and what was written reads as the same and is written the same again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/types/canonical.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/ranges.h"

using longreach::fuzz::Must;

namespace {

template <typename Spec>
void MustBeWrittenTheSame(const Spec& spec, absl::StatusOr<Spec> (*parse)(std::string_view)) {
  const std::string text = longreach::CanonicalText(spec, {});
  const absl::StatusOr<Spec> read = parse(text);
  Must(read.ok(), "a canonical text can be read", text);
  Must(longreach::CanonicalText(*read, {}) == text, "a canonical text is written the same again", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (longreach::v1::SweepSpec message; message.ParseFromArray(data, static_cast<int>(size))) {
    (void)longreach::RefuseUnknownFields(message);
  }
  if (longreach::fuzz::HasLongRange(text)) return 0;
  if (const auto job = longreach::ParseCanonicalJob(text); job.ok()) {
    MustBeWrittenTheSame<longreach::v1::JobSpec>(*job, longreach::ParseCanonicalJob);
    Must(longreach::PackKeyOf(text).size() == longreach::kPackKeyDigits, "every job has a pack key");
    Must(longreach::JobIdOf(text).value.size() == 64, "every job has an id");
  }
  if (const auto sweep = longreach::ParseCanonicalSweep(text); sweep.ok()) {
    MustBeWrittenTheSame<longreach::v1::SweepSpec>(*sweep, longreach::ParseCanonicalSweep);
  }
  return 0;
}
