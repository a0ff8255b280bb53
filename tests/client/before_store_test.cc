#include "client/commands/before_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>

#include "client/data_fit.h"
#include "client/session.h"
#include "tests/client/embedded_fixture.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class BeforeStoreTest : public EmbeddedTest {
 protected:
  const std::string kCheck = "run --check --scheduler unix:scheduler.sock --state " + store() + ".worker";

  // As a scheduler does: one in memory makes none.
  std::string MakesItsFile() const { return "case \"$*\" in *:memory:*) ;; *) touch " + store() + " ;; esac\n" + Listens(); }
};

TEST_F(BeforeStoreTest, ASweepThatIsRefusedMakesNoStore) {
  SetScheduler(MakesItsFile());
  fake_.refusals["SubmitSweep"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no such sweep is trained");
  for (const char* command : {"run", "submit"}) {
    const Outcome outcome = Run({command, "table-b1", "--store", store()});
    EXPECT_EQ(outcome.code, kUsage) << command << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "error: no such sweep is trained\n") << command;
    EXPECT_FALSE(std::filesystem::exists(store())) << command;
  }

  fake_.refusals.clear();
  EXPECT_EQ(Run({"submit", "table-b1", "--store", store()}).code, kDone);
  EXPECT_TRUE(std::filesystem::exists(store())) << "one that is taken does";
}

TEST_F(BeforeStoreTest, DataThatAreNotThereMakeNoStore) {
  SetScheduler(MakesItsFile());
  SetWorker("if [ \"$1\" = data ]; then exit 4; fi\n");
  fake_.plan.add_data_sets("enwik8");

  EXPECT_EQ(Run({"run", "table-b1", "--store", store()}).code, kNotFound);

  EXPECT_EQ(Contents("worker.calls"), kCheck + "\ndata ensure enwik8\n");
  EXPECT_FALSE(std::filesystem::exists(store()));
}

// The worker's program tells on this program's own stderr what is missing.
TEST_F(BeforeStoreTest, WhoIsAskedForJsonHasItsWorkerRefuseInIt) {
  SetScheduler(MakesItsFile());
  SetWorker("if [ \"$1\" = data ]; then echo the answer to another question; exit 4; fi\n");
  fake_.plan.add_data_sets("enwik8");

  ::testing::internal::CaptureStdout();
  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "-o", "json"});
  const std::string written = ::testing::internal::GetCapturedStdout();

  EXPECT_EQ(outcome.code, kNotFound);
  EXPECT_EQ(LastLine("worker.calls"), "data ensure enwik8 -o json\n");
  EXPECT_EQ(outcome.out + written, "");
}

TEST_F(BeforeStoreTest, DataOfAllPartsAreSeenToAtOnce) {
  SetScheduler(MakesItsFile());
  SetWorker("if [ \"$1\" = data ]; then exit 4; fi\n");
  for (const char* name : {"pg19", "longbench"}) fake_.plan.add_data_sets(name);

  EXPECT_EQ(Run({"run", "nope-tinyllama", "--store", store()}).code, kNotFound);

  EXPECT_EQ(Contents("worker.calls"), kCheck + "\ndata ensure longbench pg19\n") << "five parts, of which each has both";
}

