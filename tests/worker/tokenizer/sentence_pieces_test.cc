// The tokenizer of a model's folder: what it says, what it refuses, and what becomes of it when its program dies.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/temporary_folder.h"
#include "worker/tokenizer/contract.h"
#include "worker/tokenizer/sentence_pieces.h"

namespace longreach::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kProgram = LONGREACH_TOKENIZER;
const std::filesystem::path kModel = std::filesystem::path(LONGREACH_GOLDEN_TOKENIZER) / "tokenizer.model";
constexpr ModelTokens kTokens = {.vocabulary = 900, .bos = 1};

class SentencePiecesTest : public ::testing::Test {
 protected:
  std::filesystem::path File(const std::string& name, const std::string& bytes = "") const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    return folder_.path() / name;
  }
  std::string Refusal(const ModelTokens& tokens) const {
    return std::string(TokenizerOfFolder(folder_.path(), tokens, kProgram).status().message());
  }

  testing::TemporaryFolder folder_;
};

TEST_F(SentencePiecesTest, TextsComeBackAndWhatHasNoPieceIsBytes) {
  const auto pieces = SentencePieces::Start(kModel, kProgram);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  EXPECT_EQ((*pieces)->vocabulary(), 900);
  EXPECT_EQ((*pieces)->bos(), 1);
  EXPECT_EQ((*pieces)->eos(), 2);

  for (const std::string& text : {std::string("The pass key is 48213."), std::string("naïve 🙂\n\ttab"), std::string("a\0b", 3), std::string()}) {
    const auto ids = (*pieces)->Encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status();
    const auto back = (*pieces)->Decode(*ids);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, text);
  }
  // Every byte of a smiley is an id of its own, after those of the three controls.
  EXPECT_THAT(*(*pieces)->EncodeWithBos("🙂"), ElementsAre(1, 781, 3 + 0xf0, 3 + 0x9f, 3 + 0x99, 3 + 0x82));
  const auto all = (*pieces)->Pieces();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ((*all)[3].text, "<0x00>");
  EXPECT_EQ((*all)[3].kind, kBytePiece);
}

TEST_F(SentencePiecesTest, RefusesIdsThatDoNotExistAndGoesOn) {
  const auto pieces = SentencePieces::Start(kModel, kProgram);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  const std::vector<int64_t> outside = {5, 900}, negative = {-1}, good = {781};

  EXPECT_THAT(std::string((*pieces)->Decode(outside).status().message()), HasSubstr("there is no id 900; there are 0 to 899"));
  EXPECT_FALSE((*pieces)->Decode(negative).ok());
  EXPECT_TRUE((*pieces)->Decode(good).ok());
}

TEST_F(SentencePiecesTest, TellsHowItsProgramEndedAndRefusesFromThenOn) {
  const auto pieces = SentencePieces::Start(kModel, kProgram);
  ASSERT_TRUE(pieces.ok()) << pieces.status();

  ASSERT_EQ(kill((*pieces)->pid(), SIGKILL), 0);

  const absl::Status first = (*pieces)->Encode("a").status();
  EXPECT_EQ(first.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(first.message()), HasSubstr("longreach-tokenizer ended with signal 9"));
  EXPECT_EQ((*pieces)->Encode("a").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SentencePiecesTest, RefusesFilesThatAreNoModelAndProgramsThatAreNotThere) {
  EXPECT_EQ(SentencePieces::Start(folder_.path() / "none", kProgram).status().code(), absl::StatusCode::kNotFound);
  const auto empty = SentencePieces::Start(File("empty"), kProgram);
  EXPECT_EQ(empty.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(empty.status().message()), AllOf(HasSubstr("/empty: "), HasSubstr("is empty")));
  const auto garbage = SentencePieces::Start(File("garbage", std::string(5000, '\x41')), kProgram);
  EXPECT_EQ(garbage.status().code(), absl::StatusCode::kDataLoss) << garbage.status();
  const auto no_program = SentencePieces::Start(kModel, folder_.path() / "no-program");
  EXPECT_EQ(no_program.status().code(), absl::StatusCode::kUnavailable) << no_program.status();
}

TEST_F(SentencePiecesTest, ProgramsThatSpeakOtherwiseAreEndedAndTold) {
  for (const char* program : {"/bin/true", "/bin/echo"}) {
    const absl::Status refused = SentencePieces::Start(kModel, program).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << program;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("longreach-tokenizer ended with ")) << program;
  }
}

// A cut-off file of protobuf is often a file of protobuf.
TEST_F(SentencePiecesTest, CutOffFilesAreRefusedOrHaveAnotherVocabulary) {
  std::string bytes;
  {
    std::ifstream in(kModel, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t size = 1; size < bytes.size(); size += 1297) {
    File("tokenizer.model", bytes.substr(0, size));
    EXPECT_FALSE(TokenizerOfFolder(folder_.path(), kTokens, kProgram).ok()) << size << " bytes";
  }
}

TEST_F(SentencePiecesTest, AFolderWithoutItsFileIsRefusedWithWhatToDo) {
  EXPECT_THAT(Refusal(kTokens), HasSubstr("has no tokenizer.model; put the one that the model was trained with there"));

  File("tokenizer.json", "{}");

  EXPECT_THAT(Refusal(kTokens), AllOf(HasSubstr("tokenizer.json alone"), HasSubstr("tokenizer.model, beside it")));
}

TEST_F(SentencePiecesTest, AFolderWithAnotherModelsTokenizerIsRefused) {
  std::filesystem::copy_file(kModel, folder_.path() / "tokenizer.model");

  EXPECT_TRUE(TokenizerOfFolder(folder_.path(), kTokens, kProgram).ok());
  EXPECT_THAT(Refusal({.vocabulary = 32000, .bos = 1}), HasSubstr("has 900 ids and the model's vocabulary 32000"));
  EXPECT_THAT(Refusal({.vocabulary = 900, .bos = 0}), HasSubstr("has id 1 as BOS and the model's config.json 0"));
}

}  // namespace
}  // namespace longreach::tokenizer
