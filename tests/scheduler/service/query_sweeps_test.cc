#include "scheduler/service/query_sweeps.h"

#include <gmock/gmock.h>

#include "proto/types/time.h"
#include "scheduler/service/query_jobs.h"
#include "store/sweeps.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

class QuerySweepsTest : public QueryFixture {
 protected:
  v1::SweepUpdate Update(const std::string& sweep) {
    store::Snapshot snapshot = Read();
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    absl::StatusOr<v1::SweepUpdate> update = GetSweepUpdate(snapshot.db(), request, board_.Read());
    EXPECT_TRUE(update.ok()) << update.status();
    return *std::move(update);
  }
  absl::StatusOr<v1::Sweep> Get(const std::string& sweep) {
    store::Snapshot snapshot = Read();
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    return GetSweep(snapshot.db(), request);
  }
};

TEST_F(QuerySweepsTest, ListsTheNewestFirstWithCountsAndSpecification) {
  AddSweep(SmallSweep("first"));
  v1::SweepSpec longer = SmallSweep("second");
  longer.mutable_training()->set_steps(200);
  const Made second = AddSweep(longer, 7);
  AddWorker("w1", "box");
  const int64_t attempt = Lease("w1", std::span(second.jobs).first(4));
  Succeed(attempt, std::span(second.jobs).first(2), std::vector{0.5, 0.6});
  Diverge(attempt, second.jobs[2], 40);
  Fail(attempt, second.jobs[3], "out of memory");

  store::Snapshot snapshot = Read();
  const absl::StatusOr<v1::ListSweepsResponse> response = ListSweeps(snapshot.db());

  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->sweeps_size(), 2);
  const v1::Sweep& sweep = response->sweeps(0);
  EXPECT_EQ(sweep.id(), second.id);
  EXPECT_EQ(sweep.name(), "second");
  EXPECT_EQ(sweep.state(), "live");
  EXPECT_EQ(sweep.priority(), 7);
  EXPECT_EQ(sweep.jobs(), 16);
  EXPECT_EQ(sweep.counts().queued(), 12);
  EXPECT_EQ(sweep.counts().succeeded(), 3);
  EXPECT_EQ(sweep.counts().diverged(), 1);
  EXPECT_EQ(sweep.counts().failed(), 1);
  EXPECT_FALSE(sweep.has_spec()) << "it may be long";
  EXPECT_EQ(FromTimestamp(sweep.submitted_at()), now_);
  EXPECT_EQ(response->sweeps(1).name(), "first");
}

TEST_F(QuerySweepsTest, ASweepGoesByItsIdItsBeginningItsNameAndLast) {
  const Made first = AddSweep(SmallSweep("first"));
  const Made second = AddSweep(SmallSweep("second"));

  EXPECT_EQ(Get("first")->id(), first.id);
  EXPECT_EQ(Get(first.id)->id(), first.id);
  EXPECT_EQ(Get(first.id.substr(0, 8))->id(), first.id);
  EXPECT_EQ(Get("last")->id(), second.id);
  // Submitted again: it is the last now.
  Write([&](sql::Transaction& tx) { return store::SetSweepAsked(tx, first.num, now_ + std::chrono::seconds(9)); });
  EXPECT_EQ(Get("last")->id(), first.id);
  // By which came later, not by a clock that may have been put back.
  Write([&](sql::Transaction& tx) { return store::SetSweepAsked(tx, second.num, now_ - std::chrono::hours(24)); });
  EXPECT_EQ(Get("last")->id(), second.id);
  now_ -= std::chrono::hours(48);
  EXPECT_EQ(Get("last")->id(), second.id);
  const Made third = AddSweep(SmallSweep("third"));
  EXPECT_EQ(Get("last")->id(), third.id);
}

TEST_F(QuerySweepsTest, ASweepThatIsAskedForComesWithItsSpecification) {
  AddSweep(SmallSweep("s"));
  EXPECT_EQ(Get("s")->spec().training().steps(), 100);
  EXPECT_EQ(Get("s")->spec().axes().encoding(1), "rope:randomized");
}