TEST_F(BeforeStoreTest, ADataSetOfAnotherKindIsToldWithItsPlace) {
  SetScheduler(MakesItsFile());
  const std::string file = runtime_.Write("sweep.yaml",
                                          "name: x\n"
                                          "experiment: language\n"
                                          "axes: {task: enwik8, encoding: [rope, none], learning_rate: 0.1, seed: 0}\n"
                                          "training: {lengths: [8, 4]}\n"
                                          "evaluation: {lengths: 16}\n"
                                          "systems:\n"
                                          "  - {name: usual, with: {model: {layers: 2}}}\n"
                                          "  - {name: other, with: {data: marks}}\n");
  for (const char* name : {"enwik8", "marks"}) fake_.plan.add_data_sets(name);
  SetWorker("case \"$*\" in *'data fit'*) echo fits; echo \"error: data: the data set 'marks' is of the kind 'images'\" >&2; exit 2 ;; esac\n");

  const Outcome outcome = Run({"run", file, "--store", store()});

  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("error: " + file + ":8:"));
  EXPECT_THAT(outcome.err, HasSubstr("systems.other: data: the data set 'marks' is of the kind 'images'\n  nothing was submitted\n"));
  const std::string begin = R"({"experiment":"language","task":"enwik8","encoding":"none","data":")";
  const std::string end = R"(","model":{},"training":{"lengths":[4,8]},"evaluation":{"lengths":[16]}})";
  EXPECT_EQ(LastLine("worker.calls"), "data fit " + begin + "enwik8" + end + " " + begin + "marks" + end + "\n") << "once for all encodings";
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(BeforeStoreTest, PairsOfSequencesAreAskedForByTheirKindAndLengths) {
  SetScheduler(MakesItsFile());
  const std::string file = runtime_.Write("sweep.yaml",
                                          "name: x\n"
                                          "experiment: sequences\n"
                                          "data: my-addition\n"
                                          "axes: {task: pairs, encoding: [rope, none], learning_rate: 0.1, seed: 0}\n"
                                          "model: {causal: true}\n"
                                          "positions: {data_rows: 100, data_shift: 20}\n"
                                          "training: {lengths: [8, 4]}\n"
                                          "evaluation: {lengths: [16, 8]}\n");
  fake_.plan.add_data_sets("my-addition");
  SetWorker("case \"$*\" in *'data fit'*) echo \"error: evaluation.lengths: 16 is no length of the test pairs\" >&2; exit 2 ;; esac\n");

  const Outcome outcome = Run({"run", file, "--store", store()});

  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("evaluation.lengths: 16 is no length of the test pairs\n  nothing was submitted\n"));
  EXPECT_THAT(Contents("worker.calls"), HasSubstr("data ensure my-addition --kinds my-addition=pairs\n"));
  const std::string rest = R"("model":{"learned_rows":2048},"positions":{"max_position":2048,"data_rows":100,"data_shift":20},"training":{"lengths":[4,8]},"evaluation":{"lengths":[8,16]}})";
  EXPECT_EQ(LastLine("worker.calls"),
            R"(data fit {"experiment":"sequences","task":"pairs","encoding":"rope","data":"my-addition",)" + rest + R"( {"experiment":"sequences","task":"pairs","encoding":"none","data":"my-addition",)" + rest + "\n")
      << "how many positions a pair needs is known where the data is";
}

TEST_F(BeforeStoreTest, JobsThatReadNoDataSetsAskForNoLook) {
  SetScheduler(MakesItsFile());
  SetReadyWorker("cat >/dev/null\n");
  fake_.plan.add_data_sets("even_pairs");  // Of another sweep of the store, that is called as a task.

  EXPECT_EQ(Run({"run", "table-b1", "--store", store()}).code, kDone);

  EXPECT_THAT(Contents("worker.calls"), ::testing::Not(HasSubstr("data fit")));
}

TEST_F(BeforeStoreTest, AWorkerThatDoesNotSayWhetherDataFitIsNotWaitedForForEver) {
  SetWorker("while :; do :; done\n");
  v1::SweepSpec sweep;
  sweep.set_experiment("language");
  sweep.mutable_axes()->add_task("enwik8");
  sweep.mutable_axes()->add_encoding("rope");
  fake_.plan.add_data_sets("enwik8");
  std::ostringstream said;
  Environment environment;
  environment.err = &said;
  environment.binaries = binaries();
  Session session(environment, Settings());
  const InterruptScope interrupt;

  const absl::StatusOr<std::optional<int>> ended = CheckDataFits(session, sweep, fake_.plan, WorkerOptions(), interrupt, std::chrono::milliseconds(0));

  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(*ended, std::nullopt) << "the sweep is not refused for it";
  EXPECT_THAT(said.str(), HasSubstr("longreach-worker has not said within 0 s whether the data sets are what the sweep asks of them; each job looks when it begins\n"));
}

