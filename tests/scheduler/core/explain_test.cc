#include "scheduler/core/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Demand kWanted{.wanted = true};

TEST(ExplainTest, AQueuedJobWithoutWorkersSaysSo) {
  EXPECT_THAT(Explain({.state = Queued{}, .demand = kWanted, .ahead = 3}),
              ElementsAre("It is ready; 3 jobs are in line before it.", "There is no worker; start one with 'longreach-worker run'."));
}

TEST(ExplainTest, AQueuedJobNamesWhyEachWorkerCannotTakeIt) {
  const std::vector<std::string> reasons = Explain({.state = Queued{},
                                                    .demand = kWanted,
                                                    .workers = {{.name = "a", .state = WorkerState::kActive, .why_unable = "has no task 'x'"},
                                                                {.name = "b", .state = WorkerState::kDraining, .reason = "drained"},
                                                                {.name = "c", .state = WorkerState::kGone}}});
  EXPECT_THAT(reasons, ElementsAre("It is ready, and first in line.", "None of the 2 workers that are there can take it.",
                                   "Worker 'a' has no task 'x'.", "Worker 'b' gets no work: drained."));
}

TEST(ExplainTest, AReadyJobIsStuckWhenNoneOfTheWorkersThatAreThereCanTakeIt) {
  const WorkerFact unable{.name = "a", .state = WorkerState::kActive, .why_unable = "has no task 'x'"};
  const WorkerFact drained{.name = "b", .state = WorkerState::kDraining};
  const WorkerFact busy{.name = "c", .state = WorkerState::kActive, .running = 1};
  const WorkerFact gone{.name = "d", .state = WorkerState::kGone};
  EXPECT_TRUE(IsStuck({.state = Queued{}, .demand = kWanted, .workers = {unable, drained, gone}}));
  EXPECT_FALSE(IsStuck({.state = Queued{}, .demand = kWanted, .workers = {unable, busy}}));
  EXPECT_FALSE(IsStuck({.state = Queued{}, .demand = kWanted, .workers = {gone}}));
  EXPECT_FALSE(IsStuck({.state = Queued{}, .demand = {.held = true}, .workers = {unable}}));
  EXPECT_FALSE(IsStuck({.state = Waiting{}, .demand = kWanted, .workers = {unable}}));
}

TEST(ExplainTest, AWorkerThatHasNotSaidYetWhatItCanDoMayBeAble) {
  const WorkerFact unable{.name = "a", .state = WorkerState::kActive, .why_unable = "has no data set 'x'", .lacks_data = true};
  WorkerFact unheard = unable;
  unheard.is_unheard = true;
  const JobFacts facts{.state = Queued{}, .demand = kWanted, .workers = {unable, unheard}};
  EXPECT_FALSE(IsStuck(facts));
  EXPECT_FALSE(IsStuckForData(facts));
  EXPECT_THAT(Explain(facts), ::testing::ElementsAre("It is ready, and first in line.", "Whether a worker can take it is not known yet.", "Worker 'a' has no data set 'x'.",
                                                     "Worker 'a' has just begun, and has not said yet what it can do."));
  EXPECT_THAT(Explain({.state = Queued{}, .demand = kWanted, .workers = {WorkerFact{.name = "b", .state = WorkerState::kActive}, unheard}}),
              Contains("A worker that can take it is idle: it will be leased at that worker's next call."));
}

TEST(ExplainTest, AJobIsStuckForDataWhereTheyWouldBringItOn) {
  const WorkerFact without{.name = "a", .state = WorkerState::kActive, .why_unable = "has no data set 'x'", .lacks_data = true};
  const WorkerFact older{.name = "b", .state = WorkerState::kActive, .why_unable = "has no task 'x'"};
  const WorkerFact able{.name = "c", .state = WorkerState::kActive};
  WorkerFact gone = without;
  gone.state = WorkerState::kGone;
  EXPECT_TRUE(IsStuckForData({.state = Queued{}, .demand = kWanted, .workers = {older, without}}));
  EXPECT_FALSE(IsStuckForData({.state = Queued{}, .demand = kWanted, .workers = {older, gone}}));
  EXPECT_FALSE(IsStuckForData({.state = Queued{}, .demand = kWanted, .workers = {able, without}}));
}

