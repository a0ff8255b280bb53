#include "worker/data/recipes.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/image_set.h"
#include "worker/data/import_images.h"
#include "worker/data/text_corpus.h"

namespace longreach::data {
namespace {

TEST(RecipesTest, AMissingDataSetIsMadeOnce) {
  testing::TemporaryFolder home;
  NoProgress progress;
  bool made = false;

  ASSERT_OK_AND_ASSIGN(const Manifest first, Ensure(home.path(), "debian-text", progress, made));
  EXPECT_TRUE(made);
  ASSERT_OK_AND_ASSIGN(const Manifest second, Ensure(home.path(), "debian-text", progress, made));
  EXPECT_FALSE(made);

  EXPECT_EQ(first.Identity(), second.Identity());
  ASSERT_OK_AND_ASSIGN(const TextCorpus corpus, TextCorpus::Open(home.path(), "debian-text", first.Identity()));
  EXPECT_GT(corpus.train().size(), 1'000'000u);
}

TEST(RecipesTest, WhatCannotBeMadeSaysHowToImportIt) {
  testing::TemporaryFolder home;
  NoProgress progress;
  bool made = false;

  const absl::Status known = Ensure(home.path(), "enwik8", progress, made).status();
  const absl::Status other = Ensure(home.path(), "imagenet", progress, made).status();

  EXPECT_EQ(known.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(known.message().find("'longreach data import text FILE --name enwik8'"), std::string::npos) << known;
  EXPECT_EQ(other.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(other.message().find("debian-text and far-rows"), std::string::npos) << other;
  EXPECT_FALSE(made);
}

TEST(RecipesTest, AllThatAreMissingAreToldAtOnceAndNoneIsMade) {
  testing::TemporaryFolder home;
  NoProgress progress;
  bool made = false;
  EXPECT_OK(CheckCanBeHad(home.path(), std::vector<std::string>{"debian-text", "far-rows"})) << "they can be made";

  const absl::Status several = CheckCanBeHad(home.path(), std::vector<std::string>{"pg19", "debian-text", "enwik8", "pg19"});

  EXPECT_EQ(several, absl::NotFoundError("there are no data sets 'pg19', 'enwik8' in " + home.path().string() +
                                         "; these commands make them (debian-text and far-rows can be made without a source):\n"
                                         "  longreach data import KIND PATH --name pg19\n"
                                         "  longreach data import text FILE --name enwik8"));
  EXPECT_EQ(CheckCanBeHad(home.path(), std::vector<std::string>{"debian-text", "pg19"}), Ensure(home.path(), "pg19", progress, made).status());
  EXPECT_TRUE(absl::IsNotFound(ReadDataSet(home.path(), "debian-text").status()));

  const std::map<std::string, std::string> kinds = {{"mine", "tokens"}, {"tiny", "model"}, {"pets", "images"}, {"sums", "pairs"}};
  EXPECT_EQ(CheckCanBeHad(home.path(), std::vector<std::string>{"tiny", "mine"}, kinds),
            absl::NotFoundError("there are no data sets 'tiny', 'mine' in " + home.path().string() +
                                "; these commands make them:\n"
                                "  longreach data import model DIR --name tiny\n"
                                "  longreach data import tokens PATH --name mine"))
      << "no recipe makes such ones";
  EXPECT_EQ(CheckCanBeHad(home.path(), std::vector<std::string>{"sums"}, kinds),
            absl::NotFoundError("there is no data set 'sums' in " + home.path().string() + "; 'longreach data import pairs FILE --test FILE --name sums' makes it"));
  EXPECT_EQ(CheckCanBeHad(home.path(), std::vector<std::string>{"pets"}, kinds),
            absl::NotFoundError("there is no data set 'pets' in " + home.path().string() +
                                "; 'longreach data import images DIR --name pets' makes it (debian-text and far-rows can be made without a source)"));
}

TEST(RecipesTest, ANameThatIsNearlyOneThatCanBeHadIsToldSo) {
  testing::TemporaryFolder home;
  const auto why = [&home](const std::string& name, const std::map<std::string, std::string>& kinds = {}) {
    return std::string(CheckCanBeHad(home.path(), std::vector<std::string>{name}, kinds).message());
  };
  EXPECT_NE(why("debian_txt").find("; did you mean 'debian-text'? 'longreach data import KIND PATH --name debian_txt' makes it"), std::string::npos) << why("debian_txt");
  EXPECT_EQ(why("debian_txt", {{"debian_txt", "tokens"}}).find("did you mean"), std::string::npos) << "which is of another kind";

  NoProgress progress;
  SyntheticImages rows;
  rows.folder = home.path();
  rows.name = "my-rows";
  rows.train = rows.valid = 4;
  rows.shards.sizes = {{6, 6}};
  ASSERT_OK(MakeSyntheticImages(rows, progress).status());
  EXPECT_NE(why("myrows").find("; did you mean 'my-rows'? "), std::string::npos) << why("myrows");
}

// Where the brighter half of some rows is: 0 left, 1 right.
int BrighterHalf(std::span<const uint8_t> pixels, ImageSize size, int first, int end) {
  int sums[2] = {0, 0};
  for (int row = first; row < end; ++row) {
    for (int col = 0; col < size.cols; ++col) sums[col >= size.cols / 2] += pixels[static_cast<size_t>(row * size.cols + col)];
  }
  return sums[1] > sums[0] ? 1 : 0;
}

TEST(RecipesTest, TheClassOfAGeneratedImageIsReadFromItsFirstAndLastRowsTogether) {
  testing::TemporaryFolder home;
  NoProgress progress;
  SyntheticImages wanted;
  wanted.folder = home.path();
  wanted.name = "rows";
  wanted.train = 400;
  wanted.valid = 100;
  wanted.shards.sizes = {{6, 6}, {12, 12}, {45, 44}};
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, MakeSyntheticImages(wanted, progress));
  // Pinned: the same images on every machine.
  EXPECT_EQ(manifest.Identity(), "12d64217bd01f45c7c6e8f434f68219ba125a60015430090d9dc33714a967388");

  ASSERT_OK_AND_ASSIGN(const ImageSet set, ImageSet::Open(home.path(), "rows", ""));
  for (const ImageSize size : set.sizes()) {
    ASSERT_OK_AND_ASSIGN(const ImageView view, set.Train(size));
    std::array<int, 4> of_class = {};
    int right = 0;
    const int band = std::max(1, size.rows / 5);
    for (int64_t i = 0; i < view.count(); ++i) {
      const int top = BrighterHalf(view.pixels(i), size, 0, band);
      const int bottom = BrighterHalf(view.pixels(i), size, size.rows - band, size.rows);
      if (view.label(i) == 2 * top + bottom) ++right;
      ++of_class[static_cast<size_t>(view.label(i))];
    }
    EXPECT_GE(right, 396) << size.rows;
    EXPECT_EQ(of_class, (std::array<int, 4>{100, 100, 100, 100}));
  }
  wanted.name = "others";
  wanted.seed = 1;
  ASSERT_OK_AND_ASSIGN(const Manifest others, MakeSyntheticImages(wanted, progress));
  EXPECT_NE(others.Identity(), manifest.Identity());
}

}  // namespace
}  // namespace longreach::data
