#include "worker/data/import_images.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/worker/data/interrupted.h"
#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/image_set.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

class ImportImagesTest : public ::testing::Test {
 protected:
  ImportImagesTest() {
    Write(pets_ / "train/cat/a.jpg", Golden("subsampled.jpg"));
    Write(pets_ / "train/cat/b.JPEG", Golden("rgb.png"));  // As in ImageNet: a PNG by another name.
    Write(pets_ / "train/dog/c.png", Golden("palette.png"));
    Write(pets_ / "val/cat/d.jpg", Golden("cmyk.jpg"));
    Write(pets_ / "val/dog/e.jpg", Golden("tall.jpg"));
  }
  ImagesImport Wanted(const std::string& name = "pets") {
    return {.folder = data_, .name = name, .source = pets_, .listing = {}, .shards = {.sizes = {{8, 8}, {45, 44}}, .threads = 2}};
  }
  absl::StatusOr<Manifest> Import(const ImagesImport& wanted) {
    NoProgress progress;
    return ImportImages(wanted, progress);
  }
  // What the image must be at that size.
  std::vector<uint8_t> Expected(const std::string& golden, ImageSize size, Fit fit = Fit::kSquash) {
    absl::StatusOr<GrayImage> image = DecodeGray(Golden(golden));
    EXPECT_OK(image);
    std::vector<uint8_t> pixels(static_cast<size_t>(size.rows * size.cols));
    Resize(*image, size, fit, pixels);
    return pixels;
  }
  static std::vector<uint8_t> Pixels(const ImageView& view, int64_t image) {
    return {view.pixels(image).begin(), view.pixels(image).end()};
  }

  testing::TemporaryFolder home_;
  const fs::path data_ = home_ / "data";
  const fs::path pets_ = home_ / "pets";
};

TEST_F(ImportImagesTest, ReadsBackEveryImageAtEverySize) {
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, Import(Wanted()));

  ASSERT_OK_AND_ASSIGN(const ImageSet set, ImageSet::Open(data_, "pets", manifest.Identity()));
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set.train_count(), 3);
  EXPECT_EQ(set.valid_count(), 2);
  const std::vector<std::string> train = {"subsampled.jpg", "rgb.png", "palette.png"};
  const std::vector<std::string> valid = {"cmyk.jpg", "tall.jpg"};
  for (const ImageSize size : {ImageSize{8, 8}, ImageSize{45, 44}}) {
    ASSERT_OK_AND_ASSIGN(const ImageView of_train, set.Train(size));
    ASSERT_OK_AND_ASSIGN(const ImageView of_valid, set.Valid(size));
    for (size_t i = 0; i < train.size(); ++i) EXPECT_EQ(Pixels(of_train, static_cast<int64_t>(i)), Expected(train[i], size)) << train[i];
    for (size_t i = 0; i < valid.size(); ++i) EXPECT_EQ(Pixels(of_valid, static_cast<int64_t>(i)), Expected(valid[i], size)) << valid[i];
    EXPECT_EQ(of_train.label(1), 0);
    EXPECT_EQ(of_train.label(2), 1);
    EXPECT_EQ(of_valid.count(), 2);
  }
  const absl::Status missing = set.Train({22, 22}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(missing.message().find("at 8x8, 45x44 (rows x columns), not at 22x22"), std::string::npos) << missing;
  EXPECT_OK(set.HasSizes({{45, 44}, {8, 8}, {8, 8}}));
  EXPECT_EQ(set.HasSizes({{22, 22}, {8, 8}, {22, 23}, {22, 22}}),
            absl::FailedPreconditionError("the data set 'pets' has its images at 8x8, 45x44 (rows x columns), not at 22x22, 22x23; import it under another name with "
                                          "'--sizes 22x22,8x8,22x23'"))
      << "all that are missing at once, and an import that has all that is wanted";
  EXPECT_OK(CheckDataSet(data_, "pets"));
  EXPECT_EQ(NamesIn(data_), "pets ");
}

