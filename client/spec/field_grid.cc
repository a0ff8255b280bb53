#include "client/spec/field_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/field_parser.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/types/wire_limits.h"

namespace longreach::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::RepeatedPtrField;

absl::Status CheckSize(const FieldGrid& grid, const v1::SweepSpec& spec) {
  std::vector<std::string> factors;
  double systems = 1;
  double bytes = 0;
  for (const v1::System& system : spec.systems()) bytes += static_cast<double>(system.ByteSizeLong());
  if (!spec.systems().empty()) {
    factors.push_back(Count(spec.systems_size(), "system"));
    systems = spec.systems_size();
  }
  for (const GridField& field : grid) {
    factors.push_back(fmt::format("{} of {}", field.values.size(), field.path));
    systems *= static_cast<double>(field.values.size());
    bytes *= static_cast<double>(field.values.size());
  }
  if (systems > kMaxGridSystems) {
    return UsageError(fmt::format("{}: {} = {:.0f} systems; at most {} are admitted", grid.back().where, Join(factors, " x "), systems, kMaxGridSystems),
                      "leave values out, or split the sweep");
  }
  if (bytes > static_cast<double>(kMaxContentBytes)) {
    return UsageError(fmt::format("{}: the sweep's systems are too long to be sent to the scheduler {:.0f} times", grid.back().where, systems),
                      "split the sweep");
  }
  return absl::OkStatus();
}

// The input whose job has that group of settings from the sweep; nothing: there is none.
const v1::Input* FindBorrower(const RepeatedPtrField<v1::Input>& inputs, const FieldDescriptor& group) {
  for (const v1::Input& input : inputs) {
    if (!input.from().GetReflection()->HasField(input.from(), &group)) return &input;
    if (FindBorrower(input.from().inputs(), group) != nullptr) return &input;
  }
  return nullptr;
}

// The job behind an input is made of the sweep's own settings, which a field of a grid is not among: it would have the default.
absl::Status CheckInputs(const GridField& field, const RepeatedPtrField<v1::Input>& inputs) {
  const std::string name = field.path.substr(0, field.path.find('.'));
  const FieldDescriptor* group = v1::SweepSpec::descriptor()->FindFieldByName(name);
  // Data is the system's, there too.
  if (group == nullptr || group->message_type() == nullptr) return absl::OkStatus();
  const v1::Input* borrower = FindBorrower(inputs, *group);
  if (borrower == nullptr) return absl::OkStatus();
  return UsageError(fmt::format("{}: the job behind the input '{}' has '{}' from the sweep, which has several values of it", field.where,
                                Printable(borrower->name()), name),
                    fmt::format("say under the input's 'from' which '{}' its job has, or write 'systems:' with inputs of their own", name));
}

absl::Status CheckSystem(const GridField& field, v1::System system) {
  if (system.name().empty()) return UsageError(fmt::format("{}: one of the sweep's systems has no name", field.where), "give it a 'name'");
  ASSIGN_OR_RETURN(const FieldRef at, FindField(field.path, *system.mutable_with()));
  if (!at.message->GetReflection()->HasField(*at.message, at.field)) return absl::OkStatus();
  return UsageError(fmt::format("{}: the system '{}' has a value of its own", field.where, Printable(system.name())),
                    "take it out of the system, or give the sweep one value");
}

absl::Status CheckField(const GridField& field, const v1::SweepSpec& spec) {
  if (spec.systems().empty()) return CheckInputs(field, spec.inputs());
  for (const v1::System& system : spec.systems()) {
    RETURN_IF_ERROR(CheckSystem(field, system));
    // A system's inputs are in place of the sweep's.
    RETURN_IF_ERROR(CheckInputs(field, system.with().inputs().empty() ? spec.inputs() : system.with().inputs()));
  }
  return absl::OkStatus();
}

std::string_view LastWord(std::string_view path) { return path.substr(path.rfind('.') + 1); }

