#include "client/spec/joined_sweeps.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/types/sweep_parts.h"

namespace longreach::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Jobs of the same settings: each of the axes is those of one sweep.
struct Joint {
  std::string sweep;   // The name of the first of them.
  std::string system;  // Of a system of theirs; empty: they have none.
  v1::SweepSpec settings;
  std::vector<v1::Axes> axes;
};

// A sweep as one joint, or one for each of its systems.
std::vector<Joint> JointsOf(const v1::SweepSpec& sweep) {
  v1::SweepSpec plain = sweep;
  plain.clear_systems();
  std::vector<Joint> joints;
  const auto add = [&](const std::string& system, v1::SweepSpec settings) {
    std::vector<v1::Axes> axes = {settings.axes()};
    settings.clear_axes();
    settings.clear_name();
    settings.clear_experiment();
    joints.push_back({.sweep = sweep.name(), .system = system, .settings = std::move(settings), .axes = std::move(axes)});
  };
  if (sweep.systems().empty()) add("", plain);
  for (const v1::System& system : sweep.systems()) add(system.name(), WithSystem(plain, system));
  return joints;
}

// Systems of one sweep stay apart, whatever they have in common: its author wanted a row for each.
std::vector<Joint> AllJoints(const std::vector<v1::SweepSpec>& sweeps) {
  std::vector<Joint> all;
  for (const v1::SweepSpec& sweep : sweeps) {
    const auto end_before = static_cast<std::ptrdiff_t>(all.size());
    for (Joint& one : JointsOf(sweep)) {
      const std::string settings = one.settings.SerializeAsString();
      const auto same = std::find_if(all.begin(), all.begin() + end_before, [&](const Joint& other) {
        return other.system == one.system && other.settings.SerializeAsString() == settings;
      });
      if (same == all.begin() + end_before) all.push_back(std::move(one));
      else same->axes.push_back(one.axes.front());
    }
  }
  return all;
}

template <typename Value, typename Values>
void AddMissing(const Values& more, Values& all) {
  std::set<Value> seen(all.begin(), all.end());
  for (const Value& value : more) {
    if (seen.insert(value).second) all.Add(Value(value));
  }
}

// All of their values. Names keep the order in which sweeps have them, numbers ascend.
v1::Axes Together(const std::vector<v1::Axes>& axes) {
  v1::Axes all = axes.front();
  if (axes.size() == 1) return all;
  for (const v1::Axes& one : axes) {
    AddMissing<std::string>(one.task(), *all.mutable_task());
    AddMissing<std::string>(one.encoding(), *all.mutable_encoding());
    AddMissing<double>(one.learning_rate(), *all.mutable_learning_rate());
    AddMissing<uint32_t>(one.seed(), *all.mutable_seed());
  }
  std::sort(all.mutable_learning_rate()->begin(), all.mutable_learning_rate()->end());
  std::sort(all.mutable_seed()->begin(), all.mutable_seed()->end());
  return all;
}

double CountOf(const v1::Axes& axes) {
  return static_cast<double>(axes.task_size()) * axes.encoding_size() * axes.learning_rate_size() * axes.seed_size();
}

// How many values of an axis the same ones of some sweeps have: values that are alike in that need not be looked at one by one.
using Holders = std::map<std::vector<bool>, double>;

template <typename Value, typename ValuesOf>
Holders HoldersOf(const std::vector<v1::Axes>& axes, const ValuesOf& values_of) {
  std::map<Value, std::vector<bool>> by_value;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const Value& value : values_of(axes[i])) by_value.try_emplace(value, axes.size()).first->second[i] = true;
  }
  Holders holders;
  for (const auto& one : by_value) ++holders[one.second];
  return holders;
}

// The jobs that at least one of them has.
double CountOfAny(const std::vector<v1::Axes>& axes) {
  const Holders of_axes[] = {HoldersOf<std::string>(axes, [](const v1::Axes& one) -> const auto& { return one.task(); }),
                             HoldersOf<std::string>(axes, [](const v1::Axes& one) -> const auto& { return one.encoding(); }),
                             HoldersOf<double>(axes, [](const v1::Axes& one) -> const auto& { return one.learning_rate(); }),
                             HoldersOf<uint32_t>(axes, [](const v1::Axes& one) -> const auto& { return one.seed(); })};
  Holders together = {{std::vector<bool>(axes.size(), true), 1}};
  for (const Holders& of_axis : of_axes) {
    Holders next;
    for (const auto& [before, jobs] : together) {
      for (const auto& [holders, values] : of_axis) {
        std::vector<bool> both(axes.size());
        for (size_t i = 0; i < axes.size(); ++i) both[i] = before[i] && holders[i];
        if (std::ranges::find(both, true) != both.end()) next[both] += jobs * values;
      }
    }
    together = std::move(next);
  }
  double jobs = 0;
  for (const auto& one : together) jobs += one.second;
  return jobs;
}

// What a message says in one field, to be compared.
std::string FieldAlone(const Message& message, const FieldDescriptor* field) {
  const google::protobuf::Reflection& of = *message.GetReflection();
  const std::unique_ptr<Message> alone(message.New());
  alone->CopyFrom(message);
  std::vector<const FieldDescriptor*> fields;
  of.ListFields(message, &fields);
  for (const FieldDescriptor* other : fields) {
    if (other != field) of.ClearField(alone.get(), other);
  }
  return alone->SerializeAsString();
}

