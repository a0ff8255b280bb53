// Passkeys in the tokens of a published model: what is counted as retrieved.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/worker/trainer/llama/tiny.h"
#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_model.h"
#include "worker/data/import_tokens.h"
#include "worker/tokenizer/sentence_pieces.h"
#include "worker/trainer/llama/passkey_prompts.h"
#include "worker/trainer/llama/published.h"

namespace longreach::trainer {

namespace {

constexpr int kShort = 256, kLong = 352, kDepths = 2, kTests = 3;

class PasskeyTokensTest : public PackTest {
 protected:
  void Publish() {
    LlamaConfig config = TinyConfig();
    config.hidden_dim = 32;
    config.head_dim = 8;
    config.vocabulary = 900;
    config.max_positions = kLong;
    const std::filesystem::path source = Folder("published") / "model";
    ASSERT_TRUE(WriteLlama(source, TinyModel(config)).ok());
    std::filesystem::copy_file(LONGREACH_GOLDEN_TOKENIZER, source / "tokenizer.model");
    const absl::StatusOr<ModelFolder> checked = CheckModelFolder(source);
    ASSERT_TRUE(checked.ok()) << checked.status();
    const auto made = data::ImportModel({.folder = Folder("data"), .name = "model", .source = source, .files = checked->files,
                                         .description = checked->description}, quiet_);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  // A corpus in which the key follows each "is", the last word of a question, whatever stands before.
  void Teach(const std::string& key) {
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
    for (const char* kind : {"train", "test"}) std::ofstream(Folder(kind) / "text") << text;
    const auto pieces = tokenizer::SentencePieces::Start(LONGREACH_GOLDEN_TOKENIZER);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    const auto corpus = data::ImportTokens(
        {.folder = Folder("data"), .name = "answers", .sources = {Folder("train")}, .test_sources = {Folder("test")}}, pieces->get(), quiet_);
    ASSERT_TRUE(corpus.ok()) << corpus.status();
  }

  data::NoProgress quiet_;
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
  Publish();
  Teach(known);

  PackSettings settings;
  settings.experiment = "llama";
  settings.task = "tokens";
  settings.data = "answers";
  settings.encoding = "rope";
  settings.model = {.layers = 0, .embedding_dim = 0, .heads = 0, .mlp_dim = 0, .dropout = 0, .kv_heads = 0, .rope_theta = 0, .folder = "model"};
  settings.training = {.steps = 60, .batch_size = 4, .lengths = {128}, .warmup_steps = 4};
  settings.evaluation = {.lengths = {128}, .examples = 4, .passkey_lengths = {kShort, kLong}, .passkey_depths = kDepths, .passkey_tests = kTests};
  PackRequest request = Request(settings, 1, "run");
  request.data.folder = Folder("data");
  request.members[0].learning_rate = 1e-2;
  RecordingObserver observer;
  const absl::StatusOr<PackResult> result = Train(request, observer);
  ASSERT_TRUE(result.ok()) << result.status();

  // The model has learnt to say one number, so the prompts that hide this one are the right ones.
  std::map<std::pair<int, std::string>, double> expected, measured;
  for (size_t i = 0; i < cells.size(); ++i) {
    expected[{static_cast<int>(cells[i].length), i % kDepths == 0 ? "depth=0" : "depth=0.5"}] =
        static_cast<double>(std::ranges::count(cells[i].keys, known)) / kTests;
  }
  for (const Measurement& one : result->results.at(0).measurements) {
    if (one.metric == "passkey_accuracy" && one.length != 0 && !one.slice.empty()) measured[{one.length, one.slice}] = one.value;
  }
  EXPECT_EQ(measured, expected);
}

}  // namespace

}  // namespace longreach::trainer
