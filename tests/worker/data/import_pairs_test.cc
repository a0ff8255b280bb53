#include "worker/data/import_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "tests/worker/data/interrupted.h"
#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/pair_set.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportPairsTest : public ::testing::Test {
 protected:
  using enum PairSet::Split;

  absl::StatusOr<Manifest> Import(std::vector<fs::path> train, std::vector<fs::path> test, const std::string& name = "sums", PairFormat format = {}) {
    NoProgress progress;
    return ImportPairs({.folder = data_, .name = name, .sources = std::move(train), .test_sources = std::move(test), .format = std::move(format)}, progress);
  }
  // Of texts that are the files.
  absl::StatusOr<Manifest> ImportTexts(std::string_view train, std::string_view test, const std::string& name = "sums", PairFormat format = {}) {
    Write(home_ / "train.txt", train);
    Write(home_ / "test.txt", test);
    return Import({home_ / "train.txt"}, {home_ / "test.txt"}, name, std::move(format));
  }
  // "a b>c" of each pair, in the order of the data set.
  std::vector<std::string> Stored(PairSet::Split split, const std::string& name = "sums") {
    const absl::StatusOr<PairSet> set = PairSet::Open(data_, name, "");
    EXPECT_OK(set.status());
    std::vector<std::string> stored;
    if (!set.ok()) return stored;
    const auto text = [](std::span<const uint16_t> ids, const std::vector<std::string>& symbols) {
      std::string joined;
      for (const uint16_t id : ids) joined += (joined.empty() ? "" : " ") + symbols[id];
      return joined;
    };
    for (const PairsOfLength& of : set->lengths(split)) {
      for (int64_t i = 0; i < of.pairs; ++i) {
        const Pair pair = set->pair(split, of.length, i);
        EXPECT_EQ(static_cast<int>(pair.input.size()), of.length);
        EXPECT_LE(of.shortest_output, static_cast<int>(pair.output.size()));
        EXPECT_GE(of.longest_output, static_cast<int>(pair.output.size()));
        stored.push_back(text(pair.input, set->input_symbols()) + ">" + text(pair.output, set->output_symbols()));
      }
    }
    return stored;
  }

  testing::TemporaryFolder home_;
  const fs::path data_ = home_ / "data";
};

TEST_F(ImportPairsTest, LinesOfBothFormsBecomePairsInTheOrderOfTheirLengths) {
  ASSERT_OK_AND_ASSIGN(const Manifest made, ImportTexts("1+1=\t2\n"
                                                        "{\"input\": \"b\xC3\xA9\", \"output\": [10, \"x y\", -3]}\r\n"
                                                        "\n\r\n"
                                                        "{\"output\": \" \", \"input\": [\"+\", 1]}",
                                                        "\xEF\xBB\xBF" "9\t9"));

  EXPECT_THAT(Stored(kTrain), ElementsAre("b \xC3\xA9>10 x y -3", "+ 1> ", "1 + 1 =>2"));
  EXPECT_THAT(Stored(kTest), ElementsAre("9>9"));
  ASSERT_OK_AND_ASSIGN(const PairSet set, PairSet::Open(data_, "sums", made.Identity()));
  // Of both splits together, by their bytes.
  EXPECT_THAT(set.input_symbols(), ElementsAre("+", "1", "9", "=", "b", "\xC3\xA9"));
  EXPECT_THAT(set.output_symbols(), ElementsAre(" ", "-3", "10", "2", "9", "x y"));
  EXPECT_THAT(set.lengths(kTrain), ElementsAre(PairsOfLength{2, 2, 1, 3}, PairsOfLength{4, 1, 1, 1}));
  EXPECT_THAT(set.lengths(kTest), ElementsAre(PairsOfLength{1, 1, 1, 1}));
  EXPECT_EQ(NamesIn(data_), "sums ");
  EXPECT_OK(CheckDataSet(data_, "sums"));
}

TEST_F(ImportPairsTest, WordsAndOtherFieldsAreTakenWhereTheyAreAskedFor) {
  ASSERT_OK(ImportTexts("{\"q\": \"  one plus\\ntwo \", \"input\": 3, \"a\": \"three\"}\n", "one  two\t three  \n", "words",
                        {.symbols = Symbols::kWords, .input_field = "q", .output_field = "a"}));

  EXPECT_THAT(Stored(kTrain, "words"), ElementsAre("one plus two>three"));
  EXPECT_THAT(Stored(kTest, "words"), ElementsAre("one two>three"));
}

