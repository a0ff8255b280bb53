// The emulated block of threads: what a GPU's would do, and where a GPU's would hang. Atomics are for the thread sanitizer, to which the
// fibers are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident {

namespace {

class EmulationTest : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, EmulationTest, ::testing::Values(Order::kAscending, Order::kDescending),
                         [](const auto& param) { return param.param == Order::kAscending ? "Ascending" : "Descending"; });

TEST_P(EmulationTest, RunsEachThreadOnce) {
  std::vector<int> runs(kThreads);

  RunBlock([&] { ++runs[static_cast<size_t>(Thread())]; }, GetParam());

  EXPECT_EQ(runs, std::vector<int>(kThreads, 1));
}

TEST_P(EmulationTest, TakesTurnsInTheOrderAskedFor) {
  std::vector<int> order(kThreads);
  std::atomic<size_t> next = 0;

  RunBlock([&] { order[next++] = Thread(); }, GetParam());

  const bool ascending = GetParam() == Order::kAscending;
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], ascending ? i : kThreads - 1 - i);
}

TEST_P(EmulationTest, WaitsForTheWholeBlock) {
  std::atomic<int> before = 0, missing = 0;

  RunBlock(
      [&] {
        for (int round = 1; round <= 3; ++round) {
          ++before;
          SyncBlock();
          missing += round * kThreads - before;
          SyncBlock();
        }
      },
      GetParam());

  EXPECT_EQ(missing, 0);
  EXPECT_EQ(before, 3 * kThreads);
}

// Also after they have met: of any two threads each is first in one of the orders.
TEST_P(EmulationTest, TakesTurnsInTheOrderAskedForFromEachBarrierOn) {
  constexpr int kRounds = 4;
  std::vector<int> of_block(kRounds * kThreads), of_warps(kRounds * kThreads);
  std::atomic<size_t> next = 0, next_of_warp[kWarps] = {};

  RunBlock(
      [&] {
        for (int round = 0; round < kRounds; ++round) {
          of_block[next++] = Thread();
          SyncBlock();
        }
        for (int round = 0; round < kRounds; ++round) {
          of_warps[static_cast<size_t>(Warp() * kRounds * 32) + next_of_warp[Warp()]++] = Lane();
          if (round % 2 == 0) {
            SyncWarp();
          } else {
            ShuffleXor(1.0f, 1);
          }
        }
      },
      GetParam());

  const bool ascending = GetParam() == Order::kAscending;
  for (int i = 0; i < kRounds * kThreads; ++i) {
    EXPECT_EQ(of_block[static_cast<size_t>(i)], ascending ? i % kThreads : kThreads - 1 - i % kThreads) << i;
    EXPECT_EQ(of_warps[static_cast<size_t>(i)], ascending ? i % 32 : 31 - i % 32) << i;
  }
}

TEST_P(EmulationTest, ShufflesWithinAWarp) {
  std::vector<float> got(kThreads);

  RunBlock(
      [&] {
        float x = static_cast<float>(Thread());
        for (int mask = 1; mask < 32; mask *= 2) x += ShuffleXor(x, mask);
        got[static_cast<size_t>(Thread())] = x;
      },
      GetParam());

  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], static_cast<float>(i / 32 * 32 * 32 + 31 * 16));
}

TEST_P(EmulationTest, AddsSeveralOfAPartnersAtOnce) {
  std::atomic<int> wrong = 0;

  RunBlock(
      [&] {
        const auto first = [](int lane) { return static_cast<float>(lane); };
        const auto second = [](int lane) { return static_cast<float>(100 * lane); };
        float x[2] = {first(Lane()), second(Lane())};
        AddPartners(x, 5);
        wrong += x[0] != first(Lane()) + first(Lane() ^ 5) || x[1] != second(Lane()) + second(Lane() ^ 5);
      },
      GetParam());

  EXPECT_EQ(wrong, 0);
}

// A row-major matrix of small whole numbers: they and their products are exact in every arithmetic.
std::vector<float> WholeNumbers(int count, int seed) {
  std::vector<float> m(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) m[static_cast<size_t>(i)] = static_cast<float>((i * 37 + seed * 11) % 17 - 8);
  return m;
}

