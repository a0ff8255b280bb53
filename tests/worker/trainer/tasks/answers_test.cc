// Answers worked out by hand, of the tasks that the reference implementation and its golden vectors do not have.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer::tasks {
namespace {

// To an input of characters, each of which is a token by its place in `tokens`. All target tokens are digits.
std::string AnswerTo(std::string_view task, std::string_view tokens, std::string_view input) {
  const Task& known = *FindTask(task);
  std::vector<uint8_t> ids;
  for (const char c : input) ids.push_back(static_cast<uint8_t>(tokens.find(c)));
  std::vector<uint8_t> target(static_cast<size_t>(known.OutputLength(static_cast<int>(ids.size()))), 0xEE);
  EXPECT_EQ(known.Solve(ids, target), static_cast<int>(target.size())) << input;
  std::string answer;
  for (const uint8_t id : target) answer += static_cast<char>('0' + id);
  return answer;
}

TEST(TaskAnswersTest, ACopyIsTheBitsAgain) {
  EXPECT_EQ(AnswerTo("copy_string", "01", "1"), "1");
  EXPECT_EQ(AnswerTo("copy_string", "01", "0110100"), "0110100");
}

TEST(TaskAnswersTest, AMajorityIsMoreThanHalf) {
  for (const char* bits : {"0", "10", "00", "0110", "00101"}) EXPECT_EQ(AnswerTo("majority", "01", bits), "0") << bits;
  for (const char* bits : {"1", "11", "01101", "110111"}) EXPECT_EQ(AnswerTo("majority", "01", bits), "1") << bits;
}

TEST(TaskAnswersTest, AFlipFlopHasWhatWasWrittenLast) {
  const auto read = [](std::string_view text) { return AnswerTo("flip_flop", "01wri_", text); };
  EXPECT_EQ(read("r"), "0") << "nothing was written";
  EXPECT_EQ(read("_r"), "0");
  EXPECT_EQ(read("w1r"), "1");
  EXPECT_EQ(read("_w0r"), "0");
  EXPECT_EQ(read("w1i0r"), "1");
  EXPECT_EQ(read("w0i1i1r0i1r"), "0");
  EXPECT_EQ(read("w0w1i0r1i0i0r"), "1");
  EXPECT_EQ(read("_w1i1w0i1r0i1r"), "0");
}

TEST(TaskAnswersTest, BracketsOfTwoKindsAreBalanced) {
  const auto balanced = [](std::string_view text) { return AnswerTo("dyck", "()[]_", text); };
  for (const char* text : {"_", "()", "[]", "_()", "()[]", "([])", "[()()]", "_[[]()]", "([]([]))[]"}) EXPECT_EQ(balanced(text), "1") << text;
  for (const char* text : {")(", "(]", "_][", "([)]", "(((", "()(", "())(()", "[()(])", "_[[])()]"}) EXPECT_EQ(balanced(text), "0") << text;
}

// a is the identity; b to e exchange what lies at place 0 and a later one, f to h at place 1 and a later one, i and j at place 2, k at places 3 and 4.
TEST(TaskAnswersTest, PermutationsAreComposedInTheirOrder) {
  const auto items = [](std::string_view text) { return AnswerTo("permutation_composition", "abcdefghijk", text); };
  EXPECT_EQ(items("a"), "01234");
  EXPECT_EQ(items("b"), "10234");
  EXPECT_EQ(items("e"), "41230");
  EXPECT_EQ(items("h"), "04231");
  EXPECT_EQ(items("k"), "01243");
  EXPECT_EQ(items("bb"), "01234");
  EXPECT_EQ(items("bf"), "12034");
  EXPECT_EQ(items("fb"), "20134") << "the other order is another permutation";
  EXPECT_EQ(items("cagdhj"), "14320") << "by 21034, the same, 23014, 13024 and 14023";
}

TEST(TaskAnswersTest, ARecalledKeyHasItsValue) {
  const auto value = [](std::string_view text) { return AnswerTo("associative_recall", "0123456789abcdefghijklmnopqrst_", text); };
  EXPECT_EQ(value("7"), "7") << "there is no room for a pair";
  EXPECT_EQ(value("_4"), "4");
  EXPECT_EQ(value("t9t"), "9");
  EXPECT_EQ(value("_a0a"), "0");
  EXPECT_EQ(value("a3b5c3b"), "5");
  EXPECT_EQ(value("a3b5c3a"), "3");
  EXPECT_EQ(value("_k8a1b2a1k"), "8") << "another key may have two pairs";
}

}  // namespace
}  // namespace longreach::trainer::tasks