TEST_F(QuerySweepsTest, ASweepThatIsAskedForComesWithItsTable) {
  const Made made = AddSweep(SmallSweep("s"));
  EXPECT_FALSE(Get("s")->has_table());
  Write([&](sql::Transaction& tx) { return store::SetSweepTable(tx, made.num, R"({"rows":"seed","published_gain":7.4})"); });

  EXPECT_EQ(Get("s")->table().rows(), "seed");
  EXPECT_EQ(Get("s")->table().published_gain(), 7.4);
  EXPECT_FALSE(Get("s")->has_table_trouble());
  store::Snapshot snapshot = Read();
  EXPECT_FALSE(ListSweeps(snapshot.db())->sweeps(0).has_table()) << "it may be long";
}

TEST_F(QuerySweepsTest, ATableThatCannotBeReadIsPassedOverAndSaidToBeSo) {
  const Made made = AddSweep(SmallSweep("s"));
  const std::vector<std::pair<std::string, std::string>> kept = {
      {"{\"rows\":\"seed\"", "it is damaged"},
      {"\xff\xfe", "it is damaged"},
      {R"({"rows":"seed","colour":"red"})", "or has what this version does not know"},
      {R"({"title":")" + std::string(1 << 20, 'x') + R"("})", "it is damaged"},
      {R"({"rows":"taks"})", "table.rows: unknown axis 'taks'"},
      {R"({"metric":"of_a_newer_version"})", "table.metric: unknown metric 'of_a_newer_version'"}};
  for (const auto& [text, why] : kept) {
    Write([&made, &table = text](sql::Transaction& tx) { return store::SetSweepTable(tx, made.num, table); });
    const absl::StatusOr<v1::Sweep> sweep = Get("s");
    ASSERT_TRUE(sweep.ok()) << sweep.status();
    EXPECT_TRUE(sweep->has_spec());
    EXPECT_FALSE(sweep->has_table()) << why;
    EXPECT_THAT(sweep->table_trouble(), HasSubstr(why));
    EXPECT_THAT(sweep->table_trouble(), ::testing::Not(HasSubstr("\n")));
  }
}

