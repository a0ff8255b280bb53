// What people are shown when a job failed or a worker was put aside: why, and what to type next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FailuresTest : public WithFakeScheduler {
 protected:
  FailuresTest() {
    v1::Job& job = *scheduler_.jobs.mutable_jobs(0);
    job.set_state("failed");
    job.set_failures(3);
    job.set_failure("crashed: trainer killed by SIGSEGV");
  }
  std::string repeat() const {
    return "longreach job bbbbbbbb --spec --scheduler " + scheduler_.address() + " | longreach run /dev/stdin --store repeat-bbbbbbbb.db\n";
  }
};

TEST_F(FailuresTest, AFailedJobShowsItsReasonItsLogAndHowToRepeatIt) {
  const Outcome outcome = Run({"job", "bbbb"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("  reason: crashed: trainer killed by SIGSEGV\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nlast lines of the log of attempt 0\n  step 1\n  step 2\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nto repeat it by itself\n  " + repeat()));
  EXPECT_THAT(Run({"explain", "bbbb"}).out, HasSubstr("\n- To repeat it by itself: " + repeat()));
}

TEST_F(FailuresTest, CommandsOfTheSchedulersSentencesAreToldForWhereItWasAsked) {
  scheduler_.reasons = {"'longreach logs bbbb' shows what attempt 1 wrote.", "Worker 'a' does not get it: 'longreach drain --undo a' or 'longreach drain a'.",
                        "Worker 'b' has no data set 'c'; 'longreach data ensure' on its machine brings it.", "Nothing is 'longreach logs"};
  const std::string flags = " --scheduler " + scheduler_.address();
  const std::string out = Run({"explain", "bbbb"}).out;
  EXPECT_THAT(out, HasSubstr("\n- 'longreach logs bbbb" + flags + "' shows what attempt 1 wrote.\n"));
  EXPECT_THAT(out, HasSubstr("\n- Worker 'a' does not get it: 'longreach drain --undo a" + flags + "' or 'longreach drain a" + flags + "'.\n"));
  EXPECT_THAT(out, HasSubstr("'c'; 'longreach data ensure' on its machine brings it.\n")) << "data are of a machine, not of a scheduler";
  EXPECT_THAT(out, HasSubstr("\n- Nothing is 'longreach logs\n"));
  EXPECT_THAT(Run({"explain", "bbbb", "-o", "json"}).out, HasSubstr("'longreach logs bbbb" + flags + "' shows")) << "as the dashboard shows it";
  v1::WorkerInfo& worker = *scheduler_.workers.mutable_workers(0);
  worker.set_reason("it is drained; 'longreach drain --undo a' gives it work again");
  for (const char* format : {"table", "json", "csv"}) {
    EXPECT_THAT(Run({"workers", "-o", format}).out, HasSubstr("it is drained; 'longreach drain --undo a" + flags + "' gives it work again")) << format;
  }
}

TEST_F(FailuresTest, AFieldThatTheSchedulerRefusesIsToldAsTheOptionThatWasTyped) {
  scheduler_.refusals["GetTable"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "table.only: unknown axis 'foo'\n  known are task, seed");
  EXPECT_THAT(Run({"results", "last", "--only", "foo=1"}).err, HasSubstr("error: --only: unknown axis 'foo'\n  known are task, seed\n"));
  EXPECT_THAT(Run({"results", "last", "--only", "foo=1", "-o", "json"}).err, HasSubstr("\"message\":\"--only: unknown axis 'foo'\""));
  EXPECT_THAT(Run({"results", "last"}).err, HasSubstr("error: table.only: unknown axis 'foo'\n")) << "a preset's table may have it";
  scheduler_.refusals["ListJobs"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "only: unknown axis 'foo'");
  EXPECT_THAT(Run({"jobs", "last", "--only", "foo=1"}).err, HasSubstr("error: --only: unknown axis 'foo'\n"));
  scheduler_.refusals["GetTable"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "table.published: unknown published table 'tabel-1'");
  EXPECT_THAT(Run({"results", "last", "--published"}).err, HasSubstr("error: table.published: unknown published table 'tabel-1'\n")) << "a flag names none";
}

TEST_F(FailuresTest, WhoNamesASweepsFileIsToldTheSweepsName) {
  const TempFolder folder;
  const auto told = [this](const std::string& word) {
    scheduler_.refusals["GetTable"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no sweep '" + word + "'; did you mean 'mine'? 'longreach sweeps' shows all of them");
    const Outcome outcome = Run({"results", word});
    EXPECT_EQ(outcome.code, kNotFound) << word;
    return outcome.err;
  };
  const std::string sweeps = "'longreach sweeps --scheduler " + scheduler_.address() + "' shows all of them\n";
  const std::string named = folder.Write("g.yaml", "name: mine\naxes: {seed: 1}\n");
  EXPECT_EQ(told(named), "error: there is no sweep '" + named + "', which is a file's name: a sweep goes by the 'name:' in its file, or by the file's name without the ending\n" +
                             "  that is 'mine' here; " + sweeps);
  EXPECT_THAT(told(folder.Write("h.yaml", "axes: {seed: 1}\n")), HasSubstr("that is 'h' here; "));
  EXPECT_THAT(told("gone.yml"), HasSubstr("which is a file's name"));
  const std::string store = folder.Write("b1.db", "");
  EXPECT_EQ(told(store), "error: there is no sweep '" + store + "', which is a store's file\n  '--store " + store +
                             "' looks into it, and the command diff compares results with those of another store\n");
  EXPECT_THAT(told("gone.yml"), HasSubstr("\n  did you mean 'mine'? " + sweeps));
  EXPECT_EQ(told("mien"), "error: there is no sweep 'mien'; did you mean 'mine'? " + sweeps);
}

TEST_F(FailuresTest, WithoutALogTheRestIsShown) {
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "none");
  const Outcome outcome = Run({"job", "bbbb"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.out, HasSubstr(repeat()));
  EXPECT_THAT(outcome.out, Not(HasSubstr("last lines")));
}

TEST_F(FailuresTest, AnOlderAttemptsLogIsNotTakenForThatOfTheOneThatRuns) {
  const Outcome failed = Run({"logs", "bbbb"});
  scheduler_.jobs.mutable_jobs(0)->set_state("leased");
  const Outcome runs = Run({"logs", "bbbb"});

  EXPECT_EQ(failed.err, "");
  EXPECT_EQ(runs.out, failed.out);
  EXPECT_EQ(runs.err, "this is the log of attempt 0; the one that runs now leaves its own when it ends\n");
  EXPECT_EQ(Run({"logs", "bbbb", "-q"}).err, "");
}

TEST_F(FailuresTest, AJobThatDidNotFailIsNotToBeRepeated) {
  scheduler_.jobs.mutable_jobs(0)->set_state("succeeded");
  EXPECT_THAT(Run({"job", "bbbb"}).out, Not(HasSubstr("repeat")));
  EXPECT_THAT(Run({"explain", "bbbb"}).out, Not(HasSubstr("repeat")));
}

TEST_F(FailuresTest, AJobHasFailedAndIsQueued) {
  for (const auto& [state, words] : {std::pair("failed", ") has failed\n"), {"succeeded", ") has succeeded\n"}, {"queued", ") is queued\n"}, {"leased", ") is running\n"}}) {
    scheduler_.jobs.mutable_jobs(0)->set_state(state);
    EXPECT_THAT(Run({"explain", "bbbb"}).out, HasSubstr(words));
  }
}

TEST_F(FailuresTest, SpecPrintsASweepFileAndNothingElse) {
  EXPECT_THAT(Run({"job", "bbbb", "--spec"}).out, ::testing::StartsWith("name: \"repeat-bbbbbbbb\"\n"));
  EXPECT_THAT(Run({"job", "bbbb", "--spec", "-o", "json"}).out, HasSubstr("\"spec\":{\"name\":\"repeat-bbbbbbbb\""));
}

TEST_F(FailuresTest, AFileOfAJobIsFetchedWholeOrNotAtAll) {
  const TempFolder folder;
  const std::string file = (folder.path() / "w.safetensors").string();
  for (const std::string bytes : {"older", "the weights"}) {
    v1::ArtifactInfo& artifact = scheduler_.artifacts.emplace_back();
    artifact.set_kind("weights");
    artifact.set_step(bytes == "older" ? 10 : 20);
    artifact.set_sha256(Sha256Of(bytes));
    artifact.set_bytes(static_cast<double>(bytes.size()));
    scheduler_.files[artifact.sha256()] = bytes;
  }
  scheduler_.refusals["Download"] = {grpc::StatusCode::DATA_LOSS, "damaged"};
  EXPECT_EQ(Run({"job", "bbbb", "--get", "weights", "--file", file}).code, kFailed);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  scheduler_.refusals.clear();
  std::ofstream(file + ".part") << "of somebody else";

  EXPECT_THAT(Run({"job", "bbbb", "--get", "weights", "--file", file}).out, HasSubstr("weights of step 20, 11 bytes; row 0 is this job's"));

  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "the weights");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2) << "that and the one that was there";
  EXPECT_EQ(Run({"job", "bbbb", "--get", "weights", "--file", file}).code, kFailed) << "a file is never replaced";
  EXPECT_EQ(Run({"job", "bbbb", "--get", "weights", "--file", "-"}).out, "the weights");
  const Outcome none = Run({"job", "bbbb", "--get", "series", "--file", file + "2"});
  EXPECT_EQ(none.code, kNotFound);
  EXPECT_THAT(none.err, HasSubstr("has no file of the kind 'series'\n  it has: weights"));
  EXPECT_THAT(Run({"job", "bbbb", "--get", "weights"}).err, HasSubstr("name the file to make with --file"));
}

TEST_F(FailuresTest, StatusNamesAWorkerThatIsPutAside) {
  EXPECT_THAT(Run({"status"}).out, Not(HasSubstr("put aside")));
  v1::WorkerInfo& worker = *scheduler_.workers.mutable_workers(0);
  worker.set_state("put_aside");
  worker.set_reason("its last 3 attempts, of different jobs, failed");
  EXPECT_THAT(Run({"status"}).out, HasSubstr("worker 'gpu-1' is put aside: its last 3 attempts, of different jobs, failed\n"));
  worker.set_reason("failed; tell it to go on with 'longreach drain --undo gpu-1'");
  EXPECT_THAT(Run({"status"}).out, HasSubstr("go on with 'longreach drain --undo gpu-1 --scheduler " + scheduler_.address() + "'\n"));
}

}  // namespace
}  // namespace longreach::client
