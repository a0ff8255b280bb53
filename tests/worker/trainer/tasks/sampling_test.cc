// What the tasks draw: the exact distributions at lengths 1 to 8 (LongestExact), and at 40, 41 and 500 what can be said of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/worker/trainer/tasks/exact.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer::tasks {
namespace {

// Inputs and targets as strings of tokens.
struct Sampled {
  std::vector<std::string> inputs;
  std::vector<std::string> targets;
  std::vector<int32_t> valid;
};

Sampled Draw(std::string_view name, int length, uint32_t count, uint64_t key = 1) {
  const Task& task = *FindTask(name);
  const size_t input_length = static_cast<size_t>(task.InputLength(length));
  const size_t output_length = static_cast<size_t>(task.OutputLength(static_cast<int>(input_length)));
  std::vector<uint8_t> inputs(count * input_length);
  std::vector<uint8_t> targets(count * output_length);
  Sampled sampled;
  sampled.valid.resize(count);
  const RandomStream stream = TrainingBatchStream(key, static_cast<uint64_t>(length));
  EXPECT_TRUE(FillBatch(task, length, stream, 0, inputs, targets, sampled.valid).ok());
  for (size_t i = 0; i < count; ++i) {
    sampled.inputs.emplace_back(inputs.begin() + static_cast<ptrdiff_t>(i * input_length),
                                inputs.begin() + static_cast<ptrdiff_t>((i + 1) * input_length));
    sampled.targets.emplace_back(targets.begin() + static_cast<ptrdiff_t>(i * output_length),
                                 targets.begin() + static_cast<ptrdiff_t>((i + 1) * output_length));
  }
  return sampled;
}

// How many standard deviations a chi-square statistic lies above what is expected (Wilson and Hilferty's approximation).
double Deviations(double chi_square, double degrees) {
  const double spread = 2 / (9 * degrees);
  return (std::cbrt(chi_square / degrees) - (1 - spread)) / std::sqrt(spread);
}

// Rare outcomes are gathered in one class, because the approximation needs some counts in each.
template <typename Outcome>
void ExpectDrawnFrom(const std::map<Outcome, double>& exact, const std::map<Outcome, int>& seen, double draws) {
  double chi_square = 0;
  double rare_expected = 0;
  double rare_seen = 0;
  int classes = 0;
  double total = 0;
  const auto add = [&](double expected, double count) {
    chi_square += (count - expected) * (count - expected) / expected;
    ++classes;
  };
  for (const auto& [outcome, p] : exact) {
    const auto at = seen.find(outcome);
    const double count = at == seen.end() ? 0 : at->second;
    total += count;
    if (p * draws >= 8) {
      add(p * draws, count);
    } else {
      rare_expected += p * draws;
      rare_seen += count;
    }
  }
  EXPECT_EQ(total, draws) << "outcomes that cannot be";
  if (rare_expected >= 8) add(rare_expected, rare_seen);
  if (classes > 1) {
    EXPECT_LT(Deviations(chi_square, classes - 1), 5) << chi_square << " on " << classes - 1;
  }
}

class SamplingTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SamplingTest, DrawsTheExactDistributionAtLengths1To8) {
  constexpr uint32_t kDraws = 60'000;
  const std::string task = GetParam();
  for (int length = 1; length <= LongestExact(task); ++length) {
    SCOPED_TRACE(length);
    const Distribution exact = ExactInputs(task, length);
    const Sampled sampled = Draw(task, length, kDraws);
    double sum = 0;
    for (const auto& [text, p] : exact) sum += p;
    ASSERT_NEAR(sum, 1, 1e-9);
    for (const std::string& input : sampled.inputs) ASSERT_TRUE(exact.contains(input));
    // Where there are more inputs than can be counted: the first four tokens, the last four, and the outer two.
    const bool countable = exact.size() < 6'600;
    const std::vector<std::function<std::string(const std::string&)>> views =
        countable ? std::vector<std::function<std::string(const std::string&)>>{[](const std::string& s) { return s; }}
                  : std::vector<std::function<std::string(const std::string&)>>{
                        [](const std::string& s) { return s.substr(0, 4); },
                        [](const std::string& s) { return s.substr(s.size() - 4); },
                        [](const std::string& s) { return s.substr(0, 2) + s.substr(s.size() - 2); }};
    for (const auto& view : views) {
      Distribution expected;
      for (const auto& [text, p] : exact) expected[view(text)] += p;
      std::map<std::string, int> seen;
      for (const std::string& input : sampled.inputs) ++seen[view(input)];
      ExpectDrawnFrom(expected, seen, kDraws);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, SamplingTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const Task& task : Tasks()) names.emplace_back(task.name);
                           return names;
                         }()),
                         [](const auto& task) { return task.param; });

