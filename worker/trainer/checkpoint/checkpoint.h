// Checkpoints and final weights: safetensors with the member axis in front and the job ids in the header.
//
//   checkpoint  param/X, and adam_m/X, adam_v/X of those that are trained [E, ..] (F32); member/flags [E, 5] (I32: live, dropped, diverged,
//               diverged_at, points of the loss curve); member/curve [E, points] (F64); member/loss_sum [E]
//               (F64); test/accuracy, test/loss [E, lengths done] (F64); test/exact_match [E, lengths done] (F64) of problems
//               that score it; the same as on_the_way/.. [E, tests done] of those that were made between updates; test/passkey [E, cells done] (F64), if any are
//   weights     param/X [E, ..]
// Of a published model (settings.model.folder) whose own weights no member changes, nor has another job's, X is the scales of attention
// heads alone: the rest is in its folder.
// Header: format, kind, step, jobs (one line each), settings (a hash), loss_updates, payload_sha256; of pairs of sequences symbols_sha256
// (pair_shape.h).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/engine/state.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// A pack before its first update: parameters drawn by each member's seed where it has no weights, moments zero. On the CPU. Without
// `draw` all parameters are zero: they come from elsewhere. Moments are those of a member's floats from `first_trained` on.
PackState InitialState(const ParameterLayout& layout, const std::vector<Member>& members, bool draw = true, int64_t first_trained = 0);

// From any device. Beside the state, which stays as it is meanwhile, no more is in memory than some members' values of one parameter.
absl::Status WriteCheckpoint(const std::filesystem::path& file, const PackSettings& settings,
                             const ParameterLayout& layout, const std::vector<Member>& members,
                             const PackState& state);
absl::Status WriteWeights(const std::filesystem::path& file, const PackSettings& settings,
                          const ParameterLayout& layout, const std::vector<Member>& members,
                          const PackState& state);

// Puts all members at the latest point that all of them have a good checkpoint of, or a later one of the same update: members of packs that
// were stopped while they were tested are tested further from where the first of them stood. Leaves the state as it is when there is none. What cannot be used is skipped, and `log` is told which and why.
// `begin_anew` makes the state what it was: it is called where a file could be read in part, and what it fails with is returned.
absl::Status RestoreCheckpoints(const PackSettings& settings, const ParameterLayout& layout,
                                const std::vector<Member>& members, PackState& state,
                                const std::function<absl::Status()>& begin_anew,
                                const std::function<void(const std::string&)>& log);

// Initial parameters from another job. With `published`, a file may lack some: those stay as they are; the state notes whether any has
// more than scales of attention heads. A file that says which symbols its model reads must have those of `pairs`, where they are given. DATA_LOSS, NOT_FOUND or
// INVALID_ARGUMENT with file and reason.
absl::Status LoadWeights(const ParameterLayout& layout, const std::vector<Member>& members, PackState& state, bool published = false, const PairShape* pairs = nullptr);

}  // namespace longreach::trainer
