#include "client/commands/comparison_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "client/commands/compared_rows.h"
#include "client/commands/differences.h"
#include "client/commands/only.h"
#include "client/commands/shared_draw.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/decoders.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

// As tables say it.
std::string LengthsOfMeans(const TestedLengths& lengths) {
  if (lengths.size() != 1) return "them";
  const size_t count = lengths.begin()->size();
  return fmt::format("the {} of them that it has values at", count == 1 ? "one" : fmt::format("{}", count));
}
// Longer tests mostly give lower scores, whatever else is compared.
void AddNoteOnOtherLengths(Comparison& comparison) {
  if (comparison.lengths.size() < 2 || comparison.values.pairs() == 0) return;
  comparison.notes.insert(comparison.notes.begin(), "some jobs have values at other ones of these lengths than others, and their means are of other tests: a difference may be of the "
                                                    "lengths alone; --only length=... of those that all have compares them");
}
// A score over all test lengths is of those that its job was tested at: longer ones mostly make it lower, whatever else is compared.
void AddNoteOnLengths(const ComparisonAsked& asked, Comparison& comparison) {
  const std::string_view field = asked.metric == "passkey_accuracy" ? "evaluation.passkey_lengths" : "evaluation.lengths";
  if (asked.length != 0 || comparison.values.pairs() == 0) return;
  if (std::ranges::none_of(comparison.settings, [field](const std::string& path) { return path.ends_with(field); })) return;
  comparison.notes.insert(comparison.notes.begin(),
                          fmt::format("they differ in {}, and a score over all test lengths is of those that its job was tested at: a difference may be of the lengths alone; "
                                      "--length N, or --only length=A..B, compares them at those that both have", field));
}
// What --only leaves, as tables say it: a row is not of all jobs that it names.
void AddNotesOnOnly(const ComparisonAsked& asked, Comparison& comparison) {
  std::vector<std::string> notes;
  const Only only(asked.only);
  for (const auto& [axis, choice] : only.choices()) {
    const bool is_setting = IsSettingPath(axis);
    std::vector<std::string> words;
    for (const std::string& word : choice.Words()) words.push_back(word.empty() ? "not set" : word);
    const auto baseline = comparison.baselines.find(axis);
    const std::string of_side = baseline == comparison.baselines.end() ? "" : fmt::format("of {} ", Printable(comparison.names[1 - baseline->second]));
    notes.push_back(fmt::format("only {}{} {}{}", is_setting || IsPairAxis(axis) ? fmt::format("jobs {}with ", of_side) : "", axis, Join(words, " or "),
                                axis == "length" && !choice.IsSingle() ? ": of each job the mean over " + LengthsOfMeans(comparison.lengths) : ""));
  }
  comparison.notes.insert(comparison.notes.begin(), notes.begin(), notes.end());
}
// Also that there are none, where an interval lets one expect some. Before all other notes, below the table.
void AddNoteOnMarks(const std::vector<PairedGroup>& groups, Comparison& comparison) {
  const auto marked = std::ranges::count_if(groups, [&groups](const PairedGroup& group) { return IsMarked(group, groups); });
  const auto without_zero = std::ranges::count_if(groups, [](const PairedGroup& group) { return group.p.has_value() && *group.p <= kErrorRate; });
  if (groups.size() < 2 || without_zero == 0) return;
  const auto tested = std::ranges::count_if(groups, [](const PairedGroup& group) { return group.p.has_value(); });
  const std::string corrected = fmt::format("when corrected for {} by Holm's method (p_holm of at most {})", Count(tested, "row"), kErrorRate);
  comparison.notes.insert(comparison.notes.begin(), marked > 0 ? fmt::format("*: the difference holds {}", corrected)
                                                               : fmt::format("no difference holds {}: an interval without 0 may be chance", corrected));
}
// Of what rows have in the place of seeds, which draws mostly are.
void AddNotesOnDrawsOf(const std::vector<PairedGroup>& groups, Comparison& comparison) {
  if (std::ranges::any_of(groups, [](const PairedGroup& group) { return group.of_one_seed && group.half_width.has_value(); })) {
    comparison.notes.push_back("an interval of one seed takes tasks for draws: it is of tasks like these, and says nothing of other seeds");
  }
  if (std::ranges::any_of(groups, [](const PairedGroup& group) { return group.draws == 1 && group.pairs > 1; })) {
    comparison.notes.push_back("pairs of one seed and one task begin with the same weights and are one draw: a row of them alone has no interval");
  }
  if (std::ranges::any_of(groups, [](const PairedGroup& group) { return group.draws > 1 && !group.half_width.has_value(); })) {
    comparison.notes.push_back("where the draws of a row all differ by the same, how much others would differ is not known: it has no interval");
  }
}
// Of the jobs that are in no pair: why.
void AddNotesOnSides(const std::array<SweepValues, 2>& sides, Comparison& comparison) {
  for (size_t side = 0; side < sides.size(); ++side) {
    const auto note = [&](int64_t count, std::string_view what) {
      if (count > 0) comparison.notes.push_back(fmt::format("{} of {} {}", Count(count, "job"), Printable(comparison.names[side]), what));
    };
    note(sides[side].diverged(), "diverged");
    note(static_cast<int64_t>(sides[side].values().size() - comparison.values.partnered(side)), "without a partner");
  }
  if (const size_t same = comparison.values.of_one_job(); same > 0) {
    comparison.notes.push_back(fmt::format("{} of {} {} one job that both have, which says nothing of how they differ: its difference, 0, is in the mean and the interval of its row",
                                           same, Count(static_cast<int64_t>(comparison.values.pairs()), "pair"), same == 1 ? "is" : "are"));
  }
}
// What is not measured alike.
void AddNoteOnDecoders(const ComparisonAsked& asked, const std::array<SweepValues, 2>& sides, Comparison& comparison) {
  if (!catalog::IsOfTrueOutputs(asked.metric) || comparison.values.pairs() == 0) return;
  if (std::ranges::none_of(comparison.settings, [](const std::string& path) { return path.ends_with("model.causal"); })) return;
  const std::set<std::string>& tasks = sides[0].axes()[PlaceOf("task")];
  const bool has_several = std::ranges::any_of(tasks, [](const std::string& task) { return catalog::HasSeveralOutputs(task); });
  if (has_several) comparison.notes.push_back(catalog::WhyDecodersDoNotCompare(asked.metric));
}
// What stands beside nothing.
void AddNotesOnAxes(const std::array<SweepValues, 2>& sides, Comparison& comparison) {
  for (const std::string_view axis : kPairAxes) {
    const AxisValues &first = sides[0].axes(), &second = sides[1].axes();
    if (!comparison.values.DifferIn(axis) && AreDisjoint(first, second, axis)) {
      const auto list = [axis](const AxisValues& values) {
        const std::set<std::string>& of_axis = values[PlaceOf(axis)];
        return Printable(Join(std::vector<std::string>(of_axis.begin(), of_axis.end()), ", "));
      };
      comparison.notes.push_back(fmt::format("they have no {} in common: {}, and {}", axis, list(first), list(second)));
    }
  }
}

}  // namespace

