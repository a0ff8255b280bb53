#include "worker/trainer/llama/passkey.h"

#include <algorithm>
#include <bit>
#include <random>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

constexpr std::string_view kTask =
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. I will quiz you about the "
    "important information there.\n";
// The inventors' filler has no blank in front: theirs are joined by blanks.
constexpr std::string_view kFiller =
    " The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";
constexpr std::string_view kQuestion = "\nWhat is the pass key? The pass key is";
constexpr int64_t kMostTokens = 1 << 24;
constexpr int64_t kMostCells = 1 << 16;
constexpr int64_t kMostFiller = 1 << 28;
// The upper ends are excluded, in NumPy.
constexpr int64_t kKeyFirst = 10'000, kKeyEnd = 100'000;

// A number in [first, end): bits under the smallest mask that covers the range, drawn anew while too large.
// Source: legacy bounded integers of NumPy, numpy/random/src/distributions.
int64_t Draw(std::mt19937& generator, int64_t first, int64_t end) {
  const uint32_t largest = static_cast<uint32_t>(end - first - 1);
  if (largest == 0) return first;
  const uint32_t mask = std::bit_ceil(largest + 1) - 1;
  while (true) {
    const uint32_t value = static_cast<uint32_t>(generator()) & mask;
    if (value <= largest) return first + value;
  }
}

}  // namespace

absl::Status Validate(const PasskeyRule& rule) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  const auto possible = [](int64_t count) { return count >= 1 && count <= kMostCells; };
  const int64_t lengths = static_cast<int64_t>(rule.lengths.size());
  if (!possible(lengths) || !possible(rule.depths) || !possible(rule.tests) || lengths * rule.depths > kMostCells) {
    return refuse("passkey tasks of ", lengths, " lengths x ", rule.depths, " depths x ", rule.tests, " tests are too few or too many");
  }
  for (size_t i = 0; i < rule.lengths.size(); ++i) {
    if (rule.lengths[i] > kMostTokens || rule.lengths[i] < rule.depths) {
      return refuse("a passkey prompt of ", rule.lengths[i], " tokens is none with ", rule.depths, " depths, or too long");
    }
    if (i > 0 && rule.lengths[i] <= rule.lengths[i - 1]) {
      return refuse("passkey prompts of ", rule.lengths[i], " tokens do not follow ", rule.lengths[i - 1], ": lengths ascend");
    }
  }
  return absl::OkStatus();
}

std::vector<PasskeyCell> PasskeyTasks(const PasskeyRule& rule) {
  std::mt19937 generator(rule.seed);
  std::vector<PasskeyCell> cells;
  const std::vector<int64_t> longest_first(rule.lengths.rbegin(), rule.lengths.rend());
  for (const int64_t length : longest_first) {
    const int64_t interval = length / rule.depths;
    for (int64_t depth = 0; depth < rule.depths; ++depth) {
      PasskeyCell cell{.length = length, .depth = static_cast<double>(depth) / static_cast<double>(rule.depths),
          .positions = {}, .keys = {}};
      for (int64_t test = 0; test < rule.tests; ++test) {
        cell.positions.push_back(Draw(generator, depth * interval, (depth + 1) * interval));
      }
      for (int64_t test = 0; test < rule.tests; ++test) {
        cell.keys.push_back(std::to_string(Draw(generator, kKeyFirst, kKeyEnd)));
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

absl::StatusOr<PasskeyLayout> LayOutPasskey(int64_t length, int64_t position, const PasskeyCounts& counts) {
  PasskeyLayout layout;
  layout.budget = length - counts.key;
  const int64_t last = layout.budget - counts.info - counts.question;
  if (counts.filler < 1 || last < counts.task) {
    return absl::InvalidArgumentError(Text("a passkey prompt of ", length, " tokens has no room for a task of ", counts.task,
        ", an info of ",
                                           counts.info, ", a question of ", counts.question, " and a key of ", counts.key));
  }
  layout.fillers_before = (std::min(std::max(position, counts.task), last) - counts.task) / counts.filler;
  layout.position = counts.task + layout.fillers_before * counts.filler;
  layout.fillers_after = (last - layout.position) / counts.filler;
  return layout;
}

std::string_view PasskeyTask() { return kTask; }
std::string_view PasskeyFiller() { return kFiller; }
std::string_view PasskeyQuestion() { return kQuestion; }

std::string PasskeyInfo(std::string_view key) {
  return Text("\nThe pass key is ", key, ". Remember it. ", key, " is the pass key.\n");
}

std::string PasskeyPrompt(const PasskeyLayout& layout, std::string_view key) {
  std::string prompt(kTask);
  for (int64_t i = 0; i < layout.fillers_before; ++i) prompt += kFiller;
  prompt += PasskeyInfo(key);
  for (int64_t i = 0; i < layout.fillers_after; ++i) prompt += kFiller;
  prompt += kQuestion;
  return prompt;
}

absl::StatusOr<std::string> LandmarkPrompt(int64_t filler, int64_t prefix, int64_t key) {
  if (filler > kMostFiller || prefix < 0 || prefix > filler) {
    return absl::InvalidArgumentError(Text(prefix, " of ", filler, " characters of filler cannot stand before the info"));
  }
  const auto cut = [](int64_t count) {
    std::string text;
    while (static_cast<int64_t>(text.size()) < count + 1) text += kFiller;
    return text.substr(1, static_cast<size_t>(count));
  };
  return Text(kTask, cut(prefix), PasskeyInfo(std::to_string(key)), cut(filler - prefix), kQuestion);
}

std::optional<int64_t> LandmarkAnswer(std::string_view answer) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t first = answer.find_first_of(kDigits);
  if (first == std::string_view::npos) return std::nullopt;
  return ParseInteger(answer.substr(first, answer.find_first_not_of(kDigits, first) - first));
}

}  // namespace longreach::trainer
