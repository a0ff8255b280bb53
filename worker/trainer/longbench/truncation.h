// Prompts that are longer than a model takes lose their middle, as LongBench's authors cut them. Source: pred.py of THUDM/LongBench.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/status.h"
#include "worker/tokenizer/tokenizer.h"

namespace longreach::longbench {

// The text itself if it has at most `most` ids, BOS among them; else the texts of its first and its last most / 2 ids, joined. That
// text's own ids may be a few more or fewer than `most`: both halves are tokenized again, as one.
// INVALID_ARGUMENT: `most` is below 2. Errors of the tokenizer.
absl::StatusOr<std::string> TruncateMiddle(tokenizer::Tokenizer& tokenizer, std::string_view text, int64_t most);

}  // namespace longreach::longbench
