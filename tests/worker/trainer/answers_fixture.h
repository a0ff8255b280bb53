// A small LLaMA that learns to answer every question of a prompt with one and the same number, from a text made for it.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "tests/support/temporary_folder.h"
#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_text.h"
#include "worker/trainer/llama/passkey_prompts.h"

namespace longreach::trainer {

class AnswersTest : public PackTest {
 protected:
  // Draws a number below `count`.
  using Draw = std::function<size_t(size_t count)>;

  // Imports a text, "answers", in which `number` follows each "s", the last byte of a question, and no other digits. Between them are as many
  // other bytes of prompts as `gap` says.
  void ImportAnswers(const std::string& number, const std::function<size_t(const Draw&)>& gap) {
    std::string others;
    for (const char byte : std::string(PasskeyTask()) + std::string(PasskeyFiller())) {
      if (byte != 's') others += byte;
    }
    std::string text;
    unsigned next = 1;
    const Draw draw = [&next](size_t count) { return ((next = next * 1103515245u + 12345u) >> 16) % count; };
    while (text.size() < 40'000) {
      for (size_t i = gap(draw); i > 0; --i) text += others[draw(others.size())];
      text += "s" + number;
    }
    std::ofstream(Folder("source") / "text") << text;
    data::NoProgress quiet;
    const auto made = data::ImportText({.folder = Folder("data"), .name = "answers", .sources = {Folder("source") / "text"}}, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  // A model that learns it; without evaluation.
  static PackSettings LearnsAnswers(int steps, int length) {
    PackSettings settings;
    settings.experiment = "llama";
    settings.task = "bytes";
    settings.data = "answers";
    settings.encoding = "rope";
    settings.model = {.layers = 2, .embedding_dim = 32, .heads = 4, .mlp_dim = 48, .dropout = 0, .kv_heads = 2};
    settings.training = {.steps = steps, .batch_size = 4, .lengths = {length}, .warmup_steps = 4};
    return settings;
  }

  PackRequest RequestOf(const PackSettings& settings, int members, const std::string& folder) {
    PackRequest request = Request(settings, members, folder);
    request.data.folder = Folder("data");
    for (Member& member : request.members) member.learning_rate = 1e-2;
    return request;
  }

  // Two members that `settings`, the same in all tests of a suite, train and evaluate. Once for all of these, as it is most of their time.
  const PackResult& Taught(const PackSettings& settings) {
    if (lesson_ == nullptr) {
      lesson_ = std::make_unique<Lesson>();
      lesson_->result = Run(RequestOf(settings, 2, "taught"));
      EXPECT_EQ(lesson_->result.results.size(), 2u);
      const std::filesystem::path kept = lesson_->folder / "weights";
      std::filesystem::copy_file(lesson_->result.weights, kept);
      lesson_->result.weights = kept;
    }
    return lesson_->result;
  }

  static void TearDownTestSuite() { lesson_.reset(); }

 private:
  struct Lesson {
    testing::TemporaryFolder folder;
    PackResult result;
  };
  inline static std::unique_ptr<Lesson> lesson_;
};

}  // namespace longreach::trainer
