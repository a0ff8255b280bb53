#include "proto/access/tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "proto/access/roles.h"
#include "proto/base/names.h"
#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach::access {
namespace {

constexpr std::string_view kStart = "longreach_";

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string& word : Split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

}  // namespace

std::string NewToken() {
  std::array<unsigned char, 32> bytes;
  // Without random numbers there is no secret: nothing sensible can go on.
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) std::abort();
  std::string token(kStart);
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool IsTokenName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) { return IsNameCharacter(c) || c == '@'; });
}

std::string TokenLine(v1::Role role, std::string_view name, std::string_view token) {
  return fmt::format("{} {} {}", RoleName(role), name, Sha256Of(token));
}

absl::StatusOr<std::vector<Token>> ParseTokens(std::string_view text, std::string_view origin) {
  std::vector<Token> tokens;
  std::set<std::string> seen;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    const std::vector<std::string> words = Words(trimmed);
    // The line is not repeated: somebody may have written the token itself there.
    const auto error = [&](std::string_view what) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: {}; write ROLE NAME SHA256, as 'longreach certs token' prints it", origin, number, what));
    };
    if (words.size() != 3) return error(fmt::format("{} words", words.size()));
    const std::optional<v1::Role> role = ParseRole(words[0]);
    if (!role) return error("the first word is none of client, reader, worker");
    if (!IsTokenName(words[1])) return error("the name is not of at most 64 letters, digits and ._@-");
    if (!IsSha256(words[2])) return error("the hash is not of 64 lower-case hexadecimal digits");
    if (!seen.insert(words[1]).second) return error(fmt::format("the name '{}' is there twice", words[1]));
    if (!seen.insert(words[2]).second) return error("the hash is there twice");
    if (tokens.size() == kMaxTokens) return error(fmt::format("more than {} tokens", kMaxTokens));
    tokens.push_back({.role = *role, .name = words[1], .sha256 = words[2], .line = number});
  }
  return tokens;
}

const Token* FindToken(std::span<const Token> tokens, std::string_view shown) {
  const std::string hash = Sha256Of(shown);
  const Token* found = nullptr;
  for (const Token& token : tokens) {
    const bool same = token.sha256.size() == hash.size() && CRYPTO_memcmp(token.sha256.data(), hash.data(), hash.size()) == 0;
    found = same ? &token : found;
  }
  return found;
}

}  // namespace longreach::access
