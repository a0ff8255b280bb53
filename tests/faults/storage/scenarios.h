// What is done to a store while its calls fail.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "tests/faults/storage/rig.h"

namespace longreach::faults {

struct Scenario {
  std::string_view name;
  // On an open store, without faults; what it leaves is copied for each run. Must succeed. Empty: there is no store before.
  std::function<absl::Status(Rig&)> prepare;
  // With faults. May be called again after an error, as a client or worker does, and then goes on.
  std::function<absl::Status(Rig&)> act;
  // What a user does when scheduler and worker were killed in `act`, so that all jobs end as without that; empty: nothing.
  std::function<absl::Status(Rig&)> after_kill = {};
  // The store is opened by `act`, with faults, and not before.
  bool opens = false;
  // The store was written by this older version of the schema: as schemas/<version>.sql has it, instead of by `prepare`. 0: by ours.
  int schema = 0;
  // The files are copied while the store is open, as kill -9 leaves them.
  bool killed = false;
};

std::span<const Scenario> Scenarios();

}  // namespace longreach::faults
