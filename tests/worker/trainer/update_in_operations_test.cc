// The second half of an update in LibTorch's operations, as a GPU does it, beside the loops that a CPU has for it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "worker/trainer/engine/update.h"

namespace longreach::trainer {

namespace {

constexpr int64_t kMembers = 4, kStride = 3 * kChunk + 100;

// Drawn, for a test.
Tensor Numbers(int64_t rows, int64_t columns, uint64_t seed) {
  return at::randn({rows, columns}, at::make_generator<at::CPUGeneratorImpl>(seed), at::TensorOptions(at::kFloat));
}

PackState State(const UpdateRule& rule) {
  PackState state;
  state.parameters = Numbers(kMembers, kStride, 1);
  state.moment1 = 0.1 * Numbers(kMembers, kStride - rule.first, 2);
  state.moment2 = 0.1 * Numbers(kMembers, kStride - rule.first, 3).square();
  state.members.resize(kMembers);
  state.members[2].live = false;
  state.step = 6;
  return state;
}

// What nobody trains has no gradient and no moments.
void ClearBehind(Tensor& of_trained, const UpdateRule& rule) {
  if (rule.last < kStride) of_trained.narrow(1, rule.last - rule.first, kStride - rule.last).zero_();
}

std::vector<StepResult> InOperations(const Tensor& gradients, const std::vector<double>& losses, const std::vector<double>& rates, const UpdateRule& rule,
                                     PackState& state) {
  UpdatesInOperations one(rule, rates, state);
  one.Take(gradients, at::tensor(losses, at::kDouble));
  std::vector<StepResult> results;
  one.Settle([&](const std::vector<StepResult>& made) { results = made; });
  return results;
}

void ExpectTheSame(const UpdateRule& rule) {
  PackState loops = State(rule), operations = State(rule);
  for (PackState* state : {&loops, &operations}) {
    ClearBehind(state->moment1, rule);
    ClearBehind(state->moment2, rule);
  }
  const PackState before = State(rule);
  ThreadPool pool(2);
  const std::vector<double> rates = {1e-3, 2e-2, 1e-3, 1e-3};
  for (uint64_t update = 0; update < 3; ++update) {
    Tensor gradients = (update == 1 ? 1e-4 : 1.0) * Numbers(kMembers, kStride - rule.first, 10 + update);  // Once it is not clipped.
    ClearBehind(gradients, rule);
    if (update == 1) gradients[3][5] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<double> losses = {1, 2, 3, 4};
    const std::vector<StepResult> expected = UpdateOnCpu(pool, gradients, losses, rates, rule, loops);
    const std::vector<StepResult> results = InOperations(gradients, losses, rates, rule, operations);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t m = 0; m < results.size(); ++m) {
      EXPECT_EQ(results[m].loss, expected[m].loss);
      EXPECT_NEAR(results[m].gradient_norm, expected[m].gradient_norm, 1e-9 * expected[m].gradient_norm);
      EXPECT_EQ(operations.members[m].live, loops.members[m].live);
      EXPECT_EQ(operations.members[m].diverged_at, loops.members[m].diverged_at);
    }
    EXPECT_EQ(operations.step, loops.step);
  }
  EXPECT_TRUE(at::allclose(operations.parameters, loops.parameters, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(operations.moment1, loops.moment1, 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(operations.moment2, loops.moment2, 1e-5, 1e-7));
  EXPECT_FALSE(at::allclose(operations.parameters[1], before.parameters[1], 1e-2, 1e-2));
  EXPECT_TRUE(operations.parameters[2].equal(before.parameters[2]));  // Who is not live stays.
  EXPECT_TRUE(operations.members[3].diverged);
  EXPECT_TRUE(operations.parameters.isfinite().all().item<bool>());
}

TEST(UpdateInOperationsTest, IsAdamOfAllThatThereIs) { ExpectTheSame({.clip_norm = 1.0}); }

TEST(UpdateInOperationsTest, IsAdamWWithDecay) { ExpectTheSame({.clip_norm = 1.0, .adamw = true, .weight_decay = 0.3}); }

TEST(UpdateInOperationsTest, IsAdamWOfSomeParametersThatDoNotFallBelowABound) {
  const UpdateRule rule = {.clip_norm = 1.0, .adamw = true, .weight_decay = 0, .first = 2 * kChunk, .last = kStride - 60, .lower_bound = 0.25f};
  ExpectTheSame(rule);
  PackState state = State(rule);
  const PackState before = State(rule);
  for (Tensor* moment : {&state.moment1, &state.moment2}) ClearBehind(*moment, rule);
  Tensor gradients = Numbers(kMembers, kStride - rule.first, 10);
  ClearBehind(gradients, rule);

  InOperations(gradients, {1, 1, 1, 1}, {1e-3, 1e-3, 1e-3, 1e-3}, rule, state);

  const int64_t behind = kStride - rule.last;
  EXPECT_TRUE(state.parameters.narrow(1, 0, rule.first).equal(before.parameters.narrow(1, 0, rule.first)));
  EXPECT_TRUE(state.parameters.narrow(1, rule.last, behind).equal(before.parameters.narrow(1, rule.last, behind)));
  EXPECT_EQ(state.parameters[0].slice(0, rule.first, rule.last).min().item<float>(), 0.25f);
}

// As a GPU is given them: the host learns of a member that has diverged when it has taken no part in later updates.
TEST(UpdateInOperationsTest, SomeAtATimeAreAsOneByOne) {
  const UpdateRule rule = {.clip_norm = 1.0};
  const std::vector<double> rates = {1e-3, 2e-2, 1e-3, 1e-3}, losses = {1, 2, 3, 4};
  const auto gradients_of = [&](int update) {
    Tensor gradients = Numbers(kMembers, kStride, 20 + static_cast<uint64_t>(update));
    if (update == 1) gradients[3][5] = std::numeric_limits<float>::infinity();
    return gradients;
  };
  PackState one_by_one = State(rule), together = State(rule);
  std::vector<double> norms, norms_together;
  for (int update = 0; update < 3; ++update) {
    for (const StepResult& result : InOperations(gradients_of(update), losses, rates, rule, one_by_one)) norms.push_back(result.gradient_norm);
  }
  UpdatesInOperations three(rule, rates, together);
  for (int update = 0; update < 3; ++update) three.Take(gradients_of(update), at::tensor(losses, at::kDouble));
  EXPECT_TRUE(together.members[3].live);
  std::vector<int> steps;
  three.Settle([&](const std::vector<StepResult>& results) {
    steps.push_back(together.step);
    for (const StepResult& result : results) norms_together.push_back(result.gradient_norm);
  });

  EXPECT_EQ(steps, (std::vector<int>{7, 8, 9}));
  EXPECT_EQ(norms_together, norms);
  EXPECT_TRUE(together.parameters.equal(one_by_one.parameters));
  EXPECT_TRUE(together.moment1.equal(one_by_one.moment1));
  EXPECT_TRUE(together.moment2.equal(one_by_one.moment2));
  EXPECT_EQ(together.members[3].diverged_at, 7);
  EXPECT_EQ(one_by_one.members[3].diverged_at, 7);
}

}  // namespace

}  // namespace longreach::trainer
