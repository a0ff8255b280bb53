#include "proto/access/channel.h"

#include <grpc/grpc.h>
#include <gtest/gtest.h>

namespace longreach::access {
namespace {

// Else a program that has talked to a scheduler might end ten seconds late.
TEST(ChannelTest, LeavesGrpcAsItIsWhenItGoes) {
  ASSERT_TRUE(OpenChannel("localhost:1", {}, {}).ok());

  EXPECT_TRUE(grpc_is_initialized());
}

}  // namespace
}  // namespace longreach::access
