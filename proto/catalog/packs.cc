#include "proto/catalog/packs.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "proto/catalog/sequence_kinds.h"

namespace longreach::catalog {

int UsualPacks(std::string_view experiment, bool cuda, std::string_view engine, int threads) {
  if (!IsOfSequences(experiment)) return 1;
  if (cuda && engine.starts_with("resident")) return kUsualPacksOfResident;
  return std::clamp(threads, 1, cuda ? kUsualPacksOnGpu : kUsualPacksOnCpu);
}

std::string CheckPackLimit(const std::string& text) {
  if (text == kMeasured) return "";
  int jobs = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, jobs);
  if (read.ec == std::errc() && read.ptr == end && jobs >= 1 && jobs <= kMaxJobsOfPack) return "";
  return "'" + text + "' is neither a number from 1 to " + std::to_string(kMaxJobsOfPack) + " nor '" + std::string(kMeasured) + "'; a usual one is 16";
}

}  // namespace longreach::catalog