TEST(ExplainTest, ThatAPackWithItFailedIsOfThePastOnceItHasItsResult) {
  EXPECT_THAT(Explain({.state = Queued{}, .demand = kWanted, .split = true}), Contains("A pack with it failed, so it is trained apart from the other half of that pack."));
  for (const JobState& state : {JobState{Succeeded{{7}}}, JobState{Failed{"out of memory"}}}) {
    EXPECT_THAT(Explain({.state = state, .split = true}), Contains("A pack with it failed, so it was trained apart from the other half of that pack."));
  }
}

TEST(ExplainTest, AReadyJobLacksWorkersWhenNoneIsThere) {
  const WorkerFact unable{.name = "a", .state = WorkerState::kActive, .why_unable = "has no task 'x'"};
  const WorkerFact gone{.name = "d", .state = WorkerState::kGone};
  EXPECT_TRUE(LacksWorkers({.state = Queued{}, .demand = kWanted}));
  EXPECT_TRUE(LacksWorkers({.state = Queued{}, .demand = kWanted, .workers = {gone}}));
  EXPECT_FALSE(LacksWorkers({.state = Queued{}, .demand = kWanted, .workers = {unable, gone}}));
  EXPECT_FALSE(LacksWorkers({.state = Queued{}, .demand = {.held = true}}));
  EXPECT_FALSE(LacksWorkers({.state = Waiting{}, .demand = kWanted}));
}

// Workers would be given nothing, and those that have come since are not in the store.
TEST(ExplainTest, WhereTheStoreTakesNothingNobodyIsSentForWorkers) {
  const WorkerFact unable{.name = "a", .state = WorkerState::kActive, .why_unable = "has no data set 'x'", .lacks_data = true};
  JobFacts facts{.state = Queued{}, .demand = kWanted, .disk_trouble = "the store takes nothing: the disk is full", .takes_nothing = true};
  for (const std::vector<WorkerFact>& workers : {std::vector<WorkerFact>{}, {unable}, {{.name = "b", .state = WorkerState::kActive}}}) {
    facts.workers = workers;
    EXPECT_THAT(Explain(facts), ElementsAre("The scheduler has trouble with its disk (the store takes nothing: the disk is full), and goes on by itself once that is over.",
                                            "It is ready, and first in line.",
                                            "Until then no worker is given it, and workers that have come meanwhile are not known."));
    EXPECT_FALSE(LacksWorkers(facts));
    EXPECT_FALSE(IsStuck(facts));
    EXPECT_FALSE(IsStuckForData(facts));
  }
}

TEST(ExplainTest, WhereOnlyFilesFindNoRoomWorkersCountAsEver) {
  JobFacts facts{.state = Queued{}, .demand = kWanted, .disk_trouble = "no room for files of jobs"};
  EXPECT_TRUE(LacksWorkers(facts));
  EXPECT_THAT(Explain(facts), ElementsAre("It is ready, and first in line.", "There is no worker; start one with 'longreach-worker run'.",
                                          "The scheduler has trouble with its disk (no room for files of jobs), and goes on by itself once that is over."));
  facts.state = Succeeded{Attempt{2}};
  EXPECT_THAT(Explain(facts), ElementsAre("It has its result, from attempt 2."));
}

TEST(ExplainTest, BusyAndIdleWorkersDiffer) {
  EXPECT_THAT(Explain({.state = Queued{}, .demand = kWanted, .workers = {{.name = "a", .state = WorkerState::kActive, .running = 1}}}),
              Contains("The worker that can take it is busy."));
  EXPECT_THAT(Explain({.state = Queued{}, .demand = kWanted, .workers = {{.name = "a", .state = WorkerState::kActive}}}),
              Contains(HasSubstr("is idle")));
}

