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
#include "client/spec/joints.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/types/sweep_parts.h"

namespace longreach::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

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

// Of whose jobs a system has some, as nobody would look for them there.
std::string NoteOnOthers(const std::string& system, const std::vector<std::string>& others) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(others.size(), kMostNamed); ++i) names.push_back(fmt::format("'{}'", Printable(others[i])));
  if (others.size() > kMostNamed) names.push_back(fmt::format("{} others", others.size() - kMostNamed));
  return fmt::format("the system '{}' has the jobs that it has in common with {}, as no two systems may have the same one", Printable(system), Join(names, ", "));
}

}  // namespace

absl::StatusOr<JoinedSweep> JoinSweeps(const std::vector<v1::SweepSpec>& sweeps, const std::string& name, const std::vector<std::vector<v1::Job>>& jobs) {
  RETURN_IF_ERROR(CheckSameKind(sweeps));
  std::vector<Joint> joints = AllJoints(sweeps, jobs);
  RETURN_IF_ERROR(CheckJoinable(sweeps, joints));
  if (!jobs.empty()) joints = WithEachJobOnce(std::move(joints));
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
    if (!joints[i].others.empty()) joined.notes.push_back(NoteOnOthers(names[i], joints[i].others));
    v1::System& system = *joined.spec.add_systems();
    system.set_name(names[i]);
    *system.mutable_with() = std::move(of_joints[i]);
  }
  return joined;
}

}  // namespace longreach::client