void AddNotesOnPairing(const ComparisonAsked& asked, const std::array<SweepValues, 2>& sides, Comparison& comparison) {
  AddNoteOnDecoders(asked, sides, comparison);
  AddNotesOnAxes(sides, comparison);
  AddNotesOnSides(sides, comparison);
}

void AddNoteOnOpen(const ComparisonAsked& asked, const v1::Sweep& sweep, Comparison& comparison) {
  const int64_t open = sweep.jobs() - sweep.counts().succeeded();
  if (open == 0) return;
  const bool all = asked.only.empty() && asked.between.empty();
  comparison.notes.push_back(fmt::format("{} of {} not done{}", Count(open, "job"), Printable(sweep.name()), all ? "" : ", whether asked for here or not"));
}

bool AddNoteOnDrawnPositions(const ComparisonAsked& asked, const v1::SweepSpec& spec, const std::vector<std::string>& only, Comparison& comparison) {
  if (asked.length == 0 && !asked.IsOverChosenLengths()) return false;
  if (comparison.values.pairs() == 0) return false;  // No scores are shown.
  std::string note = NoteOfSharedDraw(spec, only);
  if (note.empty()) return false;
  comparison.notes.push_back(std::move(note));
  return true;
}

void AddNotesOnRows(const ComparisonAsked& asked, const std::vector<PairedGroup>& groups, Comparison& comparison) {
  asked.IsOverChosenLengths() ? AddNoteOnOtherLengths(comparison) : AddNoteOnLengths(asked, comparison);
  AddNotesOnOnly(asked, comparison);
  AddNoteOnMarks(groups, comparison);
  AddNotesOnDrawsOf(groups, comparison);
}

}  // namespace longreach::client