TEST(ExplainTest, AHeldJobNamesTheCommandThatHelps) {
  EXPECT_THAT(Explain({.state = Queued{}, .demand = {.held = true}}), ElementsAre(HasSubstr("longreach resume")));
  EXPECT_THAT(Explain({.state = Queued{}, .demand = {.held = true}, .held_by = "1f3a5c7e"}), ElementsAre(HasSubstr("'longreach resume 1f3a5c7e' lets it run")));
  EXPECT_THAT(Explain({.state = Queued{}}), ElementsAre(HasSubstr("No live sweep wants it")));
}

TEST(ExplainTest, AFailureIsNotSaidOfTheLastAttemptWhichMayHaveBeenGivenBack) {
  const std::vector<std::string> reasons = Explain({.state = Queued{}, .failures = 1, .failure = "out of memory"});

  EXPECT_THAT(reasons, Contains("An attempt did not succeed: out of memory."));
}

TEST(ExplainTest, AWaitingJobNamesItsInput) {
  EXPECT_THAT(Explain({.state = Waiting{},
                       .demand = kWanted,
                       .inputs = {{"weights", "0123456789abcdef", "leased", ""}, {"scale", "ffff", "succeeded", ""}}}),
              ElementsAre("It waits for its inputs.", "It needs the input 'weights' of job 01234567, which is leased."));
}

TEST(ExplainTest, AResultThatWasMadeOfWhatIsNotThereAnyMoreSaysSoAndWhatToDo) {
  JobFacts facts{.job = "77777777",
                 .state = Succeeded{Attempt{4}},
                 .inputs = {{.name = "scale", .source = "ffff", .source_state = "succeeded"},
                            {.name = "weights", .source = "0123456789abcdef", .source_state = "succeeded", .is_of_another_run = true}}};
  const auto what_to_do = HasSubstr("'longreach verify 77777777' trains it again beside the store");
  EXPECT_THAT(Explain(facts), ElementsAre("It has its result, from attempt 4.",
                                          "Its result was made of another result of its input 'weights' than job 01234567 has now: that was mended and ran again since.", what_to_do));

  facts.inputs[1].source_state = "queued";
  EXPECT_THAT(Explain(facts), ElementsAre("It has its result, from attempt 4.",
                                          "Its result was made of a result of its input 'weights' that job 01234567 does not have any more: that was mended, and is queued.", what_to_do));
  facts.inputs.pop_back();
  EXPECT_THAT(Explain(facts), ElementsAre("It has its result, from attempt 4."));
}

TEST(ExplainTest, ALeasedJobNamesWorkerAttemptAndStep) {
  EXPECT_THAT(Explain({.state = Leased{Attempt{4}, WorkerId{"id"}},
                       .losses = 1,
                       .demand = kWanted,
                       .steps = 100,
                       .worker_name = "gpu-a",
                       .phase = AttemptPhase::kTraining,
                       .step = 10,
                       .members = 9}),
              ElementsAre("Worker 'gpu-a' has it as attempt 4, in a pack of 9: training, step 10 of 100.", "Its worker was lost 1 of at most 10 times."));
}

TEST(ExplainTest, OfAJobThatWaitsForItsWorkersDiskItSaysWhatToDo) {
  JobFacts leased{.state = Leased{Attempt{4}, WorkerId{"id"}}, .demand = kWanted, .steps = 100, .worker_name = "gpu-a", .phase = AttemptPhase::kWaitingForDisk, .step = 100};
  EXPECT_THAT(Explain(leased), ElementsAre("Worker 'gpu-a' has it as attempt 4, in a pack of 1: waits for its disk, step 100 of 100.",
                                           "That worker's disk has no room for what it has computed: free some there, and it goes on by itself."));
  leased.phase = AttemptPhase::kUploading;
  EXPECT_THAT(Explain(leased), ElementsAre(HasSubstr("uploading")));
}

