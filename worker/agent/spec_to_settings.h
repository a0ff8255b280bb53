// The one place where a leased job's specification becomes the trainer's plain structs.
#pragma once

#include "longreach/v1/spec.pb.h"
#include "longreach/v1/trainer_pipe.pb.h"
#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::agent {

// INVALID_ARGUMENT with field and value: a word that the trainer has no value for. Numbers are checked by the trainer.
absl::StatusOr<trainer::PackSettings> SettingsOf(const v1::JobSpec& spec);

// INVALID_ARGUMENT also when there are no members, or two that differ in more than learning rate, seed and inputs.
absl::StatusOr<trainer::PackRequest> RequestOf(const v1::StartPack& start);

}  // namespace longreach::agent
