#include "worker/agent/abilities.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/types/wire_limits.h"

namespace longreach::agent {
namespace {

v1::TrainerReady MachineWith(int threads, double memory_bytes) {
  v1::TrainerReady ready;
  ready.set_threads(threads);
  ready.set_memory_bytes(memory_bytes);
  return ready;
}

TEST(AbilitiesTest, AreAllThatTheMachineHasForOnePack) {
  const v1::Abilities abilities = AbilitiesOf(MachineWith(8, 1e9), "w", /*threads=*/0, /*packs=*/1, /*pack_limit=*/16);

  EXPECT_EQ(abilities.threads(), 8);
  EXPECT_EQ(abilities.memory_bytes(), 1e9);
}

TEST(AbilitiesTest, SayWhichDeviceOfItsKindItIs) {
  v1::TrainerReady ready = MachineWith(8, 1e9);
  ready.set_device("NVIDIA H200");
  ready.set_device_id("GPU-1");
  EXPECT_EQ(AbilitiesOf(ready, "w", /*threads=*/0, /*packs=*/1, /*pack_limit=*/16).device_id(), "GPU-1");
}

TEST(AbilitiesTest, AreTheThreadsThatWereAskedForAndAShareOfTheMemory) {
  const v1::Abilities abilities = AbilitiesOf(MachineWith(8, 1e9), "w", /*threads=*/11, /*packs=*/4, /*pack_limit=*/16);

  EXPECT_EQ(abilities.threads(), 11);
  EXPECT_EQ(abilities.memory_bytes(), 2.5e8);
}

TEST(AbilitiesTest, ADamagedDataSetIsNamedWithAReasonThatACallCarries) {
  v1::Abilities abilities;
  std::string long_reason(kMaxDamageBytes - 1, 'x');
  long_reason += "\u00e9 and more";  // Its character lies across the limit.

  AddDamagedDataSet("words", "/data/caf\xe9/corpus.bin:\nits bytes have changed", abilities);
  AddDamagedDataSet("novels", long_reason, abilities);

  ASSERT_EQ(abilities.damaged_data_sets_size(), 2);
  EXPECT_EQ(abilities.damaged_data_sets(0).name(), "words");
  EXPECT_EQ(abilities.damaged_data_sets(0).reason(), "/data/caf\ufffd/corpus.bin: its bytes have changed");
  EXPECT_EQ(abilities.damaged_data_sets(1).reason(), std::string(kMaxDamageBytes - 1, 'x'));
}

TEST(AbilitiesTest, OfTheDamagedDataSetsNoMoreAreNamedThanTheSchedulerTakes) {
  v1::Abilities abilities;

  for (int i = 0; i < kMaxDamagedDataSets + 5; ++i) AddDamagedDataSet("set-" + std::to_string(i), "it is damaged", abilities);

  ASSERT_EQ(abilities.damaged_data_sets_size(), kMaxDamagedDataSets);
  EXPECT_EQ(abilities.damaged_data_sets(0).name(), "set-0");
}

TEST(ShareOfThreadsTest, AddsUpToAllOfThem) {
  for (int threads = 1; threads <= 20; ++threads) {
    for (int packs = 1; packs <= threads; ++packs) {
      int all = 0;
      for (int pack = 0; pack < packs; ++pack) {
        const int share = ShareOfThreads(threads, packs, pack);
        EXPECT_GE(share, threads / packs);
        EXPECT_LE(share, threads / packs + 1);
        all += share;
      }
      EXPECT_EQ(all, threads) << packs << " packs";
    }
  }
}

TEST(ShareOfThreadsTest, IsOneForEachOfMorePacksThanThreads) {
  for (int pack = 0; pack < 5; ++pack) EXPECT_EQ(ShareOfThreads(2, 5, pack), 1);
}

}  // namespace
}  // namespace longreach::agent
