// Small data sets of pairs of sequences, and jobs that read them.
#pragma once

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_pairs.h"
#include "worker/data/progress.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/sequences.h"

namespace longreach::trainer {

using Lines = std::vector<std::pair<std::string, std::string>>;

inline std::string Reversed(std::string text) {
  std::ranges::reverse(text);
  return text;
}

// Words over `alphabet` of these lengths, `count` of each, always the same; with what `answer` says of them.
template <typename Answer>
Lines PairsOver(const std::string& alphabet, const std::vector<int>& lengths, int count, const Answer& answer) {
  Lines pairs;
  unsigned next = 17;
  for (const int length : lengths) {
    for (int i = 0; i < count; ++i) {
      std::string input;
      for (int t = 0; t < length; ++t) {
        next = next * 1103515245u + 12345u;
        input += alphabet[(next >> 16) % alphabet.size()];
      }
      pairs.emplace_back(input, answer(input));
    }
  }
  return pairs;
}

// Words backwards: an input's letter and the output that repeats it stand at one position, the first letter at 1. The end, where there is one, is nowhere.
inline std::string WithPositions(const Lines& pairs) {
  std::string lines;
  for (const auto& [input, output] : pairs) {
    std::string positions;
    for (size_t i = 1; i <= input.size(); ++i) positions += std::to_string(i) + ", ";
    for (size_t i = 0; i < output.size(); ++i) positions += (i == 0 ? "" : ", ") + std::to_string(input.size() - i);
    lines += "{\"input\": \"" + input + "\", \"output\": \"" + output + "\", \"positions\": [" + positions + "]}\n";
  }
  return lines;
}

class PairsTest : public PackTest {
 protected:
  void Import(const std::string& name, const Lines& train, const Lines& test) {
    const auto text = [](const Lines& pairs) {
      std::string lines;
      for (const auto& [input, output] : pairs) lines += input + "\t" + output + "\n";
      return lines;
    };
    ImportTexts(name, text(train), text(test));
  }
  void ImportTexts(const std::string& name, const std::string& train, const std::string& test) {
    std::ofstream(Folder(name + "_source") / "train") << train;
    std::ofstream(Folder(name + "_source") / "test") << test;
    data::NoProgress quiet;
    const auto imported = data::ImportPairs({.folder = Folder("data"), .name = name, .sources = {Folder(name + "_source") / "train"},
                                             .test_sources = {Folder(name + "_source") / "test"}}, quiet);
    ASSERT_TRUE(imported.ok()) << imported.status();
  }
  // Three letters, backwards.
  void ImportReversed() { Import("reversed", ToTrain(), ToTest()); }
  void ImportReversedWithPositions() { ImportTexts("reversed", WithPositions(ToTrain()), WithPositions(ToTest())); }
  // The first letter as often as it stands at the beginning: outputs of one input length have different lengths.
  void ImportRuns() {
    const auto first_run = [](const std::string& input) { return input.substr(0, std::min(input.find_first_not_of(input[0]), input.size())); };
    Import("runs", PairsOver("ab", {1, 2, 3, 4, 5}, 30, first_run), PairsOver("ab", {4, 6}, 30, first_run));
  }

  static PackSettings Settings(const std::string& data, const std::string& encoding, bool randomized = false) {
    PackSettings settings = SmallSettings("pairs", encoding, randomized);
    settings.experiment = "sequences";
    settings.data = data;
    settings.evaluation.examples = 0;
    return settings;
  }
  static Lines ToTrain() { return PairsOver("abc", {1, 2, 3, 4, 5, 6, 7}, 40, Reversed); }
  static Lines ToTest() { return PairsOver("abc", {8, 9, 13}, 50, Reversed); }

  DataSource Here() const { return {.folder = Folder("data"), .sha256 = ""}; }
  // The settings as Train() resolves them, and their problem.
  std::pair<PackSettings, std::unique_ptr<Problem>> Resolved(PackSettings settings) const {
    const absl::Status read = ReadPairs(settings, Here());
    EXPECT_TRUE(read.ok()) << read;
    auto problem = MakeProblem(settings, Here());
    EXPECT_TRUE(problem.ok()) << problem.status();
    return {settings, problem.ok() ? *std::move(problem) : nullptr};
  }
  PackRequest RequestOf(const PackSettings& settings, int members, const std::string& folder) const {
    PackRequest request = Request(settings, members, folder);
    request.data = Here();
    return request;
  }
  // A member of the pack alone on one thread, stopped after two updates and gone on with from its checkpoint.
  MemberResult StoppedAndGoneOn(PackRequest request, size_t member, const std::string& name) const {
    request.members = {request.members[member]};
    request.threads = 1;
    request.folder = Folder(name + "_first");
    RecordingObserver first;
    first.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 2, .dropped = {}}; };
    EXPECT_TRUE(Train(request, first).ok());
    EXPECT_EQ(first.checkpoints.size(), 1u);
    request.folder = Folder(name + "_second");
    request.members[0].checkpoints = {{first.checkpoints.at(0), 0}};
    return Run(request).results.at(0);
  }
};

}  // namespace longreach::trainer
