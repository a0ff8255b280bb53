// Products of a warpgroup: both ways round that a factor may lie in, by loops in float64.
#include "worker/trainer/resident/warpgroup.h"

#include "tests/worker/trainer/resident/kernels_fixture.h"

namespace longreach::trainer::resident {

namespace {

constexpr int kSide = 64;

// A matrix [64, 64] whose numbers 16 bits hold exactly, as it lies in shared memory, or its transpose.
struct Square {
  Vector numbers;
  SharedMemory memory = SharedMemory(kSquare * sizeof(Half), 0xff);

  Square(Random& random, bool transposed) : numbers(random.Normals(kSquare, 1)) {
    const Input<Half> rounded(numbers);
    for (int row = 0; row < kSide; ++row) {
      for (int column = 0; column < kSide; ++column) {
        at()[transposed ? PlaceInSquares(column, row) : PlaceInSquares(row, column)] = rounded.data()[row * kSide + column];
      }
    }
  }
  Half* at() { return reinterpret_cast<Half*>(memory.data()); }
  double operator()(int row, int column) const { return numbers[reference::At(row, kSide, column)]; }
};

// What each group has, [kGroups, 64, 8 kN], from its threads' sums.
template <int kN>
struct Results {
  Vector numbers = Vector(kGroups * kSide * 8 * kN);

