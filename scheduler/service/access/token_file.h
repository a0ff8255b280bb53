// The scheduler's list of tokens, read again when its file changes: a token is given and taken away without a restart.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/access/tokens.h"
#include "proto/base/clock.h"
#include "proto/base/synchronized.h"
#include "proto/access/file_stamp.h"
#include "scheduler/service/access/refusals.h"

namespace longreach::service {

class TokenFile {
 public:
  // How long a token that was taken away may still be taken. One that is not known is looked for in the file at once.
  static constexpr std::chrono::seconds kEvery{1};

  // `clock` and `log` outlive it. `changed` hears how many tokens there are when the file has changed and was read again. Errors: as access::ParseTokens,
  // or the file cannot be read.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::filesystem::path path, const Clock& clock, Refusals& log, std::function<void(size_t)> changed = {});

  // Whose token it is. A file that has become unreadable or wrong leaves the tokens as they were, and is logged.
  std::optional<access::Token> Find(std::string_view shown);
  // One that was found before, as the file has it now.
  std::optional<access::Token> FindAgain(const access::Token& before);

 private:
  struct State {
    std::vector<access::Token> tokens;
    access::FileStamp stamp;
    std::string trouble;  // What was logged last, and still is so.
    SteadyTime look_at{};
  };

  TokenFile(std::filesystem::path path, const Clock& clock, Refusals& log, std::function<void(size_t)> changed)
      : path_(std::move(path)), clock_(clock), log_(log), changed_(std::move(changed)) {}
  // Whether it has changed.
  absl::StatusOr<bool> Read(State& state) const;
  void Look(State& state) const;

  const std::filesystem::path path_;
  const Clock& clock_;
  Refusals& log_;
  const std::function<void(size_t)> changed_;
  Synchronized<State> state_;
};

}  // namespace longreach::service
