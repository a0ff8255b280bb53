// The set's tokenizer, and what is told in its ids: passkey prompts, truncated prompts.
#include <cstdlib>
#include <map>

#include "proto/base/text.h"
#include "tests/golden/check/nope/checks.h"
#include "worker/tokenizer/contract.h"
#include "worker/tokenizer/sentence_pieces.h"
#include "worker/trainer/llama/passkey_prompts.h"
#include "worker/trainer/longbench/truncation.h"

namespace longreach::golden {

namespace {

using nlohmann::json;
using tokenizer::SentencePieces;
using Pieces = std::vector<tokenizer::Piece>;  // All of a model, by id.

constexpr const char* kModel = "tokenizer/tokenizer.model";
constexpr double kPieceScore = 1e-6;

// Whether an answer is there and the one that is stored; a refusal is told.
template <typename Value>
void Same(const absl::StatusOr<Value>& ours, const json& stored, const std::string& what, FileCheck& check) {
  check.Require(ours.ok(), Text(what, ": ", ours.status().message()));
  if (ours.ok()) check.Require(json(*ours) == stored, what + " is another");
}

void CheckEncodings(SentencePieces& pieces, const Pieces& all, const json& stored, FileCheck& check) {
  check.Require(pieces.vocabulary() == stored.at("vocab_size"), "vocab_size");
  check.Require(pieces.bos() == stored.at("bos").get<int64_t>(), "bos");
  check.Require(pieces.eos() == stored.at("eos").get<int64_t>(), "eos");
  check.Require(pieces.unknown() == stored.at("unk").get<int64_t>(), "unk");
  for (const json& row : stored.at("rows")) {
    const std::string text = row.at("text").get<std::string>(), of = " of " + row.at("text").dump();
    const std::vector<int64_t> ids = row.at("sp_ids").get<std::vector<int64_t>>();
    Same(pieces.Encode(text), row.at("sp_ids"), "sp_ids" + of, check);
    Same(pieces.Decode(ids), row.at("sp_decode"), "sp_decode" + of, check);
    // The other tokenizer takes "<s>" within a text for BOS.
    if (row.at("sp_equals_hf").get<bool>()) Same(pieces.EncodeWithBos(text), row.at("hf_ids_with_bos"), "hf_ids_with_bos" + of, check);
    if (!row.contains("sp_pieces")) continue;
    std::vector<std::string> texts;
    for (const int64_t id : ids) texts.push_back(all.at(static_cast<size_t>(id)).text);
    check.Require(json(texts) == row.at("sp_pieces"), "sp_pieces" + of + " are others");
  }
}

void CheckPieces(const Pieces& all, const json& stored, FileCheck& check) {
  const std::map<std::string, char> kinds = {{"normal", tokenizer::kNormalPiece}, {"byte", tokenizer::kBytePiece},
                                             {"control", tokenizer::kControlPiece}, {"unk", tokenizer::kUnknownPiece}};
  for (const json& one : stored) {
    const size_t id = one.at("id").get<size_t>();
    const std::string what = Text("id ", id);
    check.Require(id < all.size(), what + " does not exist");
    if (id >= all.size()) continue;
    check.Require(all[id].text == one.at("piece"), what + ": another text");
    const auto kind = kinds.find(one.at("type").get<std::string>());
    check.Require(kind != kinds.end() && kind->second == all[id].kind, what + ": another kind");
    check.Compare(what + ": score", all[id].score - one.at("score").get<double>(), kPieceScore);
  }
}

// tokenizer.json is not read where models are; it must name the very same pieces, and its folder alone is refused.
void CheckJsonForm(NopeSet& set, const Pieces& all, const std::string& file, const json& stored, FileCheck& check) {
  const json& vocabulary = stored.at("model").at("vocab");
  check.Require(vocabulary.size() == all.size(), Text("there are ", all.size(), " pieces"));
  for (size_t id = 0; id < all.size(); ++id) {
    check.Require(vocabulary.value(all[id].text, json()) == id, Text("id ", id, " is another piece"));
  }
  // A merge is a pair, or two texts with a blank between; it makes a piece of two.
  for (const json& merge : stored.at("model").at("merges")) {
    const std::string whole = merge.is_array() ? merge[0].get<std::string>() + merge[1].get<std::string>() : merge.get<std::string>();
    const size_t blank = merge.is_array() ? std::string::npos : whole.find(' ');
    check.Require(vocabulary.contains(blank == std::string::npos ? whole : whole.substr(0, blank) + whole.substr(blank + 1)),
                  "the merge " + merge.dump() + " makes no piece");
  }
  std::string name = (std::filesystem::temp_directory_path() / "golden_json_XXXXXX").string();
  check.Require(mkdtemp(name.data()) != nullptr, "no temporary folder");
  const std::filesystem::path alone = name;
  std::error_code error;
  std::filesystem::copy_file(set.folder() / file, alone / "tokenizer.json", error);
  check.Require(tokenizer::TokenizerOfFolder(alone, {.vocabulary = static_cast<int64_t>(all.size())}).status().code() == absl::StatusCode::kFailedPrecondition,
                "a folder with this file alone is not refused");
  std::filesystem::remove_all(alone, error);
}

// special_tokens_map.json and tokenizer_config.json: names of BOS, EOS and UNK.
void CheckSpecial(SentencePieces& pieces, const Pieces& all, const json& stored, FileCheck& check) {
  for (const auto& [name, id] : {std::pair("bos_token", pieces.bos()), std::pair("eos_token", pieces.eos()), std::pair("unk_token", pieces.unknown())}) {
    const json& token = stored.at(name);
    const json& text = token.is_object() ? token.at("content") : token;
    check.Require(id.has_value() && all[static_cast<size_t>(*id)].text == text, std::string(name) + " is another");
  }
  if (!stored.contains("add_bos_token")) return;
  const absl::StatusOr<std::vector<int64_t>> ids = pieces.EncodeWithBos("a");
  check.Require(ids.ok() && stored.at("add_bos_token") == (ids->front() == pieces.bos()) &&
                    stored.at("add_eos_token") == (ids->back() == pieces.eos()), "add_bos_token, add_eos_token");
}

void CheckPasskeyIds(SentencePieces& pieces, const json& stored, FileCheck& check) {
  for (const json& instance : stored.at("instances")) {
    const int64_t length = instance.at("length").get<int64_t>();
    const std::string key = instance.at("pass_key").get<std::string>(), what = Text("prompt of length ", length);
    const absl::StatusOr<trainer::PasskeyCounts> counts = trainer::CountPasskey(pieces, key);
    check.Require(counts.ok() && counts->task == stored.at("task_tokens_with_bos") && counts->filler == stored.at("garbage_tokens") &&
                      counts->question == stored.at("question_tokens") && counts->info == instance.at("info_tokens"),
                  what + ": other counts of tokens");
    const absl::StatusOr<trainer::PasskeyIds> ids = trainer::MakePasskeyIds(pieces, length, instance.at("info_pos").get<int64_t>(), key);
    check.Require(ids.ok(), Text(what, ": ", ids.status().message()));
    if (!ids.ok()) continue;
    check.Require(json(ids->prompt) == instance.at("input_ids"), what + ": input_ids are others");
    check.Require(json(ids->answer) == instance.at("answer_ids"), what + ": answer_ids are others");
  }
}

void CheckTruncation(SentencePieces& pieces, const json& stored, FileCheck& check) {
  for (const json& one : stored) {
    const int64_t most = one.at("max_length").get<int64_t>();
    const std::string text = one.at("text").get<std::string>(), what = Text(" to ", most, " ids");
    const absl::StatusOr<std::vector<int64_t>> ids = pieces.EncodeWithBos(text);
    check.Require(ids.ok() && ids->size() == one.at("n_ids"), "n_ids of the text that is cut" + what);
    const absl::StatusOr<std::string> cut = longbench::TruncateMiddle(pieces, text, most);
    Same(cut, one.at("prompt_after"), "the text cut" + what, check);
    if (cut.ok()) Same(pieces.EncodeWithBos(*cut), one.at("ids_after"), "its ids, cut" + what, check);
  }
}

}  // namespace

void CheckNopeTokenizer(NopeSet& set, Report& report) {
  if (!set.Has(kModel)) return report.Absent(kModel);
  set.Claim(kModel);
  FileCheck model(kModel);
  const absl::StatusOr<std::unique_ptr<SentencePieces>> started = SentencePieces::Start(set.folder() / kModel);
  model.Require(started.ok(), std::string(started.status().message()));
  const absl::StatusOr<Pieces> read = started.ok() ? (*started)->Pieces() : absl::StatusOr<Pieces>(started.status());
  model.Require(read.ok(), std::string(read.status().message()));
  report.Add(model);
  if (!read.ok()) return;
  SentencePieces& pieces = **started;
  const Pieces& all = *read;
  CheckJson(set, "tokenizer/encodings.json", report, [&](const json& stored, FileCheck& check) { CheckEncodings(pieces, all, stored, check); });
  CheckJson(set, "tokenizer/pieces.json", report, [&](const json& stored, FileCheck& check) { CheckPieces(all, stored, check); });
  for (const char* const file : {"tokenizer/tokenizer.json", "tokenizer/tokenizer.string_merges.json"}) {
    CheckJson(set, file, report, [&](const json& stored, FileCheck& check) { CheckJsonForm(set, all, file, stored, check); });
  }
  for (const char* file : {"tokenizer/special_tokens_map.json", "tokenizer/tokenizer_config.json"}) {
    CheckJson(set, file, report, [&](const json& stored, FileCheck& check) { CheckSpecial(pieces, all, stored, check); });
  }
  CheckJson(set, "longbench/truncation.json", report, [&](const json& stored, FileCheck& check) { CheckTruncation(pieces, stored, check); });
  if (!set.Has("passkey.json")) return;
  FileCheck ids("passkey.json, input_ids and counts of tokens");
  try {
    CheckPasskeyIds(pieces, set.Json("passkey.json"), ids);
  } catch (const json::exception& error) {
    ids.Require(false, std::string("is not laid out as expected: ") + error.what());
  }
  report.Add(ids);
}

}  // namespace longreach::golden
