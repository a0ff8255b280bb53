// To whom attempts can go whose workers are gone (deadlines.cc): of the workers that ask for work just then, the first that has room for one and
// can do it. A network that fails under a whole cluster leaves hundreds of attempts, and hundreds that ask as soon as it is back: what has been
// found out of a worker, or of a kind of work, is not asked again for every attempt.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/core/packs.h"
#include "scheduler/service/leasing.h"
#include "store/jobs.h"
#include "store/workers.h"

namespace longreach::service {

// Lives within one event: neither what workers can do nor what work asks for changes meanwhile.
class Takers {
 public:
  // `asking`: workers that ask, and for how much.
  Takers(sql::Connection& db, const std::map<std::string, Room>& asking);

  // The first of them, by id, that could take an attempt of such work; it has room for one less then. nullopt: nobody. Whether the work is a no-op follows
  // from the requirement.
  absl::StatusOr<std::optional<std::string>> Next(const store::Requirement& requirement, bool noop);

 private:
  struct Worker {
    std::string id;
    Room room;
    bool is_read = false;
    v1::Abilities abilities = {};  // None if it gets no work.
  };
  // One kind of work.
  struct Line {
    core::Needs needs = {};
    size_t next = 0;  // Nobody before can take any: they are not asked again.
  };
  absl::StatusOr<bool> IsAble(Worker& worker, const core::Needs& needs);

  sql::Connection& db_;
  std::vector<Worker> workers_;
  std::map<std::string, Line> lines_;
};

}  // namespace longreach::service
