#include "worker/trainer/longbench/truncation.h"

#include "proto/base/text.h"

namespace longreach::longbench {

absl::StatusOr<std::string> TruncateMiddle(tokenizer::Tokenizer& tokenizer, std::string_view text, int64_t most) {
  if (most < 2) return absl::InvalidArgumentError(Text("a prompt cannot be cut to ", most, " tokens; to 2 or more"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> ids, tokenizer.EncodeWithBos(text));
  if (static_cast<int64_t>(ids.size()) <= most) return std::string(text);
  const std::span<const int64_t> all(ids);
  const auto half = static_cast<size_t>(most / 2);
  ASSIGN_OR_RETURN(const std::string front, tokenizer.Decode(all.first(half)));
  ASSIGN_OR_RETURN(const std::string back, tokenizer.Decode(all.last(half)));
  return front + back;
}

}  // namespace longreach::longbench
