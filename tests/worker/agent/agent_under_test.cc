#include "tests/worker/agent/agent_under_test.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <future>
#include <utility>

namespace longreach::agent {

AgentUnderTest::AgentUnderTest(AgentOptions options) {
  absl::StatusOr<std::unique_ptr<Agent>> agent =
      Agent::Open(io_, std::move(options), [this](absl::Status status) { ended_ = std::move(status); });
  opened_ = agent.status();
  if (!agent.ok()) return;
  agent_ = *std::move(agent);
  boost::asio::post(io_, [this] { agent_->Start(); });
  thread_ = std::jthread([this] { io_.run(); });
}

AgentUnderTest::~AgentUnderTest() {
  Leave();
  if (thread_.joinable()) thread_.join();
}

void AgentUnderTest::Leave() {
  if (agent_ != nullptr) boost::asio::post(io_, [this] { agent_->Leave(); });
}

absl::Status AgentUnderTest::Join() {
  if (thread_.joinable()) thread_.join();
  return ended_;
}

int AgentUnderTest::TrainerPid(size_t slot) {
  std::promise<int> pid;
  boost::asio::post(io_, [&] { pid.set_value(agent_->trainer_pid(slot)); });
  return pid.get_future().get();
}

AgentOptions OptionsFor(const FakeScheduler& scheduler, const std::filesystem::path& state) {
  AgentOptions options;
  options.scheduler = scheduler.address();
  options.state = state;
  options.name = "tester";
  options.threads = 1;
  options.checkpoint_every_s = 0;
  options.binary = LONGREACH_TRAINER_PROGRAM;
  return options;
}

v1::Lease LeaseOf(uint64_t attempt, int steps, int jobs, int first) {
  v1::Lease lease;
  lease.set_attempt(attempt);
  for (int i = 0; i < jobs; ++i) {
    v1::LeasedJob& job = *lease.add_jobs();
    job.set_id(JobId(first + i));
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        fmt::format(R"pb(experiment: "algorithmic" task: "even_pairs" encoding: "rope" randomized: true
                         learning_rate: 0.001 seed: {}
                         model {{ layers: 1 embedding_dim: 8 heads: 2 mlp_dim: 8 dropout: 0.1 }}
                         positions {{ max_position: 64 }}
                         training {{ steps: {} batch_size: 4 lengths: [ 1, 2, 3 ] clip_norm: 1.0 data_seed: 0 }}
                         evaluation {{ lengths: [ 4, 5 ] examples: 8 }})pb",
                    i, steps),
        job.mutable_spec()));
  }
  return lease;
}

std::string JobId(int number) { return fmt::format("{:064x}", number); }

}  // namespace longreach::agent
