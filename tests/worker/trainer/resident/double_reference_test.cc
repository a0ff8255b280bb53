// The reference itself: its gradients against differences of its losses.
#include "tests/worker/trainer/resident/double_reference.h"

#include <gtest/gtest.h>

#include "tests/worker/trainer/resident/kernels_fixture.h"

namespace longreach::trainer::resident {

namespace {

// All vectors of a layer's weights, in the same order for each.
std::vector<Vector*> Parts(Weights& w) {
  return {&w.q,           &w.k,           &w.v,            &w.o,      &w.norm1_scale, &w.norm1_offset,
          &w.norm2_scale, &w.norm2_offset, &w.mlp1_w,      &w.mlp1_b, &w.mlp2_w,      &w.mlp2_b};
}

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector Moved(const Vector& from, const Vector& along, double step) {
  Vector to = from;
  for (size_t i = 0; i < to.size(); ++i) to[i] += step * along[i];
  return to;
}

class DoubleReferenceTest : public ::testing::TestWithParam<Positional> {};
INSTANTIATE_TEST_SUITE_P(Positionals, DoubleReferenceTest, ::testing::Values(Positional::kNone, Positional::kTrainedBias, Positional::kRotary),
                         [](const auto& param) { return NameOf({.tape = 5, .positional = param.param}); });

TEST_P(DoubleReferenceTest, GradientsAreDifferencesOfLosses) {
  Random random(7);
  const Terms terms({.tape = 5, .positional = GetParam(), .dropout = true}, 2, random);
  const Setting& setting = terms.setting;
  Weights w = RandomWeights(random);
  const size_t numbers = static_cast<size_t>(setting.tokens()) * kDim;
  const Vector h = random.Normals(numbers, 1), dh_out = random.Normals(numbers, 1);
  const auto loss = [&](const Weights& weights, const Vector& input, const Setting& s) {
    return Dot(reference::Forward(weights, input, s).h_out, dh_out);
  };

  const reference::Activations a = reference::Forward(w, h, setting);
  Weights gradients;
  Vector slope_sums;
  const Vector du = reference::MlpBackward(gradients, w, a.x1, a.x2, dh_out, setting);
  const Vector dh = reference::AttentionBackward(gradients, slope_sums, w, h, a.x1, a.o, du, terms.slopes, setting);

  constexpr double kStep = 1e-6;
  const auto expect_slope = [&](const std::string& what, double ahead, double behind, double slope) {
    EXPECT_NEAR((ahead - behind) / (2 * kStep), slope, 1e-6 * std::abs(slope) + 1e-5) << what;
  };
  const Vector along_h = random.Normals(numbers, 1);
  expect_slope("h", loss(w, Moved(h, along_h, kStep), setting), loss(w, Moved(h, along_h, -kStep), setting), Dot(dh, along_h));
  for (size_t part = 0; part < Parts(w).size(); ++part) {
    const Vector along = random.Normals(Parts(w)[part]->size(), 0.1);
    Weights ahead = w, behind = w;
    *Parts(ahead)[part] = Moved(*Parts(w)[part], along, kStep);
    *Parts(behind)[part] = Moved(*Parts(w)[part], along, -kStep);
    expect_slope(std::string("part ").append(std::to_string(part)), loss(ahead, h, setting), loss(behind, h, setting),
                 Dot(*Parts(gradients)[part], along));
  }
  if (GetParam() != Positional::kTrainedBias) return;
  for (int head = 0; head < kHeads; ++head) {
    for (int which = 0; which < 2; ++which) {  // Along the bias itself, and along the slopes.
      const Vector& along = which == 0 ? setting.bias : terms.slopes;
      Setting ahead = setting, behind = setting;
      for (int i = 0; i < kTable; ++i) {
        const size_t at = reference::At(head, kTable, i);
        ahead.bias[at] += kStep * along[at];
        behind.bias[at] -= kStep * along[at];
      }
      expect_slope("bias", loss(w, h, ahead), loss(w, h, behind), slope_sums[reference::At(head, 2, which)]);
    }
  }
}

}  // namespace

}  // namespace longreach::trainer::resident
