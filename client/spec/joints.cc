#include "client/spec/joints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "proto/types/sweep_parts.h"

namespace longreach::client {
namespace {

// A sweep as one joint, or one for each of its systems.
std::vector<Joint> JointsOf(const v1::SweepSpec& sweep, const std::vector<v1::Job>& jobs) {
  v1::SweepSpec plain = sweep;
  plain.clear_systems();
  std::vector<Joint> joints;
  std::map<std::string, size_t> by_system;
  const auto add = [&](const std::string& system, v1::SweepSpec settings) {
    std::vector<v1::Axes> axes = {settings.axes()};
    settings.clear_axes();
    settings.clear_name();
    settings.clear_experiment();
    by_system.emplace(system, joints.size());
    joints.push_back({.sweep = sweep.name(), .system = system, .settings = std::move(settings), .axes = std::move(axes)});
  };
  if (sweep.systems().empty()) add("", plain);
  for (const v1::System& system : sweep.systems()) add(system.name(), WithSystem(plain, system));
  for (const v1::Job& job : jobs) {
    const auto at = by_system.find(job.systems().empty() ? "" : job.systems(0));
    if (at != by_system.end()) joints[at->second].jobs.push_back(job);
  }
  return joints;
}

template <typename Value, typename Values>
void AddMissing(const Values& more, Values& all) {
  std::set<Value> seen(all.begin(), all.end());
  for (const Value& value : more) {
    if (seen.insert(value).second) all.Add(Value(value));
  }
}

using TaskAndEncoding = std::pair<std::string, std::string>;

// Those of which two joints have a job in common.
using SharedPairs = std::set<TaskAndEncoding>;

bool HasNoOthers(const v1::Axes& axes, const SharedPairs& shared) {
  return shared.size() == static_cast<size_t>(axes.task_size()) * static_cast<size_t>(axes.encoding_size());
}

using AxisNames = google::protobuf::RepeatedPtrField<std::string>;

// The values of an axis that are shared with all values of the other axis, if nothing else is: without these it still is a product.
template <typename PairOf>
std::set<std::string> WholeValues(const AxisNames& values, const AxisNames& of_other_axis, const SharedPairs& shared, const PairOf& pair_of) {
  std::set<std::string> whole;
  for (const std::string& value : values) {
    if (std::ranges::all_of(of_other_axis, [&](const std::string& other) { return shared.contains(pair_of(value, other)); })) whole.insert(value);
  }
  return whole.size() * static_cast<size_t>(of_other_axis.size()) == shared.size() ? whole : std::set<std::string>();
}

// Those of the names that are among `some`, or those that are not.
void KeepNames(const std::set<std::string>& some, bool among, AxisNames& names) {
  AxisNames kept;
  for (const std::string& name : names) {
    if (some.contains(name) == among) kept.Add(std::string(name));
  }
  names.Swap(&kept);
}

// As whoever joins sweeps knows it.
std::string NameToTell(const Joint& one) { return one.system.empty() ? one.sweep : fmt::format("{}.{}", one.sweep, one.system); }

// Those of a large sweep are listed as they are written.
bool AreAllKnown(const Joint& one) {
  if (one.axes.size() > 1) return false;  // Nobody lists what several sweeps have together.
  return static_cast<double>(one.jobs.size()) == CountOf(one.axes.front());
}

class JointsByJob {
 public:
  void Place(Joint one) {
    std::map<size_t, SharedPairs> shared;  // By the joint.
    size_t jobs_there = 0;
    for (const v1::Job& job : one.jobs) {
      const auto holder = holder_of_.find(job.id());
      if (holder == holder_of_.end()) continue;
      ++jobs_there;
      shared[holder->second].emplace(job.task(), job.encoding());
    }
    if (jobs_there > 0 && jobs_there == one.jobs.size() && AreAllKnown(one)) {
      for (const auto& [at, pairs] : shared) AddOthers(one, joints_[at]);
      return;
    }
    // Between several of them there is no telling which is meant.
    if (shared.size() != 1 || !Resolve(shared.begin()->first, shared.begin()->second, one)) Keep(std::move(one));
  }
  std::vector<Joint> Take() { return std::move(joints_); }

 private:
  static void AddOthers(const Joint& one, Joint& holder) {
    holder.others.push_back(NameToTell(one));
    holder.others.insert(holder.others.end(), one.others.begin(), one.others.end());
  }

  void Keep(Joint one) {
    for (const v1::Job& job : one.jobs) holder_of_.try_emplace(job.id(), joints_.size());
    joints_.push_back(std::move(one));
  }