TEST_F(ImportPairsTest, PairsOfOneLengthStayInTheOrderOfTheFiles) {
  std::string first, second;
  std::vector<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    const std::string word = std::to_string(1000 + i * 7 % 1000);
    (i < 300 ? first : second) += "[\t1\n" + word + "\t0\nlonger" + word + "\t1\n";
    expected.push_back(std::string{word[0], ' ', word[1], ' ', word[2], ' ', word[3]} + ">0");
  }
  Write(home_ / "z.txt", first);
  Write(home_ / "a.txt", second);
  Write(home_ / "test.txt", "1\t1\n");
  ASSERT_OK(Import({home_ / "z.txt", home_ / "a.txt"}, {home_ / "test.txt"}));

  const std::vector<std::string> stored = Stored(kTrain);

  ASSERT_EQ(stored.size(), 1500u);
  EXPECT_EQ(std::vector<std::string>(stored.begin() + 500, stored.begin() + 1000), expected);
}

// More symbols than are gathered at a time, and a sequence of the greatest length.
TEST_F(ImportPairsTest, LongSequencesAreStoredAsTheyAre) {
  std::string input(65'536, 'a'), output(65'536, 'b');
  for (size_t i = 0; i < input.size(); i += 7) input[i] = static_cast<char>('c' + i % 20);
  for (size_t i = 0; i < output.size(); i += 5) output[i] = static_cast<char>('C' + i % 20);
  ASSERT_OK(ImportTexts(input + "\t" + output + "\nshort\tx\n" + input + "\t" + input + "\n", output + "\t" + input));

  ASSERT_OK_AND_ASSIGN(const PairSet set, PairSet::Open(data_, "sums", ""));
  const auto text = [](std::span<const uint16_t> ids, const std::vector<std::string>& symbols) {
    return std::accumulate(ids.begin(), ids.end(), std::string(), [&symbols](std::string before, uint16_t id) { return std::move(before) += symbols[id]; });
  };
  EXPECT_TRUE(text(set.pair(kTrain, 65'536, 0).input, set.input_symbols()) == input);
  EXPECT_TRUE(text(set.pair(kTrain, 65'536, 0).output, set.output_symbols()) == output);
  EXPECT_TRUE(text(set.pair(kTrain, 65'536, 1).output, set.output_symbols()) == input);
  EXPECT_TRUE(text(set.pair(kTest, 65'536, 0).input, set.input_symbols()) == output);
}

TEST_F(ImportPairsTest, OutputsEndByThemselvesWhereTheyHaveOneLengthForEachInputLength) {
  const auto has_ends = [this](std::string_view train, std::string_view test, const std::string& name) {
    EXPECT_OK(ImportTexts(train, test, name).status());
    const absl::StatusOr<PairSet> set = PairSet::Open(data_, name, "");
    return set.ok() && set->has_ends();
  };
  EXPECT_FALSE(has_ends("a\t1\nab\t22\n", "b\t2\nabc\t3\n", "none"));
  EXPECT_TRUE(has_ends("a\t1\nb\t22\n", "ab\t2\n", "within"));
  EXPECT_TRUE(has_ends("a\t1\n", "b\t22\n", "between"));
}

TEST_F(ImportPairsTest, TestInputsThatAreTrainedOnAreCounted) {
  ASSERT_OK_AND_ASSIGN(const Manifest made, ImportTexts("ab\t1\nab\t2\nc\t1\n", "ab\t1\nba\t1\nab\t3\na\t1\nc\t1\nabc\t1\n"));
  EXPECT_EQ(made.test_inputs_in_training, 3);
}

TEST_F(ImportPairsTest, TheIdentityIsThatOfThePairsAndNotOfTheirNameOrPlace) {
  ASSERT_OK_AND_ASSIGN(const Manifest made, ImportTexts("ab\t1\nc\t2\n", "d\t1\n"));
  Write(home_ / "elsewhere/1.jsonl", "{\"input\": [\"a\", \"b\"], \"output\": [1]}\n");
  Write(home_ / "elsewhere/2.txt", "\n\nc\t2");
  ASSERT_OK_AND_ASSIGN(const Manifest same, Import({home_ / "elsewhere/1.jsonl", home_ / "elsewhere/2.txt"}, {home_ / "test.txt"}, "other"));
  EXPECT_EQ(same.Identity(), made.Identity());

  int number = 0;
  for (const auto& [train, test] : {std::pair("ab\t1\nc\t1\n", "d\t2\n"), std::pair("ab\t1\nc\t2\n", "e\t1\n"), std::pair("d\t1\n", "ab\t1\nc\t2\n"), std::pair("ba\t1\nc\t2\n", "d\t1\n")}) {
    ASSERT_OK_AND_ASSIGN(const Manifest changed, ImportTexts(train, test, "changed" + std::to_string(++number)));
    EXPECT_NE(changed.Identity(), made.Identity()) << train << test;
  }
}

TEST_F(ImportPairsTest, PositionsThatLinesHaveStayWithTheirPairs) {
  const std::string train = "{\"input\": \"12+3\", \"output\": \"51\", \"positions\": [2, 1, 0, 1, 1, 2]}\n"
                            "{\"input\": \"9\", \"output\": \"9\", \"positions\": [65535, 7, 3]}\n"
                            "{\"input\": \"12-3\", \"output\": \"9\", \"positions\": [2, 1, 0, 1, 5]}\n";
  const std::string test = "{\"input\": \"1\", \"output\": \"11\", \"positions\": [0, 0, 4]}\n";
  ASSERT_OK_AND_ASSIGN(const Manifest made, ImportTexts(train, test));

  EXPECT_THAT(Stored(kTrain), ElementsAre("9>9", "1 2 + 3>5 1", "1 2 - 3>9"));
  ASSERT_OK_AND_ASSIGN(const PairSet set, PairSet::Open(data_, "sums", made.Identity()));
  EXPECT_TRUE(set.has_positions());
  EXPECT_THAT(set.pair(kTrain, 1, 0).positions, ElementsAre(65535, 7, 3)) << "one for the end, too";
  EXPECT_THAT(set.pair(kTrain, 4, 0).positions, ElementsAre(2, 1, 0, 1, 1, 2, 0)) << "an end without one is nowhere";
  EXPECT_THAT(set.pair(kTrain, 4, 1).positions, ElementsAre(2, 1, 0, 1, 5, 0));
  EXPECT_THAT(set.pair(kTest, 1, 0).positions, ElementsAre(0, 0, 4, 0));
  EXPECT_THAT(set.lengths(kTrain), ElementsAre(PairsOfLength{1, 1, 1, 1, 65535}, PairsOfLength{4, 2, 1, 2, 5}));
  EXPECT_THAT(set.lengths(kTest), ElementsAre(PairsOfLength{1, 1, 2, 2, 4}));
  EXPECT_OK(CheckDataSet(data_, "sums"));

  std::string elsewhere = train;
  elsewhere.replace(elsewhere.find("[2, 1, 0"), 8, "[2, 1, 3");
  ASSERT_OK_AND_ASSIGN(const Manifest moved, ImportTexts(elsewhere, test, "moved"));
  EXPECT_NE(moved.Identity(), made.Identity());
  ASSERT_OK_AND_ASSIGN(const Manifest without, ImportTexts(train, test, "without", {.positions_field = "other"}));
  EXPECT_NE(without.Identity(), made.Identity());
  ASSERT_OK_AND_ASSIGN(const PairSet plain, PairSet::Open(data_, "without", without.Identity()));
  EXPECT_FALSE(plain.has_positions());
  EXPECT_TRUE(plain.pair(kTrain, 1, 0).positions.empty());

  const fs::path file = data_ / "sums" / kTrainPositionsFile;
  const std::string whole = Read(file);
  for (const std::string& other : {whole.substr(0, whole.size() - 2), std::string()}) {
    Write(file, other);
    EXPECT_EQ(PairSet::Open(data_, "sums", "").status().code(), absl::StatusCode::kDataLoss) << other.size();
  }
  fs::remove(file);
  EXPECT_EQ(PairSet::Open(data_, "sums", "").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ImportPairsTest, EitherAllPairsHavePositionsOrNone) {
  const std::string with = "{\"input\": \"a\", \"output\": \"1\", \"positions\": [1, 1]}\n";
  EXPECT_THAT(std::string(ImportTexts(with + "a\t1\n", with).status().message()), HasSubstr("train.txt:2: has no positions, and those before have some; either all pairs have some, or none"));
  EXPECT_THAT(std::string(ImportTexts("a\t1\n" + with, with).status().message()), HasSubstr("train.txt:2: has positions, and those before have none"));
  EXPECT_THAT(std::string(ImportTexts(with, "a\t1\n").status().message()), HasSubstr("test.txt:1: has no positions"));
  EXPECT_EQ(NamesIn(data_), "");
}

TEST_F(ImportPairsTest, WhatIsWrongWithALineIsToldWithItsFileAndNumber) {
  std::string many;  // 4,097 different symbols.
  for (int i = 0; i < 4097; ++i) many += (i == 0 ? "[" : ",") + std::to_string(i);
  many += "]";
  const std::pair<std::string, std::string> cases[] = {
      {"ab\xFF\t1", "not UTF-8: the byte 0xff at offset 2 of the line"},
      {"ab 1", "has no tab, which stands between an input and its output"},
      {" ", "has no tab"},
      {"ab\t1\t2", "has more than one tab"},
      {"{ab}\t1", "begins with '{' and is no JSON object"},
      {"{\"input\": \"a\", \"output\": \"1\"", "is no JSON object"},
      {"{\"input\": \"a\", \"output\": \"\\ud800\"}", "is no JSON object"},
      {"{\"input\": \"a\", \"output\": 1e400}", "is no JSON object; write an input that begins so in one, too: number overflow"},
      {"{\"input\": \"a\", \"input\": \"b\", \"output\": \"c\"}", "the object has 'input' twice"},
      {"{\"output\": \"1\"}", "the object has no 'input'; --input-field names another field"},
      {"{\"input\": \"a\"}", "the object has no 'output'; --output-field names another field"},
      {"{\"input\": \"a\", \"output\": 1}", "'output' is neither a text nor a list"},
      {"{\"input\": [\"a\", 1.5], \"output\": \"1\"}", "the list of the input has something that is neither a text nor a whole number"},
      {"{\"input\": [[\"a\"]], \"output\": \"1\"}", "the list of the input has something"},
      {"\t1", "the input is empty"},
      {"a\t", "the output is empty"},
      {"{\"input\": [], \"output\": \"1\"}", "the input is empty"},
      {"{\"input\": \"a\", \"output\": \"\"}", "the output is empty"},
      {"{\"input\": [\"\"], \"output\": \"1\"}", "the input has a symbol that is empty"},
      {"{\"input\": \"a\\u0007\", \"output\": \"1\"}", "the input has a symbol that has a control character: '\\x07'"},
      {std::string("a\t1\0", 4), "the output has a symbol that has a control character: '\\x00'"},
      {"{\"input\": [\"" + std::string(65, 'x') + "\"], \"output\": \"1\"}", "the input has a symbol that has more than 64 bytes: 'xxx"},
      {std::string(65'537, 'a') + "\t1", "the input has more than 65536 symbols"},
      {"a\t" + std::string(65'537, '1'), "the output has more than 65536 symbols"},
      {"{\"input\": " + many + ", \"output\": \"1\"}", "'4096' would be input symbol number 4097, and there may be 4096 different ones"},
      {"{\"input\": \"0\", \"output\": " + many + "}", "'4096' would be output symbol number 4097"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": 3}", "'positions' is no list of positions; --positions-field names another field for them"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, 2]}", "'positions' has 2 numbers; there must be one for each of the 3 symbols of input and output"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, 2, 3, 4, 5]}", "'positions' has 5 numbers"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, 2, 65536]}", "'positions' has 65536, which is no whole number from 0 to 65535"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, -1, 2]}", "'positions' has -1, which is no whole number"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, 1.0, 2]}", "'positions' has 1.0, which is no whole number"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, 18446744073709551615, 2]}", "'positions' has 18446744073709551615, which"},
      {"{\"input\": \"ab\", \"output\": \"1\", \"positions\": [1, \"2\", 2]}", "'positions' has \"2\", which is no whole number"},
  };
  for (const auto& [line, why] : cases) {
    const absl::Status refused = ImportTexts("0\t0\n\n" + line + "\n", "0\t0\n").status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr((home_ / "train.txt").string() + ":3: ")) << line.substr(0, 80);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(why)) << line.substr(0, 80);
  }
  EXPECT_THAT(std::string(ImportTexts("0\t0\n", "0\t0\n1").status().message()), HasSubstr("test.txt:2: has no tab"));
  EXPECT_EQ(NamesIn(data_), "");
}

TEST_F(ImportPairsTest, BothSplitsNeedPairs) {
  const auto refusal = [](const absl::StatusOr<Manifest>& made) {
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << made.status();
    return std::string(made.status().message());
  };
  EXPECT_THAT(refusal(ImportTexts("\n\n", "0\t0\n")), HasSubstr("train.txt has no pair to train on"));
  EXPECT_THAT(refusal(ImportTexts("0\t0\n", "")), HasSubstr("test.txt has no pair to test on"));
  EXPECT_THAT(refusal(Import({}, {home_ / "test.txt"})), HasSubstr("no file was given to train on"));
  EXPECT_THAT(refusal(Import({home_ / "train.txt"}, {})), HasSubstr("no file was given to test on; name one with --test"));
  EXPECT_THAT(refusal(Import({home_ / "train.txt"}, {home_ / "train.txt"})), HasSubstr("is given twice"));
  EXPECT_THAT(refusal(Import({home_ / "train.txt"}, {home_ / "test.txt"}, "a/b")), HasSubstr("cannot be a data set's name"));
  EXPECT_EQ(Import({home_ / "none.txt"}, {home_ / "test.txt"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(NamesIn(data_), "");
}

TEST_F(ImportPairsTest, OneThatWasKilledIsBegunAnew) {
  Write(home_ / "train.txt", "ab\t1\nc\t2\n");
  Write(home_ / "test.txt", "d\t1\n");
  ASSERT_OK_AND_ASSIGN(const Manifest whole, Import({home_ / "train.txt"}, {home_ / "test.txt"}, "whole"));
  int step = 0;
  for (; KilledAt(step, [this](Progress& progress) {
         ImportPairs({.folder = data_, .name = "sums", .sources = {home_ / "train.txt"}, .test_sources = {home_ / "test.txt"}}, progress).IgnoreError();
       });
       ++step) {
    EXPECT_FALSE(fs::exists(data_ / "sums")) << step;
    ASSERT_OK_AND_ASSIGN(const Manifest again, Import({home_ / "train.txt"}, {home_ / "test.txt"}));
    EXPECT_EQ(again.Identity(), whole.Identity());
    ASSERT_OK(RemoveDataSet(data_, "sums"));
  }
  EXPECT_EQ(step, 5);  // The beginning, three lines and the end of the reading.
}

TEST_F(ImportPairsTest, AFileThatIsCutOrHasOtherEndsIsDataLoss) {
  ASSERT_OK(ImportTexts("ab\t1\nc\t2\n", "d\t1\n"));
  const fs::path file = data_ / "sums" / kTrainPairsFile;
  const std::string whole = Read(file);
  ASSERT_EQ(whole, std::string("\2\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\2\0\1\0\0\0\1\0\0\0", 26));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    Write(file, whole.substr(0, bytes));
    EXPECT_EQ(PairSet::Open(data_, "sums", "").status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
  // Other bytes, with a time at which nobody looks at them.
  for (const size_t at : {0u, 7u, 8u, 15u}) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] + 1);
    Write(file, other);
    fs::last_write_time(file, fs::last_write_time(data_ / "sums" / kManifest) - std::chrono::hours(1));
    const absl::Status damaged = PairSet::Open(data_, "sums", "").status();
    EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss) << damaged;
    EXPECT_THAT(std::string(damaged.message()), HasSubstr("its pairs do not follow each other; 'longreach data remove sums'"));
    EXPECT_EQ(CheckDataSet(data_, "sums").code(), absl::StatusCode::kDataLoss);
  }
  Write(file, whole);
  EXPECT_OK(PairSet::Open(data_, "sums", "").status());
  EXPECT_EQ(PairSet::Open(data_, "none", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(PairSet::Open(data_, "sums", std::string(64, '0')).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace longreach::data
