// Commands with the store of another: whose it is for a moment they wait for, and who keeps it is asked or named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "client/holder.h"
#include "client/session.h"
#include "client/turn.h"
#include "tests/client/embedded_fixture.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(EmbeddedTest, AStoreThatAnotherCommandWorksOnIsLookedIntoThroughItsScheduler) {
  const std::string refuses = "echo held at unix:$SOCKET\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n";
  const std::string socket = fake_.address().substr(fake_.address().find(':') + 1);
  SetScheduler("SOCKET=" + socket + "\n" + refuses);
  MakeStore();

  const Outcome looked = Run({"sweeps", "--store", store()});

  EXPECT_EQ(looked.code, kDone) << looked.err;
  EXPECT_EQ(looked.err, "");
  EXPECT_TRUE(std::filesystem::is_empty(runtime_.path()));
  // Who trains has to have it alone, which a plan does not pass over.
  const Outcome planned = Run({"plan", "quickstart", "--store", store()});
  EXPECT_EQ(planned.code, kDone) << planned.err;
  EXPECT_THAT(planned.err, HasSubstr("another command works on this store: once that has ended, 'longreach run quickstart --store " + store() + "' runs it here"));
  EXPECT_THAT(planned.err, Not(HasSubstr("hands it to that scheduler")));
  const Outcome ran = Run({"run", "quickstart", "--store", store()});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("is held by another scheduler"));
}

TEST_F(EmbeddedTest, WatchDoesNotWaitForAHolderThatHasEnded) {
  const std::string socket = fake_.address().substr(fake_.address().find(':') + 1);
  SetScheduler("echo held at unix:" + socket + "\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n");
  MakeStore();
  v1::SweepUpdate& update = fake_.updates.emplace_back();  // The stream ends before the sweep does.
  *update.mutable_sweep() = fake_.sweep;

  for (const char* command : {"watch", "wait"}) {
    const Outcome outcome = Run({command, "last", "--store", store()});

    EXPECT_EQ(outcome.code, kUnreachable) << command << ": " << outcome.err;
  }
}

TEST_F(EmbeddedTest, AStoreThatIsFreeInAMomentIsWaitedFor) {
  // The scheduler of a command that was killed listens no more, and has the store still; and who looks into one now and then gives it back.
  for (const char* said : {"held at unix:/nowhere/s", "held for a moment", "held for a moment at unix:/nowhere/s"}) {
    const std::string once = "if [ ! -e " + Path("held") + " ]; then touch " + Path("held") + "; echo " + said +
                             "; echo \"error: store 'test.db' is held by another scheduler\" >&2; exit 1; fi\n";
    for (const std::vector<std::string>& command : {std::vector<std::string>{"sweeps"}, {"submit", "quickstart"}}) {
      std::filesystem::remove(Path("held"));
      SetScheduler(once + Listens());
      MakeStore();
      std::vector<std::string> line = command;
      line.insert(line.end(), {"--store", store()});

      const Outcome outcome = Run(line);

      EXPECT_EQ(outcome.code, kDone) << said << command[0] << outcome.err;
      EXPECT_EQ(outcome.err.find("held"), std::string::npos) << outcome.err;
    }
  }
}

TEST_F(EmbeddedTest, OthersAreToldToWaitUnlessTheStoreIsKept) {
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  MakeStore();
  for (const std::vector<std::string>& brief : {std::vector<std::string>{"submit", "quickstart"}, {"sweeps"}, {"cancel", "last"}}) {
    std::vector<std::string> line = brief;
    line.insert(line.end(), {"--store", store()});
    EXPECT_EQ(Run(line).code, kDone) << brief[0];
    EXPECT_THAT(LastLine("scheduler.calls"), HasSubstr(" --held soon-free")) << brief[0];
  }
  fake_.sweep.mutable_counts()->set_succeeded(fake_.sweep.jobs());
  (void)Run({"run", "table-b1", "--store", store()});
  EXPECT_THAT(LastLine("scheduler.calls"), HasSubstr("--store " + store()));
  EXPECT_THAT(LastLine("scheduler.calls"), Not(HasSubstr("--held"))) << "who looks meanwhile asks its scheduler";
}

