// `longreach doctor` as a command, with scripts in place of our programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "proto/base/build_info.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    for (const char* program : {"longreach-scheduler", "longreach-tokenizer", "longreach-trainer"}) binaries_.WriteScript(program, SaysVersion(BuildDescription()));
    SetWorker("[]");
  }

  static std::string SaysVersion(const std::string& build) { return "[ \"$1\" != --version ] || { echo '" + build + "'; exit; }\n"; }

  // A worker with a processor that computes, this folder of data sets, and `damaged` ones among them.
  void SetWorker(const std::string& damaged) {
    binaries_.WriteScript("longreach-worker", SaysVersion(BuildDescription()) +
                                                  "case \"$*\" in\n"
                                                  "'devices -o json') echo '{\"libtorch\": \"2.11.0\", \"cpu\": {\"model\": \"A Processor\", \"threads\": 2, \"problem\": \"\"},'\n"
                                                  "  echo '\"gpus\": [], \"no_gpu\": \"no CUDA plugin\", \"driver\": {\"present\": false}}' ;;\n"
                                                  "'data list -o json'*) echo '{\"folder\": \"" + home_.path().string() + "\", \"data_sets\": [{}], \"damaged\": " + damaged + "}' ;;\n"
                                                  "*) echo \"error: $*\" >&2; exit 2 ;;\n"
                                                  "esac\n");
  }

  Outcome Run(std::vector<std::string> arguments, const std::map<std::string, std::string>& variables = {}) {
    arguments.insert(arguments.begin(), "doctor");
    return RunCommandLine(arguments, variables, binaries_.path());
  }
  // With a store that is to be made, so that nothing of this machine but its limits is looked at.
  std::string store() const { return (home_.path() / "b1.db").string(); }

  // By name: of a run as JSON.
  static std::map<std::string, nlohmann::json> ChecksOf(const Outcome& outcome) {
    std::map<std::string, nlohmann::json> checks;
    const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << outcome.out << outcome.err;
    if (!document.is_object()) return checks;
    EXPECT_EQ(document["schema"], "longreach/v1");
    for (const nlohmann::json& check : document["checks"]) checks[check["name"].get<std::string>()] = check;
    return checks;
  }

  TempFolder binaries_;
  TempFolder home_;
};

TEST_F(DoctorTest, AnInstallationThatIsWellHasNoFailure) {
  const Outcome outcome = Run({"--store", store(), "-o", "json"});

  EXPECT_EQ(outcome.code, kDone) << outcome.out << outcome.err;
  const auto checks = ChecksOf(outcome);
  for (const char* name : {"scheduler_program", "worker_program", "trainer_program", "tokenizer_program", "cpu", "gpu", "data_sets", "state_folder"}) {
    ASSERT_TRUE(checks.contains(name)) << name;
    EXPECT_EQ(checks.at(name)["state"], "ok") << checks.at(name);
    EXPECT_EQ(checks.at(name)["advice"], "") << checks.at(name);
  }
  EXPECT_EQ(checks.at("worker_program")["seen"], BuildDescription());
  for (const char* name : {"scheduler", "scheduler_build", "clock", "authority", "certificate", "credentials"}) {
    ASSERT_TRUE(checks.contains(name)) << name;
    EXPECT_EQ(checks.at(name)["state"], "not_asked") << checks.at(name);
  }
  for (const char* name : {"data_folder", "store", "open_files"}) EXPECT_TRUE(checks.contains(name)) << name;
  EXPECT_EQ(checks.at("variables")["state"], "ok");
  EXPECT_EQ(checks.size(), 18u);
  EXPECT_FALSE(std::filesystem::exists(store())) << "looking makes none";
}

TEST_F(DoctorTest, AMisspeltVariableIsAWarning) {
  const auto checks = ChecksOf(Run({"--store", store(), "-o", "json"}, {{"LONGREACH_SCHEDULR", "head:1"}, {"LONGREACH_DATA", home_.path().string()}}));

  EXPECT_EQ(checks.at("variables")["state"], "warning");
  EXPECT_EQ(checks.at("variables")["seen"], "LONGREACH_SCHEDULR means nothing to any of the programs");
  EXPECT_EQ(checks.at("variables")["advice"], "did you mean LONGREACH_SCHEDULER?");
  EXPECT_EQ(ChecksOf(Run({"--store", store(), "-o", "json"}, {{"LONGREACH_DATA", home_.path().string()}})).at("variables")["seen"],
            "1 variable begins with LONGREACH_, and means something");
}

