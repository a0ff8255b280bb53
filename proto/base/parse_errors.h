// What the option parser refuses, in the words of all other errors: which option, which value, and what was expected.
#pragma once

#include <string>

namespace longreach {

// As it is, where the parser's own words are good enough.
std::string WordsOfParser(const std::string& message);

// For an option's check(): the parser's ranges let 'nan' through, which is neither below nor above anything. Empty: nothing is wrong.
std::string RefuseNan(const std::string& value);

}  // namespace longreach
