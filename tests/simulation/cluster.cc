#include "tests/simulation/cluster.h"

#include <fmt/format.h>

namespace longreach::simulation {

void Cluster::Crash() {
  if (!up_) return;
  up_ = false;
  world.Log("the scheduler crashes");
  world.Count("fault: scheduler crashed");
  std::map<uint64_t, std::function<void()>> open;
  open.swap(open_);
  scheduler_->Crash();
  for (const auto& [id, hear] : open) hear();
}

void Cluster::Start(bool anew) {
  if (up_) return;
  world.Log("the scheduler starts");
  up_ = true;
  scheduler_->Start(anew);
  if (anew) world.Count("fault: store opened anew");
  CheckAcknowledged();
}

// An answer leaves: what is committed by now may be known outside.
void Cluster::NoteAcknowledged() {
  const std::vector<Model::JobLife>& jobs = scheduler_->model().jobs();
  for (size_t job = 0; job < jobs.size(); ++job) {
    if (jobs[job].state == Model::JobState::kSucceeded) results_.emplace(static_cast<int>(job), jobs[job].attempt);
  }
}

void Cluster::CheckAcknowledged() {
  const std::vector<Model::JobLife>& jobs = scheduler_->model().jobs();
  for (const auto& [job, attempt] : results_) {
    const Model::JobLife& now = jobs[static_cast<size_t>(job)];
    if (now.state == Model::JobState::kSucceeded && now.attempt == attempt) continue;
    world.Violation(fmt::format("job {} had the result of attempt {}, and has it no more",
                                universe.jobs[static_cast<size_t>(job)].id.substr(0, 8), attempt));
  }
}

}  // namespace longreach::simulation