TEST_F(DoctorTest, AWorkerThatIsMissingFailsAndWhatItKnowsIsNotAsked) {
  std::filesystem::remove(binaries_.path() / "longreach-worker");

  const Outcome outcome = Run({"--store", store(), "-o", "json"});

  EXPECT_EQ(outcome.code, kFailed);
  const auto checks = ChecksOf(outcome);
  EXPECT_EQ(checks.at("worker_program")["state"], "failed");
  EXPECT_THAT(checks.at("worker_program")["seen"].get<std::string>(), HasSubstr((binaries_.path() / "longreach-worker").string()));
  for (const char* name : {"cpu", "gpu", "data_folder", "data_sets"}) EXPECT_EQ(checks.at(name)["state"], "not_asked") << name;
}

TEST_F(DoctorTest, ABuildWithoutATrainerIsOneFailureWithOneThingToDo) {
  for (const char* program : {"longreach-worker", "longreach-trainer"}) std::filesystem::remove(binaries_.path() / program);

  const auto checks = ChecksOf(Run({"--store", store(), "-o", "json"}));

  EXPECT_EQ(checks.at("worker_program")["state"], "failed");
  EXPECT_THAT(checks.at("worker_program")["advice"].get<std::string>(), HasSubstr("with longreach-trainer; a build with LONGREACH_TRAINER=OFF has neither"));
  EXPECT_EQ(checks.at("trainer_program")["state"], "not_asked");
  EXPECT_EQ(checks.at("trainer_program")["seen"], "there is no longreach-worker either, which starts it");
  for (const auto& [name, check] : checks) EXPECT_TRUE(name == "worker_program" || check["state"] != "failed") << check;
}

TEST_F(DoctorTest, ATrainerThatCannotBeAskedIsOneFailureAndWhatItComputesWithIsNotAsked) {
  const auto cpu_of = [this](const char* why) {
    const auto checks = ChecksOf(Run({"--store", store(), "-o", "json"}));
    EXPECT_EQ(checks.at("trainer_program")["state"], "failed") << why;
    for (const auto& [name, check] : checks) EXPECT_TRUE(name == "trainer_program" || check["state"] != "failed") << check;
    EXPECT_EQ(checks.at("cpu")["state"], "not_asked") << why;
    EXPECT_EQ(checks.at("gpu")["state"], "not_asked") << why;
    EXPECT_EQ(checks.at("data_sets")["state"], "ok") << "the worker tells of them without it";
    return checks.at("cpu")["seen"].get<std::string>();
  };

  binaries_.WriteScript("longreach-trainer", "echo 'libtorch_cpu.so: cannot open shared object file' >&2\nexit 127\n");
  EXPECT_EQ(cpu_of("its libraries are not there"), "longreach-trainer does not start");
  std::filesystem::remove(binaries_.path() / "longreach-trainer");
  EXPECT_EQ(cpu_of("it is not there"), "there is no longreach-trainer to ask");
}

TEST_F(DoctorTest, AWorkerThatDoesNotStartFailsWithItsWords) {
  binaries_.WriteScript("longreach-worker", "echo 'libtorch.so: cannot open shared object file' >&2\nexit 127\n");

  const Outcome outcome = Run({"--store", store(), "-o", "json"});

  EXPECT_EQ(outcome.code, kFailed);
  const auto checks = ChecksOf(outcome);
  EXPECT_THAT(checks.at("worker_program")["seen"].get<std::string>(), HasSubstr("libtorch.so: cannot open shared object file"));
  EXPECT_EQ(checks.at("cpu")["state"], "not_asked");
}

TEST_F(DoctorTest, AWorkerThatRefusesSaysWhyAlsoAsJson) {
  binaries_.WriteScript("longreach-worker", SaysVersion(BuildDescription()) + "echo '{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"message\":\"it is a file\",\"hint\":\"\"}}' >&2\nexit 2\n");

  const auto checks = ChecksOf(Run({"--store", store(), "-o", "json"}));

  EXPECT_EQ(checks.at("data_folder")["state"], "failed");
  EXPECT_EQ(checks.at("data_folder")["seen"], "it is a file");
  EXPECT_EQ(checks.at("cpu")["state"], "failed");
}

