#include "worker/data/image_listing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/worker/data/support.h"

namespace longreach::data {
namespace {

class ImageListingTest : public ::testing::Test {
 protected:
  void Touch(const std::string& path) { Write(home_ / path, "x"); }
  void TouchTrain() {
    for (const char* path : {"train/n02/b.JPEG", "train/n02/a.JPEG", "train/n01/c.JPEG"}) Touch(path);
  }
  // "0 n01/c.JPEG, ..."
  std::string Text(const std::vector<ListedImage>& images) {
    std::string text;
    for (const ListedImage& image : images) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", image.label, image.file.lexically_relative(home_.path()).string());
    }
    return text;
  }
  void ExpectRefused(const std::string& what, const ListingOptions& options = {}) {
    const absl::Status status = ListImages(home_.path(), options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(status.message().find(what), std::string::npos) << status;
  }

  testing::TemporaryFolder home_;
};

TEST_F(ImageListingTest, ClassFoldersInBothSplits) {
  TouchTrain();
  Touch("val/n02/e.JPEG");
  Touch("val/n01/d.JPEG");
  Touch("val/n01/.DS_Store");
  Touch("labels_that_are_not_looked_at.txt");

  ASSERT_OK_AND_ASSIGN(const ImageListing listing, ListImages(home_.path(), {}));

  EXPECT_EQ(listing.classes, (std::vector<std::string>{"n01", "n02"}));
  EXPECT_EQ(Text(listing.train), "0 train/n01/c.JPEG, 1 train/n02/a.JPEG, 1 train/n02/b.JPEG");
  EXPECT_EQ(Text(listing.valid), "0 val/n01/d.JPEG, 1 val/n02/e.JPEG");
}

TEST_F(ImageListingTest, FlatValidationImagesTakeTheirClassFromALabelFile) {
  TouchTrain();
  for (int i = 1; i <= 3; ++i) Touch(fmt::format("val/ILSVRC2012_val_0000000{}.JPEG", i));
  const std::string expected =
      "0 val/ILSVRC2012_val_00000002.JPEG, 1 val/ILSVRC2012_val_00000001.JPEG, 1 val/ILSVRC2012_val_00000003.JPEG";
  // Names of classes, their numbers, and Kaggle's with boxes and without endings.
  for (const char* labels : {"ILSVRC2012_val_00000001.JPEG n02\r\nILSVRC2012_val_00000002.JPEG n01\nILSVRC2012_val_00000003.JPEG n02\n",
                             "ILSVRC2012_val_00000001.JPEG\t1\nILSVRC2012_val_00000002.JPEG 0\n\nILSVRC2012_val_00000003.JPEG 1",
                             "ImageId,PredictionString\nILSVRC2012_val_00000003,n02 1 2 3 4 n02 5 6 7 8\nILSVRC2012_val_00000001,n02 1 2 3 "
                             "4\nILSVRC2012_val_00000002,n01 9 9 9 9\n"}) {
    Write(home_ / "val_labels.txt", labels);
    ASSERT_OK_AND_ASSIGN(const ImageListing listing, ListImages(home_.path(), {}));
    EXPECT_EQ(Text(listing.valid), expected);
  }
  std::filesystem::remove(home_ / "val_labels.txt");
  ExpectRefused("--valid-labels");
  Write(home_ / "elsewhere", "ILSVRC2012_val_00000001 n01\nILSVRC2012_val_00000002 n01\nILSVRC2012_val_00000003 n01\n");
  EXPECT_OK(ListImages(home_.path(), {.valid_labels = home_ / "elsewhere"}));
}

TEST_F(ImageListingTest, WhatIsWrongInALabelFileIsNamedWithItsLine) {
  TouchTrain();
  Touch("val/a.JPEG");
  Touch("val/b.JPEG");
  const auto refused = [&](const std::string& labels, const std::string& what) {
    Write(home_ / "val_labels.txt", labels);
    ExpectRefused(what);
  };
  refused("a.JPEG n01\nb.JPEG n03\n", "val_labels.txt, line 2: there is no class 'n03'");
  refused("a.JPEG n01\nb.JPEG 2\n", "line 2: class 2 of 2");
  refused("a.JPEG n01\nb.JPEG -1\n", "line 2");
  refused("490\n361\n", "line 1: '490' is not 'FILE CLASS'");
  refused("a.JPEG n01\na.JPEG n02\nb.JPEG n01\n", "line 2: 'a.JPEG' is there twice");
  refused("a.JPEG n01\n", "has no line for b.JPEG");
  refused("a.JPEG n01\nb.JPEG n01\nc.JPEG n01\n", "a line for 'c'");
  Touch("val/a.png");
  refused("a.JPEG n01\nb.JPEG n01\n", "two images of this name");
}

TEST_F(ImageListingTest, WithoutValidationImagesAShareOfEachClassIsTaken) {
  for (int i = 0; i < 40; ++i) Touch(fmt::format("cat/{:02}.png", i));
  for (int i = 0; i < 3; ++i) Touch(fmt::format("dog/{:02}.png", i));

  ASSERT_OK_AND_ASSIGN(const ImageListing listing, ListImages(home_.path(), {.valid_percent = 10}));
  ASSERT_OK_AND_ASSIGN(const ImageListing again, ListImages(home_.path(), {.valid_percent = 10}));

  EXPECT_EQ(listing.train.size(), 38u);
  EXPECT_EQ(listing.valid.size(), 5u);  // Four cats and a dog.
  EXPECT_EQ(listing.valid[4].label, 1u);
  EXPECT_EQ(Text(listing.valid), Text(again.valid));
  // By a hash of the place, not the first ones.
  EXPECT_NE(Text(listing.valid).find("cat/"), std::string::npos);
  EXPECT_EQ(Text(listing.valid).find("cat/00.png, 0 cat/01.png"), std::string::npos);
  ExpectRefused("1 to 99", {.valid_percent = 0});
}

TEST_F(ImageListingTest, FoldersThatAreNoImageSetAreRefused) {
  ExpectRefused("no class folders");
  Touch("cat/a.png");
  ExpectRefused("one image");
  Touch("cat/b.png");
  EXPECT_OK(ListImages(home_.path(), {}));
  Touch("readme.txt");
  ExpectRefused("readme.txt lies beside class folders");
  std::filesystem::remove(home_ / "readme.txt");
  Touch("cat/kittens/c.png");
  ExpectRefused("kittens is a folder within the class folder 'cat'");
  std::filesystem::remove_all(home_ / "cat/kittens");
  std::filesystem::create_directory(home_ / "dog");
  ExpectRefused("dog: a class folder without images");
  std::filesystem::remove(home_ / "dog");
  Write(home_ / "d\nog/a.png", "x");
  ExpectRefused("printable ASCII");
}

TEST_F(ImageListingTest, SplitsThatContradictEachOtherAreRefused) {
  Touch("val/n01/a.png");
  ExpectRefused("train is not");
  TouchTrain();
  EXPECT_OK(ListImages(home_.path(), {}));
  Touch("val/n09/a.png");
  ExpectRefused("'n09' has validation images and no training images");
  std::filesystem::remove_all(home_ / "val/n09");
  Touch("valid/n01/a.png");
  ExpectRefused("which are the validation images");

  EXPECT_EQ(ListImages(home_ / "nowhere", {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ListImages(home_ / "val/n01/a.png", {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longreach::data