  // False: neither of the two can have them alone.
  bool Resolve(size_t at, const SharedPairs& shared, Joint& one) {
    const v1::Axes own = Together(one.axes);
    if (HasNoOthers(own, shared)) {
      AddOthers(one, joints_[at]);
      Merge(std::move(one), at);
      return true;
    }
    if (HasNoOthers(Together(joints_[at].axes), shared)) {
      // Its other tasks and encodings have the settings that it says, and the system that is there keeps its name.
      if (one.system.empty()) {
        std::swap(one.sweep, joints_[at].sweep);
        std::swap(one.system, joints_[at].system);
      }
      std::swap(one, joints_[at]);
      AddOthers(one, joints_[at]);
      Merge(std::move(one), at);
      return true;
    }
    const std::set<std::string> encodings =
        WholeValues(own.encoding(), own.task(), shared, [](const std::string& encoding, const std::string& task) { return TaskAndEncoding(task, encoding); });
    const std::set<std::string> tasks =
        WholeValues(own.task(), own.encoding(), shared, [](const std::string& task, const std::string& encoding) { return TaskAndEncoding(task, encoding); });
    if (encodings.empty() && tasks.empty()) return false;
    joints_[at].others.push_back(NameToTell(one));
    Merge(TakeFrom(one, !encodings.empty() ? encodings : tasks, !encodings.empty()), at);
    Keep(std::move(one));
    return true;
  }

  // The part of `one` that has these encodings or tasks, which it loses.
  static Joint TakeFrom(Joint& one, const std::set<std::string>& names, bool are_encodings) {
    const auto axis = [are_encodings](v1::Axes& axes) -> AxisNames& { return are_encodings ? *axes.mutable_encoding() : *axes.mutable_task(); };
    Joint part{.sweep = one.sweep, .system = one.system, .settings = {}, .axes = one.axes};
    for (v1::Axes& axes : part.axes) KeepNames(names, true, axis(axes));
    for (v1::Axes& axes : one.axes) KeepNames(names, false, axis(axes));
    for (std::vector<v1::Axes>* all : {&part.axes, &one.axes}) std::erase_if(*all, [&axis](v1::Axes& axes) { return axis(axes).empty(); });
    const auto goes = [&](const v1::Job& job) { return names.contains(are_encodings ? job.encoding() : job.task()); };
    std::ranges::copy_if(one.jobs, std::back_inserter(part.jobs), goes);
    std::erase_if(one.jobs, goes);
    return part;
  }

  // Under the settings of the joint there.
  void Merge(Joint part, size_t at) {
    Joint& holder = joints_[at];
    holder.axes.insert(holder.axes.end(), part.axes.begin(), part.axes.end());
    holder.jobs.insert(holder.jobs.end(), part.jobs.begin(), part.jobs.end());
    for (const v1::Job& job : holder.jobs) holder_of_.try_emplace(job.id(), at);
  }

  std::vector<Joint> joints_;
  std::unordered_map<std::string, size_t> holder_of_;  // By a job's id, the first of the joints that have it.
};

}  // namespace

std::vector<Joint> AllJoints(const std::vector<v1::SweepSpec>& sweeps, const std::vector<std::vector<v1::Job>>& jobs) {
  std::vector<Joint> all;
  for (size_t i = 0; i < sweeps.size(); ++i) {
    const auto end_before = static_cast<std::ptrdiff_t>(all.size());
    for (Joint& one : JointsOf(sweeps[i], i < jobs.size() ? jobs[i] : std::vector<v1::Job>())) {
      const std::string settings = one.settings.SerializeAsString();
      const auto same = std::find_if(all.begin(), all.begin() + end_before, [&](const Joint& other) {
        return other.system == one.system && other.settings.SerializeAsString() == settings;
      });
      if (same == all.begin() + end_before) {
        all.push_back(std::move(one));
        continue;
      }
      same->axes.push_back(one.axes.front());
      same->jobs.insert(same->jobs.end(), one.jobs.begin(), one.jobs.end());
    }
  }
  return all;
}

std::vector<Joint> WithEachJobOnce(std::vector<Joint> all) {
  // A sweep without systems comes behind those that are systems, which have the better names.
  std::stable_partition(all.begin(), all.end(), [](const Joint& one) { return !one.system.empty(); });
  JointsByJob placed;
  for (Joint& one : all) placed.Place(std::move(one));
  return placed.Take();
}

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

}  // namespace longreach::client
