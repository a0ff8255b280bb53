#include "proto/types/job.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach {

std::string_view Word(const JobState& state) { return kJobStateWords[state.index()]; }

absl::StatusOr<JobState> MakeJobState(std::string_view word, Attempt attempt, WorkerId holder, std::string reason) {
  switch (std::ranges::find(kJobStateWords, word) - kJobStateWords.begin()) {
    case 0: return Waiting{};
    case 1: return Queued{};
    case 2: return Leased{attempt, std::move(holder)};
    case 3: return Succeeded{attempt};
    case 4: return Failed{std::move(reason)};
    case 5: return Cancelled{};
  }
  return absl::DataLossError(fmt::format("a job has the unknown state '{}'; run 'longreach store check'", word));
}

std::vector<std::string> JobFilterWords() {
  std::vector<std::string> words(kJobStateWords.begin(), kJobStateWords.end());
  words.emplace_back("diverged");
  return words;
}

std::string_view ShortId(std::string_view id) { return id.substr(0, 8); }

}  // namespace longreach
