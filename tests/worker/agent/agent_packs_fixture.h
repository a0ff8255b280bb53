// Several packs at a time: what tests of the agent with more than one slot share.
#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"

namespace longreach::agent {

class AgentPacksTest : public ::testing::Test {
 protected:
  AgentPacksTest() : scheduler_(folder_.path() / "scheduler.sock") { scheduler_.Listen(); }

  AgentOptions Options(int packs, const std::string& worker = "worker") {
    AgentOptions options = OptionsFor(scheduler_, folder_.path() / worker);
    options.packs = packs;
    return options;
  }

  // Two endless attempts, 7 in the first slot and 8 in the second.
  void TrainSevenAndEight() {
    scheduler_.Offer(LeaseOf(7, kEndless));
    scheduler_.WaitForStep(7, 1);
    scheduler_.Offer(LeaseOf(8, kEndless, 1, 2));
    scheduler_.WaitForStep(8, 1);
  }

  // Attempt 7, which waits for its checkpoint while a trainer is idle.
  void HoldSevenWithoutItsFile() {
    WaitForFreeSlots(1);
    scheduler_.RefuseDownloads({grpc::StatusCode::UNAVAILABLE, "a slow line"});
    v1::Lease lease = LeaseOf(7, 3);
    lease.mutable_jobs(0)->mutable_checkpoint()->set_sha256(std::string(64, 'a'));
    scheduler_.Offer(lease);
    scheduler_.WaitFor("attempt 7 held", [](const FakeScheduler::Seen& seen) { return seen.Held(7) != nullptr; });
  }

  FakeScheduler::Seen SeenNow() {
    return scheduler_.WaitFor("-", [](const FakeScheduler::Seen&) { return true; });
  }

  // For a call that is made after now.
  FakeScheduler::Seen WaitForAnotherCall() {
    const int calls = SeenNow().calls;
    return scheduler_.WaitFor("another call", [&](const FakeScheduler::Seen& seen) { return seen.calls > calls; });
  }

  FakeScheduler::Seen WaitForFreeSlots(int slots) {
    return scheduler_.WaitFor(std::to_string(slots) + " free slots", [&](const FakeScheduler::Seen& seen) { return seen.last.free_slots() == slots; });
  }

  // An agent that trains two packs, each with its checkpoint.
  void ExpectToGiveAllBackWhenItLeaves(const AgentOptions& options) {
    AgentUnderTest agent(options);
    TrainSevenAndEight();

    agent.Leave();

    EXPECT_TRUE(agent.Join().ok());
    const FakeScheduler::Seen seen = scheduler_.WaitFor("a goodbye", [](const FakeScheduler::Seen& now) { return now.goodbyes > 0; });
    for (const uint64_t attempt : {7, 8}) {
      ASSERT_TRUE(seen.reports.contains(attempt));
      EXPECT_EQ(seen.reports.at(attempt).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
      EXPECT_THAT(seen.events, ::testing::Contains("upload checkpoint " + std::to_string(attempt)));
    }
  }

  // Makes the first job of a lease one of a small LLaMA on these data.
  static v1::JobSpec& MakeLlama(v1::Lease& lease, const std::string& data) {
    v1::JobSpec& spec = *lease.mutable_jobs(0)->mutable_spec();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"pb(experiment: "llama" task: "bytes" encoding: "none" learning_rate: 0.001
             model { layers: 1 embedding_dim: 16 heads: 2 kv_heads: 2 mlp_dim: 16 attention_scale: 1 dropout: 0 }
             training { steps: 3 batch_size: 4 lengths: [ 8 ] clip_norm: 1.0 warmup_steps: 1 final_rate: 0.1 }
             evaluation { lengths: [ 8 ] examples: 8 stride: 4 })pb",
        &spec));
    spec.set_data(data);
    return spec;
  }

  void ExpectItAdvances(uint64_t attempt) { scheduler_.WaitForStep(attempt, SeenNow().Held(attempt)->step() + 1); }

  testing::TemporaryFolder folder_;
  FakeScheduler scheduler_;
};

}  // namespace longreach::agent
