#include "worker/trainer/llama/landmark_prompts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/base/text.h"
#include "worker/trainer/llama/passkey_prompts.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

constexpr uint32_t kKeys = 50'000;

absl::StatusOr<std::vector<int64_t>> IdsOf(tokenizer::Tokenizer* tokenizer, const std::string& text) {
  if (tokenizer == nullptr) return ByteIds(text);
  return tokenizer->EncodeWithBos(text);
}

absl::StatusOr<LandmarkIds> WithFiller(tokenizer::Tokenizer* tokenizer, int64_t filler, const LandmarkDraw& draw) {
  LandmarkIds ids;
  ids.filler = filler;
  ids.prefix = MultiplyHigh(draw.depth, static_cast<uint32_t>(filler + 1));
  ASSIGN_OR_RETURN(const std::string text, LandmarkPrompt(ids.filler, ids.prefix, draw.key));
  ASSIGN_OR_RETURN(ids.prompt, IdsOf(tokenizer, text));
  return ids;
}

}  // namespace

LandmarkDraw DrawLandmark(uint32_t seed, int64_t length, int64_t test) {
  const RandomStream stream{.key = EvaluationKey(seed), .purpose = Purpose::kTestPasskey, .layer = 0, .step = static_cast<uint64_t>(length)};
  const uint64_t first = 2 * static_cast<uint64_t>(test);
  return {.depth = stream.Word(first), .key = 1 + static_cast<int64_t>(stream.Below(first + 1, kKeys))};
}

absl::StatusOr<LandmarkIds> MakeLandmarkIds(tokenizer::Tokenizer* tokenizer, int64_t length, const LandmarkDraw& draw,
                                            const std::function<void()>& between) {
  const int64_t budget = length - kLandmarkAnswer;
  LandmarkIds longest;
  const auto fits = [&](int64_t filler) -> absl::StatusOr<bool> {
    between();
    ASSIGN_OR_RETURN(LandmarkIds ids, WithFiller(tokenizer, filler, draw));
    if (static_cast<int64_t>(ids.prompt.size()) > budget) return false;
    longest = std::move(ids);
    return true;
  };
  ASSIGN_OR_RETURN(const bool has_room, fits(0));
  if (!has_room) {
    return absl::InvalidArgumentError(Text("a passkey prompt of ", length, " tokens has no room for the text around a key and an answer of ",
                                           kLandmarkAnswer));
  }
  // A token is seldom less than a character: so many fit, and some times as many do not. LandmarkPrompt() has a limit.
  int64_t too_many = std::max<int64_t>(1, budget - static_cast<int64_t>(longest.prompt.size()));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, fits(too_many));
    if (!more) break;
    too_many *= 2;
  }
  while (too_many - longest.filler > 1) {
    const int64_t middle = longest.filler + (too_many - longest.filler) / 2;
    ASSIGN_OR_RETURN(const bool more, fits(middle));
    if (!more) too_many = middle;
  }
  return longest;
}

}  // namespace longreach::trainer
