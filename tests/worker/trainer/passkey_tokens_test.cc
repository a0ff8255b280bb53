// Passkeys in the tokens of a published model: what is counted as retrieved.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/worker/trainer/words_fixture.h"
#include "worker/trainer/llama/landmark_prompts.h"
#include "worker/trainer/llama/passkey_prompts.h"

namespace longreach::trainer {

namespace {

constexpr int kShort = 256, kLong = 352, kDepths = 2, kTests = 3;

class PasskeyTokensTest : public WordsTest {
 protected:
  // A text in which the key follows each "is", the last word of a question, whatever stands before.
  static std::string Lesson(const std::string& key) {
    std::vector<std::string> others;
    std::istringstream words(std::string(PasskeyTask()) + std::string(PasskeyFiller()));
    for (std::string word; words >> word;) {
      if (word != "is") others.push_back(word);
    }
    std::string text;
    for (unsigned next = 1, line = 0; line < 600; ++line) {
      for (int i = 0; i < 6; ++i) text += others[((next = next * 1103515245u + 12345u) >> 16) % others.size()] + " ";
      text += "is " + key + ". ";
    }
    return text;
  }

  // A model, and a corpus from which it learns to say one number.
  void Teach(const std::string& key) {
    LlamaConfig config = TinyConfig();
    config.hidden_dim = 32;
    config.head_dim = 8;
    config.max_positions = kLong;
    Publish("model", config);
    MakeCorpus("answers", Lesson(key));
  }
  PackRequest Taught(const PackSettings::Evaluation& evaluation) {
    PackRequest request = RequestOf("model", "answers", evaluation, "run");
    request.settings.training = {.steps = 60, .batch_size = 4, .lengths = {128}, .warmup_steps = 4};
    request.members[0].learning_rate = 1e-2;
    return request;
  }
};

TEST_F(PasskeyTokensTest, APromptCountsIfAllTokensOfItsKeyFollow) {
  const std::vector<PasskeyCell> cells = PasskeyTasks({.seed = 42, .lengths = {kShort, kLong}, .depths = kDepths, .tests = kTests});
  // One of the keys, with digits of which each says which comes next.
  std::string known;
  for (const PasskeyCell& cell : cells) {
    for (const std::string& key : cell.keys) {
      if (std::set<char>(key.begin(), key.end()).size() == key.size()) known = key;
    }
  }
  ASSERT_NE(known, "");
  Teach(known);

  const PackRequest request = Taught({.lengths = {128}, .examples = 4, .passkey_lengths = {kShort, kLong}, .passkey_depths = kDepths,
                                      .passkey_tests = kTests});
  const PackResult result = Run(request);
  ASSERT_EQ(result.results.size(), 1u);

  // The model has learnt to say one number, so the prompts that hide this one are the right ones.
  std::map<std::pair<int, std::string>, double> expected, measured;
  for (size_t i = 0; i < cells.size(); ++i) {
    expected[{static_cast<int>(cells[i].length), i % kDepths == 0 ? "depth=0" : "depth=0.5"}] =
        static_cast<double>(std::ranges::count(cells[i].keys, known)) / kTests;
  }
  for (const Measurement& one : result.results[0].measurements) {
    if (one.metric == "passkey_accuracy" && one.length != 0 && !one.slice.empty()) measured[{one.length, one.slice}] = one.value;
  }
  EXPECT_EQ(measured, expected);
}

TEST_F(PasskeyTokensTest, AModelThatIsFedOtherwiseIsRefused) {
  const std::filesystem::path source = Folder("published") / "other";
  LlamaConfig config = TinyConfig();
  config.vocabulary = 900;
  ASSERT_TRUE(WriteLlama(source, TinyModel(config)).ok());
  std::filesystem::copy_file(GoldenTokenizer(), source / "tokenizer.model");
  const auto say = [&source](const std::string& text) { std::ofstream(source / "tokenizer_config.json") << text; };

  say(R"({"add_bos_token": true, "add_eos_token": false})");
  EXPECT_TRUE(CheckModelFolder(source).ok());
  say(R"({"add_bos_token": false})");
  EXPECT_THAT(std::string(CheckModelFolder(source).status().message()), ::testing::HasSubstr("'add_bos_token' is false"));
  say(R"({"add_eos_token": true})");
  EXPECT_THAT(std::string(CheckModelFolder(source).status().message()), ::testing::HasSubstr("'add_eos_token' is true"));
  std::filesystem::remove(source / "tokenizer.model");
  EXPECT_TRUE(CheckModelFolder(source).ok()) << "of tokens that are packed already it says nothing";
}

TEST_F(PasskeyTokensTest, AnAnswerToLandmarksPromptIsReadAsItsText) {
  constexpr int kMiddle = 300;
  std::string known;
  std::map<int, double> expected;
  for (int test = 0; test < kTests; ++test) {
    const std::string key = std::to_string(DrawLandmark(0, kMiddle, test).key);
    if (std::set<char>(key.begin(), key.end()).size() == key.size()) known = key;
  }
  ASSERT_NE(known, "");
  for (const int length : {kMiddle, kLong}) {
    for (int test = 0; test < kTests; ++test) expected[length] += std::to_string(DrawLandmark(0, length, test).key) == known ? 1.0 / kTests : 0;
    expected[0] += expected[length] / 2;
  }
  Teach(known);

  // The answer goes on after its number, with a full stop and words.
  const PackResult result = Run(Taught({.lengths = {128}, .examples = 4, .passkey_lengths = {kMiddle, kLong}, .passkey_tests = kTests,
                                        .passkey_prompts = "landmark"}));
  std::map<int, double> measured;
  for (const Measurement& one : result.results.at(0).measurements) {
    if (one.metric == "passkey_accuracy" && one.slice.empty()) measured[one.length] = one.value;
  }
  EXPECT_EQ(measured, expected);
}

}  // namespace

}  // namespace longreach::trainer
