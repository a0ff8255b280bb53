#include "worker/agent/abilities.h"

#include <gtest/gtest.h>

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

TEST(AbilitiesTest, AreSharesOfTheThreadsThatWereAskedForAndOfTheMemory) {
  const v1::Abilities abilities = AbilitiesOf(MachineWith(8, 1e9), "w", /*threads=*/11, /*packs=*/4, /*pack_limit=*/16);

  EXPECT_EQ(abilities.threads(), 2);
  EXPECT_EQ(abilities.memory_bytes(), 2.5e8);
}

TEST(AbilitiesTest, HaveOneThreadForEachOfMorePacksThanThreads) {
  EXPECT_EQ(AbilitiesOf(MachineWith(2, 1e9), "w", /*threads=*/0, /*packs=*/5, /*pack_limit=*/16).threads(), 1);
}

}  // namespace
}  // namespace longreach::agent
