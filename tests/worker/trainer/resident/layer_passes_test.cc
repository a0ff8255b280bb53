// What holds of the kernels beyond one call: from layer to layer within a block, sequence beside sequence.
#include "tests/worker/trainer/resident/layer_runs.h"

namespace longreach::trainer::resident {

namespace {

// A layer, its input and the gradient of its output, at several sizes of the batch.
struct Layer {
  Case kind;
  Random random;
  Terms terms;
  Weights weights;
  KernelWeights of_kernel;
  Vector h, dh_out;
  Input<float> h_of_kernel, dh_out_of_kernel, rotation;

  Layer(const Case& c, int batch, uint64_t seed)
      : kind(c),
        random(seed),
        terms(c, batch, random),
        weights(RandomWeights(random)),
        of_kernel(weights),
        h(random.Normals(Numbers(), 1)),
        dh_out(random.Normals(Numbers(), 1)),
        h_of_kernel(h),
        dh_out_of_kernel(dh_out),
        rotation(terms.setting.rotation) {}

  size_t Tokens() const { return static_cast<size_t>(terms.setting.tokens()); }
  size_t Numbers() const { return Tokens() * kDim; }
};

// A whole pass through a layer, forward and backward.
struct Pass {
  ForwardOutputs forward;
  MlpOutputs mlp;
  AttentionOutputs attention;

  explicit Pass(const Layer& layer) : forward(layer.Tokens()), mlp(layer.Tokens()), attention(layer.Tokens(), layer.kind.positional) {}

