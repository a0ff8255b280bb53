#include <gtest/gtest.h>

#include "worker/agent/transfers.h"

namespace longreach::agent {
namespace {

TEST(AddressTest, TakesHostsWithPortsAndSocketPaths) {
  for (const char* address : {"localhost:7070", "10.0.0.1:1", "scheduler.example.org:65535", "[::1]:7070", "unix:a.sock",
                              "unix:/run/longreach.sock"}) {
    EXPECT_TRUE(CheckAddress(address).ok()) << address;
  }
}

TEST(AddressTest, RefusesWhatNoCallCouldReach) {
  for (const std::string& address :
       {std::string(), std::string("localhost"), std::string("localhost:"), std::string(":7070"), std::string("localhost:0"),
        std::string("localhost:65536"), std::string("localhost:http"), std::string("http://localhost:7070"), std::string("::1:7070"),
        std::string("unix:"), "unix:/" + std::string(107, 'x')}) {
    EXPECT_EQ(CheckAddress(address).code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace longreach::agent
