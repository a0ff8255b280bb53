// Commands of data sets, which the worker's program answers.
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "client/errors.h"
#include "tests/client/embedded_fixture.h"

namespace longreach::client {
namespace {

class EmbeddedDataTest : public EmbeddedTest {};

TEST_F(EmbeddedDataTest, DataCommandsGoToTheWorkersProgramAsTheyAre) {
  SetWorker("exit 4\n");
  // Its exit code is the answer: it has said why itself.
  EXPECT_EQ(Run({"data", "check", "novels"}).code, kNotFound);
  SetWorker("exit 0\n");
  EXPECT_EQ(Run({"data", "import", "text", "/tmp/a.txt", "-dash", "--name", "mine", "--split", "80,10,10"}).code, kUsage);
  EXPECT_EQ(Run({"data", "import", "text", "/tmp/a.txt", "/tmp/b", "--name", "mine", "--split", "80,10,10"}).code, kDone);
  EXPECT_EQ(Run({"data", "import", "images", "/tmp/pets", "--skip-broken", "--name", "pets", "-o", "json"}).code, kDone);
  // As a shell writes out test/*.txt: none of them becomes one to train on.
  EXPECT_EQ(Run({"data", "import", "tokens", "train", "--test", "test/a.txt", "test/b.txt", "--name", "pg19"}).code, kDone);
  EXPECT_EQ(Run({"data", "list"}).code, kDone);
  EXPECT_EQ(Run({"-q", "data", "list"}).code, kDone);

  EXPECT_EQ(Contents("worker.calls"),
            "data check -- novels\n"
            "data import text --split=80,10,10 --name=mine -- /tmp/a.txt /tmp/b\n"
            "data import images --skip-broken --name=pets -o json -- /tmp/pets\n"
            "data import tokens --test=test/a.txt,test/b.txt --name=pg19 -- train\n"
            "data list\n"
            "data list -q\n");
}

// Else an import would go on alone when its command is ended by a script.
TEST_F(EmbeddedDataTest, ASignalGoesOnToTheWorkersProgram) {
  const std::string sends = "kill -TERM " + std::to_string(getpid());
#ifdef __SANITIZE_THREAD__
  // The sanitizer keeps a signal until the thread that has it comes out of a wait, and gRPC's never do.
  const std::string waits = sends;
#else
  const std::string waits = ":";
#endif
  SetWorker("trap 'echo told to end >>" + Path("ends") + "; exit 7' TERM\n" + sends + "\nwhile :; do " + waits + "; done\n");
  EXPECT_EQ(Run({"data", "check", "novels"}).code, 7);
  EXPECT_EQ(Contents("ends"), "told to end\n");
}

TEST_F(EmbeddedDataTest, RunSeesToTheSweepsDataBeforeItStartsTheWorker) {
  MakeStore();
  SetScheduler(Listens());
  SetWorker("if [ \"$1\" = data ]; then exit 4; fi\necho ready\ncat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);

  fake_.plan.add_data_sets("enwik8");
  const Outcome missing = Run({"run", "table-1", "--data-folder", "/tmp/sets", "--store", store()});

  EXPECT_EQ(missing.code, kNotFound);
  EXPECT_EQ(Contents("worker.calls"), "data ensure enwik8 --kinds enwik8=text --data-folder /tmp/sets\n");
  EXPECT_TRUE(fake_.submitted.dry_run()) << "no sweep is left in the store whose jobs nobody can do";
}

}  // namespace
}  // namespace longreach::client
