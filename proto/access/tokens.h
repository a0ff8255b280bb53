// Bearer tokens: secrets that callers show, and the list of their hashes that a scheduler holds.
//
// The list has one line for each token: its role, a name for people, and its SHA-256. Blank lines and lines that begin with
// '#' say nothing. Who reads the list cannot call.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/options.pb.h"
#include "proto/base/status.h"

namespace longreach::access {

struct Token {
  v1::Role role = v1::ROLE_UNSPECIFIED;
  std::string name;
  std::string sha256;  // 64 lower-case hexadecimal digits.
  int line = 0;        // Of the list that it is from, from 1 on.
  bool operator==(const Token&) const = default;
};

inline constexpr size_t kMaxTokens = 10'000;

// 256 random bits, as text that begins with "longreach_" so that people and scanners know what they found.
std::string NewToken();

// Letters, digits and "._@-", at most 64.
bool IsTokenName(std::string_view name);

// The list's line for a token.
std::string TokenLine(v1::Role role, std::string_view name, std::string_view token);

// INVALID_ARGUMENT with `origin` and the line: not of that form, a name or hash twice, or too many.
absl::StatusOr<std::vector<Token>> ParseTokens(std::string_view text, std::string_view origin);

// The entry of a token that was shown; nullptr: there is none. Takes as long whichever it is.
const Token* FindToken(std::span<const Token> tokens, std::string_view shown);

}  // namespace longreach::access
