// A pack that is trained to see how fast that is: its results go nowhere, and random bytes stand in for data sets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

class Trial {
 public:
  // The settings are valid and have training lengths. Throws as LibTorch does.
  Trial(const PackSettings& settings, int pack, const EngineOptions& options);

  StepEngine& engine() { return *engine_; }
  PackState& state() { return state_; }
  Problem& ProblemOf(int length) { return *problems_.at(length); }
  double pack() const { return static_cast<double>(state_.size()); }

  // The first updates, of the shortest and the longest sequences, which take longer than others.
  void Warm();
  // So many updates of the training lengths in turn: a short trial sees all of them as often as a long one. A GPU is best given
  // all of a round together.
  void Train(int updates);
  // An update of each of the training lengths, as many at a time as the engine takes.
  void TrainRound(const std::function<void(int updates)>& after_some = [](int) {});
  int round() const { return static_cast<int>(settings_.training.lengths.size()); }

 private:
  void Train(const std::vector<int>& in_turn, int updates);

  PackSettings settings_;
  std::unique_ptr<StepEngine> engine_;
  std::map<int, std::unique_ptr<Problem>> problems_;  // By length.
  std::vector<double> learning_rates_;
  PackState state_;
  size_t turn_ = 0;
};

}  // namespace longreach::trainer
