// What a lease tells the trainer beside its files.
#include "worker/agent/fetch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

using ::testing::ElementsAre;

v1::DataSet DataSet(const std::string& name, const std::string& sha256) {
  v1::DataSet data;
  data.set_name(name);
  data.set_sha256(sha256);
  return data;
}

TEST(FetchTest, TheBytesOfEachDataSetGoOnToTheTrainer) {
  v1::Lease lease;
  lease.set_attempt(7);
  lease.add_jobs()->set_id("a");
  *lease.mutable_data() = DataSet("pg19", "1");
  *lease.mutable_model() = DataSet("tinyllama", "2");
  *lease.mutable_longbench() = DataSet("bench", "3");
  *lease.add_mixture() = DataSet("code", "4");
  *lease.add_mixture() = DataSet("prose", "5");
  const testing::TemporaryFolder folder;
  // Nobody listens there, and nothing has to be fetched.
  const auto channel = grpc::CreateChannel(fmt::format("unix:{}/nobody", folder.path().string()), grpc::InsecureChannelCredentials());
  Transfers transfers([&channel] { return channel; }, "worker", 1);

  const absl::StatusOr<v1::StartPack> start = Fetch(lease, folder.path(), FileCache(folder.path()), transfers, {});

  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->attempt(), 7u);
  EXPECT_EQ(start->data_sha256(), "1");
  EXPECT_EQ(start->model_sha256(), "2");
  EXPECT_EQ(start->longbench_sha256(), "3");
  EXPECT_THAT(start->mixture_sha256(), ElementsAre("4", "5"));
}

}  // namespace
}  // namespace longreach::agent
