// A data folder with published models of 900 tokens, in the words of the golden tokenizer, and corpora of such tokens.
#pragma once

#include <string>

#include "tests/worker/trainer/llama/tiny.h"
#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_model.h"
#include "worker/data/import_tokens.h"
#include "worker/tokenizer/sentence_pieces.h"
#include "worker/trainer/llama/published.h"

namespace longreach::trainer {

// Of the source folder of this build, or of the bundle that this test lies in.
inline std::filesystem::path GoldenTokenizer() {
  const std::filesystem::path built = LONGREACH_GOLDEN_TOKENIZER;
  if (std::filesystem::exists(built)) return built;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tests/golden/nope/tokenizer/tokenizer.model";
}

class WordsTest : public PackTest {
 protected:
  void Publish(const std::string& name, LlamaConfig config, bool tokenizer = true) {
    config.vocabulary = 900;
    const std::filesystem::path source = Folder("published") / name;
    ASSERT_TRUE(WriteLlama(source, TinyModel(config)).ok());
    if (tokenizer) std::filesystem::copy_file(GoldenTokenizer(), source / "tokenizer.model");
    const absl::StatusOr<ModelFolder> checked = CheckModelFolder(source);
    ASSERT_TRUE(checked.ok()) << checked.status();
    const auto made = data::ImportModel({.folder = Folder("data"), .name = name, .source = source, .files = checked->files,
                                         .description = checked->description}, quiet_);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  // A corpus to train and to test on.
  void MakeCorpus(const std::string& name, const std::string& text) {
    for (const char* split : {"train", "test"}) std::ofstream(Folder(name + split) / "text") << text;
    const auto pieces = tokenizer::SentencePieces::Start(GoldenTokenizer());
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    const auto made = data::ImportTokens(
        {.folder = Folder("data"), .name = name, .sources = {Folder(name + "train")}, .test_sources = {Folder(name + "test")}}, pieces->get(), quiet_);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  // Of the model of that name on the corpus of that name, as they are.
  PackRequest RequestOf(const std::string& model, const std::string& corpus, const PackSettings::Evaluation& evaluation, const std::string& folder) {
    PackSettings settings;
    settings.experiment = "llama";
    settings.task = "tokens";
    settings.data = corpus;
    settings.encoding = "rope";
    settings.model = {.layers = 0, .embedding_dim = 0, .heads = 0, .mlp_dim = 0, .dropout = 0, .kv_heads = 0, .rope_theta = 0, .folder = model};
    settings.training.steps = 0;
    settings.evaluation = evaluation;
    PackRequest request = Request(settings, 1, folder);
    request.data.folder = Folder("data");
    return request;
  }

  data::NoProgress quiet_;
};

}  // namespace longreach::trainer