  void Forward(const Layer& layer, const float* h, char* shared) {
    const LayerForward arguments = ForwardArguments(layer.of_kernel, layer.terms, h, layer.rotation.data(), forward);
    WithPositional(layer.kind, [&]<Positional kPositional>() { ForwardLayer<kPositional>(arguments, shared); });
  }
  void BackwardOfMlp(const Layer& layer, const float* dh, char* shared) {
    BackwardMlp(MlpArguments(layer.of_kernel, layer.terms, forward.x1.data(), forward.x2.data(), forward.norms.data(), dh, mlp), shared);
  }
  void BackwardOfAttention(const Layer& layer, const float* h, char* shared) {
    const LeftByForward left = {h, forward.x1.data(), forward.norms.data(), forward.o.data(), forward.lse.data(), mlp.du.data(), layer.rotation.data()};
    const AttentionBackward arguments = AttentionArguments(layer.of_kernel, layer.terms, left, attention);
    WithPositional(layer.kind, [&]<Positional kPositional>() { BackwardAttention<kPositional>(arguments, shared); });
  }
  bool SameBits(const Pass& other) const {
    return forward.SameBits(other.forward) && mlp.SameBits(other.mlp) && attention.SameBits(other.attention);
  }
};

constexpr size_t kSharedOfAll = std::max({LayerForwardSharedBytes(), MlpBackwardSharedBytes(), AttentionBackwardSharedBytes()});

class LayerPassesTest : public ::testing::TestWithParam<Case> {};

std::vector<Case> SomeCases() {
  const Case most = {.tape = 33, .positional = Positional::kTrainedBias, .dropout = true}, rotary = {.tape = 41, .positional = Positional::kRotary};
  if (kForRaces) return {most, rotary};
  return {{.tape = 1}, most, rotary, {.tape = 120, .positional = Positional::kBias}};
}
INSTANTIATE_TEST_SUITE_P(Cases, LayerPassesTest, ::testing::ValuesIn(SomeCases()), [](const auto& param) { return NameOf(param.param); });

// Two layers and the way back in one block, whose kernels follow each other in the same shared memory, give the bits of blocks of their own.
TEST_P(LayerPassesTest, KernelsOfOneBlockDoNotDisturbEachOther) {
  const int batch = BatchBeyond(kForwardRows, GetParam().tape);
  const Layer first(GetParam(), batch, 1), second(GetParam(), batch, 2);
  Pass one_first(first), one_second(second), own_first(first), own_second(second);

  for (const Manner& manner : kManners) {
    SharedMemory shared(kSharedOfAll, manner.shared_memory);
    char* const at = shared.data();
    RunBlock(
        [&] {
          one_first.Forward(first, first.h_of_kernel.data(), at);
          one_second.Forward(second, one_first.forward.h_out.data(), at);
          one_second.BackwardOfMlp(second, second.dh_out_of_kernel.data(), at);
          one_second.BackwardOfAttention(second, one_first.forward.h_out.data(), at);
          one_first.BackwardOfMlp(first, one_second.attention.dh.data(), at);
          one_first.BackwardOfAttention(first, first.h_of_kernel.data(), at);
        },
        manner.order, manner.done);
    const auto alone = [&](const auto& kernel) {
      SharedMemory fresh(kSharedOfAll, manner.shared_memory);
      char* const fresh_at = fresh.data();
      RunBlock([&] { kernel(fresh_at); }, manner.order, manner.done);
    };
    alone([&](char* memory) { own_first.Forward(first, first.h_of_kernel.data(), memory); });
    alone([&](char* memory) { own_second.Forward(second, own_first.forward.h_out.data(), memory); });
    alone([&](char* memory) { own_second.BackwardOfMlp(second, second.dh_out_of_kernel.data(), memory); });
    alone([&](char* memory) { own_second.BackwardOfAttention(second, own_first.forward.h_out.data(), memory); });
    alone([&](char* memory) { own_first.BackwardOfMlp(first, own_second.attention.dh.data(), memory); });
    alone([&](char* memory) { own_first.BackwardOfAttention(first, first.h_of_kernel.data(), memory); });

    EXPECT_TRUE(one_first.SameBits(own_first));
    EXPECT_TRUE(one_second.SameBits(own_second));
  }
}

// As on a GPU without a warpgroup's instructions.
TEST_P(LayerPassesTest, ProductsByWarpsHaveTheSameBits) {
  const Layer layer(GetParam(), BatchBeyond(kForwardRows, GetParam().tape), 4);
  Pass at_once(layer), by_warps(layer);
  for (const Manner& manner : kManners) {
    for (Pass* pass : {&at_once, &by_warps}) {
      SharedMemory shared(kSharedOfAll, manner.shared_memory);
      char* const at = shared.data();
      RunBlock(
          [&] {
            pass->Forward(layer, layer.h_of_kernel.data(), at);
            pass->BackwardOfMlp(layer, layer.dh_out_of_kernel.data(), at);
            pass->BackwardOfAttention(layer, layer.h_of_kernel.data(), at);
          },
          manner.order, manner.done, pass == &at_once ? GroupProducts::kAtOnce : GroupProducts::kByWarps);
    }
    EXPECT_TRUE(at_once.SameBits(by_warps));
  }
}

// The kernels with what they have left each other, against the same in double precision. Gates of hidden features next to zero may fall on
// the other side there, and each is an error of its own: the limits are wide.
TEST_P(LayerPassesTest, GradientsOfALayerAreThoseOfDoublePrecision) {
  const Layer layer(GetParam(), BatchBeyond(kForwardRows, GetParam().tape), 3);
  Pass pass(layer);
  SharedMemory shared(kSharedOfAll, 0xff);
  char* const at = shared.data();

  RunBlock([&] {
    pass.Forward(layer, layer.h_of_kernel.data(), at);
    pass.BackwardOfMlp(layer, layer.dh_out_of_kernel.data(), at);
    pass.BackwardOfAttention(layer, layer.h_of_kernel.data(), at);
  });

  const Setting& setting = layer.terms.setting;
  const reference::Activations a = reference::Forward(layer.weights, layer.h, setting);
  Weights want;
  Vector slope_sums;
  const Vector du = reference::MlpBackward(want, layer.weights, a.x1, a.x2, layer.dh_out, setting);
  const Vector dh = reference::AttentionBackward(want, slope_sums, layer.weights, layer.h, a.x1, a.o, du, layer.terms.slopes, setting);
  ExpectClose("dh", pass.attention.dh, dh, OfKinks(3e-2));
  ExpectClose("mlp1_w", pass.mlp.mlp1_w, want.mlp1_w, OfKinks(8e-2));
  ExpectClose("mlp1_b", pass.mlp.mlp1_b, want.mlp1_b, OfKinks(8e-2));
  ExpectClose("mlp2_w", pass.mlp.mlp2_w, want.mlp2_w, OfKinks(2e-2));
  ExpectClose("norm2_scale", pass.mlp.norm2_scale, want.norm2_scale, OfKinks(1e-2));
  const double floor = GetParam().tape == 1 ? SizeOf(want.v) : 0;
  ExpectClose("q", pass.attention.q, want.q, OfKinks(8e-2), floor);
  ExpectClose("k", pass.attention.k, want.k, OfKinks(8e-2), floor);
  ExpectClose("v", pass.attention.v, want.v, OfKinks(5e-2));
  ExpectClose("o", pass.attention.o, want.o, OfKinks(5e-2));
  ExpectClose("norm1_scale", pass.attention.norm1_scale, want.norm1_scale, OfKinks(5e-2));
}

// The rows that a layer makes of a sequence are the same bits in every batch: nothing of other sequences, nor of the part of a tile that
// the batch leaves, gets into them.
TEST_P(LayerPassesTest, ASequenceDoesNotSeeTheOthers) {
  const int most = BatchBeyond(kForwardRows, GetParam().tape);
  Layer layer(GetParam(), most, 4);
  Pass all(layer);
  const auto run = [&](Pass& pass) {
    SharedMemory shared(kSharedOfAll, 0xff);
    char* const at = shared.data();
    RunBlock([&] {
      pass.Forward(layer, layer.h_of_kernel.data(), at);
      pass.BackwardOfMlp(layer, layer.dh_out_of_kernel.data(), at);
      pass.BackwardOfAttention(layer, layer.h_of_kernel.data(), at);
    });
  };
  run(all);
  const Vector h_out = all.forward.h_out.Widened(), dh = all.attention.dh.Widened();

  for (const int batch : {1, 2, most / 2, most - 1}) {
    if (batch < 1) continue;
    layer.terms.setting.batch = batch;
    Pass some(layer);
    run(some);

    const Vector few_h_out = some.forward.h_out.Widened(), few_dh = some.attention.dh.Widened();
    EXPECT_TRUE(std::equal(few_h_out.begin(), few_h_out.end(), h_out.begin())) << batch;
    EXPECT_TRUE(std::equal(few_dh.begin(), few_dh.end(), dh.begin())) << batch;
  }
}

// Sequences through which no gradient comes add nothing at all to those of the weights, no more than rows that do not exist.
TEST_P(LayerPassesTest, RowsWithoutAGradientAddNothing) {
  const int most = BatchBeyond(kBackRows, GetParam().tape) + 1, batch = most - 1;
  Layer layer(GetParam(), most, 5);
  std::fill(layer.dh_out.end() - GetParam().tape * kDim, layer.dh_out.end(), 0.0);
  layer.dh_out_of_kernel = Input<float>(layer.dh_out);
  const auto gradients_of = [&](int sequences) {
    layer.terms.setting.batch = sequences;
    Pass pass(layer);
    SharedMemory shared(kSharedOfAll, 0xff);
    char* const at = shared.data();
    RunBlock([&] {
      pass.Forward(layer, layer.h_of_kernel.data(), at);
      pass.BackwardOfMlp(layer, layer.dh_out_of_kernel.data(), at);
      pass.BackwardOfAttention(layer, layer.h_of_kernel.data(), at);
    });
    Vector all;
    for (const auto* output : {&pass.mlp.mlp1_w, &pass.mlp.mlp1_b, &pass.mlp.mlp2_w, &pass.mlp.mlp2_b, &pass.mlp.norm2_scale,
                               &pass.mlp.norm2_offset, &pass.attention.q, &pass.attention.k, &pass.attention.v, &pass.attention.o,
                               &pass.attention.norm1_scale, &pass.attention.norm1_offset, &pass.attention.slope_sums}) {
      const Vector part = output->Widened();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };

  EXPECT_EQ(gradients_of(batch), gradients_of(most));
}

// A slice may be left without a sequence: it reads and writes no rows, and its gradients are there, zeros, for those that add them up.
TEST_P(LayerPassesTest, OfNoSequencesTheGradientsAreZeros) {
  const Layer layer(GetParam(), 0, 7);
  for (const Manner& manner : kManners) {
    Pass pass(layer);
    SharedMemory shared(kSharedOfAll, manner.shared_memory);
    char* const at = shared.data();
    RunBlock(
        [&] {
          pass.Forward(layer, layer.h_of_kernel.data(), at);
          pass.BackwardOfMlp(layer, layer.dh_out_of_kernel.data(), at);
          pass.BackwardOfAttention(layer, layer.h_of_kernel.data(), at);
        },
        manner.order, manner.done);

    for (const auto* output : {&pass.mlp.mlp1_w, &pass.mlp.mlp1_b, &pass.mlp.mlp2_w, &pass.mlp.mlp2_b, &pass.mlp.norm2_scale, &pass.mlp.norm2_offset,
                               &pass.attention.q, &pass.attention.k, &pass.attention.v, &pass.attention.o, &pass.attention.norm1_scale,
                               &pass.attention.norm1_offset, &pass.attention.slope_sums}) {
      for (const double x : output->Widened()) ASSERT_EQ(x, 0);
    }
    for (const auto* rows : {&pass.forward.h_out, &pass.forward.x1, &pass.forward.lse, &pass.forward.norms, &pass.mlp.du, &pass.attention.dh}) {
      EXPECT_TRUE(rows->EndIsUntouched());
    }
  }
}

// The numbers of rows of `columns`, those of the tokens that are asked for, one after the other.
Vector OfAsked(const Vector& of_tokens, int columns, int batch, int tape, int outputs) {
  Vector asked;
  for (int sequence = 0; sequence < batch; ++sequence) {
    const auto end = of_tokens.begin() + (sequence + 1) * tape * columns;
    asked.insert(asked.end(), end - outputs * columns, end);
  }
  return asked;
}

// A layer that is asked for the last positions alone makes the very rows of one that makes all, and gives the gradients that this gives where none
// comes from the others.
TEST_P(LayerPassesTest, WhatIsNotAskedForIsNotMissed) {
  const int tape = GetParam().tape, batch = BatchBeyond(kForwardRows, tape) + 1;
  for (const int outputs : {1, 3, tape / 2, tape - 1}) {
    if (outputs < 1 || outputs >= tape) continue;
    SCOPED_TRACE(outputs);
    Layer layer(GetParam(), batch, 6);
    Vector asked_dh = OfAsked(layer.dh_out, kDim, batch, tape, outputs);
    for (int n = 0; n < batch * tape; ++n) {
      if (n % tape < tape - outputs) std::fill_n(layer.dh_out.begin() + n * kDim, kDim, 0.0);
    }
    layer.dh_out_of_kernel = Input<float>(layer.dh_out);
    const Input<float> asked_dh_of_kernel(asked_dh);
    Pass all(layer), asked(layer);
    const auto run = [&](Pass& pass, const float* dh, const Manner& manner) {
      SharedMemory shared(kSharedOfAll, manner.shared_memory);
      char* const at = shared.data();
      RunBlock(
          [&] {
            pass.Forward(layer, layer.h_of_kernel.data(), at);
            pass.BackwardOfMlp(layer, dh, at);
            pass.BackwardOfAttention(layer, layer.h_of_kernel.data(), at);
          },
          manner.order, manner.done);
    };
    run(all, layer.dh_out_of_kernel.data(), kManners[0]);
    layer.terms.outputs = outputs;
    run(asked, asked_dh_of_kernel.data(), kManners[0]);
    Pass again(layer);
    run(again, asked_dh_of_kernel.data(), kManners[1]);
    EXPECT_TRUE(asked.SameBits(again)) << "the order of threads, or what lay in shared memory, shows";

    const size_t rows = static_cast<size_t>(batch * outputs) * kDim;
    const auto expect_rows = [&](const char* what, const auto& got, const auto& of_tokens) {
      const Vector numbers = got.Widened();
      const Vector first(numbers.begin(), numbers.begin() + static_cast<int64_t>(rows));
      EXPECT_EQ(first, OfAsked(of_tokens.Widened(), kDim, batch, tape, outputs)) << what;
      EXPECT_TRUE(std::all_of(numbers.begin() + static_cast<int64_t>(rows), numbers.end(), [](double x) { return std::isnan(x); })) << what;
    };
    expect_rows("h_out", asked.forward.h_out, all.forward.h_out);
    expect_rows("x1", asked.forward.x1, all.forward.x1);
    expect_rows("x2", asked.forward.x2, all.forward.x2);
    expect_rows("o", asked.forward.o, all.forward.o);
    const Vector norms = asked.forward.norms.Widened();
    EXPECT_EQ(Vector(norms.begin(), norms.begin() + 4 * batch * outputs), OfAsked(all.forward.norms.Widened(), 4, batch, tape, outputs));
    expect_rows("du", asked.mlp.du, all.mlp.du);
    EXPECT_EQ(OfAsked(asked.forward.lse.Widened(), 1, kHeads * batch, tape, outputs), OfAsked(all.forward.lse.Widened(), 1, kHeads * batch, tape, outputs));
    EXPECT_EQ(asked.attention.dh.Widened(), all.attention.dh.Widened());
    // Sums over other tiles: in another order.
    constexpr double kOrder = 1e-5;
    ExpectClose("mlp1_w", asked.mlp.mlp1_w, all.mlp.mlp1_w.Widened(), kOrder);
    ExpectClose("mlp1_b", asked.mlp.mlp1_b, all.mlp.mlp1_b.Widened(), kOrder);
    ExpectClose("mlp2_w", asked.mlp.mlp2_w, all.mlp.mlp2_w.Widened(), kOrder);
    ExpectClose("mlp2_b", asked.mlp.mlp2_b, all.mlp.mlp2_b.Widened(), kOrder);
    ExpectClose("norm2_scale", asked.mlp.norm2_scale, all.mlp.norm2_scale.Widened(), kOrder);
    ExpectClose("norm2_offset", asked.mlp.norm2_offset, all.mlp.norm2_offset.Widened(), kOrder);
    ExpectClose("q", asked.attention.q, all.attention.q.Widened(), kOrder);
    ExpectClose("k", asked.attention.k, all.attention.k.Widened(), kOrder);
    ExpectClose("v", asked.attention.v, all.attention.v.Widened(), kOrder);
    ExpectClose("o", asked.attention.o, all.attention.o.Widened(), kOrder);
    ExpectClose("norm1_scale", asked.attention.norm1_scale, all.attention.norm1_scale.Widened(), kOrder);
    ExpectClose("norm1_offset", asked.attention.norm1_offset, all.attention.norm1_offset.Widened(), kOrder);
    if (GetParam().positional != Positional::kTrainedBias) continue;
    ExpectClose("slope_sums", asked.attention.slope_sums, all.attention.slope_sums.Widened(), kOrder);
  }
}

}  // namespace

}  // namespace longreach::trainer::resident
