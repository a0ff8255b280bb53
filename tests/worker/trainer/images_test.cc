// Which images a test takes.
#include <memory>
#include <set>
#include <vector>

#include "tests/worker/trainer/data_fixture.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

namespace {

// Of 64, whose four classes take turns: images at equal distances would all be of one.
class ImagesTest : public DataTest {
 protected:
  void SetUp() override {
    DataTest::SetUp();
    data::NoProgress quiet;
    data::SyntheticImages images{.folder = Folder("data"), .name = "more", .train = 4, .valid = 64};
    images.shards.sizes = {{.rows = 3, .cols = 3}, {.rows = 4, .cols = 4}};
    ASSERT_TRUE(data::MakeSyntheticImages(images, quiet).ok());
  }

  // Classes of the tested images.
  std::vector<int> Tested(int examples, int length, uint32_t seed = 0) {
    PackSettings settings = Small("images", "none", false);
    settings.data = "more";
    settings.evaluation.examples = examples;
    settings.evaluation.seed = seed;
    const absl::StatusOr<std::unique_ptr<Problem>> problem = MakeProblem(settings, {.folder = Folder("data"), .sha256 = ""});
    EXPECT_TRUE(problem.ok()) << problem.status();
    std::vector<int> classes;
    for (int part = 0; problem.ok() && part < (*problem)->TestParts(length); ++part) {
      const Batch batch = (*problem)->TestBatch(PositionUse::kNothing, length, part);
      classes.insert(classes.end(), batch.targets.begin(), batch.targets.end());
    }
    return classes;
  }
};

TEST_F(ImagesTest, ATestOfSomeSeesAllClassesAndTheSameImagesAtEachLength) {
  const std::vector<int> some = Tested(16, 12);

  EXPECT_EQ(some.size(), 16u);
  EXPECT_EQ(std::set<int>(some.begin(), some.end()).size(), 4u);
  EXPECT_EQ(Tested(16, 20), some);
  EXPECT_NE(Tested(16, 12, 1), some);
}

TEST_F(ImagesTest, ATestOfAllTakesEachOnce) {
  std::vector<int> all;
  for (int i = 0; i < 64; ++i) all.push_back(i % 4);

  EXPECT_EQ(Tested(0, 12), all);
  EXPECT_EQ(Tested(64, 12), all);
}

}  // namespace

}  // namespace longreach::trainer
