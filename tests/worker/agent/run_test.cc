// The worker's process as a function: that it ends when it is told to, whatever its disks do.
#include "worker/agent/run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"
#include "tests/worker/agent/fake_scheduler.h"

namespace longreach::agent {
namespace {

// Does not return before the worker has ended, and not at all where that ends the process.
int RunUntilSigtermOnADiskThatStandsStill(const std::filesystem::path& folder) {
  FakeScheduler scheduler(folder / "s.sock");
  scheduler.Listen();
  std::promise<void> reads;
  AgentOptions options = OptionsFor(scheduler, folder / "worker");
  options.verify_data = [&reads](const std::string&, const std::stop_token&, std::atomic<int64_t>&) -> absl::StatusOr<std::string> {
    reads.set_value();
    while (true) pause();
  };
  const std::jthread asks([&] {
    v1::Lease lease = LeaseOf(7, 3);
    lease.mutable_data()->set_name("words");
    scheduler.Offer(lease);
    reads.get_future().wait();
    kill(getpid(), SIGTERM);
  });
  return RunWorker(options, /*until_stdin_closes=*/false);
}

// A thread that waits for such a disk cannot be ended but with its process.
TEST(RunWorkerDeathTest, AWorkerEndsAtSigtermThoughTheDiskOfItsDataStandsStill) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";  // The other process begins this test anew, and finds the folder in its environment.
  constexpr char kFolder[] = "RUN_TEST_FOLDER";
  std::optional<testing::TemporaryFolder> folder;
  if (std::getenv(kFolder) == nullptr) setenv(kFolder, folder.emplace().path().c_str(), 1);

  EXPECT_EXIT(_exit(10 + RunUntilSigtermOnADiskThatStandsStill(std::getenv(kFolder))), ::testing::ExitedWithCode(0), "left without waiting any longer for what it reads");
}

}  // namespace
}  // namespace longreach::agent
