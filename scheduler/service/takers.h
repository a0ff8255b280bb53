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

// Workers by what they can do: of one kind are all whose abilities differ in nothing that work asks for, as those of one cluster. Told
// abilities are a long text, which is read once.
class AbilityKinds {
 public:
  size_t Of(const store::WorkerRow& worker);
  // What all of a kind can do, without what is a worker's own.
  const v1::Abilities& abilities(size_t kind) const { return kinds_[kind]; }
  // Forgets all if it has become much, with workers that come and go. No kind of before counts after that.
  void Bound();

 private:
  static constexpr size_t kMost = 10'000;
  struct Known {
    std::string told;
    size_t kind = 0;
  };
  std::map<std::string, Known> workers_;
  std::map<std::string, size_t> by_bytes_;
  std::vector<v1::Abilities> kinds_;
};

// Lives within one event: neither what workers can do nor what work asks for changes meanwhile.
class Takers {
 public:
  // `asking`: workers that ask, and for how much.
  Takers(sql::Connection& db, const std::map<std::string, Room>& asking, AbilityKinds& kinds);

  // The first of them, by id, that could take an attempt of such work; it has room for one less then. nullopt: nobody. Whether the work is a no-op follows
  // from the requirement.
  absl::StatusOr<std::optional<std::string>> Next(const store::Requirement& requirement, bool noop);

 private:
  struct Worker {
    std::string id;
    Room room;
    bool is_read = false;
    std::optional<size_t> kind = {};  // Nothing: it gets no work.
  };
  // One kind of work.
  struct Line {
    core::Needs needs = {};
    size_t next = 0;  // Nobody before can take any.
    std::map<size_t, bool> able = {};  // By kind of workers.
  };
  absl::StatusOr<bool> IsAble(Worker& worker, Line& line);

  sql::Connection& db_;
  AbilityKinds& kinds_;
  std::vector<Worker> workers_;
  std::map<std::string, Line> lines_;
};

}  // namespace longreach::service
