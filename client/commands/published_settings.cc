#include "client/commands/published_settings.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/spec/spec_reader.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

using google::protobuf::util::MessageDifferencer;

// A note names at most so many fields.
constexpr size_t kFieldsNamed = 5;

// Collects the paths of what differs: "training.steps", "systems.nope.with.data".
class Paths final : public MessageDifferencer::Reporter {
 public:
  using Message = google::protobuf::Message;
  using Fields = std::vector<MessageDifferencer::SpecificField>;

  // The two that are compared, whole.
  Paths(const Message& preset, const Message& ours) : preset_(preset), ours_(ours) {}

  void ReportAdded(const Message&, const Message&, const Fields& path) override { Add(path, true); }
  void ReportModified(const Message&, const Message&, const Fields& path) override {
    // Of a group its fields are reported, too.
    if (path.back().field->message_type() == nullptr) Add(path, true);
  }
  void ReportDeleted(const Message&, const Message&, const Fields& path) override {
    // A system less is a row less.
    if (path.size() == 1 && path.front().field->name() == "systems") return;
    if (path.back().field->is_repeated() && HasSome(path)) Add(path, false);
  }

  const std::set<std::string>& paths() const { return paths_; }

 private:
  // Whether the list that a path ends at has elements in ours. A sweep that comes back from the scheduler lacks what is its kind's default,
  // also where the preset spells it out: what is missing may be the same.
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
    const Message* at = ours ? &ours_ : &preset_;
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
    Insert(words, path.back().field->message_type() == nullptr ? nullptr : at);
  }

  // Of a group that the other one lacks, its fields.
  void Insert(std::vector<std::string> words, const Message* group) {
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    if (group != nullptr) group->GetReflection()->ListFields(*group, &fields);
    for (const google::protobuf::FieldDescriptor* field : fields) {
      std::vector<std::string> longer = words;
      longer.push_back(field->name());
      const bool deeper = field->message_type() != nullptr && !field->is_repeated();
      Insert(longer, deeper ? &group->GetReflection()->GetMessage(*group, field) : nullptr);
    }
    if (!fields.empty()) return;
    // Axes go by their bare names.
    std::erase(words, "axes");
    if (!words.empty()) paths_.insert(Join(words, "."));
  }

  const Message& preset_;
  const Message& ours_;
  std::set<std::string> paths_;
};

struct Printed {
  std::string preset;
  v1::SweepSpec spec;
};

// The preset, or the part of one, whose table has these published values.
std::optional<Printed> PresetOf(const std::string& published, const std::string& sweep) {
  std::optional<Printed> found;
  for (const catalog::File& preset : catalog::Presets()) {
    // Reading a long one takes milliseconds.
    if (preset.text.find(published) == std::string_view::npos && preset.text.find("\nparts:") == std::string_view::npos) continue;
    const absl::StatusOr<std::vector<LoadedSweep>> parts = LoadSweeps({.spec = std::string(preset.name), .overrides = {}});
    if (!parts.ok()) continue;
    for (const LoadedSweep& part : *parts) {
      if (part.file.table.published() != published) continue;
      // Of several, the one of the sweep's name.
      if (!found || part.file.spec.name() == sweep) found = Printed{.preset = std::string(part.file.spec.name()), .spec = part.file.spec};
    }
  }
  return found;
}

std::set<std::string> Differences(v1::SweepSpec preset, v1::SweepSpec ours) {
  for (v1::SweepSpec* spec : {&preset, &ours}) {
    spec->clear_name();
    spec->mutable_axes()->clear_task();
    spec->mutable_axes()->clear_encoding();
  }
  MessageDifferencer differencer;
  differencer.TreatAsMap(v1::SweepSpec::descriptor()->FindFieldByName("systems"), v1::System::descriptor()->FindFieldByName("name"));
  differencer.TreatAsMap(v1::SweepSpec::descriptor()->FindFieldByName("inputs"), v1::Input::descriptor()->FindFieldByName("name"));
  Paths paths(preset, ours);
  differencer.ReportDifferencesTo(&paths);
  differencer.Compare(preset, ours);
  return paths.paths();
}

}  // namespace

void NoteOtherSettings(const v1::SweepSpec& spec, const v1::TableSpec& table, v1::Table& measured) {
  if (table.published().empty() || std::ranges::none_of(measured.cells(), [](const v1::TableCell& cell) { return cell.has_published(); })) return;
  const std::optional<Printed> preset = PresetOf(table.published(), spec.name());
  if (!preset) return;
  const std::set<std::string> differences = Differences(preset->spec, spec);
  if (differences.empty()) return;
  const std::vector<std::string> all(differences.begin(), differences.end());
  const std::vector<std::string> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kFieldsNamed)));
  const std::string more = all.size() > some.size() ? fmt::format(" and {} more", all.size() - some.size()) : "";
  measured.add_notes(fmt::format("published values are of other settings: this sweep differs from the preset '{}' in {}{}", preset->preset, Join(some, ", "), more));
}

}  // namespace longreach::client
