#include "store/writer.h"

#include <future>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using longreach::testing::TemporaryFolder;

class WriterTest : public ::testing::Test {
 protected:
  WriterTest() : test_(folder_ / "s.db") { EXPECT_OK(test_.db().Execute("CREATE TABLE notes(text TEXT NOT NULL UNIQUE) STRICT")); }

  // Writes a note and answers with `result`.
  Event Note(const std::string& text, absl::Status result = absl::OkStatus()) {
    return {.apply =
                [text, result](sql::Transaction& tx) -> absl::Status {
                  RETURN_IF_ERROR(tx.Run("INSERT INTO notes VALUES (?)", text).status());
                  return result;
                },
            .done = [this, text](const absl::Status& status) {
              answers_.push_back(text + ": " + std::string(absl::StatusCodeToString(status.code())));
              ASSERT_OK_AND_ASSIGN(Snapshot reader, test_.store->Read());  // What others see when the answer goes out.
              seen_.push_back(*reader.db().One<std::string>("SELECT ifnull(group_concat(text), '') FROM notes"));
            }};
  }
  std::string Notes() { return *test_.db().One<std::string>("SELECT ifnull(group_concat(text), '') FROM notes"); }

  TemporaryFolder folder_;
  TestStore test_;
  std::vector<std::string> answers_;
  std::vector<std::string> seen_;
};

TEST_F(WriterTest, AGroupIsAnsweredOnlyAfterAllOfItIsCommitted) {
  std::vector<Event> group = {Note("a"), Note("b"), Note("c")};

  EXPECT_OK(RunGroup(test_.db(), group));

  EXPECT_THAT(answers_, ElementsAre("a: OK", "b: OK", "c: OK"));
  EXPECT_THAT(seen_, ElementsAre("a,b,c", "a,b,c", "a,b,c"));
}

TEST_F(WriterTest, AFullDiskIsToldOnceAndSoIsThatItIsNot) {
  std::vector<std::string> told;
  std::promise<void> full, free;
  SystemClock clock;
  const WriterOptions options{.on_disk = [&](const std::string& trouble) {
    told.push_back(trouble);
    (trouble.empty() ? free : full).set_value();
  }};
  // As many pages as there are.
  ASSERT_OK(test_.db().Execute("PRAGMA max_page_count = 1"));
  Writer writer(test_.db(), clock, options);

  EXPECT_OK(writer.Run([](sql::Transaction& tx) { return tx.Run("INSERT INTO notes VALUES ('small')").status(); }));
  const absl::Status refused =
      writer.Run([](sql::Transaction& tx) { return tx.Run("INSERT INTO notes VALUES (hex(zeroblob(100000)))").status(); });

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  full.get_future().wait();
  free.get_future().wait();  // Without anybody's asking: the page that it tries with is there already.
  writer.Stop();
  EXPECT_THAT(told, ElementsAre("the disk is full", ""));
}

