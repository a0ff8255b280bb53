#include "client/commands/shared_draw.h"

#include <algorithm>

#include "client/commands/only.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/sequence_kinds.h"

namespace longreach::client {
namespace {

bool HasRandomized(const v1::Axes& axes, const Only& only) {
  return std::ranges::any_of(axes.encoding(), [&only](const std::string& encoding) { return catalog::IsRandomized(encoding) && only.Admits("encoding", encoding); });
}

}  // namespace

std::string NoteOfSharedDraw(const v1::SweepSpec& spec, const std::vector<std::string>& texts) {
  // The other kinds draw anew for each part of a test, of which text and images have many.
  if (!catalog::IsOfSequences(spec.experiment())) return "";
  const Only only(texts);
  bool has = spec.systems().empty() && HasRandomized(spec.axes(), only);
  for (const v1::System& system : spec.systems()) has = has || (only.Admits("system", system.name()) && HasRandomized(AxesOf(spec, system), only));
  if (!has) return "";
  return std::string("randomized positions are drawn once for each test length") + (spec.experiment() == "sequences" ? ", more often only where it has very many pairs" : "") +
         ", the same for all jobs: another draw (evaluation.seed) may move scores at one length by ten points, which no spread over seeds shows";
}

}  // namespace longreach::client
