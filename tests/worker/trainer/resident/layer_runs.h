// The three kernels of a layer with made-up layers: their arguments, what they write, and how they are run.
#pragma once

#include <utility>

#include "tests/worker/trainer/resident/kernels_fixture.h"
#include "worker/trainer/resident/attention_backward.h"
#include "worker/trainer/resident/layer_forward.h"
#include "worker/trainer/resident/mlp_backward.h"

namespace longreach::trainer::resident {

// Runs kernel(shared) in all manners and returns the results of the last one. make(): fresh outputs.
template <class Outputs, class Make, class Kernel>
Outputs RunInAllManners(size_t shared_bytes, const Make& make, const Kernel& kernel) {
  Outputs last = make();
  bool first = true;
  for (const Manner& manner : kManners) {
    Outputs outputs = make();
    SharedMemory shared(shared_bytes, manner.shared_memory);
    char* const at = shared.data();
    RunBlock([&] { kernel(outputs, at); }, manner.order, manner.done);
    EXPECT_TRUE(first || outputs.SameBits(last)) << "the order of threads, or what lay in shared memory, shows";
    last = std::move(outputs);
    first = false;
  }
  return last;
}

// Of the rows of both norms' inputs, mean and 1 / deviation: as forward leaves them.
inline Vector NormsOf(const Vector& x1, const Vector& x2) {
  Vector norms;
  for (size_t row = 0; row < x1.size(); row += kDim) {
    for (const Vector* x : {&x1, &x2}) {
      double mean = 0, square = 0;
      for (size_t i = row; i < row + kDim; ++i) mean += (*x)[i] / kDim;
      for (size_t i = row; i < row + kDim; ++i) square += ((*x)[i] - mean) * ((*x)[i] - mean) / kDim;
      norms.push_back(mean);
      norms.push_back(1 / std::sqrt(square + 1e-5));
    }
  }
  return norms;
}

struct ForwardOutputs {
  Output<float> h_out, x1, lse, norms;
  Output<Half> x2, o;

  explicit ForwardOutputs(size_t tokens)
      : h_out(tokens * kDim), x1(tokens * kDim), lse(tokens * kHeads), norms(tokens * 4), x2(tokens * kDim), o(tokens * kDim) {}
  bool SameBits(const ForwardOutputs& b) const {
    return h_out.SameBits(b.h_out) && x1.SameBits(b.x1) && lse.SameBits(b.lse) && norms.SameBits(b.norms) && x2.SameBits(b.x2) && o.SameBits(b.o);
  }
};

inline LayerForward ForwardArguments(const KernelWeights& w, const Terms& terms, const float* h, const float* rotation, ForwardOutputs& to) {
  return {.matrices = w.matrices.data(),
          .mlp1_b = w.mlp1_b.data(),
          .mlp2_b = w.mlp2_b.data(),
          .norm1_scale = w.norm1_scale.data(),
          .norm1_offset = w.norm1_offset.data(),
          .norm2_scale = w.norm2_scale.data(),
          .norm2_offset = w.norm2_offset.data(),
          .h = h,
          .h_out = to.h_out.data(),
          .x1 = to.x1.data(),
          .x2 = to.x2.data(),
          .o = to.o.data(),
          .lse = to.lse.data(),
          .norms = to.norms.data(),
          .keep_attention = terms.keep_attention(),
          .keep_mlp = terms.keep_mlp(),
          .keep_scale = terms.keep_scale,
          .table = terms.table_of_kernel.data(),
          .rotation = rotation,
          .batch = terms.setting.batch,
          .tape = terms.setting.tape,
          .outputs = terms.outputs};
}

struct MlpOutputs {
  Output<float> du, mlp1_w{kDim * kHidden}, mlp1_b{kHidden}, mlp2_w{kHidden * kDim}, mlp2_b{kDim}, norm2_scale{kDim}, norm2_offset{kDim};

  explicit MlpOutputs(size_t tokens) : du(tokens * kDim) {}
  bool SameBits(const MlpOutputs& b) const {
    return du.SameBits(b.du) && mlp1_w.SameBits(b.mlp1_w) && mlp1_b.SameBits(b.mlp1_b) && mlp2_w.SameBits(b.mlp2_w) &&
           mlp2_b.SameBits(b.mlp2_b) && norm2_scale.SameBits(b.norm2_scale) && norm2_offset.SameBits(b.norm2_offset);
  }
};

inline MlpBackward MlpArguments(const KernelWeights& w, const Terms& terms, const float* x1, const Half* x2, const float* norms, const float* dh,
                                MlpOutputs& to) {
  return {.matrices = w.matrices.data(),
          .mlp1_b = w.mlp1_b.data(),
          .norm1_scale = w.norm1_scale.data(),
          .norm1_offset = w.norm1_offset.data(),
          .norm2_scale = w.norm2_scale.data(),
          .x1 = x1,
          .x2 = x2,
          .norms = norms,
          .keep_mlp = terms.keep_mlp(),
          .keep_scale = terms.keep_scale,
          .dh = dh,
          .du = to.du.data(),
          .d_mlp1_w = to.mlp1_w.data(),
          .d_mlp1_b = to.mlp1_b.data(),
          .d_mlp2_w = to.mlp2_w.data(),
          .d_mlp2_b = to.mlp2_b.data(),
          .d_norm2_scale = to.norm2_scale.data(),
          .d_norm2_offset = to.norm2_offset.data(),
          .batch = terms.setting.batch,
          .tape = terms.setting.tape,
          .outputs = terms.outputs};
}

struct AttentionOutputs {
  Output<float> dh, q{kDim * kDim}, k{kDim * kDim}, v{kDim * kDim}, o{kDim * kDim}, norm1_scale{kDim}, norm1_offset{kDim};
  Output<float> slope_sums;  // Empty where they are not written.

  AttentionOutputs(size_t tokens, Positional positional)
      : dh(tokens * kDim), slope_sums(positional == Positional::kTrainedBias ? kHeads * 2 : 0) {}
  bool SameBits(const AttentionOutputs& b) const {
    return dh.SameBits(b.dh) && q.SameBits(b.q) && k.SameBits(b.k) && v.SameBits(b.v) && o.SameBits(b.o) &&
           norm1_scale.SameBits(b.norm1_scale) && norm1_offset.SameBits(b.norm1_offset) && slope_sums.SameBits(b.slope_sums);
  }
};

// What forward left, and the gradient that came.
struct LeftByForward {
  const float *h, *x1, *norms;
  const Half* o;
  const float *lse, *du, *rotation;
};

inline AttentionBackward AttentionArguments(const KernelWeights& w, const Terms& terms, const LeftByForward& from, AttentionOutputs& to) {
  return {.matrices = w.matrices.data(),
          .norm1_scale = w.norm1_scale.data(),
          .h = from.h,
          .x1 = from.x1,
          .norms = from.norms,
          .o = from.o,
          .lse = from.lse,
          .keep_attention = terms.keep_attention(),
          .keep_scale = terms.keep_scale,
          .table = terms.table_of_kernel.data(),
          .slopes = terms.slopes_of_kernel.data(),
          .rotation = from.rotation,
          .du = from.du,
          .dh = to.dh.data(),
          .d_q = to.q.data(),
          .d_k = to.k.data(),
          .d_v = to.v.data(),
          .d_o = to.o.data(),
          .d_norm1_scale = to.norm1_scale.data(),
          .d_norm1_offset = to.norm1_offset.data(),
          .slope_sums = to.slope_sums.data(),
          .batch = terms.setting.batch,
          .tape = terms.setting.tape,
          .outputs = terms.outputs};
}

}  // namespace longreach::trainer::resident