TEST_F(WriterTest, AGroupThatFailsForAnotherReasonDoesNotSayThatTheDiskIsWell) {
  ASSERT_OK(test_.db().Execute("CREATE TABLE parents(id INTEGER PRIMARY KEY) STRICT; "
                               "CREATE TABLE children(parent INTEGER REFERENCES parents(id) DEFERRABLE INITIALLY DEFERRED) STRICT"));
  ASSERT_OK(test_.db().Execute("PRAGMA max_page_count = 1"));
  std::vector<std::string> happened;  // Of the writer's thread, until it has ended.
  std::promise<void> well;
  SystemClock clock;
  const WriterOptions options{.after_group = [&](sql::Connection&) { happened.emplace_back("end of a group"); },
                              .on_disk = [&](const std::string& trouble) {
                                happened.push_back(trouble.empty() ? "well" : trouble);
                                if (trouble.empty()) well.set_value();
                              }};
  Writer writer(test_.db(), clock, options);

  // Each is fine by itself, the commit is not.
  const auto submit_an_orphan = [&] {
    writer.Submit({.apply = [](sql::Transaction& tx) { return tx.Run("INSERT INTO children VALUES (1)").status(); },
                   .done = [&](const absl::Status& status) { happened.push_back("orphan: " + std::string(absl::StatusCodeToString(status.code()))); }});
  };
  // From within the answer, so that it goes with the very next group.
  writer.Submit({.apply = [](sql::Transaction& tx) { return tx.Run("INSERT INTO notes VALUES (hex(zeroblob(100000)))").status(); },
                 .done = [&](const absl::Status& status) {
                   happened.push_back("large: " + std::string(absl::StatusCodeToString(status.code())));
                   submit_an_orphan();
                 }});
  well.get_future().wait();
  writer.Stop();

  EXPECT_THAT(happened, ElementsAre("large: RESOURCE_EXHAUSTED", "the disk is full", "end of a group", "orphan: INTERNAL", "end of a group", "well",
                                    "end of a group"));
}

TEST_F(WriterTest, BulkEventsTakeTurnsWithOthersAndGoTogetherElse) {
  std::vector<size_t> groups;
  std::promise<void> begun, all_there;
  {
    SystemClock clock;
    Writer writer(test_.db(), clock, {.bulk_limit = 3, .after_group = [&](sql::Connection&) { groups.push_back(answers_.size()); }});
    Event first = Note("first");
    first.apply = [&](sql::Transaction&) {
      begun.set_value();
      all_there.get_future().wait();
      return absl::OkStatus();
    };
    writer.Submit(std::move(first));
    begun.get_future().wait();
    for (const char* text : {"a", "b", "c", "d", "e"}) {
      Event bulk = Note(text);
      bulk.bulk = true;
      writer.Submit(std::move(bulk));
    }
    writer.Submit(Note("call"));
    all_there.set_value();
  }

  EXPECT_THAT(answers_, ElementsAre("first: OK", "call: OK", "a: OK", "b: OK", "c: OK", "d: OK", "e: OK"));
  EXPECT_EQ(Notes(), "call,a,b,c,d,e");
  EXPECT_THAT(groups, ElementsAre(1, 2, 5, 7)) << "the call alone, then three together";
}

TEST_F(WriterTest, NoFurtherBulkEventIsRunOnceACallWaits) {
  std::vector<size_t> groups;
  std::promise<void> all_there, begun, called;
  {
    SystemClock clock;
    Writer writer(test_.db(), clock, {.bulk_limit = 5, .after_group = [&](sql::Connection&) { groups.push_back(answers_.size()); }});
    for (const std::string text : {"a", "b", "c", "d"}) {
      Event bulk = Note(text);
      bulk.bulk = true;
      bulk.apply = [&, text, apply = bulk.apply](sql::Transaction& tx) {
        if (text == "a") all_there.get_future().wait();
        if (text == "b") {
          begun.set_value();
          called.get_future().wait();
        }
        return apply(tx);
      };
      writer.Submit(std::move(bulk));
    }
    all_there.set_value();
    begun.get_future().wait();
    writer.Submit(Note("call"));  // While b is written.
    called.set_value();
  }

  EXPECT_THAT(answers_, ElementsAre("a: OK", "b: OK", "call: OK", "c: OK", "d: OK"));
  EXPECT_EQ(Notes(), "a,b,call,c,d");
  EXPECT_THAT(groups, ElementsAre(2, 3, 5)) << "the call after a and b, and alone";
}

