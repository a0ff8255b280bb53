#include "scheduler/service/log_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

v1::AttemptLog PartOf(uint64_t from, const std::string& text) {
  v1::AttemptLog part;
  part.set_from(from);
  part.set_text(text);
  return part;
}

class LogBoardTest : public ::testing::Test {
 protected:
  static constexpr int64_t kAttempt = 7;

  std::unique_ptr<LogBoard::Follower> Follow(LogBoard& board, int64_t attempt = kAttempt) {
    absl::StatusOr<std::unique_ptr<LogBoard::Follower>> follower = board.Follow(attempt, [this] { ++woken_; });
    EXPECT_TRUE(follower.ok()) << follower.status();
    return follower.ok() ? *std::move(follower) : nullptr;
  }
  // "nothing", or "SKIPPED:TEXT".
  static std::string Next(LogBoard::Follower& follower) {
    const absl::StatusOr<std::optional<v1::LogPart>> part = follower.Next();
    if (!part.ok()) return std::string(part.status().message());
    if (!part->has_value()) return "nothing";
    return std::to_string(static_cast<int>((*part)->skipped_bytes())) + ":" + (*part)->text();
  }

  int woken_ = 0;
};

TEST_F(LogBoardTest, WhatComesIsReadInOrder) {
  LogBoard board;
  EXPECT_EQ(board.WantedFrom(kAttempt), std::nullopt);
  const auto follower = Follow(board);
  EXPECT_EQ(board.WantedFrom(kAttempt), 0u);
  EXPECT_EQ(Next(*follower), "nothing");

  board.Take(kAttempt, PartOf(0, "one\n"));

  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(Next(*follower), "0:one\n");
  EXPECT_EQ(Next(*follower), "nothing");
  EXPECT_EQ(board.WantedFrom(kAttempt), 4u);
  board.Take(kAttempt, PartOf(4, "two\n"));
  board.Take(kAttempt, PartOf(8, "three\n"));
  EXPECT_EQ(Next(*follower), "0:two\nthree\n");
  EXPECT_EQ(Next(*follower), "nothing");
}

TEST_F(LogBoardTest, TheFirstPartIsThereOnceTheWorkerHasAnsweredThoughThereIsNothing) {
  LogBoard board;
  const auto follower = Follow(board);

  board.Take(kAttempt, PartOf(0, ""));

  EXPECT_EQ(Next(*follower), "0:");
  board.Take(kAttempt, PartOf(0, ""));
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(Next(*follower), "nothing");
}

TEST_F(LogBoardTest, WhatComesTwiceIsReadOnce) {
  LogBoard board;
  const auto follower = Follow(board);
  board.Take(kAttempt, PartOf(0, "one\n"));
  board.Take(kAttempt, PartOf(0, "one\n"));
  board.Take(kAttempt, PartOf(2, "e\ntwo\n"));
  EXPECT_EQ(Next(*follower), "0:one\ntwo\n");
}

TEST_F(LogBoardTest, PartsThatCannotBeAreOfNoEffect) {
  LogBoard board;
  const auto follower = Follow(board);
  board.Take(kAttempt, PartOf(0, "one\n"));
  ASSERT_EQ(Next(*follower), "0:one\n");

  board.Take(kAttempt, PartOf(100, "asked for by somebody before\n"));
  board.Take(kAttempt, PartOf(4, std::string(kMaxLogPartBytes + 1, 'x')));
  board.Take(kAttempt, PartOf(~uint64_t{0}, std::string(kMaxLogPartBytes, 'x')));
  board.Take(8, PartOf(4, "of an attempt that nobody follows\n"));

  EXPECT_EQ(Next(*follower), "nothing");
  EXPECT_EQ(board.WantedFrom(kAttempt), 4u);
  board.Take(kAttempt, PartOf(4, "two\n"));
  EXPECT_EQ(Next(*follower), "0:two\n");
}

TEST_F(LogBoardTest, WhereMoreIsThereThanAPartMayHaveItIsSaidHowMuchIsLeftOut) {
  LogBoard board;
  const auto follower = Follow(board);
  board.Take(kAttempt, PartOf(1000, std::string(kMaxLogPartBytes, 'x')));
  EXPECT_EQ(Next(*follower), "1000:" + std::string(kMaxLogPartBytes, 'x'));
  const uint64_t end = 1000 + kMaxLogPartBytes;
  EXPECT_EQ(board.WantedFrom(kAttempt), end);

  board.Take(kAttempt, PartOf(end + 50, std::string(kMaxLogPartBytes, 'y')));

  EXPECT_EQ(Next(*follower), "50:" + std::string(kMaxLogPartBytes, 'y'));
}

TEST_F(LogBoardTest, ASlowReaderLosesTheOldest) {
  LogBoard board({.bytes = 10});
  const auto slow = Follow(board), fast = Follow(board);
  board.Take(kAttempt, PartOf(0, "0123456"));
  EXPECT_EQ(Next(*fast), "0:0123456");

  board.Take(kAttempt, PartOf(7, "789abcdef"));

  EXPECT_EQ(Next(*fast), "0:789abcdef");
  EXPECT_EQ(Next(*slow), "6:6789abcdef");
}

