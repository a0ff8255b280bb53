// KERPLE's phases of a resident update, thread by thread on the CPU, against the formulas and their differences in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "tests/worker/trainer/resident/phases_fixture.h"
#include "worker/trainer/resident/bias_tables.h"

namespace longreach::trainer::resident {
namespace {

// Two layers with KERPLE's parameters in a small flat buffer.
ModelPlaces KerplePlaces(bool shared) {
  ModelPlaces places;
  places.layers = 2;
  places.layer[0].kerple_a = 16;
  places.layer[0].kerple_p = 32;
  places.layer[1].kerple_a = shared ? 16 : 48;
  places.layer[1].kerple_p = shared ? 32 : 64;
  places.stride = 80;
  return places;
}

double KerpleBias(BiasKind kind, double a, double p, double distance) {
  if (kind == BiasKind::kLogKerple) return -p * std::log1p(a * distance);
  return distance == 0 ? 0 : -a * std::pow(distance, p);
}

class KerpleTest : public PhaseTest {};

TEST_P(KerpleTest, ParametersAreBroughtIntoTheirRange) {
  for (const BiasKind kind : {BiasKind::kLogKerple, BiasKind::kPowerKerple, BiasKind::kNone}) {
    const ModelPlaces places = KerplePlaces(false);
    Floats parameters = Random(12).Uniform(80, -3, 4);
    parameters[64 + 5] = kNan;
    const Floats before = parameters;

    Run([&] { ClampKerple(places, kind, parameters.data()); }, parameters);

    for (size_t i = 0; i < parameters.size(); ++i) {
      const bool in_a = (16 <= i && i < 24) || (48 <= i && i < 56), in_p = (32 <= i && i < 40) || (64 <= i && i < 72);
      const float most = in_p && kind == BiasKind::kPowerKerple ? 2.0f : kInfinity;
      const bool clamped = (in_a || in_p) && kind != BiasKind::kNone && !std::isnan(before[i]);
      const float expected = clamped ? std::clamp(before[i], 0.01f, most) : before[i];
      EXPECT_EQ(std::bit_cast<uint32_t>(parameters[i]), std::bit_cast<uint32_t>(expected)) << i;
    }
  }
}

TEST_P(KerpleTest, TablesHaveBiasAndSlope) {
  for (const BiasKind kind : {BiasKind::kLogKerple, BiasKind::kPowerKerple}) {
    const Floats a = {0.01f, 0.3f, 1, 5, 0.5f, 0.25f, 0.1f, 2}, p = {0.01f, 0.5f, 1, 2, 1.9f, 0.75f, 1.5f, 0.1f};
    Floats distances = Random(13).Uniform(kTable, 0, 2048), table(kHeads * kTable, kNan), slopes = table, alone = table;
    distances[kSpan] = 0;
    distances[0] = 0.5f;
    distances[1] = 1;

    Run([&] { FillTables(kind, a.data(), p.data(), distances.data(), table.data(), slopes.data()); }, table);
    Run([&] { FillTables(kind, a.data(), p.data(), distances.data(), alone.data(), nullptr); }, alone);

    for (size_t i = 0; i < table.size(); ++i) {
      const double d = static_cast<double>(distances[i % kTable]), a_h = static_cast<double>(a[i / kTable]), p_h = static_cast<double>(p[i / kTable]);
      const double bias = KerpleBias(kind, a_h, p_h, d), by = 1e-5;
      const bool log = kind == BiasKind::kLogKerple;
      const double slope = log ? (KerpleBias(kind, a_h + by, p_h, d) - KerpleBias(kind, a_h - by, p_h, d)) / (2 * by)
                               : (KerpleBias(kind, a_h, p_h + by, d) - KerpleBias(kind, a_h, p_h - by, d)) / (2 * by);
      const double tolerance = (log ? 5e-7 : 1.5e-7) * std::abs(bias) * std::numbers::log2e;
      EXPECT_NEAR(static_cast<double>(table[i]), bias * std::numbers::log2e, tolerance) << i;
      EXPECT_NEAR(static_cast<double>(slopes[i]), slope, 1e-5 * std::abs(slope) + 1e-9) << i;
    }
    EXPECT_TRUE(SameBits(table, alone));
  }
}

// The blocks of a member fill tables while one of them clamps: they all have the tables of clamped parameters.
TEST_P(KerpleTest, TablesAreThoseOfClampedParameters) {
  for (const BiasKind kind : {BiasKind::kLogKerple, BiasKind::kPowerKerple}) {
    const ModelPlaces places = KerplePlaces(false);
    Floats parameters = Random(15).Uniform(80, -3, 4);
    const Floats distances = Random(16).Uniform(kTable, 0, 40);
    const auto tables = [&] {
      Floats made(2 * kHeads * kTable, kNan);
      const LayerPlaces& place = places.layer[1];
      Run([&] {
        FillTables(kind, parameters.data() + place.kerple_a, parameters.data() + place.kerple_p, distances.data(), made.data(),
                   made.data() + kHeads * kTable);
      }, made);
      return made;
    };
    const Floats before = tables();

    Run([&] { ClampKerple(places, kind, parameters.data()); }, parameters);

    EXPECT_TRUE(SameBits(before, tables()));
  }
}

// The derivative of sum dS bias by each parameter, by differences.
TEST_P(KerpleTest, SumsBecomeGradientsThatSharingLayersAdd) {
  constexpr size_t kPairs = 50;
  for (const BiasKind kind : {BiasKind::kLogKerple, BiasKind::kPowerKerple}) {
    for (const bool shared : {false, true}) {
      const ModelPlaces places = KerplePlaces(shared);
      Random random(14);
      const Floats parameters = random.Uniform(80, 0.1f, 1.5f), distances = random.Uniform(kTable, 0, 40);
      const Floats ds = random.Normal(2 * kHeads * kPairs);
      Floats gradient(80, kNan), sums[2];
      const auto at = [](const Floats& values, int place, size_t head) { return static_cast<double>(values[static_cast<size_t>(place) + head]); };
      for (size_t layer = 0; layer < 2; ++layer) {
        Floats table(kHeads * kTable), slopes(kHeads * kTable);
        const LayerPlaces& place = places.layer[layer];
        const float *a = parameters.data() + place.kerple_a, *p = parameters.data() + place.kerple_p;
        Run([&] { FillTables(kind, a, p, distances.data(), table.data(), slopes.data()); }, slopes);
        for (size_t h = 0; h < kHeads; ++h) {
          double of_bias = 0, of_slope = 0;
          for (size_t i = 0; i < kPairs; ++i) {
            const double g = static_cast<double>(ds[(layer * kHeads + h) * kPairs + i]);
            of_bias += g * static_cast<double>(table[h * kTable + i]) / std::numbers::log2e;
            of_slope += g * static_cast<double>(slopes[h * kTable + i]);
          }
          sums[layer].push_back(static_cast<float>(of_bias));
          sums[layer].push_back(static_cast<float>(of_slope));
        }
      }

      const auto add = [&] {
        ClearSlopeGradients(places, kind, gradient.data());
        for (size_t layer = 2; layer-- > 0;) AddSlopeGradients(kind, places.layer[layer], parameters.data(), sums[layer].data(), gradient.data());
      };
      Run(add, gradient);

      for (size_t layer = 0; layer < 2; ++layer) {
        const LayerPlaces& place = places.layer[layer];
        for (size_t h = 0; h < kHeads; ++h) {
          const double a = at(parameters, place.kerple_a, h), p = at(parameters, place.kerple_p, h), by = 1e-5;
          double expected_a = 0, expected_p = 0, size = 0;
          for (size_t l = 0; l < 2; ++l) {
            if (!shared && l != layer) continue;
            for (size_t i = 0; i < kPairs; ++i) {
              const double g = static_cast<double>(ds[(l * kHeads + h) * kPairs + i]), d = static_cast<double>(distances[i]);
              expected_a += g * (KerpleBias(kind, a + by, p, d) - KerpleBias(kind, a - by, p, d)) / (2 * by);
              expected_p += g * (KerpleBias(kind, a, p + by, d) - KerpleBias(kind, a, p - by, d)) / (2 * by);
              size += std::abs(g * KerpleBias(kind, a, p, d)) / std::min(a, p);
            }
          }
          EXPECT_NEAR(at(gradient, place.kerple_a, h), expected_a, 1e-6 * size) << "head " << h;
          EXPECT_NEAR(at(gradient, place.kerple_p, h), expected_p, 1e-5 * size) << "head " << h;
        }
      }
      EXPECT_TRUE(std::isnan(gradient[8]) && std::isnan(gradient[24]) && std::isnan(gradient[79]));  // Others'.
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, KerpleTest, kBothOrders, NameOfOrder);

}  // namespace
}  // namespace longreach::trainer::resident