TEST_F(WriterTest, ABulkEventWaitsForOneGroupOfOthersAtMost) {
  std::promise<void> all_there, begun;
  {
    SystemClock clock;
    Writer writer(test_.db(), clock, {.group_limit = 2});
    Event first = Note("first");
    first.apply = [&](sql::Transaction&) {
      begun.set_value();
      all_there.get_future().wait();
      return absl::OkStatus();
    };
    writer.Submit(std::move(first));
    begun.get_future().wait();
    Event bulk = Note("bulk");
    bulk.bulk = true;
    writer.Submit(std::move(bulk));
    for (const char* text : {"a", "b", "c", "d", "e", "f"}) writer.Submit(Note(text));
    all_there.set_value();
  }
  EXPECT_EQ(Notes(), "a,b,c,d,bulk,e,f");
}

TEST_F(WriterTest, AnEventThatFailsTakesBackOnlyItself) {
  std::vector<Event> group = {Note("a"), Note("b", absl::AbortedError("no")), Note("c")};

  EXPECT_OK(RunGroup(test_.db(), group));

  EXPECT_THAT(answers_, ElementsAre("a: OK", "b: ABORTED", "c: OK"));
  EXPECT_EQ(Notes(), "a,c");
}

TEST_F(WriterTest, WhenTheDiskIsFullAllFailNothingIsWrittenAndTheNextGroupGoesOn) {
  ASSERT_OK_AND_ASSIGN(int pages, test_.db().One<int>("PRAGMA page_count"));
  ASSERT_OK(test_.db().Execute("PRAGMA max_page_count = " + std::to_string(pages)));
  std::vector<Event> group = {Note("a"), Note(std::string(1'000'000, 'x')), Note("c")};
  group[1].done = nullptr;

  const absl::Status status = RunGroup(test_.db(), group);

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(answers_, ElementsAre("a: RESOURCE_EXHAUSTED", "c: RESOURCE_EXHAUSTED"));
  EXPECT_EQ(Notes(), "");
  ASSERT_OK(test_.db().Execute("PRAGMA max_page_count = 1000000"));  // Space again.
  std::vector<Event> next = {Note("d")};
  EXPECT_OK(RunGroup(test_.db(), next));
  EXPECT_EQ(Notes(), "d");
}

TEST_F(WriterTest, ACommitThatFailsFailsTheWholeGroup) {
  // A reference that is looked at only at the end: each event is fine by itself, the commit is not.
  ASSERT_OK(test_.db().Execute("CREATE TABLE parents(id INTEGER PRIMARY KEY) STRICT; "
                               "CREATE TABLE children(parent INTEGER REFERENCES parents(id) DEFERRABLE INITIALLY DEFERRED) STRICT"));
  std::vector<Event> group = {Note("a"), {.apply = [](sql::Transaction& tx) {
                                            return tx.Run("INSERT INTO children VALUES (1)").status();
                                          }},
                              Note("c")};

  const absl::Status status = RunGroup(test_.db(), group);

  EXPECT_FALSE(status.ok());
  EXPECT_THAT(answers_, ElementsAre("a: INTERNAL", "c: INTERNAL"));
  EXPECT_EQ(Notes(), "");
  EXPECT_TRUE(test_.db().InAutocommit());
}

TEST_F(WriterTest, EventsFromManyThreadsAreAllAnsweredOnce) {
  std::atomic<int> answered = 0;
  {
    SystemClock clock;
    Writer writer(test_.db(), clock, {.group_limit = 7});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          writer.Submit({.apply = [t, i](sql::Transaction& tx) {
                           return tx.Run("INSERT INTO notes VALUES (?)", std::to_string(t) + "/" + std::to_string(i)).status();
                         },
                         .done = [&](const absl::Status& status) { answered += status.ok() ? 1 : 1000; }});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_OK(writer.Run([](sql::Transaction& tx) { return tx.Run("INSERT INTO notes VALUES ('last')").status(); }));
  }
  EXPECT_EQ(answered, 200);
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM notes"), 201);
}

