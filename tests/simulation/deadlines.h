// What an engine decides by its own time, the model follows, within bounds: which leases are over, and when the engine goes on with what broke off.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "longreach/v1/worker.pb.h"
#include "store/sql/connection.h"
#include "tests/simulation/model.h"
#include "tests/simulation/world.h"

namespace longreach::simulation {

class Deadlines {
 public:
  Deadlines(World& world, const Universe& universe) : world_(world), universe_(universe) {}

  // A new process: it has taken no call yet, and each lease begins its term.
  void Restart(const Model& model);
  // This call was taken: the leases of its worker begin their term.
  void Renew(const v1::SynchronizeRequest& request, const Model& model);
  void BreakOff(const v1::SynchronizeRequest& request);
  // A group was run: leases that were not there before it begin their term.
  void Begin(const Model& before, const Model& after);

  // The model does what was done at a deadline, by the store. A lease ends not before its time, and none lasts for ever.
  void Follow(sql::Connection& db, SteadyTime now, Model& model) const;

 private:
  // The newest call of each worker that this process has taken.
  struct Newest {
    uint64_t incarnation = 0;
    uint64_t sequence = 0;
    std::optional<SteadyTime> broke_at = {};
  };

  void CheckLease(int64_t id, const Model::Attempt& attempt, bool lost, SteadyTime now) const;

  World& world_;
  const Universe& universe_;
  std::map<std::string, Newest> newest_;
  std::map<int64_t, SteadyTime> renewed_;  // When each running attempt's lease began its present term.
};

}  // namespace longreach::simulation
