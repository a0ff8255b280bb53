#include "client/spec/spec_differences.h"

#include <google/protobuf/util/message_differencer.h>

#include <vector>

#include "proto/base/text.h"

namespace longreach::client {
namespace {

using google::protobuf::util::MessageDifferencer;

// Collects the paths of what differs: "training.steps", "systems.nope.with.data" of a system that both have.
class Paths final : public MessageDifferencer::Reporter {
 public:
  using Message = google::protobuf::Message;
  using Fields = std::vector<MessageDifferencer::SpecificField>;

  // The two that are compared, whole.
  Paths(const Message& before, const Message& ours) : before_(before), ours_(ours) {}

  void ReportAdded(const Message&, const Message&, const Fields& path) override { Add(path, true); }
  void ReportModified(const Message&, const Message&, const Fields& path) override {
    // Of a group its fields are reported, too.
    if (path.back().field->message_type() == nullptr) Add(path, true);
  }
  void ReportDeleted(const Message&, const Message&, const Fields& path) override {
    // A system less is a row less.
    if (path.size() == 1 && path.front().field->name() == "systems") return;
    if (!path.back().field->is_repeated() || HasSome(path)) Add(path, false);
  }

  const std::set<std::string>& paths() const { return paths_; }

 private:
  // Whether the list that a path ends at has elements in ours: where it has none, the default of its kind may be what the other one spells out.
  bool HasSome(const Fields& path) const {
    const Message* at = &ours_;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      const google::protobuf::FieldDescriptor* field = path[i].field;
      const google::protobuf::Reflection* reflection = at->GetReflection();
      if (field->is_repeated() && path[i].new_index < 0) return false;
      at = field->is_repeated() ? &reflection->GetRepeatedMessage(*at, field, path[i].new_index) : &reflection->GetMessage(*at, field);
    }
    return path.back().field->message_type() != nullptr || at->GetReflection()->FieldSize(*at, path.back().field) > 0;
  }

  void Add(const Fields& path, bool ours) {
    std::vector<std::string> words;
    const Message* at = ours ? &ours_ : &before_;
    for (const MessageDifferencer::SpecificField& one : path) {
      words.push_back(one.field->name());
      if (one.field->message_type() == nullptr) break;
      if (!one.field->is_repeated()) {
        at = &at->GetReflection()->GetMessage(*at, one.field);
        continue;
      }
      at = &at->GetReflection()->GetRepeatedMessage(*at, one.field, ours ? one.new_index : one.index);
      // Lists of groups have names: systems, inputs.
      words.push_back(at->GetReflection()->GetString(*at, at->GetDescriptor()->FindFieldByName("name")));
    }
    if (path.size() == 1 && path.front().field->name() == "systems") return InsertSystem(*at);
    Insert(words, path.back().field->message_type() == nullptr ? nullptr : at, ours);
  }

  // What a system that the other one lacks is trained and tested with, by the paths that a sweep's own settings have: a grid has hundreds of
  // systems, whose names say the same.
  void InsertSystem(const Message& system) {
    const Message& with = system.GetReflection()->GetMessage(system, system.GetDescriptor()->FindFieldByName("with"));
    if (with.ByteSizeLong() == 0) paths_.insert("systems");
    else Insert({}, &with, true);
  }

  // Of a group that the other one lacks, its fields; `lists`: those with several values, too.
  void Insert(std::vector<std::string> words, const Message* group, bool lists) {
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    if (group != nullptr) group->GetReflection()->ListFields(*group, &fields);
    for (const google::protobuf::FieldDescriptor* field : fields) {
      if (field->is_repeated() && !lists) continue;
      std::vector<std::string> longer = words;
      longer.push_back(field->name());
      const bool deeper = field->message_type() != nullptr && !field->is_repeated();
      Insert(longer, deeper ? &group->GetReflection()->GetMessage(*group, field) : nullptr, lists);
    }
    if (!fields.empty()) return;
    // Axes go by their bare names.
    std::erase(words, "axes");
    if (!words.empty()) paths_.insert(Join(words, "."));
  }

  const Message& before_;
  const Message& ours_;
  std::set<std::string> paths_;
};

// So that lists of `own`, merged into `whole`, take the place of its lists.
void ClearListsOf(const google::protobuf::Message& own, google::protobuf::Message& whole) {
  const google::protobuf::Reflection& at = *own.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  at.ListFields(own, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->is_repeated()) at.ClearField(&whole, field);
    else if (field->message_type() != nullptr) ClearListsOf(at.GetMessage(own, field), *at.MutableMessage(&whole, field));
  }
}

// As its jobs are described, without axes.
v1::SweepSpec SettingsOfSystem(const v1::SweepSpec& sweep, std::string_view name) {
  v1::SweepSpec whole = sweep;
  for (const v1::System& system : sweep.systems()) {
    if (system.name() != name) continue;
    ClearListsOf(system.with(), whole);
    whole.MergeFrom(system.with());
  }
  whole.clear_systems();
  whole.clear_axes();
  return whole;
}

}  // namespace

std::set<std::string> FieldsThatDiffer(v1::SweepSpec before, v1::SweepSpec ours) {
  for (v1::SweepSpec* spec : {&before, &ours}) {
    spec->clear_name();
    spec->mutable_axes()->clear_task();
    spec->mutable_axes()->clear_encoding();
  }
  MessageDifferencer differencer;
  differencer.TreatAsMap(v1::SweepSpec::descriptor()->FindFieldByName("systems"), v1::System::descriptor()->FindFieldByName("name"));
  differencer.TreatAsMap(v1::SweepSpec::descriptor()->FindFieldByName("inputs"), v1::Input::descriptor()->FindFieldByName("name"));
  Paths paths(before, ours);
  differencer.ReportDifferencesTo(&paths);
  differencer.Compare(before, ours);
  return paths.paths();
}

std::set<std::string> FieldsOfSystemsThatDiffer(const v1::SweepSpec& sweep, std::string_view first, std::string_view second) {
  const v1::SweepSpec one = SettingsOfSystem(sweep, first), other = SettingsOfSystem(sweep, second);
  std::set<std::string> fields = FieldsThatDiffer(one, other);
  fields.merge(FieldsThatDiffer(other, one));
  // Of an input that one of them lacks the path has its name already.
  std::erase_if(fields, [](const std::string& field) { return field.starts_with("inputs.") && field.ends_with(".name"); });
  return fields;
}

}  // namespace longreach::client
