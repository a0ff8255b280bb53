#include "proto/types/sweep_parts.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "proto/types/wire_limits.h"

namespace longreach {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The values of `own` over `whole`, field by field; a list takes the place of the list.
void Overlay(const Message& own, Message& whole) {
  const google::protobuf::Reflection& at = *own.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  at.ListFields(own, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) at.ClearField(&whole, field);
  }
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Overlay(at.GetMessage(own, field), *at.MutableMessage(&whole, field));
    }
  }
  // What is left are single values and lists that are empty now.
  std::unique_ptr<Message> flat(own.New());
  flat->CopyFrom(own);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) at.ClearField(flat.get(), field);
  }
  whole.MergeFrom(*flat);
}

// What the job behind an input leaves out, said in the sweep's own words: else it would be the system's.
void FillFrom(const v1::SweepSpec& sweep, const v1::Axes& set_by_system, v1::SweepSpec& from) {
  // Also where the sweep has none: the group is there then, and empty.
  if (!from.has_model()) *from.mutable_model() = sweep.model();
  if (!from.has_positions()) *from.mutable_positions() = sweep.positions();
  if (!from.has_training()) *from.mutable_training() = sweep.training();
  if (!from.has_evaluation()) *from.mutable_evaluation() = sweep.evaluation();
  const google::protobuf::Reflection& at = *set_by_system.GetReflection();
  std::vector<const FieldDescriptor*> axes;
  at.ListFields(set_by_system, &axes);
  for (const FieldDescriptor* axis : axes) {
    if (at.FieldSize(sweep.axes(), axis) != 1 || at.FieldSize(from.axes(), axis) > 0) continue;
    v1::Axes one = sweep.axes();
    std::vector<const FieldDescriptor*> others;
    at.ListFields(one, &others);
    for (const FieldDescriptor* other : others) {
      if (other != axis) at.ClearField(&one, other);
    }
    from.mutable_axes()->MergeFrom(one);
  }
  for (v1::Input& input : *from.mutable_inputs()) FillFrom(sweep, set_by_system, *input.mutable_from());
}

}  // namespace

v1::SweepSpec WithSystem(const v1::SweepSpec& plain, const v1::System& system) {
  v1::SweepSpec whole = plain;
  Overlay(system.with(), whole);
  for (v1::Input& input : *whole.mutable_inputs()) FillFrom(plain, system.with().axes(), *input.mutable_from());
  return whole;
}

v1::SweepSpec MakerSweep(const v1::Input& input, const v1::Axes& axes, const v1::SweepSpec& sweep) {
  v1::SweepSpec maker = input.from();
  v1::Axes& own = *maker.mutable_axes();
  if (own.task().empty()) *own.mutable_task() = axes.task();
  if (own.encoding().empty()) *own.mutable_encoding() = axes.encoding();
  if (own.learning_rate().empty()) *own.mutable_learning_rate() = axes.learning_rate();
  if (own.seed().empty()) *own.mutable_seed() = axes.seed();
  if (maker.experiment().empty()) maker.set_experiment(sweep.experiment());
  if (maker.data().empty()) maker.set_data(sweep.data());
  const bool same_kind = maker.experiment() == sweep.experiment();
  const bool trains = !sweep.training().has_steps() || sweep.training().steps() > 0;
  if (same_kind && !maker.has_model() && sweep.has_model()) *maker.mutable_model() = sweep.model();
  if (same_kind && !maker.has_positions() && sweep.has_positions()) *maker.mutable_positions() = sweep.positions();
  if (same_kind && !maker.has_training() && sweep.has_training() && trains) *maker.mutable_training() = sweep.training();
  if (same_kind && !maker.has_evaluation() && sweep.has_evaluation()) *maker.mutable_evaluation() = sweep.evaluation();
  return maker;
}

double CountOf(const v1::Axes& axes) {
  return static_cast<double>(axes.task_size()) * axes.encoding_size() * axes.learning_rate_size() * axes.seed_size();
}

std::string TooManyJobs(const v1::Axes& axes) {
  const double count = CountOf(axes);
  if (count <= static_cast<double>(kMaxJobsOfSweep)) return "";
  return fmt::format("axes: {} tasks x {} encodings x {} learning rates x {} seeds = {:.0f} jobs; at most {}", axes.task_size(), axes.encoding_size(), axes.learning_rate_size(),
                     axes.seed_size(), count, kMaxJobsOfSweep);
}

}  // namespace longreach
