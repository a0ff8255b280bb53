// LongBench's metrics, as its eval.py computes them. 0 to 1. Texts are UTF-8.
// Source: LongBench/metrics.py of THUDM/LongBench; PyPI rouge 1.0.1 and fuzzywuzzy.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "worker/trainer/longbench/similarity.h"

namespace longreach::longbench {

// Lower case, without ASCII punctuation, articles and superfluous white space.
std::string NormalizeAnswer(std::string_view text);

// The overlap of normalized words, with their multiplicities.
double TokenF1(std::string_view prediction, std::string_view answer);

// Not textbook ROUGE-L: sentences end at every full stop, words are taken as they are, those of all common subsequences are
// counted once. 0 where the package fails: a text without a sentence, or sentences so long that Python's recursion ends.
double RougeL(std::string_view prediction, std::string_view answer);

// 1 over the number of classes that the prediction names, if the answer is among them.
double ClassMatch(std::string_view prediction, std::string_view answer, std::span<const std::string> classes);

// The share of the prediction's numbers that are the answer's.
double Count(std::string_view prediction, std::string_view answer);
// The same, of "Paragraph N". 0 if the answer is not of that form.
double Retrieval(std::string_view prediction, std::string_view answer);

// The prediction's first line that looks like code: without backtick, # and //. "" if there is none.
std::string FirstCodeLine(std::string_view prediction);
double CodeSimilarity(std::string_view prediction, std::string_view answer, LineMatcher matcher);

}  // namespace longreach::longbench
