#include "proto/types/job.h"

#include <algorithm>

#include <fmt/format.h>

namespace longreach {

std::string_view Word(const JobState& state) { return kJobStateWords[state.index()]; }

absl::StatusOr<JobState> MakeJobState(std::string_view word, Attempt attempt, WorkerId holder, std::string reason) {
  for (const JobState& state : {JobState(Waiting{}), JobState(Queued{}), JobState(Leased{attempt, std::move(holder)}), JobState(Succeeded{attempt}),
                                JobState(Failed{std::move(reason)}), JobState(Cancelled{})}) {
    if (Word(state) == word) return state;
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
