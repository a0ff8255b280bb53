#include "proto/base/instruction_sets.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

TEST(InstructionSetsTest, AreFoundByTheirNames) {
  for (const InstructionSet set : InstructionSets()) EXPECT_EQ(FindInstructionSet(NameOf(set)), set) << NameOf(set);
  for (const char* name : {"", "avx", "AVX2", "avx512amx-bf16", "lanes-avx2", "avx1024"}) EXPECT_EQ(FindInstructionSet(name), std::nullopt) << name;
}

TEST(InstructionSetsTest, OneThatRunsHasThoseBeforeIt) {
  bool before = true;
  EXPECT_TRUE(RunsHere(InstructionSet::kPortable));
  for (const InstructionSet set : InstructionSets()) {
    EXPECT_TRUE(before || !RunsHere(set)) << NameOf(set);
    before = RunsHere(set);
  }
}

}  // namespace
}  // namespace longreach