constexpr int kLongLengths[] = {40, 41, 500};

// Uniform outcomes 0..n-1, or first..first+n-1.
void ExpectUniform(const std::vector<int>& outcomes, int first, int n) {
  std::map<int, double> exact;
  std::map<int, int> seen;
  for (int i = 0; i < n; ++i) exact[first + i] = 1.0 / n;
  for (const int outcome : outcomes) ++seen[outcome];
  ExpectDrawnFrom(exact, seen, static_cast<double>(outcomes.size()));
}

TEST(LongSamplingTest, BitsAndDigitsAreUniformAtEveryPosition) {
  const std::map<std::string, int> vocabularies = {{"even_pairs", 2},     {"parity_check", 2}, {"reverse_string", 2},
                                                   {"duplicate_string", 2}, {"odds_first", 2},   {"cycle_navigation", 3},
                                                   {"bucket_sort", 5},    {"copy_string", 2},  {"majority", 2},
                                                   {"permutation_composition", 11}};
  for (const auto& [task, vocabulary] : vocabularies) {
    for (const int length : kLongLengths) {
      const Sampled sampled = Draw(task, length, 4000);
      for (size_t position = 0; position < static_cast<size_t>(length); ++position) {
        SCOPED_TRACE(task + " of " + std::to_string(length) + " at " + std::to_string(position));
        std::vector<int> tokens;
        for (const std::string& input : sampled.inputs) tokens.push_back(input[position]);
        ExpectUniform(tokens, 0, vocabulary);
      }
    }
  }
}

TEST(LongSamplingTest, NeighboursAreIndependent) {
  const Sampled sampled = Draw("cycle_navigation", 500, 400);
  std::vector<int> pairs;
  for (const std::string& input : sampled.inputs) {
    for (size_t i = 0; i + 1 < input.size(); i += 2) pairs.push_back(3 * input[i] + input[i + 1]);
  }
  ExpectUniform(pairs, 0, 9);
}

TEST(LongSamplingTest, ModularArithmeticAlternatesDigitsAndOperators) {
  for (const int length : kLongLengths) {
    const Sampled sampled = Draw("modular_arithmetic", length, 4000);
    std::vector<int> digits;
    std::vector<int> operators;
    for (const std::string& input : sampled.inputs) {
      ASSERT_EQ(input.size(), static_cast<size_t>(length % 2 == 1 ? length : length - 1));
      for (size_t i = 0; i < input.size(); ++i) (i % 2 == 0 ? digits : operators).push_back(input[i]);
    }
    ExpectUniform(digits, 0, 5);
    ExpectUniform(operators, 5, 3);
  }
}

TEST(LongSamplingTest, BracketsAreWellFormedWithUniformSplitsDigitsAndOperators) {
  for (const int length : kLongLengths) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("modular_arithmetic_brackets", length, 6000);
    std::vector<int> lefts;
    std::vector<int> digits;
    std::vector<int> operators;
    for (size_t i = 0; i < sampled.inputs.size(); ++i) {
      const std::string text = AsCharacters("modular_arithmetic_brackets", sampled.inputs[i]);
      ASSERT_EQ(ValueOf(text), sampled.targets[i][0]) << text;  // Throws at what is not an expression.
      // The outermost operator is where one bracket is open; a minus after an operator or a bracket is a sign.
      int depth = 0;
      for (size_t k = 0; k < text.size(); ++k) {
        depth += (text[k] == '(') - (text[k] == ')');
        const bool is_operator = (text[k] == '+' || text[k] == '*' || text[k] == '-') &&
                                 (text[k - 1] == ')' || (text[k - 1] >= '0' && text[k - 1] <= '4'));
        if (is_operator && depth == 1) {
          lefts.push_back(static_cast<int>(k) - 1);
          operators.push_back(sampled.inputs[i][k]);
        }
        if (text[k] >= '0' && text[k] <= '4') digits.push_back(text[k] - '0');
      }
    }
    ASSERT_EQ(lefts.size(), sampled.inputs.size());
    ExpectUniform(lefts, 1, length - 4);
    ExpectUniform(operators, 5, 3);
    ExpectUniform(digits, 0, 5);
  }
}

TEST(LongSamplingTest, EquationsHoldForTheirAnswerOnly) {
  for (const int length : kLongLengths) {
    const Sampled sampled = Draw("solve_equation", length, 3000);
    for (size_t i = 0; i < sampled.inputs.size(); ++i) {
      const std::string text = AsCharacters("solve_equation", sampled.inputs[i]);
      const size_t x = text.find('x');
      ASSERT_EQ(std::ranges::count(text, 'x'), 1) << text;
      ASSERT_EQ(text.find('='), text.size() - 2) << text;
      ASSERT_EQ(text.find('*'), std::string::npos) << text;
      for (int digit = 0; digit < 5; ++digit) {
        std::string expression = text.substr(0, text.size() - 2);
        expression[x] = static_cast<char>('0' + digit);
        ASSERT_EQ(ValueOf(expression) == text.back() - '0', digit == sampled.targets[i][0]) << text;
      }
    }
  }
}

