// The life of one job as values. Each state carries only what is true in it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/base/status.h"

namespace longreach {

// SHA-256 of the job's canonical text: 64 lower-case hexadecimal digits.
struct JobId {
  std::string value;
  auto operator<=>(const JobId&) const = default;
};

// The same of a sweep's.
struct SweepId {
  std::string value;
  auto operator<=>(const SweepId&) const = default;
};

// A UUID that outlives the worker's process.
struct WorkerId {
  std::string value;
  auto operator<=>(const WorkerId&) const = default;
};

// One execution of a pack. No other attempt of a store ever has this number: it is the fencing token.
struct Attempt {
  int64_t value = 0;
  auto operator<=>(const Attempt&) const = default;
};

// An input is not there yet.
struct Waiting {
  bool operator==(const Waiting&) const = default;
};
struct Queued {
  bool operator==(const Queued&) const = default;
};
struct Leased {
  Attempt attempt;
  WorkerId holder;
  bool operator==(const Leased&) const = default;
};
// One accepted result, which never changes again; it belongs to `attempt`.
struct Succeeded {
  Attempt attempt;
  bool operator==(const Succeeded&) const = default;
};
struct Failed {
  std::string reason;
  bool operator==(const Failed&) const = default;
};
struct Cancelled {
  bool operator==(const Cancelled&) const = default;
};

using JobState = std::variant<Waiting, Queued, Leased, Succeeded, Failed, Cancelled>;

// "waiting", "queued", "leased", "succeeded", "failed", "cancelled": what is stored and shown.
std::string_view Word(const JobState& state);

// All six words, in the order of the variant.
inline constexpr std::array<std::string_view, 6> kJobStateWords = {"waiting", "queued", "leased", "succeeded", "failed", "cancelled"};
static_assert(kJobStateWords.size() == std::variant_size_v<JobState>);

// What jobs are listed by: their states, and "diverged".
std::vector<std::string> JobFilterWords();

// The state that a row describes; `attempt`, `holder` and `reason` are looked at only where the state carries them.
// DATA_LOSS: no such word.
absl::StatusOr<JobState> MakeJobState(std::string_view word, Attempt attempt, WorkerId holder, std::string reason);

// The beginning of an id that people are shown.
std::string_view ShortId(std::string_view id);

}  // namespace longreach