// Each element of the operands goes where the head of warp.h says, in its own words.
TEST_P(EmulationTest, MultipliesMatricesThatLieAmongTheThreads) {
  const std::vector<float> a = WholeNumbers(16 * 16, 1), b = WholeNumbers(16 * 8, 2), start = WholeNumbers(16 * 8, 3);
  std::vector<float> got8(16 * 8), got16(16 * 8);

  RunBlock(
      [&] {
        const int g = Lane() / 4, c = Lane() % 4;
        const auto a_pair = [&](int row, int column) {
          return Pack(a[static_cast<size_t>(row * 16 + column)], a[static_cast<size_t>(row * 16 + column + 1)]);
        };
        const auto b_pair = [&](int row, int column) {
          return Pack(b[static_cast<size_t>(row * 8 + column)], b[static_cast<size_t>((row + 1) * 8 + column)]);
        };
        const auto place = [&](int i) { return static_cast<size_t>((g + i / 2 * 8) * 8 + 2 * c + i % 2); };
        float sums8[4], sums16[4];
        for (int i = 0; i < 4; ++i) sums8[i] = sums16[i] = start[place(i)];
        Mma8(sums8, a_pair(g, 2 * c), a_pair(g + 8, 2 * c), b_pair(2 * c, g));
        Mma16(sums16, a_pair(g, 2 * c), a_pair(g + 8, 2 * c), a_pair(g, 2 * c + 8), a_pair(g + 8, 2 * c + 8), b_pair(2 * c, g),
              b_pair(2 * c + 8, g));
        for (int i = 0; i < 4 && Warp() == 5; ++i) {  // All warps have the same.
          got8[place(i)] = sums8[i];
          got16[place(i)] = sums16[i];
        }
      },
      GetParam());

  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const size_t at = static_cast<size_t>(row * 8 + column);
      float want = start[at];
      for (int k = 0; k < 16; ++k) {
        if (k == 8) {
          EXPECT_EQ(got8[at], want) << row << " " << column;
        }
        want += a[static_cast<size_t>(row * 16 + k)] * b[static_cast<size_t>(k * 8 + column)];
      }
      EXPECT_EQ(got16[at], want) << row << " " << column;
    }
  }
}

TEST_P(EmulationTest, LoadsAndTransposesMatrices) {
  constexpr int kLd = 24;
  alignas(16) Half memory[32 * kLd];
  for (int i = 0; i < 32 * kLd; ++i) memory[i] = static_cast<Half>(i);
  const auto at = [&](int matrix, int row, int column) { return uint32_t{memory[(8 * matrix + row) * kLd + column]}; };
  std::atomic<int> wrong = 0;

  RunBlock(
      [&] {
        const int g = Lane() / 4, c = Lane() % 4;
        uint32_t as_it_lies[4], transposed[4], two[2];
        Load4(as_it_lies, memory + Lane() * kLd);
        Load4Transposed(transposed, memory + Lane() * kLd);
        Load2Transposed(two, memory + Lane() % 16 * kLd);
        uint32_t turned[4];
        for (int i = 0; i < 4; ++i) turned[i] = at(i, g, 2 * c) | at(i, g, 2 * c + 1) << 16;
        Transpose8x8(turned);
        for (int i = 0; i < 4; ++i) {
          const uint32_t row = at(i, g, 2 * c) | at(i, g, 2 * c + 1) << 16, column = at(i, 2 * c, g) | at(i, 2 * c + 1, g) << 16;
          wrong += as_it_lies[i] != row;
          wrong += transposed[i] != column;
          if (i < 2) wrong += two[i] != column;
          wrong += turned[i] != column;
        }
      },
      GetParam());

  EXPECT_EQ(wrong, 0);
}

// In one order a copy lands as late as it may, when its thread waits for its group; in the other at once.
TEST_P(EmulationTest, CopiesLandWhenTheirGroupIsWaitedForAtTheLatest) {
  std::vector<float> from(8 * kThreads), to(8 * kThreads, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  std::atomic<int> wrong = 0;
  const bool early = GetParam() == Order::kDescending;

  RunBlock(
      [&] {
        const size_t first = 8 * static_cast<size_t>(Thread());
        const auto landed = [&](size_t i) { return to[first + i] == from[first + i]; };
        BeginCopy16(&to[first], &from[first]);
        BeginCopy8(&to[first + 4], &from[first + 4]);
        EndGroupOfCopies();
        BeginCopy4(&to[first + 6], &from[first + 6]);
        EndGroupOfCopies();
        EndGroupOfCopies();
        AwaitCopies<3>();
        wrong += landed(0) != early || landed(4) != early || landed(6) != early;
        AwaitCopies<2>();
        wrong += !landed(0) || !landed(3) || !landed(5) || landed(6) != early;
        AwaitCopies<0>();
        wrong += !landed(6) || landed(7);
        AwaitCopies<0>();
      },
      GetParam());

  EXPECT_EQ(wrong, 0);
}

// In either order of threads what is under way is done when that is asked for, and not before nor after.
TEST(CopiesTest, LandLateOrAtOnceInEitherOrder) {
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const Done done : {Done::kLate, Done::kAtOnce}) {
      std::vector<float> from(kThreads, 1.0f), to(kThreads, 0.0f);
      std::atomic<int> wrong = 0;

      RunBlock(
          [&] {
            const size_t mine = static_cast<size_t>(Thread());
            BeginCopy4(&to[mine], &from[mine]);
            EndGroupOfCopies();
            wrong += (to[mine] == 1.0f) != (done == Done::kAtOnce);
            AwaitCopies<0>();
            wrong += to[mine] != 1.0f;
          },
          order, done);

      EXPECT_EQ(wrong, 0);
    }
  }
}