TEST_F(EmbeddedTest, WhatOnlyLooksAsksTheSchedulerOfACommandThatIsNotSoonDoneAfterAll) {
  SetScheduler("echo held for a moment at " + fake_.address() + "\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n");
  MakeStore();

  const Outcome looked = Run({"sweeps", "--store", store()});

  EXPECT_EQ(looked.code, kDone) << looked.err;
  EXPECT_EQ(looked.err, "waiting for the store '" + store() + "', which another command has for a moment\n") << "once";
}

TEST_F(EmbeddedTest, ASchedulerThatIsNoCommandsOwnIsNamedByNobody) {
  EXPECT_TRUE(client::Listens(fake_.address()));
  EXPECT_EQ(CommandAt(fake_.address()), "") << "it listens in this process, which is none of ours";
  EXPECT_FALSE(client::Listens("unix:/nowhere/s"));
  EXPECT_EQ(CommandAt("unix:/nowhere/s"), "");
  EXPECT_EQ(CommandAt("localhost:7070"), "");
}

// As one that is stopped: nobody takes what connects, and the system keeps one of them waiting.
TEST_F(EmbeddedTest, WhoTakesNoConnectionsAnyMoreListensAllTheSame) {
  const std::string path = (runtime_.path() / "full").string();
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof at.sun_path);
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listener, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(listen(listener, 0), 0);

  for (int look = 0; look < 4; ++look) EXPECT_TRUE(client::Listens("unix:" + path)) << look;

  close(listener);
  EXPECT_FALSE(client::Listens("unix:" + path));
}

TEST_F(EmbeddedTest, AMergeSaysWhichOfBothStoresItWaitsFor) {
  MakeStore();
  std::ofstream(Path("other.db")) << "a store";
  for (const bool is_other : {true, false}) {
    for (const char* into : {"test.db", "new.db"}) {  // One that is there, and one that would be made.
      std::filesystem::remove(Path("scheduler.calls"));
      // Between two tries is a tenth of a second at least, and that it waits is said behind the first one.
      SetScheduler("if [ $(wc -l <" + Path("scheduler.calls") + ") -lt 15 ]; then echo " + (is_other ? "the other is " : "") + "held for a moment; echo \"error: it is held\" >&2; exit 1; fi\n" +
                   Listens());

      const Outcome merged = Run({"store", "merge", Path("other.db"), "--store", Path(into)});

      EXPECT_EQ(merged.code, kDone) << merged.err;
      EXPECT_THAT(LastLine("scheduler.calls"), HasSubstr("--merges " + Path("other.db")));
      EXPECT_THAT(merged.err, HasSubstr("waiting for the store '" + (is_other ? Path("other.db") : Path(into)) + "', which another command has for a moment\n")) << into;
    }
  }
}

TEST_F(EmbeddedTest, AMergeThatTakesLongSaysHowFarItIs) {
  SetScheduler("echo listening on " + fake_.address() + "\necho progress: half of it\necho and another line\ncat >/dev/null\n");
  MakeStore();
  std::ofstream(Path("other.db")) << "a store";
  // It is done once the client has said that too, or, that it ends, very late.
  std::promise<void> said;
  fake_.when_merged = [heard = said.get_future().share()] { heard.wait_for(std::chrono::minutes(10)); };
  int lines = 0;
  const auto when_said = [&] {
    if (++lines == 2) said.set_value();
  };

  const Outcome merged = RunCommandLine({"store", "merge", Path("other.db"), "--store", store()}, {{"XDG_RUNTIME_DIR", runtime_.path().string()}}, binaries(), when_said);

  EXPECT_EQ(merged.code, kDone) << merged.err;
  EXPECT_THAT(merged.err, ::testing::StartsWith("merging '" + Path("other.db") + "' "));
  EXPECT_THAT(merged.err, ::testing::EndsWith("\nhalf of it\n"));
}

