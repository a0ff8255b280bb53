// Pairs of sequences as people write them: one in each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::data {

// What a text is made of.
enum class Symbols {
  kCharacters,  // Each code point.
  kWords,       // What stands between white space of ASCII.
};

struct PairFormat {
  Symbols symbols = Symbols::kCharacters;
  // Of a JSON object: where they are.
  std::string input_field = "input";
  std::string output_field = "output";
  std::string positions_field = "positions";  // It may be missing.
};

struct PairOfSymbols {
  std::vector<std::string> input, output;
  // Of each place of the tape: of an input symbol, then of an output's place, the last one for all that is behind the output. Empty: none were given.
  std::vector<uint16_t> positions = {};
};

// Why it cannot be a symbol, as "is empty"; "" where it can. It is UTF-8.
std::string_view WhyNoSymbol(std::string_view symbol);

// Reads a line without its end, which is not empty. One that begins with '{' is a JSON object with two fields, each a text or a list of texts
// and whole numbers, of which each is a symbol, and maybe a third one, a list of positions; any other is the input, a tab and the output. `pair` is
// written over; it may be used again.
//
// INVALID_ARGUMENT with what is wrong, but not where: the caller knows the file and the line.
absl::Status ParsePair(std::string_view line, const PairFormat& format, PairOfSymbols& pair);

}  // namespace longreach::data