TEST_F(LogBoardTest, CharactersAreWholeWhereverPartsAreCut) {
  LogBoard board({.bytes = 8});
  const auto follower = Follow(board);
  board.Take(kAttempt, PartOf(0, "a\xe2\x82"));
  EXPECT_EQ(Next(*follower), "0:a");
  EXPECT_EQ(Next(*follower), "nothing");
  board.Take(kAttempt, PartOf(3, "\xac\xff"));
  EXPECT_EQ(Next(*follower), "0:\xe2\x82\xac\xef\xbf\xbd");
  // Of a character that is cut by what is lost nothing is shown.
  board.Take(kAttempt, PartOf(5, "\xe2\x82\xac" "0123456"));
  EXPECT_EQ(Next(*follower), "3:0123456");
}

TEST_F(LogBoardTest, WhoComesLaterBeginsWithWhatIsKept) {
  LogBoard board;
  const auto first = Follow(board);
  board.Take(kAttempt, PartOf(0, "one\n"));
  const auto second = Follow(board);
  EXPECT_EQ(Next(*second), "0:one\n");
}

TEST_F(LogBoardTest, WithTheLastFollowerItIsForgotten) {
  LogBoard board;
  auto first = Follow(board), second = Follow(board);
  board.Take(kAttempt, PartOf(0, "one\n"));
  first.reset();
  EXPECT_EQ(board.WantedFrom(kAttempt), 4u);
  second.reset();
  EXPECT_EQ(board.WantedFrom(kAttempt), std::nullopt);
  EXPECT_EQ(board.Ask(kAttempt), std::nullopt);

  const auto third = Follow(board);

  EXPECT_EQ(board.WantedFrom(kAttempt), 0u);
  EXPECT_EQ(Next(*third), "nothing");
}

TEST_F(LogBoardTest, AWorkerThatNeverAnswersIsToldOfInTheEnd) {
  LogBoard board;
  const auto follower = Follow(board);
  board.Missed(kAttempt, "gpu-a", "0.1");  // It was not asked yet.
  for (int asked = 0; asked < kMostLogQuestions; ++asked) {
    EXPECT_EQ(Next(*follower), "nothing") << asked;
    EXPECT_EQ(board.Ask(kAttempt), 0u);
    if (asked + 1 < kMostLogQuestions) board.Missed(kAttempt, "gpu-a", "0.1");
  }

  board.Missed(kAttempt, "gpu-a", "0.1");

  EXPECT_EQ(woken_, 1);
  const absl::Status vain = follower->Next().status();
  EXPECT_EQ(vain.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(vain.message()), HasSubstr("worker 'gpu-a' (0.1)"));
  EXPECT_THAT(std::string(vain.message()), HasSubstr("an older version"));
  EXPECT_EQ(board.WantedFrom(kAttempt), std::nullopt);
  EXPECT_EQ(board.Follow(kAttempt, [] {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LogBoardTest, AWorkerThatHasAnsweredMayMissSomeQuestions) {
  LogBoard board;
  const auto follower = Follow(board);
  for (int round = 0; round < 3; ++round) {
    for (int asked = 0; asked + 1 < kMostLogQuestions; ++asked) {
      board.Ask(kAttempt);
      board.Missed(kAttempt, "gpu-a", "0.1");
    }
    board.Take(kAttempt, PartOf(0, "one\n"));
  }
  EXPECT_EQ(Next(*follower), "0:one\n");
}

TEST_F(LogBoardTest, AtTheEndWhatCameBeforeIsRead) {
  LogBoard board;
  const auto follower = Follow(board);
  board.Take(kAttempt, PartOf(0, "one\n\xe2"));

  board.End(kAttempt);
  board.Take(kAttempt, PartOf(4, "two\n"));

  EXPECT_EQ(woken_, 2);
  EXPECT_TRUE(follower->ended());
  EXPECT_EQ(board.WantedFrom(kAttempt), std::nullopt);
  EXPECT_EQ(Next(*follower), "0:one\n");
  EXPECT_EQ(Next(*follower), "nothing");
  EXPECT_EQ(follower->position(), 4u);
  EXPECT_EQ(follower->Seen(), "one\n");
  EXPECT_EQ(follower->Unread(), "\xe2");
}

TEST_F(LogBoardTest, MoreThanTheLimitsAreRefused) {
  LogBoard board({.attempts = 2, .followers = 3});
  auto one = Follow(board, 1), two = Follow(board, 2);
  const absl::Status attempts = board.Follow(3, [] {}).status();
  EXPECT_EQ(attempts.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(attempts.message()), HasSubstr("the logs of 2 attempts are followed already"));
  const auto three = Follow(board, 2);
  const absl::Status followers = board.Follow(2, [] {}).status();
  EXPECT_EQ(followers.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(followers.message()), HasSubstr("3 callers already"));

  one.reset();

  EXPECT_TRUE(board.Follow(3, [] {}).ok());
}

TEST_F(LogBoardTest, AtTheSchedulersEndNobodyWaits) {
  LogBoard board;
  const auto follower = Follow(board);

  board.Close();

  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(follower->Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(board.Follow(kAttempt, [] {}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace longreach::service
