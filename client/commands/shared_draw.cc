#include "client/commands/shared_draw.h"

#include <algorithm>
#include <string_view>

#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"

namespace longreach::client {

std::string NoteOfSharedDraw(const v1::SweepSpec& spec, const std::vector<std::string>& only) {
  // The other kinds draw anew for each part of a test of many.
  if (spec.experiment() != "algorithmic") return "";
  constexpr std::string_view kOnlyEncodings = "encoding=";
  std::vector<std::string> encodings(spec.axes().encoding().begin(), spec.axes().encoding().end());
  for (const std::string& one : only) {
    if (one.starts_with(kOnlyEncodings)) encodings = Split(std::string_view(one).substr(kOnlyEncodings.size()), ',');
  }
  if (std::ranges::none_of(encodings, catalog::IsRandomized)) return "";
  return "randomized positions are drawn once for each test length, the same for all jobs: another draw (evaluation.seed) may move scores at one length by ten "
         "points, which no spread over seeds shows";
}

}  // namespace longreach::client
