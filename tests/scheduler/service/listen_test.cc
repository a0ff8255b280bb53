// Where a scheduler can be told to listen.
#include "scheduler/service/listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/status.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

TEST(ListenAddressTest, IsAHostWithAPortOrASocket) {
  ASSERT_OK_AND_ASSIGN(const ListenAddress name, ParseListenAddress("localhost:7070"));
  EXPECT_EQ(name.host, "localhost");
  EXPECT_EQ(name.port, 7070);
  ASSERT_OK_AND_ASSIGN(const ListenAddress highest, ParseListenAddress("[::1]:65535"));
  EXPECT_EQ(highest.host, "::1");
  EXPECT_EQ(highest.port, 65535);
  ASSERT_OK_AND_ASSIGN(const ListenAddress any, ParseListenAddress("0.0.0.0:0"));
  EXPECT_EQ(any.port, 0);
  ASSERT_OK_AND_ASSIGN(const ListenAddress socket, ParseListenAddress("unix:a/b.sock"));
  EXPECT_EQ(socket.socket, "a/b.sock");
}

TEST(ListenAddressTest, ACertificateIsForTheAddressThatAClientFindsTheSchedulerAt) {
  for (const auto& [text, found] : std::vector<std::pair<std::string, std::string>>{{"0.0.0.0:0", "localhost:81"},
                                                                                    {"[::]:7070", "localhost:81"},
                                                                                    {"127.0.0.1:0", "127.0.0.1:81"},
                                                                                    {"[::1]:0", "[::1]:81"},
                                                                                    {"scheduler.example.org:0", "scheduler.example.org:81"},
                                                                                    {"unix:/run/s.sock", "unix:/run/s.sock"},
                                                                                    {"unix:s.sock", "unix:" + std::filesystem::absolute("s.sock").string()}}) {
    ASSERT_OK_AND_ASSIGN(const ListenAddress address, ParseListenAddress(text));
    EXPECT_EQ(FoundAt(address, 81), found);
  }
}

TEST(ListenAddressTest, AnythingElseIsRefusedWithWhatIsWrongAndWhatIsRight) {
  const std::string number = "is no port; a port is a number from 0 (any that is free) to 65535";
  const std::string forms = "write HOST:PORT, such as localhost:7070, or unix:PATH";
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{{"localhost:99999", "--listen localhost:99999: '99999' " + number},
                                                                                  {"localhost:65536", "'65536' " + number},
                                                                                  {"localhost:-1", "'-1' " + number},
                                                                                  {"localhost:http", "'http' " + number},
                                                                                  {"localhost:99999999999999999999", "'99999999999999999999' " + number},
                                                                                  {"localhost", "--listen localhost: no port; " + forms},
                                                                                  {"localhost:", "no port; " + forms},
                                                                                  {"", "no port; " + forms},
                                                                                  {":7070", "no host; " + forms},
                                                                                  {"unix:", "no path after 'unix:'"}}) {
    const absl::Status status = ParseListenAddress(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why)) << text;
  }
}

}  // namespace
}  // namespace longreach::service
