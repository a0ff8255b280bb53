#include "worker/trainer/trial.h"

#include <algorithm>
#include <iostream>

#include "worker/trainer/checkpoint/checkpoint.h"

namespace longreach::trainer {

Trial::Trial(const PackSettings& settings, int pack, const EngineOptions& options)
    : settings_(settings),
      engine_(MakeEngine(settings, options, [](const std::string& line) { std::cerr << line << std::endl; })),
      learning_rates_(static_cast<size_t>(pack), 1e-4) {
  std::vector<Member> members(learning_rates_.size());
  for (size_t m = 0; m < members.size(); ++m) members[m].seed = static_cast<uint32_t>(m);
  state_ = InitialState(engine_->model().layout(), members);
  state_.MoveTo(engine_->device());
  PackSettings of_length = settings;
  for (const int length : settings.training.lengths) {
    of_length.training.lengths = {length};
    problems_[length] = MakeStandIn(of_length);
  }
}

void Trial::Warm() {
  Train({settings_.training.lengths.front(), settings_.training.lengths.back()}, 2);
  turn_ = 0;
}

void Trial::Train(int updates) { Train(settings_.training.lengths, updates); }

void Trial::TrainRound(const std::function<void(int)>& after_some) {
  for (int done = 0, some = 0; done < round(); done += some) {
    some = std::min(engine_->UpdatesAtATime(), round() - done);
    Train(some);
    after_some(some);
  }
}

void Trial::Train(const std::vector<int>& in_turn, int updates) {
  engine_->Train(
      updates, [&](uint64_t number) { return problems_.at(in_turn[turn_++ % in_turn.size()])->TrainingBatchFor(*engine_, number); }, learning_rates_,
      state_, [](const std::vector<StepResult>&) {});
}

}  // namespace longreach::trainer
