#include "tests/worker/trainer/tasks/exact.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace longreach::trainer::tasks {

namespace {

// Every text of `length` tokens 0..vocabulary-1, all equally likely.
Distribution Uniform(int length, int vocabulary, int first_token = 0) {
  Distribution texts = {{"", 1.0}};
  for (int i = 0; i < length; ++i) {
    Distribution longer;
    for (const auto& [text, p] : texts) {
      for (int token = 0; token < vocabulary; ++token) {
        longer[text + static_cast<char>(first_token + token)] += p / vocabulary;
      }
    }
    texts = longer;
  }
  return texts;
}

// Independent parts, one after the other.
Distribution operator*(const Distribution& left, const Distribution& right) {
  Distribution both;
  for (const auto& [l, p] : left) {
    for (const auto& [r, q] : right) both[l + r] += p * q;
  }
  return both;
}

void AddScaled(Distribution& sum, const Distribution& part, double weight) {
  for (const auto& [text, p] : part) sum[text] += weight * p;
}

Distribution Always(std::string text) { return {{std::move(text), 1.0}}; }

Distribution OneOf(std::string_view characters) {
  Distribution any;
  for (const char c : characters) any[std::string(1, c)] = 1.0 / static_cast<double>(characters.size());
  return any;
}

// U{1..2^bits-1}, the lowest bit first.
Distribution Positive(int bits) {
  Distribution numbers;
  const int largest = (1 << bits) - 1;
  for (int value = 1; value <= largest; ++value) {
    std::string text;
    for (int i = 0; i < bits; ++i) text += static_cast<char>(value >> i & 1);
    numbers[text] += 1.0 / largest;
  }
  return numbers;
}

Distribution Expression(int length, std::string_view operators) {
  if (length == 1) return OneOf("01234");
  if (length == 2) return Always("-") * OneOf("01234");
  if (length == 3) return Always("(") * OneOf("01234") * Always(")");
  if (length == 4) return Always("(-") * OneOf("01234") * Always(")");
  Distribution all;
  for (int left = 1; left <= length - 4; ++left) {
    AddScaled(all,
              Always("(") * Expression(left, operators) * OneOf(operators) * Expression(length - 3 - left, operators) *
                  Always(")"),
              1.0 / (length - 4));
  }
  return all;
}

constexpr std::string_view kBracketCharacters = "01234+-*()";
constexpr std::string_view kEquationCharacters = "01234+-()x=";

Distribution AsTokens(const Distribution& texts, std::string_view characters) {
  Distribution tokens;
  for (const auto& [text, p] : texts) {
    std::string as_tokens;
    for (const char c : text) as_tokens += static_cast<char>(characters.find(c));
    tokens[as_tokens] += p;
  }
  return tokens;
}

Distribution Equations(int length) {
  if (length < 3) return Always(std::string(static_cast<size_t>(length), '0'));
  Distribution all;
  const size_t m = static_cast<size_t>(length) - 2;
  for (const auto& [expression, p] : Expression(static_cast<int>(m), "+-")) {
    const char value = static_cast<char>('0' + ValueOf(expression));
    for (size_t index = 0; index < m; ++index) {
      size_t place = index;
      while (expression[place] < '0' || expression[place] > '9') place = (place + 1) % m;
      std::string equation = expression + "=" + value;
      equation[place] = 'x';
      all[equation] += p / static_cast<double>(m);
    }
  }
  return all;
}

Distribution MissingDuplicates(int length) {
  if (length == 1) return Always("\1");
  const int half = length / 2;
  Distribution all;
  for (const auto& [text, p] : Uniform(half, 2)) {
    for (size_t hidden = 0; hidden < 2 * text.size(); ++hidden) {
      std::string input = text + text;
      input[hidden] = 2;
      if (length % 2 == 1) input += '\3';
      all[input] += p / static_cast<double>(2 * half);
    }
  }
  return all;
}

Distribution TwoNumbers(int length) {
  Distribution all;
  if (length <= 2) {
    const int values = (1 << length) - 1;  // 0..2^length-2.
    for (int value = 0; value < values; ++value) {
      std::string text;
      for (int i = 0; i < length; ++i) text += static_cast<char>(value >> i & 1);
      all[text] += 1.0 / values;
    }
    return all;
  }
  for (int a = 1; a <= length - 2; ++a) {
    AddScaled(all, Positive(a) * Always("\2") * Positive(length - 1 - a), 1.0 / (length - 2));
  }
  return all;
}

Distribution Stacks(int length) {
  if (length == 1) return Uniform(1, 2);
  Distribution all;
  for (int k = 1; k <= length - 1; ++k) AddScaled(all, Uniform(k, 2) * Uniform(length - k, 3, 2), 1.0 / (length - 1));
  return all;
}

Distribution Roots(int length) {
  Distribution all;
  for (const auto& [text, p] : Positive(length)) all[std::string(text.rbegin(), text.rend())] = p;
  return all;
}

Distribution Arithmetic(int length) {
  const int odd_length = length % 2 == 1 ? length : length - 1;
  Distribution all = Uniform(1, 5);
  for (int i = 1; i < odd_length; i += 2) all = all * Uniform(1, 3, 5) * Uniform(1, 5);
  return all;
}

Distribution FlipFlops(int length) {
  Distribution all = Always(length % 2 == 0 ? "\5" : "");
  if (length >= 3) all = all * Always("\2") * Uniform(1, 2);
  while (static_cast<int>(all.begin()->first.size()) < length - 1) {
    Distribution longer;
    for (const auto& [text, p] : all) {
      const char memory = text[text.rfind('\2') + 1];
      longer[text + '\3' + memory] += 0.1 * p;
      for (const char bit : {'\0', '\1'}) {
        longer[text + '\2' + bit] += 0.1 * p / 2;
        longer[text + '\4' + bit] += 0.8 * p / 2;
      }
    }
    all = longer;
  }
  return all * Always("\3");
}

Distribution Brackets(int length) {
  const Distribution filler = Always(length % 2 == 1 ? "\4" : "");
  if (length == 1) return filler;
  std::vector<std::string> balanced;
  for (const auto& [text, p] : Uniform(length / 2 * 2, 4)) {
    if (IsBalanced(text)) balanced.push_back(text);
  }
  Distribution all;
  for (const std::string& text : balanced) {
    const double half = 0.5 / static_cast<double>(balanced.size());
    all[text] += half;
    std::vector<std::string> broken;
    for (size_t a = 0; a < text.size(); ++a) {
      for (size_t b = 0; b < text.size(); ++b) {
        std::string exchanged = text;
        std::swap(exchanged[a], exchanged[b]);
        if (!IsBalanced(exchanged)) broken.push_back(exchanged);
      }
    }
    for (const std::string& exchanged : broken) all[exchanged] += half / static_cast<double>(broken.size());
  }
  return filler * all;
}

// With at most two pairs.
Distribution Recalls(int length) {
  const Distribution filler = Always(length % 2 == 0 ? "\x1E" : ""), values = Uniform(1, 10), keys = Uniform(1, 20, 10);
  if (length <= 2) return filler * values;
  Distribution all;
  for (const auto& [first, p] : keys) {
    if (length <= 4) {
      AddScaled(all, Always(first) * values * Always(first), p);
      continue;
    }
    for (const auto& [second, q] : keys) {
      if (second == first) continue;
      for (const std::string& asked : {first, second}) {
        AddScaled(all, Always(first) * values * Always(second) * values * Always(asked), p / 19 / 2);
      }
    }
  }
  return filler * all;
}

}  // namespace