  void Take(const float (&sums)[kN][4]) {
    for (int n = 0; n < kN; ++n) {
      for (int i = 0; i < 4; ++i) {
        const int row = kSide * Group() + RowOfGroup() + (Lane() >> 2) + 8 * (i >> 1);
        numbers[reference::At(row, 8 * kN, 8 * n + 2 * (Lane() & 3) + (i & 1))] = static_cast<double>(sums[n][i]);
      }
    }
  }
  // start + A B, of B from `column` on.
  void ExpectProduct(const Square& a, const Square& b, double start, int column) const {
    for (int row = 0; row < kGroups * kSide; ++row) {
      for (int n = 0; n < 8 * kN; ++n) {
        double want = start;
        for (int k = 0; k < kSide; ++k) want += a(row % kSide, k) * b(k, column + n);
        ASSERT_NEAR(numbers[reference::At(row, 8 * kN, n)], want, 1e-4) << "row " << row << ", column " << n;
      }
    }
  }
};

template <bool kAIsColumn, bool kBIsRow>
void ExpectProducts(Order order) {
  Random random(7);
  Square a(random, kAIsColumn), b(random, !kBIsRow);
  Results<8> set, added, of_registers, added_to_registers;
  RunBlock(
      [&] {
        float sums[8][4], more[8][4];
        uint32_t factor[4][4];
        for (auto& four : more) four[0] = four[1] = four[2] = four[3] = 0.5f;
        for (int k = 0; k < 4; ++k) LoadGroupA<kAIsColumn>(factor[k], a.at(), k);
        BeginProducts(more);
        GroupMultiply<kAIsColumn, kBIsRow, 4>(sums, a.at(), b.at());
        GroupMultiplyAdd<kAIsColumn, kBIsRow, 4>(more, a.at(), b.at());
        EndProducts();
        AwaitProducts<0>(sums, more);
        set.Take(sums);
        added.Take(more);
        for (auto& four : more) four[0] = four[1] = four[2] = four[3] = -2.0f;
        BeginProducts(more, factor);
        GroupMultiply<kBIsRow, 4>(sums, factor, b.at());
        GroupMultiplyAdd<kBIsRow, 4>(more, factor, b.at());
        EndProducts();
        AwaitProducts<0>(sums, more, factor);
        of_registers.Take(sums);
        added_to_registers.Take(more);
      },
      order);
  set.ExpectProduct(a, b, 0, 0);
  added.ExpectProduct(a, b, 0.5, 0);
  of_registers.ExpectProduct(a, b, 0, 0);
  added_to_registers.ExpectProduct(a, b, -2, 0);
}

class WarpgroupTest : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, WarpgroupTest, ::testing::Values(Order::kAscending, Order::kDescending),
                         [](const auto& param) { return param.param == Order::kAscending ? "Ascending" : "Descending"; });

TEST_P(WarpgroupTest, MultipliesFactorsThatLieEitherWayRound) {
  ExpectProducts<false, false>(GetParam());
  ExpectProducts<false, true>(GetParam());
  ExpectProducts<true, false>(GetParam());
  ExpectProducts<true, true>(GetParam());
}

TEST_P(WarpgroupTest, MultipliesHalfOfTheColumns) {
  Random random(8);
  Square a(random, true), b(random, false);
  for (const int column : {0, 32}) {
    Results<4> got;
    RunBlock(
        [&] {
          float sums[4][4] = {};
          BeginProducts(sums);
          for (int k = 0; k < kSide; k += 16) GroupMultiplyAdd<true, true, 1>(sums, a.at() + k * kRowLd, b.at() + k * kRowLd, column);
          EndProducts();
          AwaitProducts<0>(sums);
          got.Take(sums);
        },
        GetParam());
    got.ExpectProduct(a, b, 0, column);
  }
}

TEST_P(WarpgroupTest, KeepsWhatIsPositive) {
  const float numbers[] = {1.5f, -1.5f, 0.0f, -0.0f, 65504.0f, -65504.0f, 0.0001f, -0.0001f};
  RunBlock(
      [&] {
        for (const float low : numbers) {
          for (const float high : numbers) {
            const uint32_t pair = Pack(low, high), positive = PositiveOf(pair);
            EXPECT_EQ(positive, Pack(low > 0 ? low : 0.0f, high > 0 ? high : 0.0f));
            const uint32_t where = WherePositive(Pack(-3.0f, 4.0f), positive);
            EXPECT_EQ(where, Pack(low > 0 ? -3.0f : 0.0f, high > 0 ? 4.0f : 0.0f));
          }
        }
      },
      GetParam());
}

// In one order products are done as late as they may be, when they are waited for; in the other at once.
TEST_P(WarpgroupTest, ProductsAreDoneWhenTheirBatchIsWaitedForAtTheLatest) {
  Random random(10);
  Square a(random, false), b(random, false);
  const bool late = GetParam() == Order::kAscending;
  RunBlock(
      [&] {
        float first[8][4], second[8][4];
        first[0][0] = second[0][0] = 1000.0f;
        BeginProducts();
        GroupMultiply<false, true, 4>(first, a.at(), b.at());
        EndProducts();
        BeginProducts();
        GroupMultiply<false, true, 4>(second, a.at(), b.at());
        EndProducts();
        EXPECT_EQ(first[0][0] == 1000.0f, late);
        AwaitProducts<1>(first);
        EXPECT_NE(first[0][0], 1000.0f);
        EXPECT_EQ(second[0][0] == 1000.0f, late);
        AwaitProducts<0>(second);
        EXPECT_EQ(second[0][0], first[0][0]);
      },
      GetParam());
}

TEST(WarpgroupDeathTest, SaysWhatAGpuWouldNotHaveDone) {
  Random random(9);
  Square a(random, false), b(random, false);
  const auto run = [&](const auto& body) {
    RunBlock([&] {
      float sums[8][4];
      body(sums);
    });
  };
  EXPECT_DEATH(run([&](auto& sums) {
                 BeginProducts();
                 GroupMultiply<false, true, 1>(sums, a.at() + 8 * kRowLd - 8, b.at());
               }),
               "not aligned to 1024 bytes");
  EXPECT_DEATH(run([&](auto& sums) { GroupMultiply<false, true, 1>(sums, a.at(), b.at()); }), "a product outside of a batch");
  EXPECT_DEATH(run([&](auto&) { EndProducts(); }), "a batch of products ends that has not begun");
  EXPECT_DEATH(run([&](auto& sums) {
                 BeginProducts();
                 GroupMultiply<false, true, 1>(sums, a.at(), b.at());
                 AwaitProducts<0>(sums);
               }),
               "products are waited for whose batch has not ended");
  EXPECT_DEATH(run([&](auto& sums) {
                 BeginProducts();
                 GroupMultiply<false, true, 1>(sums, a.at(), b.at());
                 EndProducts();
               }),
               "a thread ends whose products are under way");
}

}  // namespace

}  // namespace longreach::trainer::resident