TEST(ExplainTest, WhatAWorkerDidBeforeTheSchedulerBeganIsNotWhatItDoes) {
  JobFacts leased{.state = Leased{Attempt{4}, WorkerId{"id"}}, .demand = kWanted, .steps = 100, .worker_name = "gpu-a", .members = 9};
  EXPECT_THAT(Explain(leased), ElementsAre("Worker 'gpu-a' has it as attempt 4, in a pack of 9: not started yet, step 0 of 100."));
  leased.step = 10;
  EXPECT_THAT(Explain(leased),
              ElementsAre("Worker 'gpu-a' has it as attempt 4, in a pack of 9: its worker has not called since this scheduler began, step 10 of 100."));
}

TEST(ExplainTest, TheEndsSayWhy) {
  EXPECT_THAT(Explain({.state = Succeeded{Attempt{2}}, .diverged = true, .diverged_at = 30}), ElementsAre(HasSubstr("not finite at step 30")));
  EXPECT_THAT(Explain({.state = Succeeded{Attempt{2}}}), ElementsAre("It has its result, from attempt 2."));
  EXPECT_THAT(Explain({.state = Failed{"hung"}, .failures = 3, .sweep = "1f3a5c7e"}),
              ElementsAre("It failed: hung.", "'longreach retry 1f3a5c7e' gives the failed jobs of its sweep another chance.", "It failed 3 of at most 3 times."));
  EXPECT_THAT(Explain({.state = Cancelled{}}), ElementsAre("It was cancelled; submitting its sweep again revives it."));
}

// The same job on the same worker would fail in the same way.
TEST(ExplainTest, WhatFailedForWantOfMemoryIsToldWhatGivesItSome) {
  for (const char* reason : {"out of memory: you tried to allocate 3222093888 bytes", "crashed: trainer killed by SIGKILL, most likely because the machine ran out of memory"}) {
    EXPECT_THAT(Explain({.state = Failed{reason}, .sweep = "1f3a5c7e"}),
                ElementsAre(HasSubstr(reason), HasSubstr("'longreach retry 1f3a5c7e'"), HasSubstr("a worker with more memory"))) << reason;
  }
}

TEST(ExplainTest, OfACancelledJobTheCommandIsNamedThatRevivesIt) {
  EXPECT_THAT(Explain({.state = Cancelled{}, .cancelled_with = "1f3a5c7e"}), ElementsAre("It was cancelled with its sweep, 1f3a5c7e; submitting that sweep again revives it."));
  EXPECT_THAT(Explain({.state = Cancelled{}, .given_up_by = "1f3a5c7e", .only = "--only task=even_pairs --only seed=3", .cancelled_with = "00000000"}),
              ElementsAre("It was cancelled alone; 'longreach retry 1f3a5c7e --only task=even_pairs --only seed=3' revives it, and so does submitting that sweep again."));
  EXPECT_THAT(Explain({.state = Cancelled{}, .given_up_by = "1f3a5c7e"}), ElementsAre(HasSubstr("cancelled with the jobs of sweep 1f3a5c7e that need it")));
}

TEST(ExplainTest, NoRetryIsNamedWhereAnInputDiverged) {
  for (const char* reason : {"input failed: weights (job 01234567 diverged)", "input failed: scale (job 01234567 diverged and has no accuracy)",
                             "input failed: weights (job 01234567, whose input diverged)"}) {
    EXPECT_THAT(Explain({.state = Failed{reason}, .sweep = "1f3a5c7e"}),
                ElementsAre(std::string("It failed: ") + reason + ".", ::testing::StartsWith("What it begins with diverged, which is a result and stays: a retry fails")));
  }
  for (const char* reason : {"input failed: weights (job 01234567)", "crashed: the log ends with: loss diverged"}) {
    EXPECT_THAT(Explain({.state = Failed{reason}, .sweep = "1f3a5c7e"}), Contains(HasSubstr("'longreach retry 1f3a5c7e'"))) << reason;
  }
}

}  // namespace
}  // namespace longreach::core
