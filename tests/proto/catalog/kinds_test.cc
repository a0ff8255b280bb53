// What the catalog knows of experiment kinds by name.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "proto/catalog/catalog.h"
#include "proto/catalog/decoders.h"
#include "proto/catalog/packs.h"

namespace longreach::catalog {
namespace {

TEST(KindsTest, TasksWithDataAscendAndAreOfAKindThatHasAScore) {
  EXPECT_TRUE(std::ranges::is_sorted(DataTasks(), {}, &DataTask::name)) << "they are found by that";
  for (const DataTask& task : DataTasks()) {
    EXPECT_EQ(FindTask(task.name), nullptr) << task.name;
    EXPECT_NE(FindMetric(MainMetric(task.experiment)), nullptr) << task.name;
  }
}

TEST(KindsTest, PairsOfSequencesAreScoredAndPackedAsAlgorithmicTasks) {
  const DataTask* const pairs = FindDataTask("pairs");
  ASSERT_NE(pairs, nullptr);
  EXPECT_EQ(pairs->experiment, "sequences");
  EXPECT_EQ(MainMetric("sequences"), "accuracy");
  for (const bool cuda : {false, true}) {
    for (const std::string engine : {"", "resident"}) {
      EXPECT_EQ(UsualPacks("sequences", cuda, engine, 16), UsualPacks("algorithmic", cuda, engine, 16)) << cuda << engine;
      EXPECT_EQ(UsualPacks("language", cuda, engine, 16), 1) << cuda << engine;
    }
  }
}

TEST(KindsTest, ATaskHasSeveralOutputsWhereTheyAreReadOneAfterTheOther) {
  EXPECT_TRUE(HasSeveralOutputs("reverse_string"));
  EXPECT_FALSE(HasSeveralOutputs("parity_check"));
  EXPECT_TRUE(HasSeveralOutputs("pairs")) << "only their data set knows";
  EXPECT_FALSE(HasSeveralOutputs("enwik8"));
  EXPECT_FALSE(HasSeveralOutputs("no such task"));
}

}  // namespace
}  // namespace longreach::catalog