TEST_F(QuerySweepsTest, AWrongReferenceIsRefusedWithASuggestion) {
  EXPECT_EQ(Get("last").status().code(), absl::StatusCode::kNotFound);
  AddSweep(SmallSweep("quickstart"));

  const absl::Status unknown = Get("quikstart").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("did you mean 'quickstart'?"));
  EXPECT_EQ(Get("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QuerySweepsTest, ANameThatTwoSweepsHaveIsRefusedWithTheirIds) {
  const Made first = AddSweep(SmallSweep("same"));
  v1::SweepSpec longer = SmallSweep("same");
  longer.mutable_training()->set_steps(200);
  const Made second = AddSweep(longer);

  const absl::Status status = Get("same").status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("sweep: 2 sweeps are called 'same': " + second.id.substr(0, 8) + " (submitted "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Z, 16 jobs), " + first.id.substr(0, 8) + " (submitted "));
}

// What the command that retries the job alone says behind each --only.
std::vector<std::string> WordsOfOnly(std::string message) {
  constexpr std::string_view kCommand = "'longreach retry ", kOnly = " --only ";
  message.erase(0, message.find(kCommand) + kCommand.size());
  message.erase(message.find('\''));
  std::vector<std::string> words;
  for (size_t at = message.find(kOnly); at != message.npos; at = message.find(kOnly, at)) {
    at += kOnly.size();
    words.push_back(message.substr(at, message.find(' ', at) - at));
  }
  return words;
}

TEST_F(QuerySweepsTest, WhoNamesAJobIsToldItsSweepAndHowToNameItThere) {
  v1::SweepSpec spec = SmallSweep("mine");
  for (const auto& [name, steps] : {std::pair("long", 1000), std::pair("short", 10)}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_training()->set_steps(steps);
  }
  const Made plain = AddSweep(SmallSweep("plain"));
  const Made systems = AddSweep(spec);
  for (const Made* made : {&plain, &systems}) {
    for (size_t i = 0; i < made->ids.size(); ++i) {
      const absl::Status refused = Get(i % 2 == 0 ? made->ids[i] : made->ids[i].substr(0, 12)).status();
      const std::string message(refused.message());
      EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
      EXPECT_THAT(message, HasSubstr("is a job's id, and no sweep's: it is of the sweep '" + std::string(made == &plain ? "plain" : "mine") + "' (" + made->id.substr(0, 8) + ")\n"));
      EXPECT_THAT(message, HasSubstr("'longreach retry " + made->id.substr(0, 8) + " --only "));
      EXPECT_THAT(message, HasSubstr("'longreach job " + made->ids[i].substr(0, 8) + "'"));
      v1::ListJobsRequest request;
      request.set_sweep(made->id);
      for (const std::string& word : WordsOfOnly(message)) request.add_only(word);
      store::Snapshot snapshot = Read();
      const absl::StatusOr<v1::ListJobsResponse> jobs = ListJobs(snapshot.db(), request, board_.Read());
      ASSERT_TRUE(jobs.ok()) << jobs.status() << message;
      ASSERT_EQ(jobs->jobs_size(), 1) << message;
      EXPECT_EQ(jobs->jobs(0).id(), made->ids[i]);
    }
  }
}

TEST_F(QuerySweepsTest, AJobOfSeveralSweepsIsToldOfTheNewest) {
  const Made first = AddSweep(SmallSweep("first"));
  v1::SweepSpec fewer = SmallSweep("second");
  fewer.mutable_axes()->mutable_seed()->Truncate(1);
  const Made second = AddSweep(fewer);

  const std::string message(Get(second.ids.front()).status().message());

  EXPECT_THAT(message, HasSubstr("it is of the sweeps 'second' (" + second.id.substr(0, 8) + "), 'first' (" + first.id.substr(0, 8) + ")\n"));
  EXPECT_THAT(message, HasSubstr("'longreach retry " + second.id.substr(0, 8) + " --only "));
  EXPECT_THAT(std::string(Get("ffff0000ffff").status().message()), HasSubstr("there is no sweep 'ffff0000ffff'")) << "no job's id either";
  EXPECT_THAT(std::string(Get(second.ids.front().substr(0, 3)).status().message()), HasSubstr("there is no sweep '")) << "too short for an id";
}

// Each look of each watcher would read all of its seeds.
TEST_F(QuerySweepsTest, TheSpecificationOfAVeryLargeSweepIsNotReadForItsState) {
  const Made sweep = AddSweep(SmallSweep("s"));
  Write([&](sql::Transaction& tx) { return tx.Run("UPDATE sweeps SET spec = 'unreadable' WHERE num = ?", sweep.num).status(); });
  {
    store::Snapshot snapshot = Read();
    v1::GetSweepRequest request;
    request.set_sweep("s");
    EXPECT_EQ(GetSweepUpdate(snapshot.db(), request, board_.Read()).status().code(), absl::StatusCode::kDataLoss);
  }

  Write([&](sql::Transaction& tx) { return tx.Run("UPDATE sweeps SET jobs_queued = 100001 WHERE num = ?", sweep.num).status(); });

  EXPECT_EQ(Update("s").job_steps_total(), 100.0 * 100'001);
}

TEST_F(QuerySweepsTest, StepsOfSystemsThatDifferInThemAreAddedUp) {
  v1::SweepSpec spec = SmallSweep("s");
  for (const auto& [name, steps] : {std::pair("long", 1000), std::pair("short", 10)}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_training()->set_steps(steps);
  }
  const Made sweep = AddSweep(spec);
  ASSERT_EQ(sweep.jobs.size(), 32u);
  AddWorker("w1", "box");
  const std::span<const int64_t> jobs(sweep.jobs);  // By the systems' names.
  for (const auto& [of, scores] : {std::pair(jobs.first(4), std::vector{0.5, 0.5, 0.5, 0.5}), std::pair(jobs.last(2), std::vector{0.5, 0.5})}) {
    const int64_t attempt = Lease("w1", of);
    Succeed(attempt, of, scores);
    End(attempt, Outcome::kSucceeded);
  }
  const int64_t running = Lease("w1", jobs.subspan(4, 2));
  board_.Set(running, {.worker = "w1", .worker_name = "box", .task = "parity_check", .encoding = "rope", .members = 2,
                       .step = 500, .steps = 1000, .phase = AttemptPhase::kTraining, .steps_per_second = 5});

  const v1::SweepUpdate update = Update("s");

  EXPECT_EQ(update.job_steps_total(), 16 * 1000 + 16 * 10);
  EXPECT_EQ(update.job_steps_done(), 4 * 1000 + 2 * 10 + 2 * 500);
  EXPECT_EQ(update.seconds_left(), (12 * 1000 + 14 * 10 - 2 * 500) / 10.0);
}

TEST_F(QuerySweepsTest, AnUpdateCountsTheStepsOfEachJobByWhatIsKnownOfIt) {
  // 16 jobs of 100 steps: four succeed (400, one of them diverged early), two wait with a checkpoint at 30 (60), two are
  // trained at step 50 by the board (100), one failed with a checkpoint at 10.
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> jobs(sweep.jobs);
  const int64_t done = Lease("w1", jobs.first(4));
  Succeed(done, jobs.first(3), std::vector{0.5, 0.6, 0.7});
  Diverge(done, jobs[3], 20);
  End(done, Outcome::kSucceeded);
  const int64_t given_back = Lease("w1", jobs.subspan(4, 2));
  Checkpoint(given_back, jobs[4], 30);
  Checkpoint(given_back, jobs[5], 30);
  GiveBack(given_back, jobs.subspan(4, 2));
  End(given_back, Outcome::kGivenBack);
  const int64_t failed = Lease("w1", jobs.subspan(6, 1));
  Checkpoint(failed, jobs[6], 10);
  Fail(failed, jobs[6], "crashed");
  End(failed, Outcome::kFailed);
  const int64_t running = Lease("w1", jobs.subspan(8, 2));
  board_.Set(running, {.worker = "w1", .worker_name = "box", .task = "parity_check", .encoding = "rope", .members = 2,
                       .step = 50, .steps = 100, .phase = AttemptPhase::kTraining, .steps_per_second = 5});

  const v1::SweepUpdate update = Update("s");

  EXPECT_EQ(update.job_steps_total(), 1600);
  EXPECT_EQ(update.job_steps_done(), 400 + 60 + 100 + 10);
  EXPECT_EQ(update.job_steps_per_second(), 10);
  // Open are 11 jobs: 1100 steps less 60 and 100, at 10 a second.
  EXPECT_EQ(update.seconds_left(), 94);
  Write([&](sql::Transaction& tx) { return store::SetSweepState(tx, sweep.num, SweepState::kPaused); });
  EXPECT_EQ(Update("s").job_steps_per_second(), 10) << "until its packs have stopped";
  EXPECT_EQ(Update("s").seconds_left(), 0) << "it does not go on";
  EXPECT_FALSE(update.finished());
  ASSERT_EQ(update.running_size(), 1);
  EXPECT_EQ(update.running(0).attempt(), running);
  EXPECT_EQ(update.running(0).worker_name(), "box");
  EXPECT_EQ(update.running(0).task(), "parity_check");
  EXPECT_EQ(update.running(0).encoding(), "rope");
  EXPECT_EQ(update.running(0).members(), 2);
  EXPECT_EQ(update.running(0).step(), 50);
  EXPECT_EQ(update.running(0).steps(), 100);
  EXPECT_EQ(update.running(0).phase(), "training");
  EXPECT_EQ(update.sweep().counts().leased(), 2);
}

TEST_F(QuerySweepsTest, APackThatIsAboutToTrainCountsInTheTimeLeftAndNotInTheSpeed) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> jobs(sweep.jobs);
  const int64_t running = Lease("w1", jobs.first(2));
  board_.Set(running, {.worker = "w1", .worker_name = "box", .task = "even_pairs", .encoding = "rope", .members = 2,
                       .step = 50, .steps = 100, .phase = AttemptPhase::kTraining, .steps_per_second = 5});
  EXPECT_EQ(Update("s").seconds_left(), 150);
  Lease("w1", jobs.subspan(2, 2));

  EXPECT_EQ(Update("s").job_steps_per_second(), 10);
  EXPECT_EQ(Update("s").seconds_left(), 75);
}

// Of the 16 jobs of SmallSweep() the first `pairs` pairs have been trained, in seven seconds each; the next pair is half through at 20 steps/s, so that five of its
// seven seconds are training.
class SweepRangeTest : public QuerySweepsTest {
 protected:
  SweepRangeTest() { AddWorker("w1", "box"); }

  void TrainPairs(std::span<const int64_t> jobs, size_t pairs) {
    for (size_t i = 0; i < pairs; ++i) {
      const std::span<const int64_t> pair = jobs.subspan(2 * i, 2);
      const int64_t attempt = Lease("w1", pair);
      Succeed(attempt, pair, std::vector{0.5, 0.6});
      End(attempt, Outcome::kSucceeded);
    }
    const int64_t running = Lease("w1", jobs.subspan(2 * pairs, 2));
    board_.Set(running, {.worker = "w1", .worker_name = "box", .task = "parity_check", .encoding = "rope", .members = 2,
                         .step = 50, .steps = 100, .phase = AttemptPhase::kTraining, .steps_per_second = 20});
  }
};

TEST_F(SweepRangeTest, TheTimeLeftHasARangeOnceFivePacksHaveEnded) {
  const Made four = AddSweep(SmallSweep("four"));
  TrainPairs(four.jobs, 4);
  EXPECT_EQ(Update("four").seconds_left_high(), 0);
  EXPECT_EQ(Update("four").seconds_left(), (8 * 100 - 2 * 50) / 40.0) << "what is open, at the speed of now";
  v1::SweepSpec longer = SmallSweep("six");
  longer.mutable_training()->set_steps(200);
  const Made six = AddSweep(longer);
  TrainPairs(six.jobs, 6);

  const v1::SweepUpdate update = Update("six");

  // 200 steps at 20 a second take ten seconds, more than the seven of those that have ended: all of it is training then, and it is at a quarter.
  EXPECT_GT(update.seconds_left_low(), 10);
  EXPECT_LT(update.seconds_left_low(), update.seconds_left());
  EXPECT_LT(update.seconds_left(), update.seconds_left_high());
  EXPECT_LT(update.seconds_left_high(), 25);
  EXPECT_EQ(Update("four").seconds_left_high(), 0) << "another sweep's packs say nothing of it";
}

TEST_F(SweepRangeTest, TheTimeLeftCountsTheTestsOfWhatIsOpen) {
  const Made sweep = AddSweep(SmallSweep("s"));
  TrainPairs(sweep.jobs, 6);

  // Half of five seconds, two of tests, and seven of the last pair: 11.5. At the speed of now it were 7.5.
  EXPECT_NEAR(Update("s").seconds_left(), 11.5, 2);
  EXPECT_GT(Update("s").seconds_left_low(), 7.5);
}

TEST_F(SweepRangeTest, AnotherWorkerIsToldOfWhileSomethingWaitsForOne) {
  const Made sweep = AddSweep(SmallSweep("s"));
  TrainPairs(sweep.jobs, 6);

  // It would train the last pair, in seven seconds, beside the one that has 4.5 before it.
  EXPECT_EQ(Update("s").another_worker().like(), "box");
  EXPECT_NEAR(Update("s").another_worker().seconds_saved(), 4.5, 2);
  board_.SetStoreTrouble("the disk is full");
  EXPECT_FALSE(Update("s").has_another_worker()) << "it would be given nothing";
  board_.SetStoreTrouble("");

  const int64_t last = Lease("w1", std::span(sweep.jobs).last(2));
  board_.Set(last, {.worker = "w1", .worker_name = "box", .task = "parity_check", .encoding = "rope", .members = 2, .steps = 100, .phase = AttemptPhase::kStarting});
  EXPECT_FALSE(Update("s").has_another_worker());
}

TEST_F(SweepRangeTest, NoRangeIsToldOfASweepThatStandsStillOrWaitsForOthers) {
  const Made sweep = AddSweep(SmallSweep("s"));
  TrainPairs(sweep.jobs, 6);
  ASSERT_GT(Update("s").seconds_left_high(), 0);

  Write([&](sql::Transaction& tx) { return store::SetSweepState(tx, sweep.num, SweepState::kPaused); });
  EXPECT_EQ(Update("s").seconds_left(), 0);
  EXPECT_EQ(Update("s").seconds_left_low(), 0);
  EXPECT_EQ(Update("s").seconds_left_high(), 0);
  Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(store::SetSweepState(tx, sweep.num, SweepState::kLive));
    return tx.Run("UPDATE jobs SET state = 'waiting' WHERE num = ?", sweep.jobs.back()).status();
  });
  EXPECT_EQ(Update("s").seconds_left_high(), 0);
  EXPECT_GT(Update("s").seconds_left(), 0);
}

