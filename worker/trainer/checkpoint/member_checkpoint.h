// What a checkpoint says about one of its members, apart from parameters and moments. Files are not trusted: what does not
// fit together is refused.
#pragma once

#include <compare>
#include <string>

#include "proto/base/status.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/engine/member_state.h"

namespace longreach::trainer {

// The columns of member/flags: live, dropped, diverged, diverged_at, points of the loss curve.
inline constexpr int64_t kCheckpointFlags = 5;

// How far a pack had come; later ones are greater.
struct CheckpointPoint {
  int step = 0;
  int curve_tests = 0;
  int lengths_done = 0;
  int cells_done = 0;
  int samples_done = 0;

  auto operator<=>(const CheckpointPoint&) const = default;
};

struct MemberCheckpoint {
  const SafetensorsFile* file = nullptr;
  int member = 0;
  CheckpointPoint point;
  int loss_updates = 0;
  MemberState state;
};

// The member at this index, if it is this job and the checkpoint was made with these settings (SettingsHash()). `file` is
// borrowed. INVALID_ARGUMENT with the reason.
absl::StatusOr<MemberCheckpoint> ReadMemberCheckpoint(const SafetensorsFile& file, int member, const std::string& job,
                                                      const std::string& settings);

}  // namespace longreach::trainer
