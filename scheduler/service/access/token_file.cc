#include "scheduler/service/access/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/access/credentials.h"

namespace longreach::service {

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(std::filesystem::path path, const Clock& clock, Refusals& log,
                                                            std::function<void(size_t)> changed) {
  auto file = std::unique_ptr<TokenFile>(new TokenFile(std::move(path), clock, log, std::move(changed)));
  auto state = file->state_.Lock();
  RETURN_IF_ERROR(file->Read(*state).status());
  return file;
}

absl::StatusOr<bool> TokenFile::Read(State& state) const {
  state.look_at = clock_.Steady() + kEvery;
  const access::FileStamp stamp = access::StampOf(path_);
  if (stamp == state.stamp && !state.tokens.empty()) return false;
  // Noted before it is parsed, and even if it is wrong: a later change is read again. One that could not be read is, too: it may have been changed
  // while this process had no descriptor left, and a token was taken away.
  state.stamp = {};
  ASSIGN_OR_RETURN(const std::string text, access::ReadSmallFile(path_));
  state.stamp = stamp;
  ASSIGN_OR_RETURN(std::vector<access::Token> tokens, access::ParseTokens(text, path_.string()));
  const bool changed = tokens != state.tokens;
  state.tokens = std::move(tokens);
  state.trouble.clear();
  return changed;
}

void TokenFile::Look(State& state) const {
  const absl::StatusOr<bool> read = Read(state);
  if (read.ok()) {
    if (*read && changed_) changed_(state.tokens.size());
    return;
  }
  const std::string trouble(read.status().message());
  if (std::exchange(state.trouble, trouble) != trouble) log_.Add(fmt::format("a change of the tokens: {}; those of before still hold", trouble));
}

std::optional<access::Token> TokenFile::Find(std::string_view shown) {
  auto state = state_.Lock();
  if (clock_.Steady() >= state->look_at) Look(*state);
  const access::Token* found = access::FindToken(state->tokens, shown);
  if (found == nullptr) {
    // Perhaps it was added just now: who was given a token may use it at once.
    Look(*state);
    found = access::FindToken(state->tokens, shown);
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<access::Token> TokenFile::FindAgain(const access::Token& before) {
  auto state = state_.Lock();
  if (clock_.Steady() >= state->look_at) Look(*state);
  const auto found = std::ranges::find(state->tokens, before.sha256, &access::Token::sha256);
  return found == state->tokens.end() ? std::nullopt : std::optional(*found);
}

}  // namespace longreach::service