TEST_F(BeforeStoreTest, DataThatAreNotWhatTheSweepAsksOfThemMakeNoStore) {
  SetScheduler(MakesItsFile());
  const std::string file = runtime_.Write("sweep.yaml",
                                          "name: x\n"
                                          "experiment: llama\n"
                                          "data: corpus\n"
                                          "axes: {task: tokens, encoding: rope, learning_rate: 0.1, seed: 0..2}\n"
                                          "model: {folder: tiny, layers: 3}\n"
                                          "training: {steps: 0}\n"
                                          "systems:\n"
                                          "  - {name: all, with: {evaluation: {longbench: bench}}}\n"
                                          "  - {name: some, with: {evaluation: {longbench: bench, longbench_tasks: [trec]}}}\n"
                                          "  - {name: again, with: {evaluation: {longbench: bench, examples: 7}}}\n"
                                          "  - {name: nope, with: {axes: {encoding: none}, model: {folder: other}}}\n");
  for (const char* name : {"bench", "corpus", "tiny"}) fake_.plan.add_data_sets(name);  // What reads 'other' is done.
  SetWorker("case \"$*\" in *'data fit'*) echo fits; echo \"error: evaluation.longbench_tasks: 'bench' has no trec; ask for others\" >&2; exit 2 ;; esac\n");

  const Outcome outcome = Run({"run", file, "--store", store(), "--data-folder", "/tmp/sets"});

  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("error: " + file + ":9:")) << "the second need is that of the second system";
  EXPECT_THAT(outcome.err, HasSubstr("systems.some: evaluation.longbench_tasks: 'bench' has no trec; ask for others\n  nothing was submitted\n"));
  const std::string need = R"({"experiment":"llama","task":"tokens","encoding":"rope","data":"corpus","model":{"layers":3,"folder":"tiny"},"training":{"steps":0},"evaluation":{"longbench":"bench")";
  EXPECT_EQ(LastLine("worker.calls"), "data fit --data-folder /tmp/sets " + need + "}} " + need + R"(,"longbench_tasks":["trec"]}})" + "\n")
      << "each once, and not what no open job reads";
  EXPECT_FALSE(std::filesystem::exists(store()));

  SetWorker("exit 0\n");
  EXPECT_EQ(Run({"run", file, "--store", store()}).code, kFailed) << "a worker that ends at once: it has come to that";
}

TEST_F(BeforeStoreTest, DataOfWhatIsTrainedOnAndOfJobsThatMakeInputsAreLookedAtToo) {
  SetScheduler(MakesItsFile());
  const std::string file = runtime_.Write("sweep.yaml",
                                          "name: x\n"
                                          "experiment: llama\n"
                                          "data: corpus\n"
                                          "axes: {task: tokens, encoding: none, learning_rate: 0.1, seed: 0}\n"
                                          "model: {folder: tiny}\n"
                                          "training: {steps: 0, mixture: [unread], mixture_weights: [1]}\n"
                                          "evaluation: {lengths: [8, 16], perplexity_protocol: yarn, stride: 4}\n"
                                          "systems:\n"
                                          "  - name: heads\n"
                                          "    with:\n"
                                          "      training: {steps: 2, lengths: [4, 6], mixture: [one, two], mixture_weights: [1, 3]}\n"
                                          "      evaluation: {stride: 0}\n"
                                          "      inputs:\n"
                                          "        - name: weights\n"
                                          "          artifact: weights\n"
                                          "          from:\n"
                                          "            data: other\n"
                                          "            model: {folder: second}\n"
                                          "            axes: {encoding: rope}\n"
                                          "            evaluation: {lengths: 32}\n");
  for (const char* name : {"corpus", "one", "other", "second", "tiny", "two"}) fake_.plan.add_data_sets(name);
  SetWorker("case \"$*\" in *'data fit'*) echo fits; echo \"error: encoding: 'rope', and 'second' is none of it\" >&2; exit 2 ;; esac\n");

  const Outcome outcome = Run({"run", file, "--store", store()});

  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("error: " + file + ":19:"));
  EXPECT_THAT(outcome.err, HasSubstr("systems.heads: inputs.weights.from.axes.encoding: 'rope', and 'second' is none of it\n  nothing was submitted\n"));
  const std::string begin = R"({"experiment":"llama","task":"tokens","encoding":)";
  EXPECT_EQ(LastLine("worker.calls"), "data fit " + begin +
                                          R"("none","data":"corpus","model":{"folder":"tiny"},"training":{"steps":2,"lengths":[6],"mixture":["one","two"]},)"
                                          R"("evaluation":{"lengths":[16],"stride":0,"position_bins":0,"perplexity_protocol":"yarn"}} )" +
                                          begin + R"("rope","data":"other","model":{"folder":"second"},"training":{"steps":0},"evaluation":{"lengths":[32]}})" + "\n")
      << "with what the sweep, not the system, says of training";
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(BeforeStoreTest, AWorkerThatIsMissingOrCannotRunMakesNoStore) {
  SetScheduler(MakesItsFile());
  const Outcome missing = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(missing.code, kFailed);
  EXPECT_THAT(missing.err, HasSubstr("there is no program '" + Path("longreach-worker") + "'"));
  EXPECT_THAT(missing.err, HasSubstr("LONGREACH_TRAINER=OFF"));
  EXPECT_FALSE(std::filesystem::exists(store()));

  SetWorker("echo 'libtorch.so: cannot open shared object file' >&2\nexit 127\n");
  const Outcome broken = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(broken.code, kFailed);
  EXPECT_THAT(broken.err, HasSubstr("error: the worker cannot run: libtorch.so: cannot open shared object file\n  nothing was submitted, and no store was made"));
  EXPECT_THAT(broken.err, HasSubstr("and 'longreach doctor' what this machine lacks"));
  EXPECT_EQ(Contents("worker.calls"), kCheck + "\n");
  EXPECT_FALSE(std::filesystem::exists(store()));

  SetReadyWorker("cat >/dev/null\n");
  EXPECT_EQ(Run({"run", "table-b1", "--store", store()}).code, kDone);
  EXPECT_TRUE(std::filesystem::exists(store()));
}

