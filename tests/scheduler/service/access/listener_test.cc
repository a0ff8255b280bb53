#include "scheduler/service/access/listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace longreach::service {
namespace {

TEST(AffordableConnectionsTest, ConnectionsLeaveDescriptorsForTheStoreHoweverFewThereAre) {
  for (const size_t open_files : {64u, 256u, 512u, 1'024u, 4'096u, 20'000u}) {
    const size_t connections = AffordableConnections(20'000, open_files);
    EXPECT_GE(connections, open_files / 4) << open_files;
    EXPECT_LE(2 * connections, open_files - std::min<size_t>(open_files / 2, 256)) << open_files;
  }
  EXPECT_EQ(AffordableConnections(20'000, 256), 64u);
  EXPECT_EQ(AffordableConnections(20'000, 65'536), 20'000u);
  EXPECT_EQ(AffordableConnections(20'000, RLIM_INFINITY), 20'000u);
}

}  // namespace
}  // namespace longreach::service
