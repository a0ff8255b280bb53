#include "client/commands/between.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/only.h"
#include "client/commands/varying_settings.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/spec_differences.h"
#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

constexpr std::string_view kPlain = "plain";

// Of what is no axis: which may be meant.
std::string AxisMeant(const std::string& axis) {
  if (axis.find('.') != std::string::npos) return DidYouMean(axis, SettingPathsNear(axis));
  std::vector<std::string> words(kPairAxes.begin(), kPairAxes.end());
  words.emplace_back(Between::kRandomized);
  // Before settings, some of which begin with the same letters.
  if (std::string near = DidYouMean(axis, words); !near.empty()) return near;
  const std::vector<std::string> meant = AxesMeant(axis, {});
  return meant.empty() ? "" : fmt::format("did you mean '{}'?", Join(meant, "' or '"));
}

void Clear(std::string_view axis, v1::Job& job) {
  if (axis == "system") job.clear_systems();
  if (axis == "task") job.clear_task();
  if (axis == "encoding") job.clear_encoding();
  if (axis == "learning_rate") job.clear_learning_rate();
  if (axis == "seed") job.clear_seed();
}

}  // namespace

absl::StatusOr<Between> Between::Parse(const std::string& text) {
  if (text == kRandomized) return Between("encoding", {std::string(kPlain), std::string(kRandomized)});
  const size_t equals = text.find('=');
  const std::string axis = text.substr(0, equals);
  std::vector<std::string> values = equals == std::string::npos ? std::vector<std::string>() : Split(text.substr(equals + 1), ',');
  for (std::string& value : values) value = ValueOfJobs(axis, std::string(Trim(value)));
  const bool is_axis = IsPairAxis(axis) || IsSettingPath(axis);
  if (is_axis && equals == std::string::npos) return Between(axis, {});
  if (!is_axis || values.size() != 2 || values[0] == values[1]) {
    return UsageError(fmt::format("--between: '{}' is no axis with two values", Printable(text)),
                      JoinHints(is_axis ? "" : AxisMeant(axis),
                                fmt::format("as encoding=rope,alibi or model.layers=1,2; axes are {}, and the paths of settings; 'randomized' compares plain and randomized positions of each encoding", Join({kPairAxes.begin(), kPairAxes.end()}, ", "))));
  }
  return Between(axis, {values[0], values[1]});
}

absl::Status Between::CheckValues(const std::set<std::string>& known) {
  if (NamesValues()) {
    for (const std::string& value : values_) RETURN_IF_ERROR(CheckChoice(fmt::format("--between {}", axis_), value, {known.begin(), known.end()}));
    return absl::OkStatus();
  }
  if (known.size() < 2) {
    return UsageError(fmt::format("--between {}: the sweep has {}", axis_, known.empty() ? "no value of it" : fmt::format("one value of it alone, {}", Printable(*known.begin()))),
                      "name an axis of which it has several ('longreach list values SWEEP' shows them), or compare it with another sweep: longreach compare FIRST SECOND");
  }
  if (known.size() > 2) {
    return UsageError(fmt::format("--between {}: the sweep has {} values of it: {}", axis_, known.size(), Printable(Join({known.begin(), known.end()}, ", "))),
                      fmt::format("name two of them: --between {}=A,B", axis_));
  }
  values_ = {*known.begin(), *known.rbegin()};
  if (IsValueBefore(values_[1], values_[0])) std::swap(values_[0], values_[1]);
  return absl::OkStatus();
}

absl::Status Between::ReadSystems(const SystemSettings& settings) {
  std::vector<std::string> others = VaryingSettings(settings);
  std::erase(others, axis_);
  const std::set<std::string> known = settings.AllOf(axis_);
  if (known.empty()) {
    return UsageError(fmt::format("--between {}: the sweep has no systems, and so one value of each setting", axis_),
                      fmt::format("a sweep with --set {}={} has two", axis_, NamesValues() ? Join({values_[0], values_[1]}, ",") : "A,B"));
  }
  RETURN_IF_ERROR(CheckValues(known));
  std::map<std::pair<size_t, std::string>, std::string> names;
  for (const v1::System& system : settings.spec().systems()) {
    const std::string value = ValueOfJobs(axis_, settings.Of(system, axis_));
    const auto side = std::ranges::find(values_, value);
    if (side == values_.end()) continue;
    System& own = systems_[system.name()];
    own.side = static_cast<size_t>(side - values_.begin());
    std::vector<std::string> words;
    for (const std::string& path : others) words.push_back(fmt::format("{}={}", path, settings.Of(system, path)));
    own.others = Join(words, " ");
    const auto [other, is_first] = names.emplace(std::pair(own.side, own.others), system.name());
    if (!is_first) {
      return UsageError(fmt::format("--between {}: the systems '{}' and '{}' have the same value, and differ in more than single settings", axis_,
                                    Printable(other->second), Printable(system.name())),
                        "compare two systems: --between system=A,B");
    }
  }
  return absl::OkStatus();
}

