#include "scheduler/service/takers.h"

#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "scheduler/service/needs.h"

namespace longreach::service {
namespace {

// Different requirements have different texts: no name has a line's end in it.
std::string TextOf(const store::Requirement& r) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", r.experiment, r.task, r.task_revision, r.encoding, r.encoding_revision, r.model_revision, r.data);
}

}  // namespace

size_t AbilityKinds::Of(const store::WorkerRow& worker) {
  const auto known = workers_.find(worker.id);
  if (known != workers_.end() && known->second.told == worker.abilities) return known->second.kind;
  v1::Abilities abilities;
  // What cannot be read is no ability (WhyUnable() in needs.h).
  if (!google::protobuf::util::JsonStringToMessage(worker.abilities, &abilities).ok()) abilities.Clear();
  abilities.clear_name();
  abilities.clear_build();
  abilities.clear_device();
  abilities.clear_threads();
  abilities.clear_memory_bytes();
  abilities.clear_pack_limit();
  const auto [kind, is_new] = by_bytes_.try_emplace(abilities.SerializeAsString(), kinds_.size());
  if (is_new) kinds_.push_back(std::move(abilities));
  workers_.insert_or_assign(worker.id, Known{.told = worker.abilities, .kind = kind->second});
  return kind->second;
}

void AbilityKinds::Bound() {
  if (workers_.size() >= kMost || kinds_.size() >= kMost) *this = AbilityKinds();
}

Takers::Takers(sql::Connection& db, const std::map<std::string, Room>& asking, AbilityKinds& kinds) : db_(db), kinds_(kinds) {
  kinds_.Bound();
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
    ASSIGN_OR_RETURN(const bool able, IsAble(worker, line));
    if (!able) continue;
    --worker.room.Of(noop);
    return worker.id;
  }
  return std::nullopt;
}

absl::StatusOr<bool> Takers::IsAble(Worker& worker, Line& line) {
  if (!worker.is_read) {
    ASSIGN_OR_RETURN(const std::optional<store::WorkerRow> row, store::FindWorker(db_, worker.id));
    worker.is_read = true;
    if (row && row->state == WorkerState::kActive) worker.kind = kinds_.Of(*row);
  }
  if (!worker.kind) return false;
  const auto [able, is_new] = line.able.try_emplace(*worker.kind, false);
  if (is_new) able->second = core::WhyUnable(line.needs, kinds_.abilities(*worker.kind)).empty();
  return able->second;
}

}  // namespace longreach::service
