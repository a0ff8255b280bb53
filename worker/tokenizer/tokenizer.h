// Texts as ids and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::tokenizer {

// Not for several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of a text, without BOS.
  virtual absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) = 0;
  // Their text. Controls such as BOS have none; bytes that are no UTF-8 become U+FFFD.
  virtual absl::StatusOr<std::string> Decode(std::span<const int64_t> ids) = 0;

  virtual int64_t vocabulary() const = 0;
  virtual std::optional<int64_t> bos() const = 0;
  virtual std::optional<int64_t> eos() const = 0;

  // BOS, if there is one, and the ids of the text: as transformers' tokenizer of LLaMA gives them.
  absl::StatusOr<std::vector<int64_t>> EncodeWithBos(std::string_view text);
};

}  // namespace longreach::tokenizer