TEST_F(ImportImagesTest, TheSameFilesGiveTheSameSetOnAnyNumberOfThreads) {
  ASSERT_OK_AND_ASSIGN(const Manifest two, Import(Wanted()));
  ImagesImport one = Wanted("other");
  one.shards.threads = 1;
  ASSERT_OK_AND_ASSIGN(const Manifest again, Import(one));
  ImagesImport cropped = Wanted("cropped");
  cropped.shards.fit = Fit::kCrop;
  ASSERT_OK_AND_ASSIGN(const Manifest crop, Import(cropped));

  EXPECT_EQ(two.Identity(), again.Identity());
  EXPECT_NE(two.Identity(), crop.Identity());
  ASSERT_OK_AND_ASSIGN(const ImageSet set, ImageSet::Open(data_, "cropped", ""));
  ASSERT_OK_AND_ASSIGN(const ImageView view, set.Valid({8, 8}));
  EXPECT_EQ(Pixels(view, 1), Expected("tall.jpg", {8, 8}, Fit::kCrop));
}

TEST_F(ImportImagesTest, BrokenImagesAreListedAndLeftOutOnlyWhenAsked) {
  const std::string jpeg = Golden("subsampled.jpg");
  Write(pets_ / "train/cat/cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  Write(pets_ / "train/dog/notes.txt", "not an image");
  Write(pets_ / "val/dog/empty.png", "");

  const absl::Status refused = Import(Wanted()).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  for (const char* part : {"3 of 8 images", "train/cat/cut.jpg: JPEG: Premature end", "notes.txt: neither JPEG nor PNG",
                           "empty.png: the file is empty", "--skip-broken"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part << " in " << refused;
  }
  EXPECT_EQ(ImageSet::Open(data_, "pets", "").status().code(), absl::StatusCode::kNotFound);

  ImagesImport skipping = Wanted();
  skipping.shards.skip_broken = true;
  Recorded progress;
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, ImportImages(skipping, progress));
  EXPECT_EQ(progress.before(), 8);  // Nothing is decoded again.
  EXPECT_EQ(manifest.skipped.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const ImageSet set, ImageSet::Open(data_, "pets", ""));
  EXPECT_EQ(set.train_count(), 3);
  ASSERT_OK_AND_ASSIGN(const ImageView view, set.Train({8, 8}));
  EXPECT_EQ(Pixels(view, 2), Expected("palette.png", {8, 8}));
  EXPECT_EQ(view.label(2), 1);
}

// Its bytes may be whole: only what was read and is broken is known to be so the next time.
TEST_F(ImportImagesTest, AnImageThatCouldNotBeReadIsReadAgain) {
  bool readable = false;
  const auto split = [&readable](const std::string& name) {
    return SplitSource{.name = name,
                       .images = 2,
                       .label = [](int64_t) { return 0u; },
                       .image = [&readable](int64_t index) -> absl::StatusOr<GrayImage> {
                         if (index == 1 && !readable) return absl::PermissionDeniedError("Permission denied");
                         return GrayImage{.rows = 2, .cols = 2, .pixels = {1, 2, 3, 4}};
                       },
                       .describe = [](int64_t index) { return std::to_string(index); },
                       .fingerprint = [](int64_t, int64_t) -> absl::StatusOr<std::string> { return "the same"; }};
  };
  const std::vector<SplitSource> splits = {split("train"), split("valid")};
  const ShardImport wanted{.sizes = {{2, 2}}, .threads = 1};
  ASSERT_OK_AND_ASSIGN(const Staging staging, Staging::Open(data_, "rows"));
  NoProgress progress;
  Manifest refused, manifest;
  EXPECT_EQ(WriteShards(wanted, splits, staging, progress, refused).code(), absl::StatusCode::kDataLoss);

  readable = true;

  ASSERT_OK(WriteShards(wanted, splits, staging, progress, manifest));
  EXPECT_EQ(manifest.skipped, std::vector<std::string>());
}

TEST_F(ImportImagesTest, ASplitOfBrokenImagesOnlyIsRefused) {
  Write(pets_ / "val/cat/d.jpg", "x");
  Write(pets_ / "val/dog/e.jpg", "x");
  ImagesImport wanted = Wanted();
  wanted.shards.skip_broken = true;

  EXPECT_EQ(Import(wanted).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ImageSet::Open(data_, "pets", "").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ImportImagesTest, ANameIsTakenOnce) {
  ASSERT_OK(Import(Wanted()));
  EXPECT_EQ(Import(Wanted()).status().code(), absl::StatusCode::kAlreadyExists);
}

SyntheticImages Generated(const fs::path& folder, const std::string& name) {
  return {.folder = folder, .name = name, .train = 2 * kImagesPerShard + 8, .valid = 8, .shards = {.sizes = {{6, 6}}, .threads = 1}};
}

TEST_F(ImportImagesTest, AKilledImportIsNeverSeenAndTheNextOneGoesOnByShards) {
  NoProgress quiet;
  ASSERT_OK_AND_ASSIGN(const Manifest expected, MakeSyntheticImages(Generated(data_, "undisturbed"), quiet));
  // In the first shard, the third, the last, and at the very end.
  for (const int64_t step : {int64_t{100}, 2 * kImagesPerShard + 4, int64_t{12}, int64_t{9}}) {
    if (!KilledAt(static_cast<int>(step), [&](Progress& progress) { (void)MakeSyntheticImages(Generated(data_, "rows"), progress); })) break;
    EXPECT_EQ(ImageSet::Open(data_, "rows", "").status().code(), absl::StatusCode::kNotFound);
  }

  Recorded progress;
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, MakeSyntheticImages(Generated(data_, "rows"), progress));

  EXPECT_EQ(progress.total(), 2 * kImagesPerShard + 16);
  EXPECT_GE(progress.before(), 2 * kImagesPerShard + 8);
  EXPECT_EQ(progress.before() + progress.now(), progress.total());
  EXPECT_EQ(manifest.Identity(), expected.Identity());
  EXPECT_OK(CheckDataSet(data_, "rows"));
}

TEST_F(ImportImagesTest, AShardThatWasDamagedMeanwhileIsMadeAnew) {
  ASSERT_TRUE(KilledAt(2 * kImagesPerShard + 4, [&](Progress& progress) { (void)MakeSyntheticImages(Generated(data_, "rows"), progress); }));
  const fs::path shard = data_ / ".importing-rows/train-00000.images";
  std::string bytes = Read(shard);
  bytes[bytes.size() / 2] ^= 1;
  Write(shard, bytes);

  Recorded progress;
  ASSERT_OK(MakeSyntheticImages(Generated(data_, "rows"), progress).status());

  EXPECT_EQ(progress.before(), kImagesPerShard);
  EXPECT_OK(CheckDataSet(data_, "rows"));
}

TEST_F(ImportImagesTest, ImagesThatChangedSinceTheInterruptionAreDecodedAgain) {
  ASSERT_TRUE(KilledAt(4, [&](Progress& progress) { (void)ImportImages(Wanted(), progress); }));  // Training images are done.
  Write(pets_ / "train/cat/a.jpg", Golden("tall.jpg"));

  Recorded progress;
  ASSERT_OK(ImportImages(Wanted(), progress).status());

  EXPECT_EQ(progress.before(), 0);
  ASSERT_OK_AND_ASSIGN(const ImageSet set, ImageSet::Open(data_, "pets", ""));
  ASSERT_OK_AND_ASSIGN(const ImageView view, set.Train({8, 8}));
  EXPECT_EQ(Pixels(view, 0), Expected("tall.jpg", {8, 8}));
}

TEST_F(ImportImagesTest, ADamagedShardIsRefusedWhenItIsOpened) {
  ASSERT_OK(Import(Wanted()));
  const fs::path shard = data_ / "pets/train-00000.images";
  const std::string whole = Read(shard);
  const auto refused = [&](size_t at, char byte, const std::string& what) {
    std::string bytes = whole;
    bytes[at] = byte;
    Write(shard, bytes);
    fs::last_write_time(shard, fs::last_write_time(data_ / "pets/manifest.json"));  // As if the disk had done it: else its hash is looked at.
    const absl::Status status = ImageSet::Open(data_, "pets", "").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_NE(status.message().find(what), std::string::npos) << status;
    EXPECT_NE(status.message().find("train-00000.images"), std::string::npos) << status;
  };
  refused(0, 'X', "at byte 0: this is no file of images");
  refused(8, 2, "the file ends here");
  refused(16, 4, "the file ends here");
  refused(32, 9, "at byte 32: class 9 of 2");
}

TEST(SizesTest, AreRowsByColumns) {
  ASSERT_OK_AND_ASSIGN(const std::vector<ImageSize> sizes, ParseSizes("22x23,45x44"));
  EXPECT_EQ(sizes, (std::vector<ImageSize>{{22, 23}, {45, 44}}));
  for (const char* text : {"", "22", "22x", "x22", "0x1", "1x5000", "22x22,", "22x22,22x22", "22x22x22", "-1x2", "1e3x2"}) {
    EXPECT_EQ(ParseSizes(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace longreach::data
