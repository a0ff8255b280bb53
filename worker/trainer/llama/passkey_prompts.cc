#include "worker/trainer/llama/passkey_prompts.h"

#include "proto/base/text.h"

namespace longreach::trainer {

std::vector<int64_t> ByteIds(std::string_view text) {
  std::vector<int64_t> ids;
  ids.reserve(text.size());
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

absl::StatusOr<PasskeyCounts> CountPasskey(tokenizer::Tokenizer& tokenizer, std::string_view key) {
  PasskeyCounts counts;
  const auto count = [&](std::string_view text, bool bos, int64_t& into) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<int64_t> ids, bos ? tokenizer.EncodeWithBos(text) : tokenizer.Encode(text));
    into = static_cast<int64_t>(ids.size());
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(count(PasskeyTask(), true, counts.task));
  RETURN_IF_ERROR(count(PasskeyInfo(key), true, counts.info));
  RETURN_IF_ERROR(count(PasskeyFiller(), false, counts.filler));
  RETURN_IF_ERROR(count(PasskeyQuestion(), false, counts.question));
  RETURN_IF_ERROR(count(key, false, counts.key));
  return counts;
}

absl::StatusOr<PasskeyIds> MakePasskeyIds(tokenizer::Tokenizer& tokenizer, int64_t length, int64_t position, std::string_view key) {
  PasskeyIds ids;
  ASSIGN_OR_RETURN(const PasskeyCounts counts, CountPasskey(tokenizer, key));
  ASSIGN_OR_RETURN(ids.layout, LayOutPasskey(length, position, counts));
  ASSIGN_OR_RETURN(ids.prompt, tokenizer.EncodeWithBos(PasskeyPrompt(ids.layout, key)));
  ASSIGN_OR_RETURN(ids.answer, tokenizer.Encode(key));
  if (static_cast<int64_t>(ids.prompt.size()) > ids.layout.budget) {
    return absl::InvalidArgumentError(Text("a passkey prompt for ", length, " tokens has ", ids.prompt.size(), " ids, more than the ",
                                           ids.layout.budget, " that are left beside its key"));
  }
  return ids;
}

absl::StatusOr<PasskeyIds> MakePasskeyBytes(int64_t length, int64_t position, std::string_view key) {
  const auto size = [](std::string_view text) { return static_cast<int64_t>(text.size()); };
  PasskeyIds ids;
  ASSIGN_OR_RETURN(ids.layout, LayOutPasskey(length, position,
                                             {.task = size(PasskeyTask()),
                                              .info = size(PasskeyInfo(key)),
                                              .filler = size(PasskeyFiller()),
                                              .question = size(PasskeyQuestion()),
                                              .key = size(key)}));
  ids.prompt = ByteIds(PasskeyPrompt(ids.layout, key));
  ids.answer = ByteIds(key);
  return ids;
}

}  // namespace longreach::trainer
