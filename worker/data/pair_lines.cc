#include "worker/data/pair_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "proto/base/json_reason.h"
#include "proto/base/utf8.h"
#include "worker/data/pair_set.h"

namespace longreach::data {
namespace {

constexpr size_t kMaxSymbolBytes = 64;
// What stands between words.
constexpr std::string_view kWhite = " \t\n\v\f\r";

// A sequence in the making. `side`: "input" or "output", for messages.
struct Sequence {
  std::string_view side;
  std::vector<std::string>& symbols;

  absl::Status Add(std::string_view symbol) {
    if (const std::string_view why = WhyNoSymbol(symbol); !why.empty()) {
      return absl::InvalidArgumentError(fmt::format("the {} has a symbol that {}: '{}'", side, why, OnOneLine(symbol.substr(0, kMaxSymbolBytes))));
    }
    if (symbols.size() == static_cast<size_t>(kMaxSequence)) {
      return absl::InvalidArgumentError(fmt::format("the {} has more than {} symbols; leave it out, or cut it", side, kMaxSequence));
    }
    symbols.emplace_back(symbol);
    return absl::OkStatus();
  }
  absl::Status CheckNotEmpty() const {
    if (!symbols.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("the {} is empty; it must have a symbol, which may stand for nothing", side));
  }
};

absl::Status AddText(std::string_view text, Symbols symbols, Sequence sequence) {
  while (symbols == Symbols::kCharacters && !text.empty()) {
    std::string_view rest = text;
    TakeCodePoint(rest);
    RETURN_IF_ERROR(sequence.Add(text.substr(0, text.size() - rest.size())));
    text = rest;
  }
  for (size_t begin = text.find_first_not_of(kWhite); begin != text.npos; begin = text.find_first_not_of(kWhite, begin)) {
    const size_t end = std::min(text.find_first_of(kWhite, begin), text.size());
    RETURN_IF_ERROR(sequence.Add(text.substr(begin, end - begin)));
    begin = end;
  }
  return sequence.CheckNotEmpty();
}

absl::Status AddList(const nlohmann::json& list, Sequence sequence) {
  for (const nlohmann::json& one : list) {
    if (one.is_string()) {
      RETURN_IF_ERROR(sequence.Add(one.get_ref<const std::string&>()));
    } else if (one.is_number_integer()) {
      RETURN_IF_ERROR(sequence.Add(one.dump()));
    } else {
      return absl::InvalidArgumentError(fmt::format("the list of the {} has something that is neither a text nor a whole number", sequence.side));
    }
  }
  return sequence.CheckNotEmpty();
}

absl::Status AddField(const nlohmann::json& object, const std::string& field, Symbols symbols, Sequence sequence) {
  const auto found = object.find(field);
  if (found == object.end()) {
    return absl::InvalidArgumentError(fmt::format("the object has no '{}'; --{}-field names another field for the {}", field, sequence.side, sequence.side));
  }
  if (found->is_string()) return AddText(found->get_ref<const std::string&>(), symbols, sequence);
  if (found->is_array()) return AddList(*found, sequence);
  return absl::InvalidArgumentError(fmt::format("'{}' is neither a text nor a list of texts and whole numbers", field));
}

// One for each symbol of both sequences, and maybe one more for what stands behind the output.
absl::Status AddPositions(const nlohmann::json& object, const std::string& field, PairOfSymbols& pair) {
  const auto found = object.find(field);
  if (found == object.end()) return absl::OkStatus();
  const std::string elsewhere = "--positions-field names another field for them";
  if (!found->is_array()) return absl::InvalidArgumentError(fmt::format("'{}' is no list of positions; {}", field, elsewhere));
  const size_t symbols = pair.input.size() + pair.output.size();
  if (found->size() != symbols && found->size() != symbols + 1) {
    return absl::InvalidArgumentError(fmt::format("'{}' has {} numbers; there must be one for each of the {} symbols of input and output, and there may be one more for the end; {}",
                                                  field, found->size(), symbols, elsewhere));
  }
  for (const nlohmann::json& one : *found) {
    if (!one.is_number_integer() || one < 0 || one > kMaxGivenPosition) {
      return absl::InvalidArgumentError(fmt::format("'{}' has {}, which is no whole number from 0 to {}; {}", field, OnOneLine(one.dump().substr(0, kMaxSymbolBytes)), kMaxGivenPosition, elsewhere));
    }
    pair.positions.push_back(one.get<uint16_t>());
  }
  pair.positions.resize(symbols + 1, 0);
  return absl::OkStatus();
}

absl::Status ParseObject(std::string_view line, const PairFormat& format, Sequence input, Sequence output, PairOfSymbols& pair) {
  std::set<std::string> names;
  std::string twice;
  const auto see = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& read) {
    if (event != nlohmann::json::parse_event_t::key || depth != 1) return true;
    if (const auto& name = read.get_ref<const std::string&>(); !names.insert(name).second) twice = name;
    return true;
  };
  const nlohmann::json object = nlohmann::json::parse(line, see, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(fmt::format("begins with '{{' and is no JSON object; write an input that begins so in one, too: {}", WhyNoJsonObject(line)));
  }
  // Readers disagree about which of the two counts.
  if (!twice.empty()) return absl::InvalidArgumentError(fmt::format("the object has '{}' twice", OnOneLine(twice.substr(0, kMaxSymbolBytes))));
  RETURN_IF_ERROR(AddField(object, format.input_field, format.symbols, input));
  RETURN_IF_ERROR(AddField(object, format.output_field, format.symbols, output));
  return AddPositions(object, format.positions_field, pair);
}

}  // namespace

std::string_view WhyNoSymbol(std::string_view symbol) {
  if (symbol.empty()) return "is empty";
  if (symbol.size() > kMaxSymbolBytes) return "has more than 64 bytes";
  while (!symbol.empty()) {
    if (IsControl(TakeCodePoint(symbol))) return "has a control character";
  }
  return "";
}

absl::Status ParsePair(std::string_view line, const PairFormat& format, PairOfSymbols& pair) {
  pair.input.clear();
  pair.output.clear();
  pair.positions.clear();
  if (const std::optional<size_t> at = FirstNotUtf8(line)) {
    return absl::InvalidArgumentError(fmt::format("not UTF-8: the byte 0x{:02x} at offset {} of the line belongs to no character; convert the file (iconv -f LATIN1 -t UTF-8)",
                                                  static_cast<unsigned char>(line[*at]), *at));
  }
  const Sequence input{.side = "input", .symbols = pair.input}, output{.side = "output", .symbols = pair.output};
  if (line.front() == '{') return ParseObject(line, format, input, output, pair);
  const size_t tab = line.find('\t');
  if (tab == line.npos) return absl::InvalidArgumentError("has no tab, which stands between an input and its output, and is no JSON object");
  if (line.find('\t', tab + 1) != line.npos) {
    return absl::InvalidArgumentError("has more than one tab; there must be one, between the input and its output");
  }
  RETURN_IF_ERROR(AddText(line.substr(0, tab), format.symbols, input));
  return AddText(line.substr(tab + 1), format.symbols, output);
}

}  // namespace longreach::data
