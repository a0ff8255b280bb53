#include "proto/catalog/catalog.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "proto/catalog/encoding_name.h"

namespace longreach::catalog {

// Defined in the file that CMake makes of presets/ and published/.
std::span<const File> EmbeddedPresets();
std::span<const File> EmbeddedPublishedTables();

namespace {

using enum Level;
using enum OutputLength;
using enum Better;

constexpr Task kTasks[] = {
#define X(name, label, level, in, out, output_length, invariant, revision) {#name, label, level, in, out, output_length, invariant, revision},
#include "proto/catalog/tasks.def"
#undef X
};

constexpr DataTask kDataTasks[] = {
#define X(name, label, experiment, in, out, revision) {#name, label, experiment, in, out, revision},
#include "proto/catalog/data_tasks.def"
#undef X
};

constexpr Encoding kEncodings[] = {
#define X(name, label, positions, traits, trained, revision) {#name, label, positions, traits, revision},
#include "proto/catalog/encodings.def"
#undef X
};

constexpr Metric kMetrics[] = {
#define X(name, label, unit, factor, better, revision) {#name, label, unit, factor, better, revision},
#include "proto/catalog/metrics.def"
#undef X
};

constexpr SliceAxis kSliceAxes[] = {
#define X(name, label) {#name, label},
#include "proto/catalog/slices.def"
#undef X
};

template <typename Entry>
const Entry* Find(std::span<const Entry> sorted, std::string_view name) {
  const auto at = std::ranges::lower_bound(sorted, name, {}, &Entry::name);
  return at != sorted.end() && at->name == name ? &*at : nullptr;
}

std::vector<std::string_view> Fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

int64_t Task::InputTokens(int64_t requested_length) const {
  const bool odd_only = name == "modular_arithmetic";
  return odd_only && requested_length % 2 == 0 ? requested_length - 1 : requested_length;
}

int64_t Task::OutputTokens(int64_t input_tokens) const {
  switch (output_length) {
    case kSingle: return 1;
    case kInput: return input_tokens;
    case kInputPlusOne: return input_tokens + 1;
    case kTwiceInput: return 2 * input_tokens;
    case kHalfRoundedUp: return (input_tokens + 1) / 2;
    case kFive: return 5;
  }
  return 0;
}

int64_t Task::Tape(int64_t requested_length) const {
  const int64_t input_tokens = InputTokens(requested_length);
  return input_tokens + OutputTokens(input_tokens);
}

std::span<const Task> Tasks() { return kTasks; }
std::span<const DataTask> DataTasks() { return kDataTasks; }
std::span<const Encoding> Encodings() { return kEncodings; }
std::span<const Metric> Metrics() { return kMetrics; }
std::span<const SliceAxis> SliceAxes() { return kSliceAxes; }
std::span<const File> Presets() { return EmbeddedPresets(); }
std::span<const File> PublishedTables() { return EmbeddedPublishedTables(); }

const Task* FindTask(std::string_view name) { return Find(Tasks(), name); }
const DataTask* FindDataTask(std::string_view name) { return Find(DataTasks(), name); }
const Encoding* FindEncoding(std::string_view name) { return Find(Encodings(), name); }
const Metric* FindMetric(std::string_view name) { return Find(Metrics(), name); }

std::string_view UsualAggregate(const Metric* metric) {
  if (metric == nullptr || metric->better == Better::kHigher) return "max";
  return metric->better == Better::kLower ? "min" : "mean";
}

std::string_view MainMetric(std::string_view experiment) {
  static constexpr std::pair<std::string_view, std::string_view> kOfKinds[] = {
      {"algorithmic", "accuracy"}, {"images", "cross_entropy"}, {"language", "cross_entropy"}, {"llama", "perplexity"}, {"noop", "echo"},
      {"sequences", "accuracy"}};
  const auto* const found = std::ranges::find(kOfKinds, experiment, [](const auto& kind) { return kind.first; });
  return found == std::end(kOfKinds) ? std::string_view() : found->second;
}

const SliceAxis* FindSliceAxis(std::string_view name) { return Find(SliceAxes(), name); }
const File* FindPreset(std::string_view name) { return Find(Presets(), name); }
const File* FindPublishedTable(std::string_view name) { return Find(PublishedTables(), name); }

std::string_view Abbreviation(Level level) {
  switch (level) {
    case kNone: return "";
    case kRegular: return "R";
    case kDeterministicContextFree: return "DCF";
    case kContextSensitive: return "CS";
  }
  return "";
}

std::map<std::string, std::string, std::less<>> SliceKeys(std::string_view slice) {
  std::map<std::string, std::string, std::less<>> keys;
  if (slice.empty()) return keys;
  for (const std::string_view part : Fields(slice)) {
    const size_t equals = part.find('=');
    keys.emplace(part.substr(0, equals), equals == std::string_view::npos ? part : part.substr(equals + 1));
  }
  return keys;
}

std::vector<PublishedValue> PublishedValues(std::string_view table) {
  const File* file = FindPublishedTable(table);
  if (file == nullptr) return {};
  std::vector<PublishedValue> values;
  std::string_view text = file->text;
  std::vector<std::string_view> header;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = Fields(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    PublishedValue value;
    for (size_t i = 0; i < fields.size() && i < header.size(); ++i) {
      const std::string_view field = fields[i];
      if (i + 1 == header.size()) {
        value.text = field;
        const std::string_view number = field.starts_with('>') ? field.substr(1) : field;
        std::from_chars(number.data(), number.data() + number.size(), value.value);
      } else if (header[i] == "randomized") {
        if (std::string& encoding = value.keys["encoding"]; field == "true") encoding = ToText({.name = encoding, .randomized = true});  // The column before.
      } else if (header[i] != "level") {  // Which the task has.
        value.keys.emplace(header[i], field);
      }
    }
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<const Task*> TasksOfTableB1() {
  const std::vector<PublishedValue> values = PublishedValues("table_b1");
  std::vector<const Task*> tasks;
  for (const Task& task : Tasks()) {
    const auto is_of_it = [&task](const PublishedValue& value) {
      const auto key = value.keys.find("task");
      return key != value.keys.end() && key->second == task.name;
    };
    if (std::ranges::any_of(values, is_of_it)) tasks.push_back(&task);
  }
  return tasks;
}

}  // namespace longreach::catalog
