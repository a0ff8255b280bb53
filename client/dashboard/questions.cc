#include "client/dashboard/questions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

using Names = std::vector<std::string_view>;

struct Question {
  std::string_view path;
  Names command;
  Names about = {};    // The parameters that are the command's arguments, in their order.
  Names options = {};  // Each may be given, some of them more than once.
  Names flags = {};    // Given as "1".
};

const std::vector<Question>& Questions() {
  static const std::vector<Question> questions = {
      {"/api/axes", {"list", "axes"}},
      {"/api/between", {"compare"}, {"sweep"}, {"between", "by", "metric", "length", "slice", "only"}},
      {"/api/compare", {"compare"}, {"first", "second"}, {"by", "metric", "length", "slice", "only"}},
      {"/api/explain", {"explain"}, {"job"}},
      {"/api/job", {"job"}, {"job"}},
      {"/api/jobs", {"jobs"}, {"sweep"}, {"state", "limit"}},
      {"/api/logs", {"logs"}, {"job"}},
      {"/api/metrics", {"list", "metrics"}},
      {"/api/plot",
       {"plot", "--file=-"},
       {"sweep"},
       {"metric", "x", "y", "lines", "panels", "points", "x-length", "aggregate", "best-of", "length", "slice", "only", "step-bins"},
       {"log", "bits"}},
      {"/api/results", {"results"}, {"sweep"}, {"rows", "columns", "metric", "aggregate", "best-of", "length", "slice", "only", "step-bins"}, {"bits"}},
      {"/api/status", {"status"}, {"sweep"}},
      {"/api/sweeps", {"sweeps"}},
      {"/api/values", {"list", "values"}, {"sweep"}},
      {"/api/workers", {"workers"}},
  };
  return questions;
}

bool Has(const Names& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

}  // namespace

absl::StatusOr<std::vector<std::string>> CommandOf(const Url& url) {
  const auto question = std::ranges::find(Questions(), url.path, &Question::path);
  if (question == Questions().end()) return Error(absl::StatusCode::kNotFound, fmt::format("there is no '{}' here", Printable(url.path)));
  std::vector<std::string> words(question->command.begin(), question->command.end());
  std::map<std::string_view, std::string> about;
  for (const auto& [name, value] : url.parameters) {
    if (const auto argument = std::ranges::find(question->about, name); argument != question->about.end()) {
      about[*argument] = value;
    } else if (Has(question->options, name)) {
      // An empty one is not given, as in a form.
      if (!value.empty()) words.push_back(fmt::format("--{}={}", name, value));
    } else if (Has(question->flags, name) && value == "1") {
      words.push_back(fmt::format("--{}", name));
    } else {
      return UsageError(fmt::format("{} has no parameter '{}={}'", question->path, Printable(name), Printable(value)));
    }
  }
  words.insert(words.end(), {"-o", "json"});
  if (!question->about.empty()) words.emplace_back("--");
  for (const std::string_view argument : question->about) {
    if (about[argument].empty()) return UsageError(fmt::format("{} needs the parameter '{}'", question->path, argument));
    words.push_back(about[argument]);
  }
  return words;
}

}  // namespace longreach::client