// By their steps they would be done at once.
TEST_F(SweepRangeTest, NoRangeIsToldWhileSomeThatAreLeftMakeNoSteps) {
  const Made sweep = AddSweep(SmallSweep("s"));
  TrainPairs(sweep.jobs, 6);
  const auto set_steps = [&](int64_t job, int steps) {
    Write([&](sql::Transaction& tx) { return tx.Run("UPDATE jobs SET steps = ? WHERE num = ?", steps, job).status(); });
  };

  set_steps(sweep.jobs[15], 0);
  EXPECT_EQ(Update("s").seconds_left_high(), 0) << "one that is queued";
  EXPECT_GT(Update("s").seconds_left(), 0);
  set_steps(sweep.jobs[15], 100);
  EXPECT_GT(Update("s").seconds_left_high(), 0);
  for (const size_t running : {12, 13}) set_steps(sweep.jobs[running], 0);
  EXPECT_EQ(Update("s").seconds_left_high(), 0);
}

TEST_F(SweepRangeTest, NoRangeIsToldWhileSomeOfItsWorkersHaveNotCalledThisProcess) {
  const Made sweep = AddSweep(SmallSweep("s"));
  TrainPairs(sweep.jobs, 6);
  ASSERT_GT(Update("s").seconds_left_high(), 0);

  // As after a start of the scheduler, or in a store that nobody works on.
  const int64_t silent = Lease("w1", std::span(sweep.jobs).last(2));
  EXPECT_EQ(Update("s").seconds_left_high(), 0);
  board_.Set(silent, {.worker = "w1", .worker_name = "box", .task = "parity_check", .encoding = "rope", .members = 2, .steps = 100, .phase = std::nullopt});
  EXPECT_EQ(Update("s").seconds_left_high(), 0);
  board_.Set(silent, {.worker = "w1", .worker_name = "box", .task = "parity_check", .encoding = "rope", .members = 2, .steps = 100, .phase = AttemptPhase::kStarting});
  EXPECT_GT(Update("s").seconds_left_high(), 0);
}

