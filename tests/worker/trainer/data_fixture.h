// A data folder with a small text and a few images, and jobs that read them.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_images.h"
#include "worker/data/import_text.h"

namespace longreach::trainer {

// Text that a model can learn something of: the same few words again and again, in an order that changes.
inline std::string Words(int count) {
  static const char* const kWords[] = {"the ", "length ", "of ", "a ", "tape ", "is ", "not ", "its ", "end\n"};
  std::string text;
  unsigned next = 1;
  for (int i = 0; i < count; ++i) {
    next = next * 1103515245u + 12345u;
    text += kWords[(next >> 16) % 9];
  }
  return text;
}

class DataTest : public PackTest {
 protected:
  void SetUp() override {
    PackTest::SetUp();
    data::NoProgress quiet;
    std::ofstream(Folder("source") / "text") << Words(4000);
    const auto text = data::ImportText({.folder = Folder("data"), .name = "words", .sources = {Folder("source") / "text"}}, quiet);
    ASSERT_TRUE(text.ok()) << text.status();
    // Sizes of the lengths 12 = 3 x (3+1) and 20 = 4 x (4+1), with and without delimiters in them.
    data::SyntheticImages images{.folder = Folder("data"), .name = "marks", .train = 64, .valid = 30};
    images.shards.sizes = {{.rows = 3, .cols = 3}, {.rows = 4, .cols = 4}, {.rows = 3, .cols = 4}, {.rows = 4, .cols = 5}};
    const auto made = data::MakeSyntheticImages(images, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  static PackSettings Small(const std::string& experiment, const std::string& encoding, bool randomized) {
    const bool words = experiment == "language";
    PackSettings settings = SmallSettings(words ? "enwik8" : "imagenet", encoding, randomized);
    settings.experiment = experiment;
    settings.data = words ? "words" : "marks";
    settings.model.decoder_layers = 2;
    settings.model.classes = 4;
    settings.training.steps = 4;
    settings.training.batch_size = 9;
    settings.training.lengths = {words ? 16 : 12};
    settings.evaluation.lengths = words ? std::vector<int>{16, 40} : std::vector<int>{12, 20};
    settings.evaluation.examples = 20;
    return settings;
  }

  PackRequest RequestOf(const PackSettings& settings, int members, const std::string& folder) {
    PackRequest request = Request(settings, members, folder);
    request.data.folder = Folder("data");
    return request;
  }
};

}  // namespace longreach::trainer
