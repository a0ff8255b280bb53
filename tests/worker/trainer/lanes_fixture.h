// Lanes engines beside the LibTorch engine on the same batches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/worker/trainer/pack_fixture.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/engine.h"

namespace longreach::trainer {

// All engines of this machine but LibTorch's.
inline std::vector<std::string> LanesNames() {
  std::vector<std::string> names = EngineNames();
  std::erase(names, "libtorch");
  return names;
}

inline std::unique_ptr<StepEngine> MakeNamed(const PackSettings& settings, const std::string& name, int threads = 2) {
  return MakeEngine(settings, {.threads = threads, .engine = name}, [](const std::string&) {});
}

// Members with parameters away from their initial values, where many gradients would be alike.
inline PackState ScatteredState(const Model& model, int members) {
  std::vector<Member> jobs(static_cast<size_t>(members));
  for (size_t m = 0; m < jobs.size(); ++m) jobs[m].seed = static_cast<uint32_t>(m);
  PackState state = InitialState(model.layout(), jobs);
  for (int64_t m = 0; m < state.size(); ++m) {
    const at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(m) + 77);
    for (const Parameter& parameter : model.layout().parameters()) {
      Tensor values = state.parameters[m].narrow(0, parameter.offset, parameter.size);
      values.add_(at::randn(values.sizes(), generator) * (parameter.shape.size() == 1 ? 0.1 : 0.02));
    }
  }
  return state;
}

inline double RelativeError(const Tensor& a, const Tensor& b) {
  const Tensor exact = b.to(at::kDouble);
  return ((a.to(at::kDouble) - exact).norm() / exact.norm().clamp_min(1e-30)).item<double>();
}

// Updates by each engine that has lanes, and by LibTorch's. Long enough for a mistake in a gradient or an update to show: engines go apart by rounding alone.
inline void ExpectEnginesUpdateAlike(const PackSettings& settings, const std::string& said) {
  const auto losses = [&](const std::string& name) {
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
    EXPECT_EQ(engine->Name(), name) << said;
    PackState state = ScatteredState(engine->model(), 1);
    std::vector<double> all;
    for (uint64_t step = 0; step < 10; ++step) {
      const Batch batch = TrainingBatch(settings, engine->model().encoding().Use(), step);
      all.push_back(engine->Update(engine->Gradients(batch, state), {1e-3}, state)[0].loss);
    }
    return all;
  };
  const std::vector<double> expected = losses("libtorch");
  for (const std::string& name : LanesNames()) {
    const std::vector<double> ours = losses(name);
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], expected[i], 1e-3 * expected[i]) << name << " " << said << ", update " << i;
  }
}

}  // namespace longreach::trainer
