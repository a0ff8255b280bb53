#include "tests/golden/check/nope.h"

#include "tests/golden/check/nope/checks.h"

namespace longreach::golden {

bool IsNopeSet(const std::filesystem::path& folder) {
  const NopeSet set(folder, false);
  return set.Has("manifest.json") || set.Has("rope_tables.json");
}

void CheckNope(const std::filesystem::path& folder, bool on_gpu, Report& report) {
  NopeSet set(folder, on_gpu);
  CheckNopeModels(set, report);
  CheckRopeTables(set, report);
  CheckNopeRuns(set, report);
  CheckNopeFits(set, report);
  CheckNopeTexts(set, report);
  CheckNopeTokenizer(set, report);
  for (const std::string& file : set.Unclaimed()) report.NotCovered(file);
}

}  // namespace longreach::golden
