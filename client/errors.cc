#include "client/errors.h"

#include <fmt/format.h>

#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

namespace longreach::client {
namespace {

// What somebody wrote may be megabytes, and is named by its beginning and end.
std::string Shortened(const std::string& text) {
  constexpr size_t kMost = 8000, kHead = 6000, kTail = 1000;  // What comes from a scheduler is shorter.
  if (text.size() <= kMost) return text;
  const auto whole = [&text](size_t at) {  // No character is cut.
    while (at < text.size() && IsWithinCharacter(text[at])) ++at;
    return at;
  };
  return text.substr(0, whole(kHead)) + " [...] " + text.substr(whole(text.size() - kTail));
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded: return kUnreachable;
    case absl::StatusCode::kNotFound: return kNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated: return kNotAllowed;
    default: return kFailed;
  }
}

absl::Status Error(absl::StatusCode code, std::string_view message, std::string_view hint) {
  std::string text(message);
  if (!hint.empty()) text.append("\n").append(hint);
  return absl::Status(code, text);
}

ErrorText SplitError(const absl::Status& status) {
  const std::string text(status.message());
  ErrorText split;
  const std::vector<std::string> lines = Split(text, '\n');
  split.message = std::string(Trim(lines.front()));
  std::vector<std::string> hint;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (const std::string_view line = Trim(lines[i]); !line.empty()) hint.emplace_back(line);
  }
  split.hint = Join(hint, "\n");
  return split;
}

std::string FormatError(const absl::Status& status) {
  const ErrorText text = SplitError(status);
  std::string out = fmt::format("error: {}\n", Shortened(Printable(text.message)));
  if (!text.hint.empty()) {
    for (const std::string& line : Split(text.hint, '\n')) out += fmt::format("  {}\n", Shortened(Printable(line)));
  }
  return out;
}

std::string FormatErrorAsJson(const absl::Status& status) {
  const ErrorText text = SplitError(status);
  return fmt::format("{{\"error\":{{\"code\":{},\"message\":{},\"hint\":{}}}}}\n",
                     JsonText(absl::StatusCodeToString(status.code())), JsonText(text.message),
                     JsonText(text.hint));
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string closest = ClosestWord(word, known);
  return closest.empty() ? "" : fmt::format("did you mean '{}'?", closest);
}

std::string JoinHints(std::string_view first, std::string_view second) {
  if (first.empty() || second.empty()) return fmt::format("{}{}", first, second);
  return fmt::format("{} {}", first, second);
}

}  // namespace longreach::client