// What all of them say the same goes to `common`: groups field by field, lists as wholes, as a system puts its own in their place.
void MoveCommon(const std::vector<Message*>& all, Message& common) {
  const google::protobuf::Reflection& of = *common.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  of.ListFields(*all.front(), &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_list = field->is_repeated();
    const auto has = [&](const Message* one) { return is_list ? of.FieldSize(*one, field) > 0 : of.HasField(*one, field); };
    if (!std::ranges::all_of(all, has)) continue;
    if (field->message_type() != nullptr && !is_list) {
      std::vector<Message*> groups;
      for (Message* one : all) groups.push_back(of.MutableMessage(one, field));
      MoveCommon(groups, *of.MutableMessage(&common, field));
      if (of.GetMessage(common, field).ByteSizeLong() == 0) of.ClearField(&common, field);
      for (Message* one : all) {
        if (of.GetMessage(*one, field).ByteSizeLong() == 0) of.ClearField(one, field);
      }
      continue;
    }
    const std::string first = FieldAlone(*all.front(), field);
    if (!std::ranges::all_of(all, [&](const Message* one) { return FieldAlone(*one, field) == first; })) continue;
    of.SwapFields(all.front(), &common, {field});
    for (size_t i = 1; i < all.size(); ++i) of.ClearField(all[i], field);
  }
}

// By the system's name, or the sweep's where there is none; by both where that is another one's, too.
std::vector<std::string> SystemNames(const std::vector<Joint>& joints) {
  std::map<std::string, int> wanted;
  const auto short_name = [](const Joint& one) { return one.system.empty() ? one.sweep : one.system; };
  for (const Joint& one : joints) ++wanted[short_name(one)];
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Joint& one : joints) {
    const bool is_shared = wanted[short_name(one)] > 1 && !one.system.empty();
    const std::string base = is_shared ? fmt::format("{}.{}", one.sweep, one.system) : short_name(one);
    std::string name = base;
    for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}-{}", base, number);  // Sweeps may have one name.
    names.push_back(std::move(name));
  }
  return names;
}

absl::Status CheckSameKind(const std::vector<v1::SweepSpec>& sweeps) {
  for (const v1::SweepSpec& sweep : sweeps) {
    if (sweep.experiment() == sweeps.front().experiment()) continue;
    return UsageError(fmt::format("'{}' is of the experiment kind '{}', and '{}' of '{}': a sweep has one", Printable(sweeps.front().name()),
                                  Printable(sweeps.front().experiment()), Printable(sweep.name()), Printable(sweep.experiment())),
                      "name sweeps of one kind");
  }
  return absl::OkStatus();
}

// The job behind an input is made of what the sweep says, not of what its system says: in another sweep it would be another one.
absl::Status CheckJoinable(const std::vector<v1::SweepSpec>& sweeps, const std::vector<Joint>& joints) {
  const bool has_systems = joints.size() > 1 || !joints.front().system.empty();
  if (!has_systems || std::ranges::all_of(joints, [](const Joint& one) { return one.settings.inputs().empty(); })) return absl::OkStatus();
  std::vector<std::string> names;
  for (const v1::SweepSpec& sweep : sweeps) names.push_back(Printable(sweep.name()));
  return UsageError(fmt::format("{}: they have inputs, and differ in settings or have systems: jobs behind the inputs would be other ones in one sweep", Join(names, ", ")),
                    "sweeps with inputs are joined where they differ in axes alone, as in seeds; 'longreach compare' puts others beside each other");
}

}  // namespace

absl::StatusOr<JoinedSweep> JoinSweeps(const std::vector<v1::SweepSpec>& sweeps, const std::string& name) {
  RETURN_IF_ERROR(CheckSameKind(sweeps));
  std::vector<Joint> joints = AllJoints(sweeps);
  RETURN_IF_ERROR(CheckJoinable(sweeps, joints));
  JoinedSweep joined;
  std::vector<v1::SweepSpec> of_joints;
  for (const Joint& one : joints) {
    v1::SweepSpec& whole = of_joints.emplace_back(one.settings);
    *whole.mutable_axes() = Together(one.axes);
    joined.jobs += CountOf(whole.axes());
    joined.new_jobs += CountOf(whole.axes()) - CountOfAny(one.axes);
  }
  std::vector<Message*> all;
  for (v1::SweepSpec& one : of_joints) all.push_back(&one);
  MoveCommon(all, joined.spec);
  joined.spec.set_name(name);
  joined.spec.set_experiment(sweeps.front().experiment());
  if (joints.size() == 1 && joints.front().system.empty()) return joined;
  const std::vector<std::string> names = SystemNames(joints);
  for (size_t i = 0; i < joints.size(); ++i) {
    if (names[i].size() > kMaxNameBytes) {
      return UsageError(fmt::format("'{}' would be a system's name, and has {} characters; at most {}", Printable(names[i]), names[i].size(), kMaxNameBytes),
                        "join fewer of them, or write a file with systems of your own");
    }
    v1::System& system = *joined.spec.add_systems();
    system.set_name(names[i]);
    *system.mutable_with() = std::move(of_joints[i]);
  }
  return joined;
}

}  // namespace longreach::client
