#include "scheduler/experiments/unused_settings.h"

#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

namespace longreach::experiments {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Calls use(group, message) with each group of settings; `Spec` has all of them.
template <typename Spec, typename Use>
void ForEachGroup(const Spec& spec, const Use& use) {
  use("model", spec.model());
  use("positions", spec.positions());
  use("training", spec.training());
  use("evaluation", spec.evaluation());
}

std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// Whether two messages of a type have the same in one field.
bool SameIn(const FieldDescriptor* field, const Message& one, const Message& other) {
  google::protobuf::util::MessageDifferencer differencer;
  return differencer.CompareWithFields(one, other, {field}, {field});
}

void AddGiven(const v1::SweepSpec& sweep, const v1::JobSpec& defaults, std::set<std::string>& paths) {
  ForEachGroup(sweep, [&](std::string_view group, const Message& given) {
    ForEachGroup(defaults, [&](std::string_view usual_group, const Message& usual) {
      if (usual_group != group) return;
      for (const FieldDescriptor* field : FieldsOf(given)) {
        // Of one without a default that is set here, saying it may be what it is to leave it out.
        const bool has_default = field->is_repeated() || usual.GetReflection()->HasField(usual, field);
        if (has_default && !SameIn(field, given, usual)) paths.insert(fmt::format("{}.{}", group, field->name()));
      }
    });
  });
}

// Of what makes an input the training is its own where the job that needs it trains nothing: such a job has none to lend.
void TakeOutUsed(const ExpandedJob& job, bool has_own_training, std::set<std::string>& paths) {
  ForEachGroup(job.spec, [&](std::string_view group, const Message& had) {
    if (has_own_training && group == "training") return;
    for (const FieldDescriptor* field : FieldsOf(had)) paths.erase(fmt::format("{}.{}", group, field->name()));
  });
  for (const ExpandedJob& made : job.prerequisites) TakeOutUsed(made, has_own_training || job.spec.training().steps() == 0, paths);
}

}  // namespace

std::vector<std::string> UnusedSettings(const v1::SweepSpec& sweep, Expansion& expansion) {
  std::set<std::string> paths;
  if (expansion.size() > kMostLookedAt) return {};
  const v1::JobSpec& defaults = expansion.kind().Defaults();
  AddGiven(sweep, defaults, paths);
  for (const v1::System& system : sweep.systems()) AddGiven(system.with(), defaults, paths);
  for (int64_t i = 0; i < expansion.size() && !paths.empty(); ++i) TakeOutUsed(expansion.At(i), /*has_own_training=*/false, paths);
  return {paths.begin(), paths.end()};
}

}  // namespace longreach::experiments
