#include "scheduler/experiments/rope_scaling.h"

#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "scheduler/experiments/registry.h"

namespace longreach::experiments {

bool NeedsOriginalLength(const v1::Positions& positions) {
  return positions.rope_scaling() == "dynamic" || positions.rope_scaling() == "yarn";
}

void CheckRopeScaling(const Settings& settings, Checks& checks) {
  const v1::Positions& positions = settings.positions;
  CheckFactor("model.rope_theta", settings.model.rope_theta(), 1, checks);
  CheckWord("positions.rope_scaling", positions.rope_scaling(), {"dynamic", "linear", "none", "ntk", "yarn"}, checks);
  const bool scaled = positions.rope_scaling() != "none";
  if (!std::isfinite(positions.rope_factor()) || positions.rope_factor() < 1 || (scaled && positions.rope_factor() == 1)) {
    checks.Refuse(fmt::format("positions.rope_factor: {} does not go with positions.rope_scaling '{}'\n  set a factor above 1",
                              ShortestNumber(positions.rope_factor()), positions.rope_scaling()));
  }
  if (positions.rope_factor() > kMaxSize) {
    checks.Refuse(fmt::format("positions.rope_factor: {} is above {}", ShortestNumber(positions.rope_factor()), kMaxSize));
  }
  checks.Range("positions.original_length", positions.original_length(), 0, kMaxSize);
  // A folder's config.json has it. Where tests alone are scaled it is that of the job's own training, or of the one before that it says; what is always
  // scaled goes on from one before.
  const bool is_known = !settings.model.folder().empty() || (positions.has_rope_scaling_at() && !settings.training.lengths().empty());
  if (NeedsOriginalLength(positions) && positions.original_length() == 0 && !is_known) {
    checks.Refuse(fmt::format("positions.original_length: '{}' needs the length that the model was trained at\n  set it{}", positions.rope_scaling(),
                              positions.has_rope_scaling_at() ? ", or training.lengths as the weights were trained at" : ""));
  }
  if (positions.has_rope_scaling_at()) CheckWord("positions.rope_scaling_at", positions.rope_scaling_at(), {"always", "tests"}, checks);
}

void CheckRopeScalingOf(const v1::SweepSpec& sweep, Checks& checks) {
  const v1::Axes& axes = sweep.axes();
  const v1::Positions& positions = sweep.positions();
  // Said to be "none" it may stand beside it: as one of several in a grid.
  if (!positions.has_rope_scaling() && positions.has_rope_factor() && positions.rope_factor() != 1) {
    checks.Refuse(fmt::format("positions.rope_factor: {} does not go with positions.rope_scaling 'none'\n  leave the factor out, or set positions.rope_scaling",
                              ShortestNumber(positions.rope_factor())));
  }
  if (!positions.has_rope_scaling() || positions.rope_scaling() == "none" || axes.encoding().empty()) return;
  bool rotates = false;
  for (const std::string& value : axes.encoding()) {
    const std::optional<EncodingName> encoding = ParseEncodingName(value);
    if (!encoding || encoding->name != "rope") continue;
    rotates = true;
    if (!encoding->randomized) continue;
    checks.Refuse(fmt::format("positions.rope_scaling: '{}' is for consecutive positions, and those of {} are drawn from all below positions.max_position\n"
                              "  give one of the two to a system of its own, or leave it out", positions.rope_scaling(), value));
  }
  if (rotates) return;
  checks.Refuse(fmt::format("positions.rope_scaling: '{}' scales rotations, and {}\n  leave it out", positions.rope_scaling(),
                            axes.encoding_size() == 1 ? fmt::format("the encoding '{}' has none", axes.encoding(0)) : "no encoding here has one"));
}

void CompleteRopeScaling(const v1::JobSpec& job, Settings& whole) {
  v1::Positions& positions = whole.positions;
  if (job.encoding() != "rope" || job.randomized()) positions.clear_rope_scaling();
  const bool scaled = positions.has_rope_scaling() && positions.rope_scaling() != "none";
  if (!scaled) positions.clear_rope_factor();
  if (!scaled || !NeedsOriginalLength(positions)) positions.clear_original_length();
  // What only tests, does so either way.
  if (!scaled || whole.training.steps() == 0) positions.set_rope_scaling_at("tests");
  // It stays where rotations are not as they ever were: a worker that is older than that knows the other fields, of LLaMA decoders, and would leave them out
  // in silence. This one it does not know and refuses.
  const bool turns_as_before = job.encoding() != "rope" || (!scaled && whole.model.rope_theta() == kUsualTheta);
  if (turns_as_before) positions.clear_rope_scaling_at();
}

}  // namespace longreach::experiments
