#include "worker/data/longbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "proto/base/json_reason.h"

namespace longreach::data {
namespace {

using Json = nlohmann::json;

// Of one sample: what a tokenizer reads at a time has room for it and a task's own words.
constexpr size_t kMostText = 15 << 20;

// The fields of one line; the first one that is not as published is the error.
class SampleFields {
 public:
  SampleFields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::string Text(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_string()) return Fail(name, "text"), "";
    return found->get<std::string>();
  }
  // `optional`: it may be missing, null or empty.
  std::vector<std::string> Texts(const char* name, bool optional) {
    std::vector<std::string> texts;
    const auto found = object_.find(name);
    if (optional && (found == object_.end() || found->is_null())) return texts;
    const bool good = found != object_.end() && found->is_array() && (optional || !found->empty()) &&
                      std::ranges::all_of(*found, [](const Json& one) { return one.is_string(); });
    if (!good) return Fail(name, "list of texts"), texts;
    for (const Json& one : *found) texts.push_back(one.get<std::string>());
    return texts;
  }
  const absl::Status& status() const { return status_; }

 private:
  void Fail(const char* name, std::string_view kind) {
    if (!status_.ok()) return;
    status_ = absl::DataLossError(fmt::format("{}: has no {} '{}'; take the file as LongBench publishes it", where_, kind, name));
  }

  const Json& object_;
  std::string where_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<LongBenchFile> LongBenchFile::Open(const std::filesystem::path& file) {
  LongBenchFile opened;
  opened.file_ = file;
  ASSIGN_OR_RETURN(opened.mapped_, MappedFile::Open(file));
  const std::string_view bytes = opened.bytes();
  size_t at = 0;
  for (int64_t number = 1; at < bytes.size(); ++number) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    if (bytes.substr(at, end - at).find_first_not_of(" \t\r") != std::string_view::npos) {
      opened.lines_.push_back({.number = number, .begin = at, .end = end});
    }
    at = end + 1;
  }
  if (opened.lines_.empty()) return absl::DataLossError(fmt::format("{} has no sample in it", file.string()));
  return opened;
}

std::string_view LongBenchFile::bytes() const {
  return {reinterpret_cast<const char*>(mapped_.bytes().data()), mapped_.bytes().size()};
}

absl::StatusOr<LongBenchSample> LongBenchFile::Sample(int64_t index) const {
  const Line& line = lines_[static_cast<size_t>(index)];
  const std::string where = fmt::format("{}:{}", file_.string(), line.number);
  const Json object = Json::parse(bytes().substr(line.begin, line.end - line.begin), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::DataLossError(fmt::format("{}: not a JSON object, of which there must be one in each line: {}", where,
                                           WhyNoJsonObject(bytes().substr(line.begin, line.end - line.begin))));
  }
  SampleFields fields(object, where);
  LongBenchSample sample;
  sample.input = fields.Text("input");
  sample.context = fields.Text("context");
  sample.answers = fields.Texts("answers", /*optional=*/false);
  sample.classes = fields.Texts("all_classes", /*optional=*/true);
  if (object.contains("dataset")) sample.task = fields.Text("dataset");
  RETURN_IF_ERROR(fields.status());
  if (sample.input.size() + sample.context.size() > kMostText) {
    return absl::DataLossError(fmt::format("{}: {} bytes of text; a sample has at most {}", where, sample.input.size() + sample.context.size(), kMostText));
  }
  return sample;
}

}  // namespace longreach::data