TEST(LongSamplingTest, StacksHaveAUniformSizeAndUniformActions) {
  for (const int length : kLongLengths) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("stack_manipulation", length, 6000);
    std::vector<int> sizes;
    std::vector<int> actions;
    for (const std::string& input : sampled.inputs) {
      const size_t size = static_cast<size_t>(std::ranges::find_if(input, [](char c) { return c >= 2; }) - input.begin());
      sizes.push_back(static_cast<int>(size));
      for (size_t i = size; i < input.size(); ++i) actions.push_back(input[i]);
    }
    ExpectUniform(sizes, 1, length - 1);
    ExpectUniform(actions, 2, 3);
  }
}

TEST(LongSamplingTest, TheHiddenBitIsAnyOfTheTwoCopies) {
  for (const int length : kLongLengths) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("missing_duplicate_string", length, 6000);
    const size_t half = static_cast<size_t>(length) / 2;
    std::vector<int> places;
    for (size_t i = 0; i < sampled.inputs.size(); ++i) {
      std::string whole = sampled.inputs[i];
      const size_t place = whole.find('\2');
      places.push_back(static_cast<int>(place));
      whole[place] = sampled.targets[i][0];
      ASSERT_EQ(whole.substr(0, half), whole.substr(half, half));
      ASSERT_EQ(whole.substr(2 * half), length % 2 == 1 ? "\3" : "");
    }
    ExpectUniform(places, 0, static_cast<int>(2 * half));
  }
}

// A number, the lowest bit first, without zeros at the end; 0 is "".
std::string Trimmed(std::string bits) {
  while (!bits.empty() && bits.back() == 0) bits.pop_back();
  return bits;
}

std::string Sum(const std::string& x, const std::string& y) {
  std::string sum;
  int carry = 0;
  for (size_t i = 0; i < std::max(x.size(), y.size()) + 1; ++i) {
    carry += (i < x.size() ? x[i] : 0) + (i < y.size() ? y[i] : 0);
    sum += static_cast<char>(carry % 2);
    carry /= 2;
  }
  return Trimmed(sum);
}

std::string Product(const std::string& x, const std::string& y) {
  std::string product;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0) product = Sum(product, std::string(i, '\0') + y);
  }
  return product;
}

TEST(LongSamplingTest, SumsAndProductsAreRightAndNumbersNeverZero) {
  for (const std::string task : {"binary_addition", "binary_multiplication"}) {
    for (const int length : kLongLengths) {
      SCOPED_TRACE(task + " " + std::to_string(length));
      const Sampled sampled = Draw(task, length, length == 500 ? 300 : 4000);
      std::vector<int> first_lengths;
      for (size_t i = 0; i < sampled.inputs.size(); ++i) {
        const std::string& input = sampled.inputs[i];
        const size_t separator = input.find('\2');
        const std::string x = input.substr(0, separator);
        const std::string y = input.substr(separator + 1);
        first_lengths.push_back(static_cast<int>(separator));
        ASSERT_NE(Trimmed(x), "");
        ASSERT_NE(Trimmed(y), "");
        std::string expected = (task == "binary_addition" ? Sum(x, y) : Product(x, y)) + '\2';
        ASSERT_EQ(sampled.valid[i], static_cast<int>(expected.size()));
        expected.resize(static_cast<size_t>(task == "binary_addition" ? length + 1 : length), 0);
        ASSERT_EQ(sampled.targets[i], expected);
      }
      if (length != 500) ExpectUniform(first_lengths, 1, length - 2);
    }
  }
}

TEST(LongSamplingTest, RootsAreTheLargestWhoseSquareFits) {
  for (const int length : {40, 41, 63, 64, 65, 129, 500}) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("compute_sqrt", length, length == 500 ? 100 : 1000);
    std::vector<int> highest;
    for (size_t i = 0; i < sampled.inputs.size(); ++i) {
      const std::string value = Trimmed({sampled.inputs[i].rbegin(), sampled.inputs[i].rend()});
      const std::string root = Trimmed({sampled.targets[i].rbegin(), sampled.targets[i].rend()});
      const std::string next = Sum(root, "\1");
      // Of two trimmed numbers the longer is the greater; of two as long, the one whose highest bits are.
      const auto less = [](const std::string& x, const std::string& y) {
        return x.size() != y.size() ? x.size() < y.size() : std::string(x.rbegin(), x.rend()) < std::string(y.rbegin(), y.rend());
      };
      ASSERT_FALSE(less(value, Product(root, root)));
      ASSERT_TRUE(less(value, Product(next, next)));
      highest.push_back(sampled.inputs[i][0]);
    }
    ExpectUniform(highest, 0, 2);
  }
}