TEST_F(EmbeddedTest, AMergeOfAStoreThatIsKeptIsRefusedAtOnce) {
  SetScheduler("echo the other is held at " + fake_.address() + "\necho \"error: the store 'other.db' is held by another scheduler\" >&2\nexit 1\n");
  MakeStore();
  std::ofstream(Path("other.db")) << "a store";

  const Outcome merged = Run({"store", "merge", Path("other.db"), "--store", store()});

  EXPECT_EQ(merged.code, kFailed);
  EXPECT_THAT(merged.err, HasSubstr("error: the store 'other.db' is held by another scheduler\n"));
  EXPECT_THAT(merged.err, Not(HasSubstr("waiting")));
  EXPECT_EQ(fake_.calls, 0) << "its scheduler is not asked to merge itself";
}

// A command that wants the store.
class WaitingTest : public EmbeddedTest {
 protected:
  Session MakeSession() {
    Environment environment;
    environment.out = &out_;
    environment.err = &err_;
    environment.variable = [this](const char* name) { return std::string(name) == "XDG_RUNTIME_DIR" ? runtime_.path().string() : std::string(); };
    environment.binaries = binaries();
    Settings settings;
    settings.store = store();
    return Session(environment, settings);
  }
  std::ostringstream out_, err_;
};

TEST_F(WaitingTest, WaitingForAStoreEndsWithTheCommandThatWantsIt) {
  SetScheduler("echo held for a moment\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n");
  Session session = MakeSession();
  int looks = 0;
  session.StopWaitingIf([&looks] { return ++looks == 3; });

  const absl::Status refused = session.Connect(StoreUse::kCreate).status();

  EXPECT_THAT(FormatError(refused), HasSubstr("is held by another scheduler"));
  EXPECT_EQ(looks, 3);
}

TEST_F(WaitingTest, OfThoseThatWaitOneAtATimeStartsASchedulerToTry) {
  SetScheduler("if [ ! -e " + Path("held") + " ]; then touch " + Path("held") + "; echo held for a moment; echo \"error: it is held\" >&2; exit 1; fi\n" + Listens());
  MakeStore();
  std::optional<Turn> of_another(store());
  ASSERT_TRUE(of_another->IsOurs());
  Session session = MakeSession();
  int looks = 0;
  session.StopWaitingIf([&] {
    if (++looks == 5) of_another.reset();
    return false;
  });

  EXPECT_TRUE(session.Connect(StoreUse::kExisting).ok());

  EXPECT_EQ(looks, 5) << "the store was free at the second, and it was another one's turn";
  const std::string calls = Contents("scheduler.calls");
  EXPECT_EQ(std::ranges::count(calls, '\n'), 2);
}

TEST_F(WaitingTest, ATurnIsOnesUntilOneEnds) {
  std::optional<Turn> first(store()), second(store());
  EXPECT_TRUE(first->IsOurs() && second->IsOurs()) << "no store is there yet";
  MakeStore();
  EXPECT_TRUE(first->IsOurs());
  EXPECT_FALSE(second->IsOurs());
  EXPECT_TRUE(first->IsOurs()) << "still";
  first.reset();
  EXPECT_TRUE(second->IsOurs());
}

TEST_F(EmbeddedTest, AHolderThatIsNotToBeReachedIsARefusal) {
  SetScheduler("echo held at unix:/nowhere/s\necho \"error: store 'test.db' is held by another scheduler, at unix:/nowhere/s\" >&2\nexit 1\n");
  MakeStore();

  const Outcome outcome = Run({"sweeps", "--store", store()});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.err, "error: store 'test.db' is held by another scheduler, at unix:/nowhere/s\n");
}

TEST_F(EmbeddedTest, ASchedulerForOtherMachinesThatHoldsTheStoreIsOnlyNamed) {
  SetScheduler("echo held at localhost:7070\necho \"error: store 'test.db' is held by another scheduler, at localhost:7070\" >&2\nexit 1\n");
  MakeStore();

  const Outcome outcome = Run({"sweeps", "--store", store()});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("at localhost:7070"));
}

}  // namespace
}  // namespace longreach::client