#if defined(LONGREACH_RESIDENT_FLOAT16)

TEST(PackTest, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(Pack(1.0f, -2.0f), 0xc0003c00u);
  EXPECT_EQ(Pack(1.00048828125f, 1.00146484375f), 0x3c023c00u);  // Halfway between two: to the even one, down and up.
  EXPECT_EQ(Pack(65519.0f, -65520.0f), 0xfc007bffu);              // The largest number, and what is nearer to the next.
  EXPECT_EQ(Pack(3.4e38f, 0.5e-7f), 0x00017c00u);
  EXPECT_EQ(Pack(0x1p-25f, 0x1.8p-24f), 0x00020000u);  // Halfway between the smallest numbers.
  EXPECT_EQ(Pack(0x1.ff8p-15f, 0x1p-14f), 0x040003ffu);
  EXPECT_TRUE(std::isnan(Low(Pack(NAN, 0.0f))));
  EXPECT_EQ(High(Pack(0.0f, -INFINITY)), -INFINITY);
}

TEST(PackTest, KeepsEveryNumberOfSixteenBits) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float x = ToFloat(static_cast<Half>(bits));
    if (std::isnan(x)) continue;
    ASSERT_EQ(Pack(x, 0.0f), bits) << x;
  }
}

#else

TEST(PackTest, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(Pack(1.0f, -2.0f), 0xc0003f80u);
  EXPECT_EQ(Pack(1.00390625f, 1.01171875f), 0x3f823f80u);  // Halfway between two: to the even one, down and up.
  EXPECT_EQ(Pack(1.00391f, 3.4e38f), 0x7f803f81u);
  EXPECT_TRUE(std::isnan(Low(Pack(NAN, 0.0f))));
  EXPECT_EQ(High(Pack(0.0f, -INFINITY)), -INFINITY);
}

#endif

// What each thread reads of what each thread of the block, or of its warp, has just written, after so many barriers: with one in between, or without.
template <class Meet>
std::vector<bool> SeenOfOthers(Order order, int threads, int barriers, bool waits, const Meet& meet) {
  std::vector<std::atomic<int>> written(kThreads);
  std::vector<std::atomic<int>> seen(static_cast<size_t>(kThreads * threads));
  RunBlock(
      [&] {
        for (int i = 0; i < barriers; ++i) meet();
        written[static_cast<size_t>(Thread())] = 1;
        if (waits) meet();
        for (int i = 0; i < threads; ++i) {
          seen[static_cast<size_t>(Thread() * threads + i)] = written[static_cast<size_t>(Thread() / threads * threads + i)].load();
        }
      },
      order);
  return {seen.begin(), seen.end()};
}

// So no barrier can be missing anywhere between what one thread writes and another one reads, or the other way round, and the orders have the same bits.
template <class Meet>
void ExpectToShowMissingBarriers(int threads, const Meet& meet) {
  for (const int barriers : {0, 1, 2, 3}) {
    const auto seen = [&](Order order, bool waits) { return SeenOfOthers(order, threads, barriers, waits, meet); };
    const std::vector<bool> ascending = seen(Order::kAscending, false), descending = seen(Order::kDescending, false);
    const std::vector<bool> all(ascending.size(), true);
    EXPECT_EQ(seen(Order::kAscending, true), all);
    EXPECT_EQ(seen(Order::kDescending, true), all);
    for (size_t i = 0; i < all.size(); ++i) {
      const int reader = static_cast<int>(i) / threads % threads, writer = static_cast<int>(i) % threads;
      EXPECT_EQ(ascending[i], writer <= reader) << barriers << " barriers before, writer " << writer << ", reader " << reader;
      EXPECT_EQ(descending[i], writer >= reader) << barriers << " barriers before, writer " << writer << ", reader " << reader;
    }
  }
}

