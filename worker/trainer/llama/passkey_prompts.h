// Passkey prompts as ids. Without torch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/llama/passkey.h"

namespace longreach::trainer {

struct PasskeyIds {
  PasskeyLayout layout;
  std::vector<int64_t> prompt;
  std::vector<int64_t> answer;  // Right is a model that continues with exactly these.
};

// What a text is to a model of bytes: each of them is an id, and there is no BOS.
std::vector<int64_t> ByteIds(std::string_view text);

// Tokens of the pieces with this key.
absl::StatusOr<PasskeyCounts> CountPasskey(tokenizer::Tokenizer& tokenizer, std::string_view key);

// The prompt of one test of a cell. Errors of LayOutPasskey() and of the tokenizer; INVALID_ARGUMENT: the joined prompt has more ids than
// its length leaves it.
absl::StatusOr<PasskeyIds> MakePasskeyIds(tokenizer::Tokenizer& tokenizer, int64_t length, int64_t position, std::string_view key);

// The same for a model of bytes. INVALID_ARGUMENT: the pieces do not fit into the length.
absl::StatusOr<PasskeyIds> MakePasskeyBytes(int64_t length, int64_t position, std::string_view key);

}  // namespace longreach::trainer
