#include "proto/types/job.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach {

std::string_view Word(const JobState& state) { return kJobStateWords[state.index()]; }

absl::StatusOr<JobState> MakeJobState(std::string_view word, Attempt attempt, WorkerId holder, std::string reason) {
  if (word == "waiting") return Waiting{};
  if (word == "queued") return Queued{};
  if (word == "leased") return Leased{attempt, std::move(holder)};
  if (word == "succeeded") return Succeeded{attempt};
  if (word == "failed") return Failed{std::move(reason)};
  if (word == "cancelled") return Cancelled{};
  return absl::DataLossError(fmt::format("a job has the unknown state '{}'; run 'longreach store check'", word));
}

std::string_view ShortId(std::string_view id) { return id.substr(0, 8); }

bool IsFullId(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace longreach
