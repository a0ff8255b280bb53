#include "worker/agent/pipe.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

namespace longreach::agent {
namespace {

v1::ToTrainer StopOf(uint64_t attempt) {
  v1::ToTrainer message;
  message.mutable_stop()->set_attempt(attempt);
  return message;
}

// Both ends of a child's pipe.
struct Ends {
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0); }
  ~Ends() {
    for (const int fd : fds) {
      if (fd >= 0) close(fd);
    }
  }
  void CloseAgent() {
    close(fds[0]);
    fds[0] = -1;
  }
  int fds[2];
};

TEST(FrameReaderTest, FindsMessagesHoweverTheBytesArrive) {
  std::string stream;
  for (uint64_t attempt = 1; attempt <= 200; ++attempt) stream += Frame(StopOf(attempt << (attempt % 50)));
  std::minstd_rand random(3);
  FrameReader reader;
  uint64_t found = 0;

  for (size_t at = 0; at < stream.size();) {
    const size_t piece = std::min<size_t>(stream.size() - at, random() % 30);
    reader.Append(std::string_view(stream).substr(at, piece));
    at += piece;
    while (true) {
      const absl::StatusOr<std::optional<std::string>> content = reader.Next();
      ASSERT_TRUE(content.ok()) << content.status();
      if (!content->has_value()) break;
      v1::ToTrainer message;
      ASSERT_TRUE(message.ParseFromString(**content));
      ++found;
      EXPECT_EQ(message.stop().attempt(), found << (found % 50));
    }
  }

  EXPECT_EQ(found, 200u);
  EXPECT_FALSE(reader.mid_frame());
}

TEST(FrameReaderTest, KnowsThatAMessageIsCutOff) {
  const std::string frame = Frame(StopOf(70'000));
  FrameReader reader;

  reader.Append(std::string_view(frame).substr(0, frame.size() - 1));

  const absl::StatusOr<std::optional<std::string>> content = reader.Next();
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_FALSE(content->has_value());
  EXPECT_TRUE(reader.mid_frame());
}

TEST(FrameReaderTest, RefusesALengthThatIsNone) {
  FrameReader reader;

  reader.Append("\xff\xff\xff\x7f and so on");

  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kDataLoss);
}

TEST(ChildPipeTest, GivesWhatIsThereAndDoesNotWaitForMore) {
  Ends ends;
  ChildPipe child(ends.fds[1]);
  const std::string bytes = Frame(StopOf(5)) + Frame(StopOf(6)).substr(0, 3);
  ASSERT_EQ(send(ends.fds[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));

  const absl::StatusOr<std::optional<v1::ToTrainer>> first = child.Receive(/*wait=*/false);
  const absl::StatusOr<std::optional<v1::ToTrainer>> second = child.Receive(/*wait=*/false);

  ASSERT_TRUE(first.ok() && first->has_value()) << first.status();
  EXPECT_EQ((*first)->stop().attempt(), 5u);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->has_value());
}

TEST(ChildPipeTest, SaysThatTheAgentIsGone) {
  Ends ends;
  ChildPipe child(ends.fds[1]);
  ends.CloseAgent();

  EXPECT_EQ(child.Receive(/*wait=*/true).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(child.Receive(/*wait=*/false).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(child.Send(v1::FromTrainer()).code(), absl::StatusCode::kCancelled);
}

TEST(ChildPipeTest, RefusesGarbage) {
  Ends ends;
  ChildPipe child(ends.fds[1]);
  const std::string bytes("\x03\x00\x00\x00\xff\xff\xff", 7);
  ASSERT_EQ(send(ends.fds[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));

  EXPECT_EQ(child.Receive(/*wait=*/true).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace longreach::agent
