// The resident kernels, lane by lane, against plain loops in double precision. The limits are those that operands of 16 bits explain.
#include <tuple>

#include "tests/worker/trainer/resident/layer_runs.h"
#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

namespace {

constexpr size_t kSharedBytes = 232448;  // What a block of an H100 or H200 can have.
static_assert(kMostSharedBytes <= kSharedBytes);

class KernelsTest : public ::testing::TestWithParam<Case> {
 protected:
  static size_t Numbers(const Terms& terms) { return static_cast<size_t>(terms.setting.tokens()) * kDim; }
};
INSTANTIATE_TEST_SUITE_P(Cases, KernelsTest, ::testing::ValuesIn(AllCases()), [](const auto& param) { return NameOf(param.param); });

TEST_P(KernelsTest, LayerForwardIsThatOfDoublePrecision) {
  Random random(1);
  Terms terms(GetParam(), BatchBeyond(kForwardRows, GetParam().tape), random);
  Weights weights = RandomWeights(random);
  const KernelWeights of_kernel(weights);
  Vector h = random.Normals(Numbers(terms), 1);
  const Input<float> h_of_kernel(h), rotation(terms.setting.rotation);

  const ForwardOutputs got = RunInAllManners<ForwardOutputs>(
      LayerForwardSharedBytes(), [&] { return ForwardOutputs(Numbers(terms) / kDim); },
      [&](ForwardOutputs& to, char* shared) {
        const LayerForward arguments = ForwardArguments(of_kernel, terms, h_of_kernel.data(), rotation.data(), to);
        WithPositional(GetParam(), [&]<Positional kPositional>() { ForwardLayer<kPositional>(arguments, shared); });
      });

  const reference::Activations want = reference::Forward(weights, h, terms.setting);
  ExpectClose("o", got.o, want.o, OfOperands(5e-3));
  ExpectClose("lse", got.lse, want.lse, OfOperands(5e-3));
  ExpectClose("x1", got.x1, want.x1, OfOperands(3e-3));
  ExpectClose("x2", got.x2, want.x2, OfOperands(4e-3));
  ExpectClose("h_out", got.h_out, want.h_out, OfOperands(4e-3));
  ExpectClose("norms", got.norms, NormsOf(want.x1, want.x2), OfOperands(3e-3));
}

TEST_P(KernelsTest, AttentionBackwardIsThatOfDoublePrecision) {
  Random random(3);
  Terms terms(GetParam(), BatchBeyond(kBackRows, GetParam().tape), random);
  Weights weights = RandomWeights(random);
  const KernelWeights of_kernel(weights);
  Vector h = random.Normals(Numbers(terms), 1), x1 = random.Normals(Numbers(terms), 1), du = random.Normals(Numbers(terms), 1);
  const Input<float> h_of_kernel(h), x1_of_kernel(x1), du_of_kernel(du), rotation(terms.setting.rotation);
  reference::Activations left = reference::Forward(weights, h, terms.setting);
  const Input<Half> o(left.o);
  Vector norms = NormsOf(x1, x1);
  const Input<float> lse(left.lse), norms_of_kernel(norms);

  const AttentionOutputs got = RunInAllManners<AttentionOutputs>(
      AttentionBackwardSharedBytes(), [&] { return AttentionOutputs(Numbers(terms) / kDim, GetParam().positional); },
      [&](AttentionOutputs& to, char* shared) {
        const LeftByForward from = {h_of_kernel.data(), x1_of_kernel.data(), norms_of_kernel.data(), o.data(), lse.data(), du_of_kernel.data(), rotation.data()};
        const AttentionBackward arguments = AttentionArguments(of_kernel, terms, from, to);
        WithPositional(GetParam(), [&]<Positional kPositional>() { BackwardAttention<kPositional>(arguments, shared); });
      });

  Weights want;
  Vector slope_sums;
  const Vector dh = reference::AttentionBackward(want, slope_sums, weights, h, x1, left.o, du, terms.slopes, terms.setting);
  ExpectClose("dh", got.dh, dh, OfOperands(5e-3));
  // Where there is one key its probability does not depend on anything, and there is nothing but rounding.
  const bool one_key = GetParam().tape == 1;
  const double floor = one_key ? SizeOf(want.v) : 0;
  ExpectClose("q", got.q, want.q, OfOperands(1.2e-2), floor);
  ExpectClose("k", got.k, want.k, OfOperands(1.2e-2), floor);
  ExpectClose("v", got.v, want.v, OfOperands(6e-3));
  ExpectClose("o", got.o, want.o, OfOperands(4e-3));
  ExpectClose("norm1_scale", got.norm1_scale, want.norm1_scale, 1e-6);
  ExpectClose("norm1_offset", got.norm1_offset, want.norm1_offset, 1e-6);
  if (GetParam().positional == Positional::kTrainedBias) {
    ExpectClose("slope_sums", got.slope_sums, slope_sums, OfOperands(2e-2), one_key ? SizeOf(du) : 0);
  }
}

// It does not know of sequences: any number of tokens, in parts of a tile and more.
class MlpTest : public ::testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Tokens, MlpTest, ::testing::Combine(::testing::Values(1, 2, 21, 33, 127, 128, 129, 300), ::testing::Bool()),
                         [](const auto& param) {
                           const std::string name = std::string("N").append(std::to_string(std::get<0>(param.param)));
                           return std::get<1>(param.param) ? name + "Dropout" : name;
                         });