// What a field is called in names: its last word, or its path where the grid has two that end in the same word.
std::string_view ShortestPath(const GridField& field, const FieldGrid& grid) {
  const auto has_word = [&field](const GridField& other) { return LastWord(other.path) == LastWord(field.path); };
  return std::ranges::count_if(grid, has_word) > 1 ? std::string_view(field.path) : LastWord(field.path);
}

// A value with nothing but what names admit: 1e+20 is "1e20".
std::string AsWord(std::string_view value) {
  std::string word;
  for (const char c : value) {
    if (IsNameCharacter(c)) word += c;
    else if (c != '+') word += '_';
  }
  return word;
}

absl::StatusOr<v1::System> WithValue(v1::System system, const GridField& field, std::string_view word, const std::string& value) {
  ASSIGN_OR_RETURN(const FieldRef at, FindField(field.path, *system.mutable_with()));
  RETURN_IF_ERROR(ParseIntoField(value, *at.field, *at.message));
  system.set_name(fmt::format("{}{}{}-{}", system.name(), system.name().empty() ? "" : "_", word, AsWord(value)));
  return system;
}

absl::Status CheckNames(const std::vector<v1::System>& systems, std::string_view where) {
  constexpr std::string_view kHint = "vary fewer fields at once, or write 'systems:' with names of your own";
  std::set<std::string_view> names;
  for (const v1::System& system : systems) {
    if (system.name().size() > kMaxNameBytes) {
      return UsageError(fmt::format("{}: '{}' would be a system's name, and has {} characters; at most {} are admitted", where,
                                    Printable(system.name()), system.name().size(), kMaxNameBytes),
                        kHint);
    }
    if (!names.insert(system.name()).second) {
      return UsageError(fmt::format("{}: two systems would have the name '{}'", where, Printable(system.name())), kHint);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string WhyNoGrid(std::string_view path) {
  const std::string_view group = path.substr(0, path.find('.'));
  if (path == "name" || path.ends_with(".name")) return "a name is one word of letters, digits, '-', '_' and '.'";
  if (path == "experiment") return "it belongs to the sweep, not to one of its systems: write a sweep for each";
  if (group == "inputs") return "an input comes from one job";
  if (group == "systems") return "give the list to the sweep's own field, which varies in all systems, or write a system for each value";
  return "";
}

void RemoveFromGrid(std::string_view path, FieldGrid& grid) {
  std::erase_if(grid, [path](const GridField& field) { return field.path == path; });
}

absl::Status PutIntoGrid(GridField values, const FieldDescriptor& field, google::protobuf::Message& message, FieldGrid& grid) {
  if (values.values.size() == 1) {
    RemoveFromGrid(values.path, grid);
    return ParseIntoField(values.values.front(), field, message);
  }
  const auto before = std::ranges::find(grid, values.path, &GridField::path);
  if (before != grid.end()) {
    *before = std::move(values);
  } else {
    grid.push_back(std::move(values));
  }
  return absl::OkStatus();
}

absl::Status CrossGrid(const FieldGrid& grid, v1::SweepSpec& spec) {
  if (grid.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSize(grid, spec));
  for (const GridField& field : grid) RETURN_IF_ERROR(CheckField(field, spec));
  std::vector<v1::System> systems(spec.systems().begin(), spec.systems().end());
  if (systems.empty()) systems.emplace_back();
  for (const GridField& field : grid) {
    const std::string_view word = ShortestPath(field, grid);
    std::vector<v1::System> crossed;
    for (const v1::System& system : systems) {
      for (const std::string& value : field.values) {
        ASSIGN_OR_RETURN(crossed.emplace_back(), WithValue(system, field, word, value));
      }
    }
    systems = std::move(crossed);
  }
  RETURN_IF_ERROR(CheckNames(systems, grid.back().where));
  spec.mutable_systems()->Assign(systems.begin(), systems.end());
  return absl::OkStatus();
}

}  // namespace longreach::client
