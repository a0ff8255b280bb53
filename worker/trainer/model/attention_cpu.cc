#include "worker/trainer/model/attention_cpu.h"

#include <vector>

#include "worker/trainer/instruction_sets.h"
#include "worker/trainer/model/attention_core.h"

namespace longreach::trainer {

namespace {

Space MakeSpace(const AttentionProblem& problem, bool backward) {
  const size_t k = static_cast<size_t>(problem.head_dim), padded = static_cast<size_t>(Padded(problem.tape));
  const size_t keys = k * padded;
  Space space;
  space.q.resize(static_cast<size_t>(problem.queries + kMostQueries) * k);
  space.k.resize(keys);
  space.v.resize(keys);
  space.kt.resize(keys);
  space.go.resize(static_cast<size_t>(kMostQueries) * k);
  space.rows.resize(static_cast<size_t>(kMostQueries) * padded);
  if (problem.relative_keys != nullptr) {
    const size_t width = static_cast<size_t>(problem.heads) * k;
    const size_t columns = width * static_cast<size_t>(Padded(problem.entries) + kSlack);
    space.qv.resize(space.q.size());
    space.r.resize(width * static_cast<size_t>(problem.entries));
    space.rt.resize(columns);
    space.drt.resize(backward ? columns : 0);
    space.dqr.resize(k);
  }
  if (backward) {
    space.vt.resize(keys);
    space.dkt.resize(keys);
    space.dvt.resize(keys);
    space.dq.resize(static_cast<size_t>(kMostQueries) * k);
    space.more_rows.resize(static_cast<size_t>(kMostQueries) * padded);
  }
  return space;
}

// Head sizes of the paper's and the golden models; any other goes through the loop of runtime length.
LONGREACH_CLONES void Forward8(const AttentionProblem& problem, Space& space, const AttentionInput& input,
                               float* out, float* probabilities) {
  Core<8>{problem, space}.Forward(input, out, probabilities);
}
LONGREACH_CLONES void Forward32(const AttentionProblem& problem, Space& space, const AttentionInput& input,
                               float* out, float* probabilities) {
  Core<32>{problem, space}.Forward(input, out, probabilities);
}
LONGREACH_CLONES void ForwardAny(const AttentionProblem& problem, Space& space, const AttentionInput& input,
                                 float* out, float* probabilities) {
  Core<0>{problem, space}.Forward(input, out, probabilities);
}
LONGREACH_CLONES void Backward8(const AttentionProblem& problem, Space& space, const AttentionInput& input,
                                const float* probabilities, const float* out_gradient,
                                const AttentionGradient& gradient) {
  Core<8>{problem, space}.Backward(input, probabilities, out_gradient, gradient);
}
LONGREACH_CLONES void Backward32(const AttentionProblem& problem, Space& space, const AttentionInput& input,
                                const float* probabilities, const float* out_gradient,
                                const AttentionGradient& gradient) {
  Core<32>{problem, space}.Backward(input, probabilities, out_gradient, gradient);
}
LONGREACH_CLONES void BackwardAny(const AttentionProblem& problem, Space& space, const AttentionInput& input,
                                  const float* probabilities, const float* out_gradient,
                                  const AttentionGradient& gradient) {
  Core<0>{problem, space}.Backward(input, probabilities, out_gradient, gradient);
}

}  // namespace

void AttentionForward(const AttentionProblem& problem, const AttentionInput& input, float* out,
                      float* probabilities) {
  Space space = MakeSpace(problem, false);
  const auto forward = problem.head_dim == 8 ? Forward8 : problem.head_dim == 32 ? Forward32 : ForwardAny;
  forward(problem, space, input, out, probabilities);
}

void AttentionBackward(const AttentionProblem& problem, const AttentionInput& input,
                       const float* probabilities, const float* out_gradient,
                       const AttentionGradient& gradient) {
  Space space = MakeSpace(problem, true);
  const auto backward = problem.head_dim == 8 ? Backward8 : problem.head_dim == 32 ? Backward32 : BackwardAny;
  backward(problem, space, input, probabilities, out_gradient, gradient);
}

}  // namespace longreach::trainer