TEST_F(WriterTest, TheWriterWakesAtADeadline) {
  SystemClock clock;
  std::promise<void> ran;
  std::atomic<bool> due = true;
  std::atomic<int> runs = 0;
  Writer writer(test_.db(), clock,
                {.next_deadline = [&]() -> std::optional<SteadyTime> {
                   if (!due) return std::nullopt;
                   return clock.Steady() - std::chrono::seconds(1);
                 },
                 .at_deadline =
                     [&](SteadyTime) {
                       return Event{.apply = [](sql::Transaction& tx) { return tx.Run("INSERT INTO notes VALUES ('due')").status(); },
                                    .done =
                                        [&](const absl::Status& status) {
                                          EXPECT_OK(status);
                                          due = false;
                                          if (++runs == 1) ran.set_value();
                                        }};
                     }});
  ran.get_future().wait();
  EXPECT_OK(writer.Run([](sql::Transaction&) { return absl::OkStatus(); }));
  EXPECT_EQ(runs, 1);
}

// Moved by the test. What the writer has to wait for by it is over on the machine's clock.
class ClockOfTheTest final : public Clock {
 public:
  WallTime Wall() const override { return {}; }
  SteadyTime Steady() const override { return SteadyTime(std::chrono::seconds(seconds_)); }
  void AdvanceASecond() { ++seconds_; }

 private:
  std::atomic<int> seconds_ = 10;
};

TEST_F(WriterTest, WhatIsDueAndFailsByItselfIsTriedAgainAfterAPauseAndToldOnce) {
  ClockOfTheTest clock;
  std::atomic<int> tries = 0;
  std::atomic<bool> fails = true, due = true;
  std::vector<std::string> told;  // Of the writer's thread, until it has ended.
  Writer writer(test_.db(), clock,
                {.next_deadline = [&]() -> std::optional<SteadyTime> {
                   if (!due) return std::nullopt;
                   return SteadyTime{};  // Over long ago, and each time anew.
                 },
                 .at_deadline =
                     [&](SteadyTime) {
                       return Event{.apply = [&](sql::Transaction&) -> absl::Status {
                                      ++tries;
                                      if (fails) return absl::InternalError("attempt 7 has no worker");
                                      due = false;
                                      return absl::OkStatus();
                                    }};
                     },
                 .on_deadline = [&](const absl::Status& status) { told.emplace_back(status.message()); }});
  // Each is a group of its own, with which what is due could go.
  const auto run_some = [&writer] {
    for (int i = 0; i < 5; ++i) EXPECT_OK(writer.Run([](sql::Transaction&) { return absl::OkStatus(); }));
  };

  run_some();
  EXPECT_EQ(tries, 1);
  clock.AdvanceASecond();
  run_some();
  EXPECT_EQ(tries, 2);
  fails = false;
  clock.AdvanceASecond();
  run_some();
  EXPECT_EQ(tries, 3);
  writer.Stop();

  EXPECT_THAT(told, ElementsAre("attempt 7 has no worker", ""));
}

TEST_F(WriterTest, AFullQueueAndAnEndingWriterRefuse) {
  SystemClock clock;
  std::promise<void> started;
  std::promise<void> go_on;
  std::future<void> going = go_on.get_future();
  Writer writer(test_.db(), clock, {.queue_limit = 1});
  writer.Submit({.apply = [&](sql::Transaction&) {
    started.set_value();
    going.wait();
    return absl::OkStatus();
  }});
  started.get_future().wait();  // Now the writer is busy, and one event fits into the queue.
  absl::Status queued = absl::UnknownError("not answered");
  absl::Status refused;
  writer.Submit({.apply = [](sql::Transaction&) { return absl::OkStatus(); }, .done = [&](const absl::Status& s) { queued = s; }});
  writer.Submit({.apply = [](sql::Transaction&) { return absl::OkStatus(); }, .done = [&](const absl::Status& s) { refused = s; }});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  go_on.set_value();
  writer.Stop();

  EXPECT_OK(queued) << "what was queued is run before the end";
  EXPECT_EQ(writer.Run([](sql::Transaction&) { return absl::OkStatus(); }).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace longreach::store
