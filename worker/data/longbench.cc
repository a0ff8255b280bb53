#include "worker/data/longbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "proto/base/json_reason.h"
#include "worker/data/line_reader.h"

namespace longreach::data {
namespace {

using Json = nlohmann::json;

// Of one sample: what a tokenizer reads at a time has room for it and a task's own words.
constexpr size_t kMostText = 15 << 20;
// JSON may write a character of it as six.
constexpr size_t kMostLine = size_t{128} << 20;

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
  ASSIGN_OR_RETURN(FileToRead in, FileToRead::Open(file));
  opened.opened_ = std::make_shared<const FileToRead>(std::move(in));
  LineReader lines(*opened.opened_, kMostLine);
  for (int64_t number = 1;; ++number) {
    const auto begin = static_cast<uint64_t>(lines.given());
    const absl::StatusOr<std::optional<std::string_view>> line = lines.Next();
    if (absl::IsResourceExhausted(line.status())) return absl::DataLossError(fmt::format("{}:{}: {}", file.string(), number, std::string(line.status().message())));
    RETURN_IF_ERROR(line.status());
    if (!line->has_value()) break;
    if ((*line)->find_first_not_of(" \t\r") != std::string_view::npos) opened.lines_.push_back({.number = number, .begin = begin, .bytes = (*line)->size()});
  }
  if (opened.lines_.empty()) return absl::DataLossError(fmt::format("{} has no sample in it", file.string()));
  return opened;
}

absl::StatusOr<LongBenchSample> LongBenchFile::Sample(int64_t index) const {
  const Line& line = lines_[static_cast<size_t>(index)];
  const std::string where = fmt::format("{}:{}", file_.string(), line.number);
  std::string text(line.bytes, '\0');
  RETURN_IF_ERROR(opened_->Read(line.begin, text));
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::DataLossError(fmt::format("{}: not a JSON object, of which there must be one in each line: {}", where,
                                           WhyNoJsonObject(text)));
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
