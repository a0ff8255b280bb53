#include "scheduler/service/access/token_file.h"

#include <fmt/format.h>

#include "proto/access/credentials.h"

namespace longreach::service {

bool TokenFile::Stamp::operator==(const Stamp& other) const {
  return changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec && inode == other.inode && size == other.size;
}

TokenFile::Stamp TokenFile::StampOf(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  // ctime and not mtime, which a copy can preserve.
  return {.changed = status.st_ctim, .inode = status.st_ino, .size = status.st_size};
}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(std::filesystem::path path, const Clock& clock, Refusals& log) {
  auto file = std::unique_ptr<TokenFile>(new TokenFile(std::move(path), clock, log));
  auto state = file->state_.Lock();
  RETURN_IF_ERROR(file->Read(*state));
  return file;
}

absl::Status TokenFile::Read(State& state) const {
  state.look_at = clock_.Steady() + kEvery;
  const Stamp stamp = StampOf(path_);
  if (stamp == state.stamp && !state.tokens.empty()) return absl::OkStatus();
  // Noted before it is read, and even if it cannot be: the same wrong file is logged once, a later change read again.
  state.stamp = stamp;
  ASSIGN_OR_RETURN(const std::string text, access::ReadSmallFile(path_));
  ASSIGN_OR_RETURN(state.tokens, access::ParseTokens(text, path_.string()));
  return absl::OkStatus();
}

void TokenFile::Look(State& state) const {
  if (const absl::Status read = Read(state); !read.ok()) {
    log_.Add(fmt::format("a change of the tokens: {}; those of before still hold", std::string(read.message())));
  }
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

}  // namespace longreach::service