TEST_P(MlpTest, BackwardIsThatOfDoublePrecision) {
  Random random(2);
  Terms terms({.tape = 1, .dropout = std::get<1>(GetParam())}, std::get<0>(GetParam()), random);
  const size_t numbers = static_cast<size_t>(terms.setting.tokens()) * kDim;
  Weights weights = RandomWeights(random);
  const KernelWeights of_kernel(weights);
  Vector x1 = random.Normals(numbers, 1), x2 = random.Normals(numbers, 1), dh = random.Normals(numbers, 1);
  const Input<float> x1_of_kernel(x1), dh_of_kernel(dh);
  const Input<Half> x2_of_kernel(x2);
  Vector norms = NormsOf(x1, x2);
  const Input<float> norms_of_kernel(norms);

  const MlpOutputs got = RunInAllManners<MlpOutputs>(
      MlpBackwardSharedBytes(), [&] { return MlpOutputs(numbers / kDim); },
      [&](MlpOutputs& to, char* shared) {
        BackwardMlp(MlpArguments(of_kernel, terms, x1_of_kernel.data(), x2_of_kernel.data(), norms_of_kernel.data(), dh_of_kernel.data(), to), shared);
      });

  // With the hidden features on that are on in the kernel: one that is next to zero would be an error of its own.
  terms.setting.round_mlp_input = [](double x) { return ToFloat(static_cast<Half>(Pack(static_cast<float>(x), 0.0f))); };
  Weights want;
  const Vector du = reference::MlpBackward(want, weights, x1, x2, dh, terms.setting);
  ExpectClose("du", got.du, du, OfOperands(2e-3));
  ExpectClose("mlp1_w", got.mlp1_w, want.mlp1_w, OfOperands(4e-3));
  ExpectClose("mlp1_b", got.mlp1_b, want.mlp1_b, OfOperands(4e-3));
  ExpectClose("mlp2_w", got.mlp2_w, want.mlp2_w, OfOperands(4e-3));
  ExpectClose("mlp2_b", got.mlp2_b, want.mlp2_b, 1e-6);
  ExpectClose("norm2_scale", got.norm2_scale, want.norm2_scale, 1e-6);
  ExpectClose("norm2_offset", got.norm2_offset, want.norm2_offset, 1e-6);
}

}  // namespace

}  // namespace longreach::trainer::resident
