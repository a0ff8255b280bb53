// `longreach attention` beside a scheduler that answers as the test says: what it asks for, and what it makes of odd answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "client/errors.h"
#include "proto/base/sha256.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

// Of two layers and two tokens at length 7, all shares a half.
std::string Series() {
  const std::string header = R"({"__metadata__":{"heads":"8"},"attention/7":{"dtype":"F32","shape":[2,2,2],"data_offsets":[0,32]}})";
  const uint64_t size = header.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += header;
  const float half = 0.5f;
  for (int i = 0; i < 8; ++i) bytes.append(reinterpret_cast<const char*>(&half), sizeof half);
  return bytes;
}

class AttentionTest : public ::testing::Test {
 protected:
  AttentionTest() {
    scheduler_.sweep.set_jobs(1);
    scheduler_.sweep.mutable_counts()->set_succeeded(1);
    Add("weights", "weights");
    Add("series", Series());
  }

  void Add(const std::string& kind, const std::string& bytes) {
    v1::ArtifactInfo& artifact = scheduler_.artifacts.emplace_back();
    artifact.set_kind(kind);
    artifact.set_sha256(Sha256Of(bytes));
    scheduler_.files[artifact.sha256()] = bytes;
  }

  Outcome Run(const std::string& file, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"attention", "bbbb", "--length", "7", "--file", (folder_.path() / file).string(), "--scheduler", scheduler_.address()});
    return RunCommandLine(more);
  }
  std::string Written(const std::string& file) const {
    std::ifstream in(folder_.path() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  FakeScheduler scheduler_;
  TempFolder folder_;
};

TEST_F(AttentionTest, AsksForAJobThatTrainsNothingWithTheJobsWeights) {
  scheduler_.job_spec.set_experiment("algorithmic");

  const Outcome outcome = Run("a.safetensors");

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_TRUE(scheduler_.submitted.aside()) << "who draws a figure goes on with the sweep before";
  const v1::SweepSpec& asked = scheduler_.submitted.spec();
  EXPECT_EQ(asked.name(), "attention-bbbbbbbb-7");
  EXPECT_EQ(asked.training().steps(), 0);
  EXPECT_EQ(asked.evaluation().lengths(0), 7);
  EXPECT_EQ(asked.evaluation().attention_lengths(0), 7);
  EXPECT_EQ(asked.evaluation().examples(), 1);
  ASSERT_EQ(asked.inputs_size(), 1);
  EXPECT_EQ(asked.inputs(0).artifact(), "weights");
  EXPECT_EQ(Written("a.safetensors"), Series());
  EXPECT_THAT(outcome.out, HasSubstr("2 layers of job bbbbbbbb, 2 tokens"));
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("training lengths"))) << "a figure is of one length, be it trained or not";
}

TEST_F(AttentionTest, DrawsAFigureAndSaysSoAsJson) {
  const Outcome outcome = Run("a.png", {"-o", "json"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json told = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(told["schema"], "longreach/v1");
  EXPECT_EQ(told["layers"], 2);
  EXPECT_EQ(told["series"], Sha256Of(Series()));
  EXPECT_EQ(Written("a.png").substr(1, 3), "PNG");
  EXPECT_EQ(told["bytes"], Written("a.png").size());
  // Whoever may read the folder may read a figure.
  const auto all = std::filesystem::perms::group_read | std::filesystem::perms::others_read;
  EXPECT_EQ(std::filesystem::status(folder_.path() / "a.png").permissions() & all, all);
}

TEST_F(AttentionTest, WritesNothingWhereTheAnswerIsNotWhatItShouldBe) {
  const std::string hash = Sha256Of(Series());
  struct Case {
    std::string what;
    std::function<void()> before;
    int code;
    std::string error;
  };
  const std::vector<Case> cases = {
      {"a job that runs", [&] { scheduler_.jobs.mutable_jobs(0)->set_state("leased"); }, kFailed, "it has no final weights"},
      {"it would be trained again", [&] { scheduler_.plan.set_prerequisites(1); }, kFailed, "would train it again"},
      {"no matrices", [&] { scheduler_.artifacts.pop_back(); }, kFailed, "left no matrices"},
      {"no weights", [&] { scheduler_.artifacts.erase(scheduler_.artifacts.begin()); }, kFailed, "has no weights any more"},
      {"a file that is gone", [&] { scheduler_.files.clear(); }, kNotFound, "no artifact has this hash"},
      {"other bytes", [&] { scheduler_.files[hash].back() ^= 1; }, kFailed, "have another hash"},
      {"half of them", [&] { scheduler_.files[hash].resize(40); }, kFailed, "have another hash"},
      {"a download that breaks off", [&] { scheduler_.refusals["Download"] = {grpc::StatusCode::DATA_LOSS, "damaged"}; }, kFailed, "damaged"},
      {"a sweep that failed", [&] {
         scheduler_.sweep.mutable_counts()->set_succeeded(0);
         scheduler_.sweep.mutable_counts()->set_failed(1);
       }, kFailed, "1 job of sweep table-b1 failed"}};
  for (const Case& one : cases) {
    const v1::ListJobsResponse jobs = scheduler_.jobs;
    const v1::Sweep sweep = scheduler_.sweep;
    const auto artifacts = scheduler_.artifacts;
    const auto files = scheduler_.files;
    one.before();

    const Outcome outcome = Run("a.png");

    EXPECT_EQ(outcome.code, one.code) << one.what << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(one.error)) << one.what;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.png")) << one.what;
    scheduler_.jobs = jobs;
    scheduler_.sweep = sweep;
    scheduler_.artifacts = artifacts;
    scheduler_.files = files;
    scheduler_.refusals.clear();
    scheduler_.plan.set_prerequisites(0);
  }
  EXPECT_EQ(Run("a.png").code, kDone);
}

TEST_F(AttentionTest, AFileThatIsThereIsLeftAloneAndNothingIsAsked) {
  std::ofstream(folder_.path() / "a.png") << "mine";
  const Outcome outcome = Run("a.png");
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("already; it was left alone"));
  EXPECT_EQ(Written("a.png"), "mine");
  EXPECT_EQ(scheduler_.calls, 0);
}

}  // namespace
}  // namespace longreach::client
