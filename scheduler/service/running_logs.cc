// Logs of running attempts on their way from workers to those who follow them (engine.h, log_board.h).
#include <optional>
#include <utility>

#include "proto/types/words.h"
#include "scheduler/service/engine.h"

namespace longreach::service {

void Engine::TakeLogs(const v1::SynchronizeRequest& request, const Memory& memory) {
  for (const v1::HeldAttempt& held : request.held()) {
    const auto attempt = memory.attempts.find(static_cast<int64_t>(held.attempt()));
    if (attempt == memory.attempts.end() || attempt->second.live.worker != request.worker()) continue;
    // Of one whose report waits for its turn, behind those of the call, a worker has no more than its name.
    const bool is_a_name = !request.finished().empty() && held.phase() == Word(AttemptPhase::kUploading);
    if (held.has_log()) logs_.Take(attempt->first, held.log());
    else if (!is_a_name) logs_.Missed(attempt->first, request.abilities().name(), request.abilities().build());
  }
}

bool Engine::AsksAnew(const v1::SynchronizeRequest& request, const Memory& memory) const {
  for (const v1::HeldAttempt& held : request.held()) {
    const auto attempt = memory.attempts.find(static_cast<int64_t>(held.attempt()));
    if (attempt == memory.attempts.end() || attempt->second.live.worker != request.worker()) continue;
    const std::optional<uint64_t> wanted = logs_.WantedFrom(attempt->first);
    const bool knows = wanted ? held.has_log() && held.log().text().empty() && held.log().from() == *wanted : !held.has_log();
    if (!knows) return true;
  }
  return false;
}

void Engine::Give(const CallPtr& call, v1::SynchronizeResponse response) {
  for (v1::Directive& directive : *response.mutable_directives()) {
    if (directive.action() == v1::Directive::ACTION_DROP) continue;
    const std::optional<uint64_t> wanted = logs_.Ask(static_cast<int64_t>(directive.attempt()));
    if (wanted) directive.set_log_from(*wanted);
  }
  call->answer(std::move(response));
}

void Engine::AskForLog(int64_t attempt) {
  CallPtr call;
  v1::SynchronizeResponse response;
  {
    auto memory = memory_.Lock();
    const auto known = memory->attempts.find(attempt);
    if (known == memory->attempts.end()) return;
    const auto worker = memory->workers.find(known->second.live.worker);
    // Else its next call is answered so.
    if (worker == memory->workers.end() || worker->second.held == nullptr) return;
    response = worker->second.held_response;
    call = Release(worker->first, worker->second, *memory);
  }
  // An answer says that what the call told is on disk.
  if (HasPoints(call->request)) return Run(std::move(call));
  Give(call, std::move(response));
}

}  // namespace longreach::service