std::vector<int> FirstTargets(const Sampled& sampled) {
  std::vector<int> first;
  for (const std::string& target : sampled.targets) first.push_back(target[0]);
  return first;
}

TEST(LongSamplingTest, FlipFlopsWriteAndReadATenthEachAndReadsTellWhatWasWritten) {
  for (const int length : kLongLengths) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("flip_flop", length, 4000);
    std::map<int, int> instructions;
    std::vector<int> ignored, written;
    int between = 0;
    for (size_t k = 0; k < sampled.inputs.size(); ++k) {
      std::string text = sampled.inputs[k];
      if (length % 2 == 0) {
        ASSERT_EQ(text.front(), 5);
        text.erase(0, 1);
      }
      ASSERT_EQ(text.front(), 2);
      ASSERT_EQ(text.back(), 3);
      char memory = 0;
      for (size_t i = 0; i + 1 < text.size(); i += 2) {
        if (i > 0) ++instructions[text[i]], ++between;
        if (text[i] == 2) written.push_back(memory = text[i + 1]);
        else if (text[i] == 3) ASSERT_EQ(text[i + 1], memory);
        else ignored.push_back(text[i + 1]);
      }
      ASSERT_EQ(sampled.targets[k][0], memory);
    }
    ExpectDrawnFrom(std::map<int, double>{{2, 0.1}, {3, 0.1}, {4, 0.8}}, instructions, between);
    ExpectUniform(ignored, 0, 2);
    ExpectUniform(written, 0, 2);
    ExpectUniform(FirstTargets(sampled), 0, 2);
  }
}

TEST(LongSamplingTest, HalfOfTheBracketsAreBalancedAndTheOthersHaveAsManyOfEach) {
  for (const int length : kLongLengths) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("dyck", length, length == 500 ? 600 : 4000);
    std::vector<int> kinds;
    for (size_t k = 0; k < sampled.inputs.size(); ++k) {
      const std::string& text = sampled.inputs[k];
      ASSERT_EQ(std::ranges::count(text, '\4'), length % 2);
      ASSERT_EQ(IsBalanced(text), sampled.targets[k][0] == 1);
      ASSERT_EQ(std::ranges::count(text, '\0'), std::ranges::count(text, '\1'));
      ASSERT_EQ(std::ranges::count(text, '\2'), std::ranges::count(text, '\3'));
      for (const char token : text) {
        if (token % 2 == 0 && token < 4) kinds.push_back(token / 2);
      }
    }
    ExpectUniform(kinds, 0, 2);
    ExpectUniform(FirstTargets(sampled), 0, 2);
  }
}

TEST(LongSamplingTest, TheKeyThatIsRecalledIsInOnePairAnywhere) {
  for (const int length : kLongLengths) {
    SCOPED_TRACE(length);
    const Sampled sampled = Draw("associative_recall", length, 4000);
    std::vector<int> places, keys, values;
    for (size_t k = 0; k < sampled.inputs.size(); ++k) {
      const std::string text = sampled.inputs[k].substr(length % 2 == 0 ? 1 : 0);
      const char asked = text.back();
      std::string others;
      for (size_t i = 0; i + 1 < text.size(); i += 2) {
        values.push_back(text[i + 1]);
        if (text[i] != asked) {
          others += text[i];
          continue;
        }
        places.push_back(static_cast<int>(i / 2));
        ASSERT_EQ(sampled.targets[k][0], text[i + 1]);
      }
      ASSERT_EQ(places.size(), k + 1) << "it occurs once";
      for (size_t begin = 0; begin < others.size(); begin += 19) {
        const std::string round = others.substr(begin, 19);
        ASSERT_EQ(std::set<char>(round.begin(), round.end()).size(), round.size());
      }
      keys.push_back(asked);
    }
    ExpectUniform(places, 0, (length - 1) / 2);
    ExpectUniform(keys, 10, 20);
    ExpectUniform(values, 0, 10);
    ExpectUniform(FirstTargets(sampled), 0, 10);
  }
}

TEST(LongSamplingTest, ComposedPermutationsAreUniformAtLengthsOfTraining) {
  const Sampled sampled = Draw("permutation_composition", 40, 60'000);
  std::map<std::string, double> all;
  std::string permutation("\0\1\2\3\4", 5);
  do all[permutation] = 1.0 / 120;
  while (std::ranges::next_permutation(permutation).found);
  std::map<std::string, int> seen;
  for (const std::string& target : sampled.targets) ++seen[target];
  ExpectDrawnFrom(all, seen, 60'000);
}

}  // namespace
}  // namespace longreach::trainer::tasks
