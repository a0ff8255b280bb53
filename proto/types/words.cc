#include "proto/types/words.h"

#include <array>

namespace longreach {
namespace {

constexpr std::array<std::string_view, 3> kSweepStates = {"live", "paused", "cancelled"};
constexpr std::array<std::string_view, 4> kWorkerStates = {"active", "draining", "put_aside", "gone"};
constexpr std::array<std::string_view, 5> kAttemptPhases = {"starting", "training", "evaluating", "uploading", "waits for its disk"};
constexpr std::array<std::string_view, 5> kOutcomes = {"succeeded", "failed", "given_back", "lost", "dropped"};

template <typename Enum, size_t N>
std::optional<Enum> Find(const std::array<std::string_view, N>& words, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view Word(SweepState state) { return kSweepStates[static_cast<size_t>(state)]; }
std::optional<SweepState> ParseSweepState(std::string_view word) { return Find<SweepState>(kSweepStates, word); }

std::string_view Word(WorkerState state) { return kWorkerStates[static_cast<size_t>(state)]; }
std::optional<WorkerState> ParseWorkerState(std::string_view word) { return Find<WorkerState>(kWorkerStates, word); }

std::string_view Word(AttemptPhase phase) { return kAttemptPhases[static_cast<size_t>(phase)]; }
std::optional<AttemptPhase> ParseAttemptPhase(std::string_view word) { return Find<AttemptPhase>(kAttemptPhases, word); }

std::string_view Word(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }
std::optional<Outcome> ParseOutcome(std::string_view word) { return Find<Outcome>(kOutcomes, word); }

std::optional<Outcome> FromProto(v1::AttemptReport::Outcome outcome) {
  switch (outcome) {
    case v1::AttemptReport::OUTCOME_SUCCEEDED: return Outcome::kSucceeded;
    case v1::AttemptReport::OUTCOME_FAILED: return Outcome::kFailed;
    case v1::AttemptReport::OUTCOME_GIVEN_BACK: return Outcome::kGivenBack;
    default: return std::nullopt;
  }
}

}  // namespace longreach
