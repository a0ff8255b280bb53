#include "scheduler/core/packs.h"
#include "proto/types/wire_limits.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "proto/base/text.h"

namespace longreach::core {
namespace {

// What is missing of one named ability; empty: nothing.
std::string Missing(std::string_view what, const std::string& name, int revision,
                    const google::protobuf::RepeatedPtrField<v1::Ability>& abilities) {
  for (const v1::Ability& ability : abilities) {
    if (ability.name() != name) continue;
    if (ability.revision() == revision) return "";
    return fmt::format("has revision {} of {} '{}', and revision {} is needed", ability.revision(), what, name, revision);
  }
  return fmt::format("has no {} '{}'", what, name);
}

// What the worker's program cannot do; empty: it can.
std::string WhyProgramUnable(const Needs& needs, const v1::Abilities& abilities) {
  if (std::ranges::find(abilities.experiments(), needs.experiment) == abilities.experiments().end()) {
    return fmt::format("has no experiment kind '{}'", needs.experiment);
  }
  if (std::string why = Missing("task", needs.task, needs.task_revision, abilities.tasks()); !why.empty()) return why;
  if (std::string why = Missing("encoding", needs.encoding, needs.encoding_revision, abilities.encodings()); !why.empty()) return why;
  if (abilities.model_revision() != needs.model_revision) {
    return fmt::format("has revision {} of the model, and revision {} is needed", abilities.model_revision(), needs.model_revision);
  }
  return "";
}

// What is missing of the data sets, all of it, so that whoever brings the first is not told of another then; empty: nothing.
std::string MissingData(const Needs& needs, const v1::Abilities& abilities) {
  std::vector<std::string> missing, reasons;
  std::set<std::string> seen;  // A corpus may be of its own mixture.
  for (const NeededData& needed : needs.data_sets) {
    if (!seen.insert(needed.name).second) continue;
    const auto there = std::ranges::find_if(abilities.data_sets(), [&needed](const v1::DataSet& data) { return data.name() == needed.name; });
    const auto damaged = std::ranges::find_if(abilities.damaged_data_sets(), [&needed](const v1::DamagedDataSet& one) { return one.name() == needed.name; });
    if (there == abilities.data_sets().end() && damaged != abilities.damaged_data_sets().end()) {
      reasons.push_back(fmt::format("has the data set '{}' damaged: {}", needed.name, damaged->reason()));
    } else if (there == abilities.data_sets().end()) {
      missing.push_back(fmt::format("'{}'", needed.name));
    } else if (!needed.sha256.empty() && there->sha256() != needed.sha256) {
      reasons.push_back(fmt::format("has other bytes under the data set '{}': {} instead of {}; import the same files there, or those under another name",
                                    needed.name, ShortId(there->sha256()), ShortId(needed.sha256)));
    }
  }
  if (!missing.empty()) {
    const bool several = missing.size() > 1;
    reasons.insert(reasons.begin(), fmt::format("has no data {} {}; 'longreach data import' or 'longreach data ensure' on its machine brings {}", several ? "sets" : "set",
                                                Join(missing, ", "), several ? "them" : "it"));
  }
  return Join(reasons, "; it ");
}

// A measurement with its metric, length and slice; the fields of a member beside its specification and measurements.
constexpr double kMeasurementBytes = 64, kMemberBytes = 1024;

}  // namespace

std::string WhyUnable(const Needs& needs, const v1::Abilities& abilities) {
  if (std::string why = WhyProgramUnable(needs, abilities); !why.empty()) {
    return abilities.build().empty() ? why : fmt::format("{}; its build is {}", why, abilities.build());
  }
  return MissingData(needs, abilities);
}

bool LacksOnlyData(const Needs& needs, const v1::Abilities& abilities) {
  return WhyProgramUnable(needs, abilities).empty() && !WhyUnable(needs, abilities).empty();
}

bool ComesBefore(const GroupHead& a, const GroupHead& b) { return a.priority != b.priority ? a.priority > b.priority : a.first < b.first; }

std::optional<size_t> NextInLine(std::span<const GroupHead> groups) {
  if (groups.empty()) return std::nullopt;
  const auto first = std::ranges::min_element(groups, ComesBefore);
  return static_cast<size_t>(first - groups.begin());
}

int PackLimit(const v1::Abilities& abilities) { return std::clamp(abilities.pack_limit(), 1, kMaxPackLimit); }

int MembersOfMessage(size_t specification_bytes, double measurements) {
  const double bytes = kMemberBytes + std::max(static_cast<double>(specification_bytes), kMeasurementBytes * measurements);
  return std::max(1, static_cast<int>(static_cast<double>(kMaxPackBytes) / bytes));
}

int NewLeases(int free_slots, int unconfirmed, int most) { return std::max(0, std::clamp(free_slots, 0, most) - unconfirmed); }

std::vector<int64_t> SplitGroups(Attempt attempt, size_t members) {
  std::vector<int64_t> groups(members, 2 * attempt.value + 1);
  std::fill_n(groups.begin(), (members + 1) / 2, 2 * attempt.value);
  return groups;
}

// The first of the two that it would have had as a failed pack, which it was not.
int64_t GroupOfBegun(Attempt attempt, int64_t split_group) { return split_group > 0 ? 2 * attempt.value : -attempt.value; }

int64_t PacksOf(int64_t jobs, int pack_limit) { return (jobs + pack_limit - 1) / pack_limit; }

}  // namespace longreach::core