// It would have to read which jobs are of which system.
TEST_F(SweepRangeTest, NoRangeIsToldOfAVeryLargeSweep) {
  const Made sweep = AddSweep(SmallSweep("s"));
  TrainPairs(sweep.jobs, 6);

  Write([&](sql::Transaction& tx) { return tx.Run("UPDATE sweeps SET jobs_queued = 100001 WHERE num = ?", sweep.num).status(); });

  EXPECT_EQ(Update("s").seconds_left_high(), 0);
  EXPECT_GT(Update("s").seconds_left(), 0);
}

TEST_F(SweepRangeTest, ASystemThatHasNotBeenMeasuredMakesItWider) {
  const auto width = [this](const v1::SweepSpec& spec) {
    const Made sweep = AddSweep(spec);
    TrainPairs(sweep.jobs, 6);
    const v1::SweepUpdate update = Update(spec.name());
    EXPECT_GT(update.seconds_left_low(), 0);
    return update.seconds_left_high() / update.seconds_left_low();
  };
  v1::SweepSpec systems = SmallSweep("systems");
  for (const auto& [name, layers] : {std::pair("deep", 4), std::pair("flat", 1)}) {
    v1::System& system = *systems.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_model()->set_layers(layers);
  }

  EXPECT_GT(width(systems), 1.5 * width(SmallSweep("plain")));
}

