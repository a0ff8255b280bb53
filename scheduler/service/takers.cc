#include "scheduler/service/takers.h"

#include <fmt/format.h>

#include "scheduler/service/needs.h"

namespace longreach::service {
namespace {

// Different requirements have different texts: no name has a line's end in it.
std::string TextOf(const store::Requirement& r) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", r.experiment, r.task, r.task_revision, r.encoding, r.encoding_revision, r.model_revision, r.data);
}

}  // namespace

Takers::Takers(sql::Connection& db, const std::map<std::string, Room>& asking) : db_(db) {
  workers_.reserve(asking.size());
  for (const auto& [id, room] : asking) workers_.push_back({.id = id, .room = room});
}

absl::StatusOr<std::optional<std::string>> Takers::Next(const store::Requirement& requirement, bool noop) {
  const auto [found, is_new] = lines_.try_emplace(TextOf(requirement));
  Line& line = found->second;
  if (is_new) {
    ASSIGN_OR_RETURN(line.needs, NeedsOf(db_, requirement));
  }
  // Who had no room will have none later, and who is not able will not be.
  for (; line.next < workers_.size(); ++line.next) {
    Worker& worker = workers_[line.next];
    if (worker.room.Of(noop) <= 0) continue;
    ASSIGN_OR_RETURN(const bool able, IsAble(worker, line.needs));
    if (!able) continue;
    --worker.room.Of(noop);
    return worker.id;
  }
  return std::nullopt;
}

absl::StatusOr<bool> Takers::IsAble(Worker& worker, const core::Needs& needs) {
  if (!worker.is_read) {
    ASSIGN_OR_RETURN(const std::optional<store::WorkerRow> row, store::FindWorker(db_, worker.id));
    worker.is_read = true;
    if (row && row->state == WorkerState::kActive) worker.abilities = AbilitiesOf(*row).value_or(v1::Abilities());
  }
  return core::WhyUnable(needs, worker.abilities).empty();
}

}  // namespace longreach::service
