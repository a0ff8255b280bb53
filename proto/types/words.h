// Words of the contract that are neither job states nor numbers: states of sweeps and workers, outcomes and phases of attempts, the metric
// of loss curves, how a failure of an input is told; and the catalog's names of encodings, for those who include no catalog.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "longreach/v1/worker.pb.h"
#include "proto/catalog/encoding_name.h"

namespace longreach {

enum class SweepState { kLive, kPaused, kCancelled };
std::string_view Word(SweepState state);  // "live", "paused", "cancelled".
std::optional<SweepState> ParseSweepState(std::string_view word);

// What a worker is given. The first three are stored; that one is gone follows from when it called last and what the scheduler knows.
enum class WorkerState { kActive, kDraining, kPutAside, kGone };
std::string_view Word(WorkerState state);  // "active", "draining", "put_aside", "gone".
std::optional<WorkerState> ParseWorkerState(std::string_view word);

// What an attempt does while a worker holds it.
enum class AttemptPhase { kStarting, kTraining, kEvaluating, kUploading, kWaitingForDisk };
std::string_view Word(AttemptPhase phase);  // "starting", "training", "evaluating", "uploading", "waits for its disk".
std::optional<AttemptPhase> ParseAttemptPhase(std::string_view word);

// How an attempt ended. Reported ones have the meaning of v1::AttemptReport::Outcome.
enum class Outcome {
  kSucceeded,
  kFailed,
  kGivenBack,
  kLost,     // Its lease ran out, or its worker came back without it.
  kDropped,  // Nobody wanted any of its jobs any more.
};
std::string_view Word(Outcome outcome);  // "succeeded", "failed", "given_back", "lost", "dropped".
std::optional<Outcome> ParseOutcome(std::string_view word);
// nothing for OUTCOME_UNSPECIFIED and numbers of later versions.
std::optional<Outcome> FromProto(v1::AttemptReport::Outcome outcome);

// The metric that loss curves are, and the axis of its slices ("step=500"). Workers report points of a curve, never measurements of it.
inline constexpr std::string_view kTrainingLoss = "training_loss";
inline constexpr std::string_view kStepAxis = "step";

// How the failure of a job begins that failed because of an input and has written nothing: "input failed: weights (job 1a2b3c4d)".
inline constexpr std::string_view kInputFailed = "input failed";

using catalog::EncodingName;
using catalog::ParseEncodingName;
using catalog::ToText;

}  // namespace longreach