TEST_F(QuerySweepsTest, AnUpdateOfARunThatNobodyToldOfYetHasNoRate) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const int64_t attempt = Lease("w1", std::span(sweep.jobs).first(2));
  Write([&](sql::Transaction& tx) { return store::SetAttemptStep(tx, attempt, 25); });

  const v1::SweepUpdate update = Update("s");

  EXPECT_EQ(update.job_steps_done(), 50);
  EXPECT_EQ(update.job_steps_per_second(), 0);
  EXPECT_EQ(update.seconds_left(), 0);
  EXPECT_EQ(update.running(0).phase(), "starting");
}

TEST_F(QuerySweepsTest, AnUpdateShowsOnlyTheSweepsOwnPartOfAPack) {
  v1::SweepSpec both = SmallSweep("both");
  v1::SweepSpec half = SmallSweep("half");
  half.mutable_axes()->clear_seed();
  half.mutable_axes()->add_seed(0);
  const Made whole = AddSweep(both);
  AddSweep(half);
  AddWorker("w1", "box");
  const int64_t attempt = Lease("w1", std::span(whole.jobs).first(4));  // Two learning rates, two seeds.
  board_.Set(attempt, {.worker = "w1", .worker_name = "box", .task = "even_pairs", .encoding = "rope", .members = 4,
                       .step = 10, .steps = 100, .phase = AttemptPhase::kEvaluating, .steps_per_second = 3});

  EXPECT_EQ(Update("both").running(0).members(), 4);
  EXPECT_EQ(Update("half").running(0).members(), 2);
  EXPECT_EQ(Update("half").job_steps_done(), 20);
  // It evaluates: no step is made now.
  EXPECT_EQ(Update("both").job_steps_per_second(), 0);
}

TEST_F(QuerySweepsTest, ASweepWithoutOpenJobsIsFinishedEvenIfSomeFailed) {
  v1::SweepSpec spec = SmallSweep("s");
  spec.mutable_axes()->clear_seed();
  spec.mutable_axes()->add_seed(0);
  spec.mutable_axes()->mutable_task()->RemoveLast();
  const Made sweep = AddSweep(spec);
  AddWorker("w1", "box");
  ASSERT_EQ(sweep.jobs.size(), 4u);
  const int64_t attempt = Lease("w1", sweep.jobs);
  Succeed(attempt, std::span(sweep.jobs).first(3), std::vector{0.5, 0.6, 0.7});
  EXPECT_FALSE(Update("s").finished());
  Fail(attempt, sweep.jobs[3], "crashed");
  EXPECT_TRUE(Update("s").finished());
}

}  // namespace
}  // namespace longreach::service
