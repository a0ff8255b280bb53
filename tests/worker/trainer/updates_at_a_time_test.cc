// No engine is asked for several updates at once where their learning rates differ, whatever it would like best.
#include <gtest/gtest.h>

#include <stdexcept>

#include "worker/trainer/engine/engine.h"

namespace longreach::trainer {

namespace {

constexpr int kBest = 7;

// Would like to be handed some updates, and does nothing else.
class EagerEngine final : public StepEngine {
 public:
  using StepEngine::StepEngine;

  std::string Name() const override { return "eager"; }
  const Model& model() const override { throw std::logic_error("no model"); }
  int threads() const override { return 1; }
  at::Device device() const override { return at::kCPU; }
  std::vector<double> Gradients(const Batch&, PackState&) override { return {}; }
  std::vector<StepResult> Update(const std::vector<double>&, const std::vector<double>&, PackState&) override { return {}; }
  const Tensor& gradients() const override { return gradients_; }
  Tensor Logits(const Batch&, PackState&) override { return {}; }
  std::vector<TestResult> Evaluate(const Batch&, PackState&, const std::function<void()>&) override { return {}; }

 private:
  int UpdatesAtSameRates() const override { return kBest; }

  Tensor gradients_;
};

PackSettings SettingsOf(const std::string& experiment) {
  PackSettings settings;
  settings.experiment = experiment;
  settings.training.steps = 100;
  return settings;
}

using Shape = PackSettings::Training::Schedule;

TEST(UpdatesAtATimeTest, AnEngineIsHandedAsManyAsItLikesAtOneRate) {
  PackSettings llama = SettingsOf("llama");
  llama.training.warmup_steps = 0;
  llama.training.schedule = Shape::kConstant;

  EXPECT_EQ(EagerEngine(SettingsOf("algorithmic")).UpdatesAtATime(), kBest);
  EXPECT_EQ(EagerEngine(llama).UpdatesAtATime(), kBest);
}

TEST(UpdatesAtATimeTest, WhereRatesChangeItIsHandedOne) {
  PackSettings warm_up = SettingsOf("algorithmic"), falling = SettingsOf("algorithmic");
  warm_up.training.warmup_steps = 5;
  falling.training.schedule = Shape::kLinear;

  EXPECT_EQ(EagerEngine(warm_up).UpdatesAtATime(), 1);
  EXPECT_EQ(EagerEngine(falling).UpdatesAtATime(), 1);
  EXPECT_EQ(EagerEngine(SettingsOf("llama")).UpdatesAtATime(), 1) << "a warm-up and a cosine where nobody says another";
}

}  // namespace

}  // namespace longreach::trainer
