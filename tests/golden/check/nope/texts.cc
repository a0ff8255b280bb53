// Passkey prompts, LongBench's metrics, packed tokens.
#include <algorithm>
#include <cmath>
#include <random>

#include "proto/base/text.h"
#include "tests/golden/check/nope/checks.h"
#include "tests/support/passkey_lengths.h"
#include "worker/data/packed_tokens.h"
#include "worker/trainer/llama/passkey.h"
#include "worker/trainer/longbench/metrics.h"

namespace longreach::golden {

namespace {

using nlohmann::json;

constexpr double kTextScore = 1e-9;

void CheckPasskeyTasks(const json& stored, FileCheck& check) {
  const uint32_t seed = stored.at("seed").get<uint32_t>();
  std::mt19937 generator(seed);
  for (const json& first : stored.at("mt_first_u32")) check.Require(generator() == first.get<uint32_t>(), "mt_first_u32");
  const trainer::PasskeyRule rule{.seed = seed,
                                  .lengths = testing::PasskeyLengths(stored.at("max_tokens").get<int64_t>(),
                                                                     stored.at("num_length").get<int64_t>()),
                                  .depths = stored.at("num_depth").get<int64_t>(),
                                  .tests = stored.at("num_tests").get<int64_t>()};
  const absl::Status valid = trainer::Validate(rule);
  check.Require(valid.ok(), std::string(valid.message()));
  if (!valid.ok()) return;
  const std::vector<trainer::PasskeyCell> cells = trainer::PasskeyTasks(rule);
  const json& tasks = stored.at("tasks");
  check.Require(tasks.size() == cells.size(), Text("there are ", cells.size(), " tasks"));
  for (size_t i = 0; i < std::min(tasks.size(), cells.size()); ++i) {
    const trainer::PasskeyCell& cell = cells[i];
    const std::string what = Text("length ", cell.length, " depth ", cell.depth);
    check.Require(tasks[i].at("length") == cell.length && std::abs(tasks[i].at("depth").get<double>() - cell.depth) < 1e-12,
        Text("task ", i, " is ", what));
    check.Require(tasks[i].at("positions") == json(cell.positions), what + ": other positions");
    check.Require(tasks[i].at("keys") == json(cell.keys), what + ": other keys");
  }
}

// Layout and text, from the counts that are stored; the ids are checked with the tokenizer.
void CheckPasskeyPrompts(const json& stored, FileCheck& check) {
  for (const json& instance : stored.at("instances")) {
    const trainer::PasskeyCounts counts{.task = stored.at("task_tokens_with_bos").get<int64_t>(),
                                        .info = instance.at("info_tokens").get<int64_t>(),
                                        .filler = stored.at("garbage_tokens").get<int64_t>(),
                                        .question = stored.at("question_tokens").get<int64_t>(),
                                        .key = static_cast<int64_t>(instance.at("answer_ids").size())};
    const int64_t length = instance.at("length").get<int64_t>();
    const std::string what = Text("prompt of length ", length);
    const absl::StatusOr<trainer::PasskeyLayout> layout = trainer::LayOutPasskey(length, instance.at("info_pos").get<int64_t>(),
        counts);
    check.Require(layout.ok(), std::string(layout.status().message()));
    if (!layout.ok()) continue;
    check.Require(layout->budget == instance.at("prompt_len_budget"), what + ": another budget");
    check.Require(layout->fillers_before == instance.at("n_prefix") && layout->fillers_after == instance.at("n_postfix"),
        what + ": other fillers");
    check.Require(layout->position == instance.at("real_info_pos"), what + ": another position");
    check.Require(trainer::PasskeyPrompt(*layout, instance.at("pass_key").get<std::string>()) == instance.at("text"),
        what + ": another text");
  }
}

void CheckMetrics(const json& stored, FileCheck& check) {
  for (const json& pair : stored.at("normalize_answer")) {
    check.Require(longbench::NormalizeAnswer(pair.at("in").get<std::string>()) == pair.at("out"),
        "normalize_answer of " + pair.at("in").dump());
  }
  const auto each = [&](const std::string& metric, const auto& score) {
    for (const json& pair : stored.at(metric)) {
      const std::string prediction = pair.at("pred").get<std::string>(), answer = pair.at("gt").get<std::string>();
      check.Compare(metric + " of " + pair.at("pred").dump(), score(prediction, answer, pair) - pair.at("score").get<double>(),
          kTextScore);
    }
  };
  each("qa_f1", [](const auto& ours, const auto& theirs, const json&) { return longbench::TokenF1(ours, theirs); });
  each("rouge_l_f", [](const auto& ours, const auto& theirs, const json&) { return longbench::RougeL(ours, theirs); });
  each("retrieval", [](const auto& ours, const auto& theirs, const json&) { return longbench::Retrieval(ours, theirs); });
  each("count", [](const auto& ours, const auto& theirs, const json&) { return longbench::Count(ours, theirs); });
  each("classification", [](const auto& ours, const auto& theirs, const json& pair) {
    return longbench::ClassMatch(ours, theirs, pair.at("all_classes").get<std::vector<std::string>>());
  });
  each("code_sim", [&](const auto& ours, const auto& theirs, const json& pair) {
    check.Require(longbench::FirstCodeLine(ours) == pair.at("line"), "first line of code of " + pair.at("pred").dump());
    check.Compare("difflib of " + pair.at("pred").dump(),
                  longbench::CodeSimilarity(ours, theirs, longbench::LineMatcher::kDifflib) - pair.at("difflib").get<double>(),
                      kTextScore);
    return longbench::CodeSimilarity(ours, theirs, longbench::LineMatcher::kLevenshtein);
  });
}

void CheckPacked(NopeSet& set, const json& stored, FileCheck& check) {
  const std::string file = "packed/" + stored.at("file").get<std::string>();
  set.Claim(file);
  const absl::StatusOr<data::PackedTokens> packed = data::PackedTokens::Open(set.folder() / file);
  check.Require(packed.ok(), std::string(packed.status().message()));
  if (!packed.ok()) return;
  const int64_t size = stored.at("block_size").get<int64_t>();
  check.Require(packed->tokens() == stored.at("chunk_size"), Text("holds ", packed->tokens(), " tokens"));
  const json& blocks = stored.at("blocks");
  check.Require(packed->Blocks(size) == static_cast<int64_t>(blocks.size()), Text("has ", packed->Blocks(size), " blocks"));
  for (int64_t i = 0; i < packed->Blocks(size) && i < static_cast<int64_t>(blocks.size()); ++i) {
    const absl::StatusOr<std::vector<int64_t>> block = packed->Block(i, size);
    check.Require(block.ok() && json(*block) == blocks[static_cast<size_t>(i)], Text("block ", i, " is another"));
  }
}

}  // namespace

void CheckNopeTexts(NopeSet& set, Report& report) {
  CheckJson(set, "passkey.json", report, [&](const json& stored, FileCheck& check) {
    CheckPasskeyTasks(stored, check);
    CheckPasskeyPrompts(stored, check);
  });
  CheckJson(set, "passkey_landmark.json", report, [](const json& stored, FileCheck& check) {
    for (const json& one : stored) {
      const absl::StatusOr<std::string> prompt = trainer::LandmarkPrompt(
          one.at("n_garbage_chars").get<int64_t>(), one.at("n_prefix_chars").get<int64_t>(), one.at("pass_key").get<int64_t>());
      check.Require(prompt.ok() && *prompt == one.at("text"), "another text for the seed " + one.at("python_random_seed").dump());
    }
  });
  CheckJson(set, "longbench/metrics.json", report, [](const json& stored, FileCheck& check) { CheckMetrics(stored, check); });
  CheckJson(set, "packed/expected.json", report, [&](const json& stored, FileCheck& check) { CheckPacked(set, stored, check); });
}

}  // namespace longreach::golden