TEST_F(BeforeStoreTest, AWorkerThatRefusesWhatItIsToldMakesNoStore) {
  SetScheduler(MakesItsFile());
  SetWorker("echo 'error: engine: no such one' >&2\nexit 2\n");
  fake_.plan.add_data_sets("enwik8");

  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--engine", "warp", "--threads", "2"});

  EXPECT_EQ(outcome.code, kUsage) << "as of the worker";
  EXPECT_EQ(outcome.err,
            "error: the worker cannot run: engine: no such one\n"
            "  nothing was submitted, and no store was made; 'longreach-worker run --help' says what a worker can be told\n");
  EXPECT_EQ(Contents("worker.calls"), kCheck + " --engine warp --threads 2\n") << "data that may take long to import come after it";
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(BeforeStoreTest, OfSeveralGpusOneThatAnswersIsEnough) {
  SetScheduler(MakesItsFile());
  SetWorker("echo 'error: no GPU answers' >&2\nexit 1\n");
  const std::vector<std::string> run = {"run", "table-b1", "--store", store(), "--device", "cuda:0,2"};
  const Outcome none = Run(run);
  EXPECT_EQ(none.code, kFailed);
  EXPECT_THAT(none.err, HasSubstr("the worker cannot run: no GPU answers"));
  for (const char* device : {"cuda:0", "cuda:2"}) EXPECT_THAT(Contents("worker.calls"), HasSubstr(kCheck + "-gpu-" + device[5] + " --device " + device + "\n"));
  EXPECT_FALSE(std::filesystem::exists(store()));

  SetWorker("case \"$*\" in *cuda:0*) echo 'error: no GPU answers' >&2; exit 1 ;; esac\necho ready\ncat >/dev/null\n");
  const Outcome one = Run(run);
  EXPECT_EQ(one.code, kDone) << one.err;
  EXPECT_THAT(one.err, HasSubstr("the worker of cuda:0 ended, and another goes on without it: no GPU answers"));
  EXPECT_TRUE(std::filesystem::exists(store()));
}

TEST_F(BeforeStoreTest, AMergeOfAStoreThatIsNotThereMakesNone) {
  SetScheduler(Listens());

  const Outcome outcome = Run({"store", "merge", Path("other.db"), "--store", store()});

  EXPECT_EQ(outcome.code, kNotFound);
  EXPECT_THAT(outcome.err, HasSubstr("there is no store '" + Path("other.db") + "' to merge"));
  EXPECT_EQ(Contents("scheduler.calls"), "");
}

TEST_F(BeforeStoreTest, AMergeOfWhatIsNoStoreMakesNone) {
  // As a scheduler does that is told of the merge.
  SetScheduler("case \"$*\" in *\"--merges " + Path("other.db") + "\"*) echo \"error: 'other.db' is no store\" >&2; exit 1 ;; esac\n" + MakesItsFile());
  std::ofstream(Path("other.db")) << "notes";

  const Outcome outcome = Run({"store", "merge", Path("other.db"), "--store", store()});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("error: 'other.db' is no store\n"));
  EXPECT_FALSE(std::filesystem::exists(store()));
}

// Hours of training would be gone with the command that printed their table.
TEST_F(BeforeStoreTest, NothingIsSubmittedToAStoreInMemory) {
  SetScheduler(Listens());
  for (const char* command : {"run", "submit"}) {
    const Outcome outcome = Run({command, "table-b1", "--store", ":memory:"});
    EXPECT_EQ(outcome.code, kUsage) << command;
    EXPECT_EQ(outcome.err, "error: --store: ':memory:' ends with this command, and all that it is to keep\n  name a file; 'longreach plan' needs none\n") << command;
  }
  EXPECT_EQ(Contents("scheduler.calls"), "");
  EXPECT_EQ(Run({"plan", "table-b1", "--store", ":memory:", "-o", "json"}).code, kDone);
}

}  // namespace
}  // namespace longreach::client
