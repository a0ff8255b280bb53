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

  Square(Random& random, bool transposed, double deviation = 1) : numbers(random.Normals(kSquare, deviation)) {
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
void ExpectProducts(Order order, GroupProducts group_products) {
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
      order, group_products);
  set.ExpectProduct(a, b, 0, 0);
  added.ExpectProduct(a, b, 0.5, 0);
  of_registers.ExpectProduct(a, b, 0, 0);
  added_to_registers.ExpectProduct(a, b, -2, 0);
}

class WarpgroupTest : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, WarpgroupTest, ::testing::Values(Order::kAscending, Order::kDescending),
                         [](const auto& param) { return param.param == Order::kAscending ? "Ascending" : "Descending"; });

TEST_P(WarpgroupTest, MultipliesFactorsThatLieEitherWayRound) {
  for (const GroupProducts group_products : {GroupProducts::kAtOnce, GroupProducts::kByWarps}) {
    ExpectProducts<false, false>(GetParam(), group_products);
    ExpectProducts<false, true>(GetParam(), group_products);
    ExpectProducts<true, false>(GetParam(), group_products);
    ExpectProducts<true, true>(GetParam(), group_products);
  }
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

// `more` += A B, or with kSet more = A B, from memory or from registers.
template <bool kSet, bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
void FromMemory(float (&more)[kN][4], const Half* a, const Half* b, int column) {
  if constexpr (kSet) {
    GroupMultiply<kAIsColumn, kBIsRow, kSteps>(more, a, b);
  } else {
    GroupMultiplyAdd<kAIsColumn, kBIsRow, kSteps>(more, a, b, column);
  }
}
template <bool kSet, bool kBIsRow>
void FromRegisters(float (&more)[8][4], const uint32_t (&a)[4][4], const Half* b) {
  if constexpr (kSet) {
    GroupMultiply<kBIsRow, 4>(more, a, b);
  } else {
    GroupMultiplyAdd<kBIsRow, 4>(more, a, b);
  }
}

// Sums, of which the order of additions shows, are the same to the last bit however a warp makes its part of a product.
template <int kN, class Multiply>
void ExpectBitsOfWarps(Order order, const Multiply& multiply) {
  Results<kN> at_once, by_warps;
  for (Results<kN>* results : {&at_once, &by_warps}) {
    RunBlock(
        [&] {
          float sums[kN][4];
          for (int i = 0; i < 4 * kN; ++i) sums[i / 4][i % 4] = 0.1f * static_cast<float>(i - kN) + 0.01f * static_cast<float>(Thread());
          multiply(sums);
          results->Take(sums);
        },
        order, results == &at_once ? GroupProducts::kAtOnce : GroupProducts::kByWarps);
  }
  EXPECT_EQ(std::memcmp(at_once.numbers.data(), by_warps.numbers.data(), at_once.numbers.size() * sizeof(double)), 0);
}

template <bool kSet, bool kAIsColumn, bool kBIsRow>
void ExpectBitsOfWarps(Order order, double deviation) {
  SCOPED_TRACE(::testing::Message() << "set " << kSet << ", columns of A " << kAIsColumn << ", rows of B " << kBIsRow << ", deviation " << deviation);
  Random random(11);
  Square a(random, kAIsColumn, deviation), b(random, !kBIsRow, deviation);
  const auto in_a_batch = [](auto& sums, const auto& product) {
    BeginProducts(sums);
    product();
    EndProducts();
    AwaitProducts<0>(sums);
  };
  ExpectBitsOfWarps<8>(order, [&](auto& sums) { in_a_batch(sums, [&] { FromMemory<kSet, kAIsColumn, kBIsRow, 4>(sums, a.at(), b.at(), 0); }); });
  ExpectBitsOfWarps<8>(order, [&](auto& sums) { in_a_batch(sums, [&] { FromMemory<kSet, kAIsColumn, kBIsRow, 1>(sums, a.at(), b.at(), 0); }); });
  if constexpr (!kSet && kBIsRow) {
    ExpectBitsOfWarps<4>(order, [&](auto& sums) { in_a_batch(sums, [&] { FromMemory<false, kAIsColumn, true, 1>(sums, a.at(), b.at(), 32); }); });
  }
  ExpectBitsOfWarps<8>(order, [&](auto& sums) {
    uint32_t factor[4][4];
    for (int k = 0; k < 4; ++k) LoadGroupA<kAIsColumn>(factor[k], a.at(), k);
    in_a_batch(sums, [&] { FromRegisters<kSet, kBIsRow>(sums, factor, b.at()); });
  });
}

TEST_P(WarpgroupTest, HasTheBitsOfTheInstructionsOfWarps) {
  for (const double deviation : {1.0, 1e-5}) {  // Of float16 many such small numbers have less digits.
    ExpectBitsOfWarps<false, false, false>(GetParam(), deviation);
    ExpectBitsOfWarps<false, false, true>(GetParam(), deviation);
    ExpectBitsOfWarps<false, true, false>(GetParam(), deviation);
    ExpectBitsOfWarps<false, true, true>(GetParam(), deviation);
    ExpectBitsOfWarps<true, false, false>(GetParam(), deviation);
    ExpectBitsOfWarps<true, false, true>(GetParam(), deviation);
    ExpectBitsOfWarps<true, true, false>(GetParam(), deviation);
    ExpectBitsOfWarps<true, true, true>(GetParam(), deviation);
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
  EXPECT_DEATH(run([&](auto& sums) {
                 BeginProducts();
                 GroupMultiply<false, true, 1>(sums, a.at(), b.at() + (Lane() == 9 ? kFactorNumbers : 0));
                 EndProducts();
                 AwaitProducts<0>(sums);
               }),
               "the threads of a warp have different products");
}

// A product of two squares that threads have written into shared memory, of which publish(do_publish) tells how they published them.
template <class Publish>
void MultiplyWhatIsPublished(const Publish& publish, GroupProducts group_products = GroupProducts::kAtOnce) {
  SharedMemory memory(2 * kSquare * sizeof(Half), 0);
  Half* const squares = reinterpret_cast<Half*>(memory.data());
  RunBlock(
      [&] {
        AssumeShared<2 * kSquare * sizeof(Half)>(memory.data());
        for (int i = Thread(); i < kSquare; i += kThreads) StorePair(squares + 2 * i, Pack(1.0f, 1.0f));
        publish(squares);
        float sums[8][4];
        BeginProducts();
        GroupMultiply<false, true, 4>(sums, squares, squares + kSquare);
        EndProducts();
        AwaitProducts<0>(sums);
        EXPECT_EQ(sums[0][0], 64.0f);
      },
      Order::kAscending, group_products);
}

TEST(WarpgroupTest, ProductsReadWhatWasPublished) {
  MultiplyWhatIsPublished([](Half*) {
    PublishToProducts();
    SyncBlock();
  });
  MultiplyWhatIsPublished([](Half* squares) {
    PublishToProducts();
    SyncBlock();
    StorePair(squares + 2 * Thread(), Pack(1.0f, 1.0f));  // As it was.
    PublishToProducts();
    PublishToProducts();
    SyncBlock();
    SyncBlock();
  });
  MultiplyWhatIsPublished([](Half*) { SyncBlock(); }, GroupProducts::kByWarps);  // They read as threads do.
}

TEST(WarpgroupDeathTest, SaysWhatWasNotPublished) {
  const char* const kSaid = "a product reads what was not published to it";
  EXPECT_DEATH(MultiplyWhatIsPublished([](Half*) { SyncBlock(); }), kSaid);
  EXPECT_DEATH(MultiplyWhatIsPublished([](Half*) {
                 SyncBlock();
                 if (Warp() != 5) PublishToProducts();
                 SyncBlock();
                 if (Warp() == 5) PublishToProducts();  // After the others, who did not wait for it.
               }),
               kSaid);
  EXPECT_DEATH(MultiplyWhatIsPublished([](Half* squares) {
                 PublishToProducts();
                 SyncBlock();
                 StorePair(squares + 2 * Thread(), Pack(2.0f, 1.0f));
                 SyncBlock();
               }),
               kSaid);
}

}  // namespace

}  // namespace longreach::trainer::resident