absl::Status Between::Check(const AxisValues& axes) {
  if (OfSetting()) return absl::OkStatus();  // ReadSystems() has looked.
  const std::set<std::string>& known = axes[PlaceOf(axis_)];
  if (known.empty() && (OfPositions() || NamesValues())) return absl::OkStatus();
  if (OfPositions()) {
    const auto randomized = static_cast<size_t>(std::ranges::count_if(known, [](const std::string& value) { return catalog::IsRandomized(value); }));
    if (randomized > 0 && randomized < known.size()) return absl::OkStatus();
    return UsageError(fmt::format("--between randomized: the sweep has encodings with {} positions alone", randomized == 0 ? kPlain : kRandomized),
                      fmt::format("they are {}", Join({known.begin(), known.end()}, ", ")));
  }
  return CheckValues(known);
}

std::vector<std::string_view> Between::Along(const v1::SweepSpec& spec, const std::vector<std::string>& texts) const {
  if (axis_ != "system") return {};
  const Only only(texts);
  std::array<AxisValues, 2> sides;
  for (const v1::System& system : spec.systems()) {
    const auto side = std::ranges::find(values_, system.name());
    if (side == values_.end()) continue;
    const v1::Axes axes = AxesOf(spec, system);
    for (const std::string_view axis : kPairAxes) {
      for (std::string& value : ValuesOf(axes, axis)) {
        if (only.Admits(axis, value)) sides[static_cast<size_t>(side - values_.begin())][PlaceOf(axis)].insert(std::move(value));
      }
    }
  }
  std::vector<std::string_view> along;
  for (const std::string_view axis : kPairAxes) {
    const std::set<std::string>&first = sides[0][PlaceOf(axis)], &second = sides[1][PlaceOf(axis)];
    if (first.size() == 1 && second.size() == 1 && first != second) along.push_back(axis);
  }
  return along;
}

std::set<std::string> Between::OtherFields(const v1::SweepSpec& spec) const {
  std::set<std::string> fields;
  const auto add = [&](const std::string& first, const std::string& second) { fields.merge(FieldsOfSystemsThatDiffer(spec, first, second)); };
  if (axis_ == "system") add(values_[0], values_[1]);
  for (const auto& [first, of_first] : systems_) {
    for (const auto& [second, of_second] : systems_) {
      if (of_first.side == 0 && of_second.side == 1 && of_first.others == of_second.others) add(first, second);
    }
  }
  fields.erase(axis_);
  return fields;
}

std::string Between::Before() const { return OfSetting() || axis_ == "learning_rate" || axis_ == "seed" ? axis_ + " " : ""; }

std::array<std::string, 2> Between::Names() const { return {Before() + values_[0], Before() + values_[1]}; }

std::string Between::Title() const { return fmt::format("{}{} and {}", Before(), values_[0], values_[1]); }

std::string Between::Choice(size_t side) const { return OfPositions() ? values_[side] : fmt::format("{}={}", axis_, values_[side]); }

std::optional<size_t> Between::Take(v1::Job& job) const {
  if (OfPositions()) {
    const std::optional<catalog::EncodingName> encoding = catalog::ParseEncodingName(job.encoding());
    if (!encoding) return std::nullopt;
    job.set_encoding(encoding->name);
    return encoding->randomized ? 1 : 0;
  }
  if (OfSetting()) {
    // One of several has the same settings as the others.
    const auto system = job.systems().empty() ? systems_.end() : systems_.find(job.systems(0));
    if (system == systems_.end()) return std::nullopt;
    job.clear_systems();
    if (!system->second.others.empty()) job.add_systems(system->second.others);
    return system->second.side;
  }
  const std::string value = KeyOf(job)[PlaceOf(axis_)];
  const auto side = std::ranges::find(values_, value);
  if (side == values_.end()) return std::nullopt;
  Clear(axis_, job);
  return static_cast<size_t>(side - values_.begin());
}

}  // namespace longreach::client
