#include "worker/trainer/longbench/metrics.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "worker/trainer/longbench/code_points.h"

namespace longreach::longbench {

namespace {

using Word = std::u32string;

// Python's limit is 1000 calls; some are in use where the package begins to recurse.
constexpr size_t kDeepestRecursion = 980;

bool IsPunctuation(char32_t c) { return c > 0x20 && c < 0x7F && (!IsWord(c) || c == '_'); }

bool IsArticle(std::u32string_view word) { return word == U"a" || word == U"an" || word == U"the"; }

// Articles become blanks: words that stand alone, in the sense of \b.
Word WithoutArticles(const Word& text) {
  Word result;
  for (size_t i = 0; i < text.size();) {
    if (!IsWord(text[i])) {
      result.push_back(text[i++]);
      continue;
    }
    const size_t first = i;
    while (i < text.size() && IsWord(text[i])) ++i;
    const std::u32string_view word = std::u32string_view(text).substr(first, i - first);
    if (IsArticle(word)) result.push_back(U' ');
    else result += word;
  }
  return result;
}

std::vector<Word> NormalizedWords(std::string_view text) {
  Word lower;
  for (const char32_t c : Decode(text)) {
    const char32_t small = Lower(c);
    if (!IsPunctuation(small)) lower.push_back(small);
  }
  return SplitWords(WithoutArticles(lower));
}

Word JoinWords(const std::vector<Word>& words) {
  Word text;
  for (const Word& word : words) {
    if (&word != &words.front()) text.push_back(U' ');
    text += word;
  }
  return text;
}

// Sentences as lists of words. What lies between two stops and is not empty is one, if only of white space: its one word is
// empty.
std::vector<std::vector<Word>> Sentences(std::string_view text) {
  std::vector<std::vector<Word>> sentences;
  const Word all = Decode(text);
  for (size_t first = 0; first <= all.size();) {
    const size_t stop = std::min(all.find(U'.', first), all.size());
    if (stop > first) {
      std::vector<Word> words = SplitWords(std::u32string_view(all).substr(first, stop - first));
      if (words.empty()) words.emplace_back();
      sentences.push_back(std::move(words));
    }
    first = stop + 1;
  }
  return sentences;
}

// Adds the words of one longest common subsequence. False: Python would have run out of recursion.
bool AddCommon(const std::vector<Word>& reference, const std::vector<Word>& prediction, std::set<Word>& common) {
  const size_t columns = prediction.size() + 1;
  std::vector<size_t> table((reference.size() + 1) * columns, 0);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * columns + j]; };
  for (size_t i = 1; i <= reference.size(); ++i) {
    for (size_t j = 1; j <= prediction.size(); ++j) {
      at(i, j) = reference[i - 1] == prediction[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
    }
  }
  size_t i = reference.size(), j = prediction.size(), depth = 1;
  for (; i > 0 && j > 0; ++depth) {
    if (reference[i - 1] == prediction[j - 1]) {
      common.insert(reference[i - 1]);
      --i, --j;
    } else if (at(i - 1, j) > at(i, j - 1)) {
      --i;
    } else {
      --j;
    }
  }
  return depth <= kDeepestRecursion;
}

size_t DistinctWords(const std::vector<std::vector<Word>>& sentences) {
  std::set<Word> words;
  for (const auto& sentence : sentences) words.insert(sentence.begin(), sentence.end());
  return words.size();
}

std::vector<std::string_view> Numbers(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<std::string_view> numbers;
  for (size_t first = text.find_first_of(kDigits); first != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of(kDigits, first), text.size());
    numbers.push_back(text.substr(first, end - first));
    first = text.find_first_of(kDigits, end);
  }
  return numbers;
}

}  // namespace

std::string NormalizeAnswer(std::string_view text) { return Encode(JoinWords(NormalizedWords(text))); }

double TokenF1(std::string_view prediction, std::string_view answer) {
  const std::vector<Word> ours = NormalizedWords(prediction), theirs = NormalizedWords(answer);
  std::map<Word, int64_t> left;
  for (const Word& word : theirs) ++left[word];
  const auto same = static_cast<double>(std::ranges::count_if(ours, [&](const Word& word) { return left[word]-- > 0; }));
  if (same == 0) return 0;
  const double precision = same / static_cast<double>(ours.size()), recall = same / static_cast<double>(theirs.size());
  return 2 * precision * recall / (precision + recall);
}

double RougeL(std::string_view prediction, std::string_view answer) {
  const std::vector<std::vector<Word>> ours = Sentences(prediction), theirs = Sentences(answer);
  if (ours.empty() || theirs.empty()) return 0;
  std::set<Word> common;
  for (const auto& reference : theirs) {
    for (const auto& sentence : ours) {
      if (!AddCommon(reference, sentence, common)) return 0;
    }
  }
  const double recall = static_cast<double>(common.size()) / static_cast<double>(DistinctWords(theirs));
  const double precision = static_cast<double>(common.size()) / static_cast<double>(DistinctWords(ours));
  return 2 * precision * recall / (precision + recall + 1e-8);
}

double ClassMatch(std::string_view prediction, std::string_view answer, std::span<const std::string> classes) {
  std::vector<std::string_view> named;
  for (const std::string& one : classes) {
    if (prediction.find(one) != std::string_view::npos) named.emplace_back(one);
  }
  // Parts of the answer do not count. The original takes them out of the list that it walks, and so passes over what follows.
  for (size_t i = 0; i < named.size(); ++i) {
    const std::string_view one = named[i];
    if (one != answer && answer.find(one) != std::string_view::npos) named.erase(std::ranges::find(named, one));
  }
  if (std::ranges::find(named, answer) == named.end()) return 0;
  return 1 / static_cast<double>(named.size());
}

double Count(std::string_view prediction, std::string_view answer) {
  const std::vector<std::string_view> numbers = Numbers(prediction);
  if (numbers.empty()) return 0;
  return static_cast<double>(std::ranges::count(numbers, answer)) / static_cast<double>(numbers.size());
}

double Retrieval(std::string_view prediction, std::string_view answer) {
  constexpr std::string_view kParagraph = "Paragraph ";
  // The first place where a number follows.
  for (size_t at = answer.find(kParagraph); at != std::string_view::npos; at = answer.find(kParagraph, at + 1)) {
    const std::string_view rest = answer.substr(at + kParagraph.size());
    const std::vector<std::string_view> numbers = Numbers(rest);
    if (!numbers.empty() && numbers[0].data() == rest.data()) return Count(prediction, numbers[0]);
  }
  return 0;
}

std::string FirstCodeLine(std::string_view prediction) {
  prediction.remove_prefix(std::min(prediction.find_first_not_of('\n'), prediction.size()));
  while (true) {
    const size_t end = std::min(prediction.find('\n'), prediction.size());
    const std::string_view line = prediction.substr(0, end);
    if (line.find_first_of("`#") == std::string_view::npos && line.find("//") == std::string_view::npos) return std::string(line);
    if (end == prediction.size()) return "";
    prediction.remove_prefix(end + 1);
  }
}

double CodeSimilarity(std::string_view prediction, std::string_view answer, LineMatcher matcher) {
  return LineSimilarity(Decode(FirstCodeLine(prediction)), Decode(answer), matcher);
}

}  // namespace longreach::longbench