TEST(MissingBarrierTest, ShowsBetweenAnyTwoThreadsOfABlock) {
  ExpectToShowMissingBarriers(kThreads, [] { SyncBlock(); });
}
TEST(MissingBarrierTest, ShowsBetweenAnyTwoThreadsOfAWarp) {
  ExpectToShowMissingBarriers(32, [] { SyncWarp(); });
}

TEST(EmulationOnThreadsTest, BlocksOfSeveralThreadsDoNotMeet) {
  std::atomic<int> sums[2] = {};
  {
    std::vector<std::jthread> threads;
    for (std::atomic<int>& sum : sums) {
      threads.emplace_back([&sum] {
        for (int round = 0; round < 10; ++round) {
          RunBlock([&] {
            ++sum;
            SyncBlock();
          });
        }
      });
    }
  }
  EXPECT_EQ(sums[0], 10 * kThreads);
  EXPECT_EQ(sums[1], 10 * kThreads);
}

TEST(EmulationDeathTest, EndsWhereABlockWouldWaitForEver) {
  EXPECT_DEATH(RunBlock([] {
                 if (Warp() != 3) SyncBlock();
               }),
               "emulated block: a dead-lock .* 0 threads wait for their warp, 224 for the block, 32 have ended");
}

TEST(EmulationDeathTest, EndsWhereAWarpWouldWaitForEver) {
  EXPECT_DEATH(RunBlock([] {
                 if (Thread() != 40) SyncWarp();
               }),
               "emulated block: a dead-lock .*31 threads wait for their warp, 0 for the block, 225 have ended");
}

TEST(EmulationDeathTest, EndsWhereAWarpMeetsAtDifferentInstructions) {
  EXPECT_DEATH(RunBlock([] {
                 if (Lane() == 7) {
                   SyncWarp();
                 } else {
                   ShuffleXor(1.0f, 1);
                 }
               }),
               "emulated block: the threads of a warp meet at different instructions");
  EXPECT_DEATH(RunBlock([] {
                 float x[2] = {};
                 if (Lane() == 7) {
                   AddPartners(x, 1);
                 } else {
                   ShuffleXor(1.0f, 1);
                 }
               }),
               "emulated block: the threads of a warp meet at different instructions");
}

TEST(EmulationDeathTest, EndsAtARowThatIsNotAligned) {
  alignas(16) static Half memory[64 * 8];
  EXPECT_DEATH(RunBlock([] {
                 uint32_t to[4];
                 Load4(to, memory + 8 * Lane() + 4);
               }),
               "emulated block: a row of a matrix that is not aligned to 16 bytes");
}

TEST(EmulationDeathTest, EndsAtACopyThatIsNotAligned) {
  alignas(16) float from[8] = {}, to[8] = {};
  EXPECT_DEATH(RunBlock([&] { BeginCopy16(to, from + 1); }), "emulated block: a copy that is not aligned to its size");
  EXPECT_DEATH(RunBlock([&] { BeginCopy8(to + 1, from); }), "emulated block: a copy that is not aligned to its size");
}

TEST(EmulationDeathTest, EndsAtAThreadWhoseCopiesAreUnderWay) {
  alignas(16) float from[4] = {}, to[4] = {};
  EXPECT_DEATH(RunBlock([&] {
                 BeginCopy16(to, from);
                 EndGroupOfCopies();
               }),
               "emulated block: a thread ends whose copies are under way");
}

TEST(EmulationDeathTest, EndsAtAPromiseOfMemoryThatIsBroken) {
  static char shared[64];
  static float elsewhere[16];
  RunBlock([] {
    AssumeShared<sizeof(shared)>(shared);
    AssumeGlobal(elsewhere, shared + sizeof(shared), static_cast<const float*>(nullptr));
  });
  EXPECT_DEATH(RunBlock([] {
                 AssumeShared<sizeof(shared)>(shared);
                 AssumeGlobal(elsewhere, shared + 63);
               }),
               "emulated block: a pointer into shared memory where one into the GPU's was promised");
}

TEST(EmulationDeathTest, EndsAtABlockWithinABlock) {
  EXPECT_DEATH(RunBlock([] { RunBlock([] {}); }), "emulated block: a block within a block");
}

}  // namespace

}  // namespace longreach::trainer::resident
