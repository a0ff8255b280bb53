#include "worker/data/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/worker/data/support.h"
#include "worker/data/shard.h"

namespace longreach::data {
namespace {

using Json = nlohmann::ordered_json;

Manifest Text() {
  Manifest manifest;
  manifest.name = "novels";
  manifest.files = {{"corpus.bin", 100, std::string(64, 'a')}};
  manifest.train = {0, 90};
  manifest.valid = {90, 95};
  manifest.test = {95, 100};
  manifest.source = "/tmp/novels.txt";
  manifest.skipped = {"b.txt.gz (gzip)"};
  return manifest;
}

Manifest Images() {
  Manifest manifest;
  manifest.name = "pets";
  manifest.kind = Kind::kImages;
  manifest.classes = {"cat", "dog"};
  manifest.sizes = {{2, 3}};
  manifest.fit = "squash";
  manifest.train_shards = {{"train-00000.images", 5}};
  manifest.valid_shards = {{"valid-00000.images", 1}};
  manifest.files = {{"train-00000.images", ShardBytes(5, manifest.sizes), std::string(64, 'b')},
                    {"valid-00000.images", ShardBytes(1, manifest.sizes), std::string(64, 'c')}};
  manifest.skipped = {"bad.jpg: JPEG: \"quoted\" \xff"};
  return manifest;
}

Manifest Tokens() {
  Manifest manifest;
  manifest.name = "pg19";
  manifest.kind = Kind::kTokens;
  manifest.vocabulary = 32'000;
  manifest.tokens = 50;
  manifest.train = {0, 2};
  manifest.test = {2, 3};
  manifest.files = {{"tokens.bin", 100, std::string(64, 'd')}, {"documents.bin", 24, std::string(64, 'e')}};
  return manifest;
}

Manifest Model() {
  Manifest manifest;
  manifest.name = "tinyllama";
  manifest.kind = Kind::kModel;
  manifest.files = {{"config.json", 600, std::string(64, 'f')}, {"model.safetensors", 5000, std::string(64, 'a')}};
  manifest.description = "2 layers";
  manifest.nope = true;
  return manifest;
}

Manifest LongBench() {
  Manifest manifest;
  manifest.name = "longbench";
  manifest.kind = Kind::kLongBench;
  manifest.files = {{"qasper.jsonl", 900, std::string(64, 'b')}, {"lcc.jsonl", 100, std::string(64, 'c')}};
  manifest.samples = 700;
  manifest.skipped = {"vcsum.jsonl: in Chinese"};
  return manifest;
}

Manifest Pairs() {
  Manifest manifest;
  manifest.name = "sums";
  manifest.kind = Kind::kPairs;
  manifest.input_symbols = {"+", "1", "\xC3\xA9"};
  manifest.output_symbols = {"0", "x y"};
  manifest.train_pairs = {{2, 3, 1, 4}, {5, 1, 2, 2}};
  manifest.test_pairs = {{7, 2, 1, 1}};
  manifest.test_inputs_in_training = 1;
  // Of the training: four ends, three inputs of two symbols and one of five, and outputs of 1 to 4 and of 2.
  manifest.files = {{"train.pairs", 32 + 2 * (11 + 3 * 2 + 2), std::string(64, 'd')}, {"test.pairs", 16 + 2 * (14 + 2), std::string(64, 'e')}};
  return manifest;
}

// Their files have a position for each symbol, and one for each pair.
Manifest PairsWithPositions() {
  Manifest manifest = Pairs();
  manifest.train_pairs[0].highest_position = 9;
  manifest.train_pairs[1].highest_position = 0;
  manifest.test_pairs[0].highest_position = 65'535;
  manifest.files.push_back({"train.positions", 2 * (11 + 3 * 2 + 2 + 4), std::string(64, 'a')});
  manifest.files.push_back({"test.positions", 2 * (14 + 2 + 2), std::string(64, 'b')});
  return manifest;
}

TEST(ManifestTest, ReadsWhatWasWritten) {
  for (const Manifest& manifest : {Text(), Images(), Tokens(), Model(), LongBench(), Pairs(), PairsWithPositions()}) {
    ASSERT_OK_AND_ASSIGN(const Manifest read, ParseManifest(ToJson(manifest)));
    EXPECT_EQ(read.Identity(), manifest.Identity());
    EXPECT_EQ(read.name, manifest.name);
    EXPECT_EQ(read.bytes(), manifest.bytes());
    EXPECT_EQ(read.train, manifest.train);
    EXPECT_EQ(read.skipped.size(), manifest.skipped.size());
  }
}

TEST(ManifestTest, WhatWasLeftOutOfATextIsNoPartOfItAndMayBeUnknown) {
  Manifest whole = Text();
  whole.skipped.clear();
  EXPECT_EQ(whole.Identity(), Text().Identity());
  Json older = Json::parse(ToJson(Text()));
  older.erase("skipped");
  ASSERT_OK_AND_ASSIGN(const Manifest read, ParseManifest(older.dump()));
  EXPECT_EQ(read.Identity(), Text().Identity());
  EXPECT_TRUE(read.skipped.empty());
}

TEST(ManifestTest, TokensAndModelsAreTheirFilesAndHowTheyAreRead) {
  ASSERT_OK_AND_ASSIGN(const Manifest model, ParseManifest(ToJson(Model())));
  EXPECT_TRUE(model.nope);
  Manifest rotary = Model();
  rotary.nope = false;
  rotary.description = "as somebody else would say it";
  EXPECT_NE(rotary.Identity(), Model().Identity());
  rotary.nope = true;
  EXPECT_EQ(rotary.Identity(), Model().Identity());
  Manifest split = Tokens();
  split.train.end = split.test.begin = 1;
  EXPECT_NE(split.Identity(), Tokens().Identity());
  Manifest other = Tokens();
  other.vocabulary = 31'999;
  EXPECT_NE(other.Identity(), Tokens().Identity());
}

TEST(ManifestTest, RefusesTasksWithoutSamplesOrFiles) {
  Manifest manifest = LongBench();
  manifest.samples = 0;
  EXPECT_EQ(std::string(ParseManifest(ToJson(manifest)).status().message()), "samples: not a whole number from 1 to 1125899906842624");
  manifest = LongBench();
  manifest.files.clear();
  EXPECT_EQ(std::string(ParseManifest(ToJson(manifest)).status().message()), "files: there is none");
}

TEST(ManifestTest, RefusesTokensThatAreNotInTheirFiles) {
  const auto refused = [](const std::function<void(Manifest&)>& change) {
    Manifest manifest = Tokens();
    change(manifest);
    const absl::StatusOr<Manifest> read = ParseManifest(ToJson(manifest));
    return read.ok() ? "" : std::string(read.status().message());
  };
  EXPECT_EQ(refused([](Manifest&) {}), "");
  EXPECT_EQ(refused([](Manifest& m) { m.tokens = 51; }), "files: 'tokens.bin' of 102 bytes is not there");
  EXPECT_EQ(refused([](Manifest& m) { m.test.end = 4; }), "files: 'documents.bin' of 32 bytes is not there");
  EXPECT_EQ(refused([](Manifest& m) { m.test.begin = 1; }), "train, test: not consecutive ranges of documents");
  EXPECT_EQ(refused([](Manifest& m) { m.vocabulary = 70'000; }), "vocabulary: not a whole number from 1 to 65536");
}

TEST(ManifestTest, TheIdentityIsThatOfTheContentAlone) {
  const std::string before = Text().Identity();
  Manifest other = Text();
  other.name = "other";
  other.source = "elsewhere";
  other.imported_at = "2026-01-01T00:00:00Z";
  EXPECT_EQ(other.Identity(), before);
  other.valid.end = other.test.begin = 96;
  EXPECT_NE(other.Identity(), before);
  Manifest bytes = Text();
  bytes.files[0].sha256[0] = '0';
  EXPECT_NE(bytes.Identity(), before);
  Manifest classes = Images();
  std::swap(classes.classes[0], classes.classes[1]);
  EXPECT_NE(classes.Identity(), Images().Identity());
  // Pinned: stores out there have it.
  EXPECT_EQ(before, "a73f6b29ee2b8eb7f88ea0c9a21eb8be2cb32423452356d2e8a738bdcb9160e0");
  EXPECT_EQ(Images().Identity(), "ca0354a8f33986cac9422e162cc3cc087d38eba0b57786749d03117f00590e2e");
}

struct Change {
  const char* what;
  std::function<void(Json&)> apply;
  const char* field;  // In the refusal.
};

void ExpectRefused(const Manifest& manifest, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    Json json = Json::parse(ToJson(manifest));
    change.apply(json);
    const absl::StatusOr<Manifest> read = ParseManifest(json.dump());
    ASSERT_FALSE(read.ok()) << change.what;
    EXPECT_NE(read.status().message().find(change.field), std::string::npos) << change.what << ": " << read.status();
  }
}

TEST(ManifestTest, WhatIsWrongInATextsManifestIsNamed) {
  ExpectRefused(Text(), {
      {"no format", [](Json& m) { m.erase("format"); }, "format"},
      {"another format", [](Json& m) { m["format"] = "zip"; }, "format"},
      {"a later version", [](Json& m) { m["version"] = 2; }, "install the build"},
      {"another kind", [](Json& m) { m["kind"] = "sounds"; }, "kind"},
      {"a number as name", [](Json& m) { m["name"] = 3; }, "name"},
      {"no files", [](Json& m) { m["files"] = Json::array(); }, "files"},
      {"a path", [](Json& m) { m["files"][0]["name"] = "../../etc/passwd"; }, "files.name"},
      {"itself", [](Json& m) { m["files"][0]["name"] = "manifest.json"; }, "files.name"},
      {"a file twice", [](Json& m) { m["files"].push_back(m["files"][0]); }, "twice"},
      {"no hash", [](Json& m) { m["files"][0]["sha256"] = "abc"; }, "files.sha256"},
      {"another hash", [](Json& m) { m["files"][0]["sha256"] = std::string(64, 'd'); }, "sha256"},
      {"negative bytes", [](Json& m) { m["files"][0]["bytes"] = -1; }, "files.bytes"},
      {"too many bytes", [](Json& m) { m["files"][0]["bytes"] = 18446744073709551615u; }, "files.bytes"},
      {"half a byte", [](Json& m) { m["files"][0]["bytes"] = 99.5; }, "files.bytes"},
      {"an empty range", [](Json& m) { m["valid"] = {90, 90}; }, "ranges"},
      {"a gap", [](Json& m) { m["valid"] = {91, 95}; }, "ranges"},
      {"past the end", [](Json& m) { m["test"] = {95, 101}; }, "test"},
      {"three ends", [](Json& m) { m["test"] = {95, 99, 100}; }, "test"},
      {"another identity", [](Json& m) { m["sha256"] = std::string(64, '0'); }, "sha256"},
  });
  EXPECT_FALSE(ParseManifest("").ok());
  EXPECT_FALSE(ParseManifest("[]").ok());
  EXPECT_FALSE(ParseManifest(std::string(100'000, '[')).ok());
  const std::string whole = ToJson(Text());
  for (size_t length = 0; length + 2 < whole.size(); ++length) EXPECT_FALSE(ParseManifest(whole.substr(0, length)).ok()) << length;
}

TEST(ManifestTest, WhatIsWrongInAnImageSetsManifestIsNamed) {
  ExpectRefused(Images(), {
      {"no classes", [](Json& m) { m["classes"] = Json::array(); }, "classes"},
      {"a class that is none", [](Json& m) { m["classes"] = {"cat", 3}; }, "classes"},
      {"no sizes", [](Json& m) { m["sizes"] = Json::array(); }, "sizes"},
      {"a size of nothing", [](Json& m) { m["sizes"][0]["rows"] = 0; }, "sizes.rows"},
      {"a size beyond all", [](Json& m) { m["sizes"][0]["cols"] = 1 << 20; }, "sizes.cols"},
      {"another size", [](Json& m) { m["sizes"][0]["cols"] = 4; }, "files"},
      {"no training images", [](Json& m) { m["train"] = Json::array(); }, "train"},
      {"a shard of nothing", [](Json& m) { m["valid"][0]["images"] = 0; }, "valid.images"},
      {"a shard that is no file", [](Json& m) { m["valid"][0]["file"] = "else"; }, "else"},
      {"a shard in both splits", [](Json& m) { m["valid"] = m["train"]; }, "twice"},
      {"a file without images", [](Json& m) { m["files"].push_back({{"name", "x"}, {"bytes", 1}, {"sha256", std::string(64, 'd')}}); },
       "files"},
      {"no list of broken ones", [](Json& m) { m["skipped"] = 3; }, "skipped"},
  });
}

TEST(ManifestTest, PairsAreTheirSymbolsAndLengths) {
  ASSERT_OK_AND_ASSIGN(const Manifest read, ParseManifest(ToJson(Pairs())));
  EXPECT_EQ(read.input_symbols, Pairs().input_symbols);
  EXPECT_EQ(read.output_symbols, Pairs().output_symbols);
  EXPECT_EQ(read.train_pairs, Pairs().train_pairs);
  EXPECT_EQ(read.test_pairs, Pairs().test_pairs);
  EXPECT_EQ(read.test_inputs_in_training, 1);
  const auto identity = [](const std::function<void(Manifest&)>& change) {
    Manifest manifest = Pairs();
    change(manifest);
    return manifest.Identity();
  };
  // Pinned: stores out there have it.
  EXPECT_EQ(Pairs().Identity(), "acf34c15f7afd2bafe706cc34d0b59a94ade44f07dcd03422fef0c435a427d52");
  EXPECT_EQ(identity([](Manifest& m) { m.test_inputs_in_training = 2; }), Pairs().Identity());
  EXPECT_NE(identity([](Manifest& m) { m.test_pairs[0].highest_position = 0; }), Pairs().Identity());
  EXPECT_NE(identity([](Manifest& m) { m.input_symbols[0] = "-"; }), Pairs().Identity());
  EXPECT_NE(identity([](Manifest& m) { m.output_symbols.pop_back(); }), Pairs().Identity());
  EXPECT_NE(identity([](Manifest& m) { m.train_pairs[0].longest_output = 5; }), Pairs().Identity());
  EXPECT_NE(identity([](Manifest& m) { std::swap(m.train_pairs, m.test_pairs); }), Pairs().Identity());
  // A symbol that looks like two lines is not two symbols.
  EXPECT_NE(identity([](Manifest& m) { m.output_symbols = {"0\noutput 3 x y"}; }), Pairs().Identity());
}

TEST(ManifestTest, WhatIsWrongInTheManifestOfPairsIsNamed) {
  ExpectRefused(Pairs(), {
      {"no symbols", [](Json& m) { m["input_symbols"] = Json::array(); }, "input_symbols: not 1 to 4096"},
      {"too many symbols", [](Json& m) { m["output_symbols"] = std::vector<std::string>(4097, "a"); }, "output_symbols: not 1 to 4096"},
      {"a symbol that is a number", [](Json& m) { m["input_symbols"][0] = 1; }, "input_symbols"},
      {"an empty symbol", [](Json& m) { m["input_symbols"][0] = ""; }, "input_symbols: one is empty"},
      {"a long symbol", [](Json& m) { m["output_symbols"][1] = std::string(65, 'x'); }, "output_symbols: one has more than 64 bytes"},
      {"a line's end", [](Json& m) { m["output_symbols"][1] = "a\nb"; }, "output_symbols: one has a control character"},
      {"a symbol twice", [](Json& m) { m["input_symbols"][1] = "+"; }, "input_symbols: not ascending"},
      {"no training pairs", [](Json& m) { m["train"] = Json::array(); }, "train: no pairs"},
      {"no test", [](Json& m) { m.erase("test"); }, "test: missing"},
      {"a length of nothing", [](Json& m) { m["train"][0]["length"] = 0; }, "train.length"},
      {"a length beyond all", [](Json& m) { m["train"][1]["length"] = 65'537; }, "train.length"},
      {"lengths that fall", [](Json& m) { m["train"][1]["length"] = 2; }, "train: lengths do not ascend"},
      {"no pairs of a length", [](Json& m) { m["train"][0]["pairs"] = 0; }, "train.pairs"},
      {"no shortest output", [](Json& m) { m["train"][0].erase("shortest_output"); }, "train.shortest_output: missing"},
      {"an empty output", [](Json& m) { m["test"][0]["shortest_output"] = 0; }, "test.shortest_output"},
      {"a longest output below the shortest", [](Json& m) { m["train"][1]["longest_output"] = 1; }, "train.longest_output"},
      {"more pairs than are in the file", [](Json& m) { m["train"][0]["pairs"] = 5; }, "'train.pairs' has 70 bytes, which is not what its pairs make"},
      {"fewer pairs", [](Json& m) { m["test"][0]["pairs"] = 1; }, "'test.pairs' has 48 bytes"},
      {"pairs beyond all counting", [](Json& m) { m["train"][0]["pairs"] = int64_t{1} << 32; }, "'train.pairs' has 70 bytes"},
      {"half a symbol", [](Json& m) { m["files"][0]["bytes"] = 71; }, "'train.pairs' has 71 bytes"},
      {"another file", [](Json& m) { m["files"][1]["name"] = "valid.pairs"; }, "'test.pairs' is not there"},
      {"one file more", [](Json& m) { m["files"].push_back({{"name", "x"}, {"bytes", 1}, {"sha256", std::string(64, 'd')}}); }, "no place among pairs"},
      {"a share for a number", [](Json& m) { m["test_inputs_in_training"] = 0.5; }, "test_inputs_in_training"},
  });
  ExpectRefused(PairsWithPositions(), {
      {"one length without", [](Json& m) { m["train"][1].erase("highest_position"); }, "train: some lengths have positions and others have none"},
      {"one split without", [](Json& m) { m["test"][0].erase("highest_position"); }, "train, test: one of them has positions and the other none"},
      {"a position beyond all", [](Json& m) { m["train"][0]["highest_position"] = 65'536; }, "train.highest_position"},
      {"no file of them", [](Json& m) { m["files"].erase(3); }, "some have no place among pairs"},
      {"another file", [](Json& m) { m["files"][2]["name"] = "x"; }, "'train.positions' is not there"},
      {"too few", [](Json& m) { m["files"][3]["bytes"] = 34; }, "'test.positions' has 34 bytes, which is not what its pairs make"},
  });
}

}  // namespace
}  // namespace longreach::data