bool IsBalanced(std::string text) {
  std::erase(text, '\4');
  while (!text.empty()) {
    const size_t inner = std::min(text.find(std::string("\0\1", 2)), text.find("\2\3"));
    if (inner == text.npos) return false;
    text.erase(inner, 2);
  }
  return true;
}

int LongestExact(std::string_view task) {
  if (task == "permutation_composition") return 4;
  return task == "associative_recall" ? 5 : 8;
}

Distribution ExactInputs(std::string_view task, int length) {
  if (task == "cycle_navigation") return Uniform(length, 3);
  if (task == "bucket_sort") return Uniform(length, 5);
  if (task == "modular_arithmetic") return Arithmetic(length);
  if (task == "modular_arithmetic_brackets") return AsTokens(Expression(length, "+-*"), kBracketCharacters);
  if (task == "solve_equation") return AsTokens(Equations(length), kEquationCharacters);
  if (task == "stack_manipulation") return Stacks(length);
  if (task == "missing_duplicate_string") return MissingDuplicates(length);
  if (task == "binary_addition" || task == "binary_multiplication") return TwoNumbers(length);
  if (task == "compute_sqrt") return Roots(length);
  if (task == "flip_flop") return FlipFlops(length);
  if (task == "dyck") return Brackets(length);
  if (task == "associative_recall") return Recalls(length);
  if (task == "permutation_composition") return Uniform(length, 11);
  for (const std::string_view bits :
       {"even_pairs", "parity_check", "reverse_string", "duplicate_string", "odds_first", "copy_string", "majority"}) {
    if (task == bits) return Uniform(length, 2);
  }
  throw std::invalid_argument("how " + std::string(task) + " is sampled is not written down here");
}

int ValueOf(std::string_view expression) {
  size_t at = 0;
  std::function<int()> operand = [&]() -> int {
    const char c = expression.at(at++);
    if (c == '-') return -operand();
    if (c >= '0' && c <= '4') return c - '0';
    if (c != '(') throw std::invalid_argument("not an expression: " + std::string(expression));
    int value = operand();
    if (expression.at(at) != ')') {
      const char operation = expression.at(at++);
      const int right = operand();
      value = operation == '+' ? value + right : operation == '-' ? value - right : value * right;
    }
    if (expression.at(at++) != ')') throw std::invalid_argument("not closed: " + std::string(expression));
    return (value % 5 + 5) % 5;
  };
  const int value = operand();
  if (at != expression.size()) throw std::invalid_argument("too long: " + std::string(expression));
  return (value % 5 + 5) % 5;
}

std::string AsCharacters(std::string_view task, std::string_view tokens) {
  std::string text;
  for (const char token : tokens) {
    text += (task == "solve_equation" ? kEquationCharacters : kBracketCharacters).at(static_cast<size_t>(token));
  }
  return text;
}

}  // namespace longreach::trainer::tasks