TEST_F(DoctorTest, ADeviceThatDoesNotComputeIsNamedThoughTheProgramFails) {
  binaries_.WriteScript("longreach-worker", SaysVersion(BuildDescription()) + "echo '{\"cpu\": {\"problem\": \"LibTorch: no\"}}'\nexit 1\n");

  const auto checks = ChecksOf(Run({"--store", store(), "-o", "json"}));

  EXPECT_EQ(checks.at("cpu")["state"], "failed");
  EXPECT_THAT(checks.at("cpu")["seen"].get<std::string>(), HasSubstr("LibTorch: no"));
}

TEST_F(DoctorTest, DamagedDataSetsAndAnotherBuildAreSaidBelowTheTable) {
  SetWorker("[\"enwik8: it is cut off\"]");
  binaries_.WriteScript("longreach-tokenizer", SaysVersion(Version() + " (another)"));

  const Outcome outcome = Run({"--store", store()});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.out, HasSubstr("CHECK "));
  EXPECT_THAT(outcome.out, HasSubstr("damaged: enwik8: it is cut off"));
  EXPECT_THAT(outcome.out, HasSubstr("\ndata_sets (failed):\n  remove and import them anew"));
  EXPECT_THAT(outcome.out, HasSubstr("\ntokenizer_program (warning):\n  install all programs of one build together"));
  EXPECT_THAT(outcome.out, HasSubstr("not asked"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\nworker_program (")));
}

TEST_F(DoctorTest, TheDataFolderThatIsNamedIsTheOneThatIsLookedAt) {
  binaries_.WriteScript("longreach-worker", SaysVersion(BuildDescription()) + "[ \"$1\" != data ] || echo \"$@\" >" + (binaries_.path() / "asked").string() + "\nexit 2\n");

  Run({"--store", store(), "--data-folder", "/elsewhere"});

  std::ifstream asked(binaries_.path() / "asked");
  std::string line;
  std::getline(asked, line);
  EXPECT_EQ(line, "data list -o json --data-folder=/elsewhere");
}

TEST_F(DoctorTest, ASchedulerThatWasNamedIsCalledAndItsProgramsNeedNotBeHere) {
  FakeScheduler fake;  // Of no version, and another protocol.
  TempFolder empty;

  const Outcome outcome = RunCommandLine({"doctor", "--scheduler", fake.address(), "-o", "json"}, {}, empty.path());

  EXPECT_EQ(outcome.code, kFailed);
  const auto checks = ChecksOf(outcome);
  EXPECT_NE(checks.at("scheduler")["state"], "failed") << checks.at("scheduler");
  EXPECT_THAT(checks.at("scheduler")["seen"].get<std::string>(), HasSubstr(fake.address() + " answers"));
  EXPECT_EQ(checks.at("scheduler_build")["state"], "failed");
  EXPECT_EQ(checks.at("clock")["state"], "not_asked") << "it came by a Unix socket";
  for (const char* name : {"scheduler_program", "worker_program", "trainer_program", "tokenizer_program", "cpu", "data_folder", "store", "state_folder"}) {
    EXPECT_EQ(checks.at(name)["state"], "not_asked") << name;
  }
}

TEST_F(DoctorTest, ASchedulerThatWasNamedAndDoesNotAnswerFails) {
  const Outcome outcome = Run({"--scheduler", "unix:" + (home_.path() / "nobody").string(), "-o", "json"});

  EXPECT_EQ(outcome.code, kFailed);
  const auto checks = ChecksOf(outcome);
  EXPECT_EQ(checks.at("scheduler")["state"], "failed");
  EXPECT_THAT(checks.at("scheduler")["seen"].get<std::string>(), HasSubstr("no scheduler at unix:"));
  EXPECT_EQ(checks.at("scheduler_build")["state"], "not_asked");
  EXPECT_EQ(checks.at("clock")["state"], "not_asked");
}

TEST_F(DoctorTest, CsvHasWhatToDoInAColumn) {
  const Outcome outcome = Run({"--store", store(), "-o", "csv"});
  EXPECT_THAT(outcome.out, ::testing::StartsWith("name,state,seen,advice\nscheduler_program,ok,"));
}

}  // namespace
}  // namespace longreach::client
