#include "scheduler/experiments/differences.h"

#include <string_view>

#include "proto/types/canonical.h"
#include "scheduler/experiments/expansion.h"

namespace longreach::experiments {
namespace {

std::set<std::string_view> LinesOf(std::string_view text) {
  std::set<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.insert(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// The paths of lines that only one of two canonical texts has.
void AddDiffering(const std::string& one, const std::string& other, std::set<std::string>& paths) {
  const std::set<std::string_view> lines = LinesOf(one), others = LinesOf(other);
  const auto add = [&paths](const std::set<std::string_view>& of, const std::set<std::string_view>& there) {
    for (const std::string_view line : of) {
      if (!there.contains(line)) paths.emplace(line.substr(0, line.find('=')));
    }
  };
  add(lines, others);
  add(others, lines);
}

template <typename Values>
bool SameValues(const Values& one, const Values& other) {
  using Value = std::decay_t<decltype(*one.begin())>;
  return std::set<Value>(one.begin(), one.end()) == std::set<Value>(other.begin(), other.end());
}

// One job for each encoding of `axes`, under the settings of `sweep`.
v1::SweepSpec WithEncodingsOf(v1::SweepSpec sweep, const v1::Axes& axes) {
  sweep.set_name("compared");
  sweep.clear_inputs();
  sweep.clear_systems();
  *sweep.mutable_axes() = axes;
  v1::Axes& own = *sweep.mutable_axes();
  if (own.task_size() > 1) own.mutable_task()->DeleteSubrange(1, own.task_size() - 1);
  if (own.learning_rate_size() > 1) own.mutable_learning_rate()->Truncate(1);
  if (own.seed_size() > 1) own.mutable_seed()->Truncate(1);
  return sweep;
}

// Only what is compared word for word.
std::string TextOf(v1::SweepSpec sweep, bool settings) {
  sweep.clear_name();
  sweep.clear_axes();
  if (!settings) {
    v1::SweepSpec rest;
    *rest.mutable_inputs() = sweep.inputs();
    *rest.mutable_systems() = sweep.systems();
    sweep = rest;
  }
  return CanonicalText(sweep, {});
}

}  // namespace

std::set<std::string> DifferingSettings(const v1::SweepSpec& sweep, const v1::SweepSpec& other) {
  if (sweep.experiment() != other.experiment()) return {"experiment"};
  std::set<std::string> paths;
  if (!SameValues(sweep.axes().learning_rate(), other.axes().learning_rate())) paths.insert("learning_rate");
  if (!SameValues(sweep.axes().seed(), other.axes().seed())) paths.insert("seed");
  absl::StatusOr<Expansion> one = Expansion::Of(WithEncodingsOf(sweep, other.axes()));
  absl::StatusOr<Expansion> two = Expansion::Of(WithEncodingsOf(other, other.axes()));
  // These settings are not for those encodings, or each system has its own: then what is written is compared.
  const bool expanded = one.ok() && two.ok();
  AddDiffering(TextOf(sweep, !expanded), TextOf(other, !expanded), paths);
  if (!expanded) return paths;
  for (int64_t i = 0; i < two->size(); ++i) AddDiffering(one->At(i).canonical, two->At(i).canonical, paths);
  return paths;
}

}  // namespace longreach::experiments
