// What the client says to write in place of a word that is no option and no argument of a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

void ExpectRefusedAsUsage(const std::vector<std::string>& arguments, const std::string& text) {
  const Outcome outcome = RunCommandLine(arguments);
  EXPECT_EQ(outcome.code, kUsage) << text;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(text));
}

// As other programs have it: '--steps 5'.
TEST(OptionHintsTest, AFieldOfTheSweepAsAnOptionIsAnsweredWithSet) {
  ExpectRefusedAsUsage({"run", "quickstart", "--steps", "5"}, "unknown option '--steps'\n  '--set training.steps=5' sets that field; 'longreach run --help'");
  ExpectRefusedAsUsage({"plan", "quickstart", "--seed=0..4"}, "'--set seed=0..4' sets that field;");
  ExpectRefusedAsUsage({"plan", "quickstart", "--lr", "1e-3"}, "'--set learning_rate=1e-3' sets that field;");
  ExpectRefusedAsUsage({"submit", "quickstart", "--batch-size", "--quiet"}, "'--set training.batch_size=VALUE' sets that field;");
  ExpectRefusedAsUsage({"results", "last", "--steps", "5"}, "unknown option '--steps'\n  'longreach results --help'");
}

TEST(OptionHintsTest, ALongOptionWithOneHyphenIsKnown) {
  ExpectRefusedAsUsage({"run", "quickstart", "-set", "seed=3"}, "did you mean '--set'?");
  ExpectRefusedAsUsage({"run", "quickstart", "-store=b1.db"}, "did you mean '--store'?");
}

TEST(OptionHintsTest, AFieldAndItsValueInTwoWordsAreAnsweredWithOne) {
  ExpectRefusedAsUsage({"plan", "quickstart", "--set", "seed=3", "--set", "training.steps", "5"},
                       "not expected here: 5\n  '--set training.steps=5' replaces a field; 'longreach plan --help'");
  ExpectRefusedAsUsage({"plan", "quickstart", "--set", "training.steps=4", "5"}, "not expected here: 5\n  'longreach plan --help'");
}

TEST(OptionHintsTest, AnOptionOfOtherCommandsIsSaidToBeTheirs) {
  const std::string of_set = "unknown option '--set'\n  'longreach plan', 'longreach run', 'longreach submit' take it; 'longreach spec --help'";
  ExpectRefusedAsUsage({"spec", "last", "--set", "seed=1"}, of_set);
  ExpectRefusedAsUsage({"plot", "last", "--rows=task"}, "unknown option '--rows'\n  'longreach results' takes it; 'longreach plot --help'");
}

TEST(OptionHintsTest, AStoreThatIsNamedByItsFileAloneIsAnsweredWithStore) {
  ExpectRefusedAsUsage({"store", "check", "b1.db"}, "not expected here: b1.db\n  '--store b1.db' names a store; 'longreach store check --help'");
  ExpectRefusedAsUsage({"pause", "last", "x=1"}, "not expected here: x=1\n  'longreach pause --help'");
}

TEST(OptionHintsTest, AStoresFileInThePlaceOfASweepIsAnsweredWithStore) {
  const TempFolder folder;
  const std::string named = folder.Write("b1.db", ""), begun = folder.Write("b1.sqlite", std::string("SQLite format 3\0", 16)), other = folder.Write("b1.txt", "SQLite");
  ExpectRefusedAsUsage({"plot", named}, "error: --file is required\n  '--store " + named + "' names a store; 'longreach plot --help'");
  ExpectRefusedAsUsage({"plot", begun}, "'--store " + begun + "' names a store;");
  ExpectRefusedAsUsage({"plot", other}, "error: --file is required\n  'longreach plot --help'");
  ExpectRefusedAsUsage({"store", "check", begun}, "not expected here: " + begun + "\n  '--store " + begun + "' names a store;");
  ExpectRefusedAsUsage({"compare", named}, "error: SECOND is missing\n  '--store " + named + "' names a store; two sweeps: ");
  ExpectRefusedAsUsage({"compare", "last", "--store", named}, "error: SECOND is missing\n  two sweeps: ");

  const std::string nobody = "unix:" + (folder.path() / "nobody").string();
  for (const char* command : {"results", "status", "jobs"}) {
    const Outcome outcome = RunCommandLine({command, named}, {{"LONGREACH_SCHEDULER", nobody}});
    EXPECT_EQ(outcome.code, kUnreachable) << command;
    EXPECT_EQ(outcome.err, "error: no scheduler at " + nobody + "\n  '--store " + named + "' names a store; with it 'longreach sweeps' lists the sweeps of that store\n");
  }
  const Outcome asked = RunCommandLine({"results", named, "--scheduler", nobody});
  EXPECT_EQ(asked.code, kUnreachable);
  EXPECT_THAT(asked.err, HasSubstr("  start one with")) << "it is that one which is to answer";
}

TEST(OptionHintsTest, PartsOfWorkAtATimeAreAnsweredWithPacks) {
  ExpectRefusedAsUsage({"run", "quickstart", "--workers", "2"}, "unknown option '--workers'\n  '--packs N' trains N packs at a time, '--device cuda:0..3' has a worker for each of these GPUs; 'longreach run --help'");
  ExpectRefusedAsUsage({"status", "--workers", "2"}, "unknown option '--workers'\n  'longreach status --help'");
}

TEST(OptionHintsTest, ASecondFileOfAStoreBesideOneIsNotAnsweredWithStore) {
  ExpectRefusedAsUsage({"store", "merge", "a.db", "b.db", "--store", "c.db"}, "not expected here: b.db\n  stores are merged one after the other; 'longreach store merge --help'");
  ExpectRefusedAsUsage({"sweeps", "a.db", "--store", "c.db"}, "not expected here: a.db\n  'longreach sweeps --help'");
}

TEST(OptionHintsTest, AFormatAsAnOptionOfItsOwnIsAnsweredWithOutput) {
  ExpectRefusedAsUsage({"results", "last", "--csv"}, "unknown option '--csv'\n  did you mean '-o csv'? 'longreach results --help'");
  ExpectRefusedAsUsage({"sweeps", "--json"}, "did you mean '-o json'?");
  ExpectRefusedAsUsage({"results", "--format", "csv"}, "unknown option '--format'\n  did you mean '--output'?");
}

TEST(OptionHintsTest, AFlagWithAValueIsSaidToTakeNone) {
  ExpectRefusedAsUsage({"results", "last", "--published=table_b1"}, "error: --published: takes no value\n  'longreach results --help'");
  ExpectRefusedAsUsage({"results", "last", "--length=far"}, "error: --length: 'far' is not a number of the kind that it takes");
}

TEST(OptionHintsTest, ASecondSweepForATableOrAFigureIsAnsweredWithSpec) {
  const std::string joined = "not expected here: deep\n  'longreach spec FIRST SECOND' writes one sweep of several, whose jobs are not trained again; 'longreach ";
  ExpectRefusedAsUsage({"plot", "wide", "deep", "--file", "a.svg"}, joined + "plot --help'");
  ExpectRefusedAsUsage({"results", "wide", "deep"}, joined + "results --help'");
  ExpectRefusedAsUsage({"results", "wide", "-5"}, "not expected here: -5\n  'longreach results --help'");
  ExpectRefusedAsUsage({"status", "wide", "deep"}, "not expected here: deep\n  'longreach status --help'");
}

}  // namespace
}  // namespace longreach::client
