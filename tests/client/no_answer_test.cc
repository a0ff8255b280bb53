#include "client/no_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "client/connection.h"
#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Listens on a Unix socket, says `words` to everybody, and ends: at once, so that what a caller writes may find it closed, or when the caller has read
// them and left.
class OneThatSpeaksFirst {
 public:
  enum class Closes { kAtOnce, kAfterTheCaller };
  OneThatSpeaksFirst(const std::filesystem::path& path, std::string words, Closes closes) : words_(std::move(words)), closes_(closes) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneThatSpeaksFirst() {
    shutdown(socket_, SHUT_RDWR);  // Ends accept().
    thread_.join();
    close(socket_);
  }

 private:
  void Serve() const {
    while (true) {
      const int caller = accept(socket_, nullptr, nullptr);
      if (caller < 0) return;
      send(caller, words_.data(), words_.size(), MSG_NOSIGNAL);  // To one that has gone meanwhile, in vain.
      shutdown(caller, SHUT_WR);
      char ignored[256];
      while (closes_ == Closes::kAfterTheCaller && recv(caller, ignored, sizeof ignored, 0) > 0) {
      }
      close(caller);
    }
  }

  const std::string words_;
  const Closes closes_;
  int socket_ = -1;
  std::thread thread_;
};

std::string Opening(const std::string& address) { return FormatError(Connection::Open(address, {}).status()); }

TEST(NoAnswerTest, AFullSchedulerIsToldApartFromNobody) {
  const TempFolder folder;
  // A path for each: gRPC may remember for a moment how a try at one ended.
  const auto path_of = [&folder](const char* name) { return (folder.path() / name).string(); };
  EXPECT_THAT(Opening("unix:" + path_of("nobody")), HasSubstr("error: no scheduler at unix:"));
  EXPECT_EQ(ConnectionsOfFullScheduler("unix:" + path_of("nobody")), std::nullopt);

  for (const auto& [name, closes] : {std::pair{"once", OneThatSpeaksFirst::Closes::kAtOnce}, {"after", OneThatSpeaksFirst::Closes::kAfterTheCaller}}) {
    const std::string path = path_of(name);
    const OneThatSpeaksFirst full(path, access::FullAnswer(16), closes);

    EXPECT_EQ(ConnectionsOfFullScheduler("unix:" + path), 16u) << name;
    const std::string told = Opening("unix:" + path);
    EXPECT_THAT(told, HasSubstr("error: the scheduler at unix:" + path + " has 16 connections, and takes no more\n  try again")) << name;
    EXPECT_THAT(told, HasSubstr("ulimit -n"));
    EXPECT_THAT(told, Not(HasSubstr("no scheduler")));
  }
}

TEST(NoAnswerTest, OneThatClosesAtOnceIsNotOneThatIsNotThere) {
  const TempFolder folder;
  const std::string path = (folder.path() / "s").string();
  const OneThatSpeaksFirst silent(path, "", OneThatSpeaksFirst::Closes::kAtOnce);

  EXPECT_EQ(ConnectionsOfFullScheduler("unix:" + path), std::nullopt);
  EXPECT_THAT(Opening("unix:" + path), HasSubstr("closed the connection at once"));
}

TEST(NoAnswerTest, AWebServerIsNotTakenForAFullScheduler) {
  const TempFolder folder;
  const std::string path = (folder.path() / "s").string();
  const OneThatSpeaksFirst web(path, "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nhi", OneThatSpeaksFirst::Closes::kAfterTheCaller);

  EXPECT_EQ(ConnectionsOfFullScheduler("unix:" + path), std::nullopt);
  const std::string told = Opening("unix:" + path);
  EXPECT_THAT(told, HasSubstr("answers in HTTP/1.1\n"));
  EXPECT_THAT(told, HasSubstr("else it is a web server"));
}

TEST(NoAnswerTest, WithTlsTheTwoPossibilitiesAreNamed) {
  const Unreached full{.address = "head:7070", .tls = true, .end = access::ConnectEnd::kAlert, .grpc_text = "tlsv1 alert internal error"};
  const Unreached refused{.address = "head:7070", .tls = true, .end = access::ConnectEnd::kNobody, .grpc_text = "Failed to connect to remote host: Connection refused"};
  const Unreached wrong{.address = "head:7070", .tls = true, .end = access::ConnectEnd::kOther, .grpc_text = "certificate verify failed"};

  EXPECT_THAT(FormatError(NoAnswer(full)), HasSubstr("error: the scheduler at head:7070 takes no more connections, or has trouble with its own TLS\n  its log says which"));
  EXPECT_THAT(FormatError(NoAnswer(refused)), HasSubstr("error: no scheduler at head:7070: Connection refused\n"));
  EXPECT_THAT(FormatError(NoAnswer(wrong)), HasSubstr("error: no TLS with a scheduler at head:7070: certificate verify failed\n"));
  for (const Unreached& one : {full, refused, wrong}) EXPECT_EQ(ExitCodeOf(NoAnswer(one)), kUnreachable);
}

TEST(NoAnswerTest, WhoAcceptsAndSaysNothingIsThere) {
  const absl::Status status = NoAnswer({.address = "localhost:7070", .timed_out = true, .grpc_text = "Deadline Exceeded"});
  EXPECT_THAT(FormatError(status), HasSubstr("error: somebody listens at localhost:7070 and does not answer\n"));
  EXPECT_EQ(ExitCodeOf(status), kUnreachable);
}

}  // namespace
}  // namespace longreach::client
