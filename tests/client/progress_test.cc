#include "client/output/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

v1::SweepUpdate Update(int succeeded, int leased) {
  v1::SweepUpdate update;
  v1::Sweep& sweep = *update.mutable_sweep();
  sweep.set_name("mine");
  sweep.set_state("live");
  sweep.set_jobs(945);
  sweep.mutable_counts()->set_succeeded(succeeded);
  sweep.mutable_counts()->set_leased(leased);
  sweep.mutable_counts()->set_queued(945 - succeeded - leased);
  update.set_job_steps_per_second(1204);
  update.set_seconds_left(720);
  update.set_job_steps_done(succeeded);
  update.set_job_steps_total(945);
  return update;
}

TEST(ProgressTest, SaysStatesSpeedAndTimeLeft) {
  EXPECT_EQ(ProgressLine(Update(12, 9)),
            "mine: 12/945 done, 9 running, 924 queued; 1,204 job-steps/s; about 12 min left");
  v1::SweepUpdate paused = Update(12, 0);
  paused.mutable_sweep()->set_state("paused");
  paused.mutable_sweep()->mutable_counts()->set_failed(3);
  paused.clear_job_steps_per_second();
  paused.clear_seconds_left();
  EXPECT_EQ(ProgressLine(paused), "mine (paused): 12/945 done, 933 queued, 3 failed");
}

TEST(ProgressTest, SaysHowFarOffTheTimeLeftMayBe) {
  v1::SweepUpdate update = Update(12, 9);
  update.set_seconds_left_low(600);
  update.set_seconds_left_high(1080);
  EXPECT_EQ(ProgressLine(update), "mine: 12/945 done, 9 running, 924 queued; 1,204 job-steps/s; about 12 min left (10 min to 18 min)");
  EXPECT_EQ(ProgressBlock(update, 80).at(1), "  1,204 job-steps/s; about 12 min left (10 min to 18 min)") << "on a line of its own where the first is too long";

  update.set_seconds_left_low(715);
  update.set_seconds_left_high(725);
  EXPECT_THAT(ProgressLine(update), ::testing::EndsWith("; about 12 min left")) << "it is that narrow";
  update.set_finished(true);
  EXPECT_THAT(ProgressLine(update), ::testing::EndsWith("; 1,204 job-steps/s"));
}

TEST(ProgressTest, AtItsEndItSaysWhatItTookBesideWhatWasExpected) {
  v1::SweepUpdate update = Update(945, 0);
  update.clear_job_steps_per_second();
  update.clear_seconds_left();
  update.set_finished(true);
  update.mutable_sweep()->set_seconds_taken(5 * 3600 + 12 * 60);
  EXPECT_EQ(ProgressLine(update), "mine: 945/945 done") << "alone it says little";

  update.mutable_sweep()->mutable_expected()->set_seconds(4 * 3600 + 50 * 60);
  EXPECT_EQ(ProgressLine(update), "mine: 945/945 done; took 5 h 12 min; 4 h 50 min was expected at its begin");
  EXPECT_EQ(ProgressBlock(update, 200).front(), ProgressLine(update));

  update.mutable_sweep()->set_seconds_taken(0.4);
  EXPECT_EQ(ProgressLine(update), "mine: 945/945 done; took less than a second; 4 h 50 min was expected at its begin");
  update.mutable_sweep()->clear_seconds_taken();
  EXPECT_EQ(ProgressLine(update), "mine: 945/945 done");
}

TEST(ProgressTest, SaysWhyTheStoreTakesNothing) {
  v1::SweepUpdate update = Update(12, 9);
  update.set_store_trouble("the store takes nothing: the disk is full\x1b[2J");

  EXPECT_EQ(ProgressLine(update),
            "mine: 12/945 done, 9 running, 924 queued; 1,204 job-steps/s; about 12 min left; "
            "the store takes nothing: the disk is full\\x1b[2J; it goes on by itself");
  // On a line of its own, which a narrow terminal shows whole.
  EXPECT_EQ(ProgressBlock(update, 80).at(2), "the store takes nothing: the disk is full\\x1b[2J; it goes on by itself");
}

TEST(ProgressTest, AFullDiskOfFilesIsNotSaidOfTheStore) {
  v1::SweepUpdate update = Update(12, 9);
  update.set_store_trouble("no room for files of jobs: cannot write '/files/tmp/1': No space left on device");

  EXPECT_EQ(ProgressBlock(update, 200).at(2), "no room for files of jobs: cannot write '/files/tmp/1': No space left on device; it goes on by itself");
}

TEST(ProgressTest, SaysWhoseDiskIsFullAndWhatToDo) {
  v1::SweepUpdate update = Update(12, 9);
  for (const char* worker : {"b", "a", "b", "c"}) {
    v1::RunningAttempt& attempt = *update.add_running();
    attempt.set_worker_name(worker);
    attempt.set_phase(worker[0] == 'b' ? "waits for its disk" : "uploading");
  }
  EXPECT_THAT(ProgressLine(update), ::testing::EndsWith("; worker 'b' has no room on its disk for what is computed; free some there, and it goes on by itself"));
  EXPECT_EQ(ProgressBlock(update, 200).at(2), "worker 'b' has no room on its disk for what is computed; free some there, and it goes on by itself");

  update.mutable_running(1)->set_phase("waits for its disk");
  EXPECT_THAT(ProgressLine(update), ::testing::EndsWith("; workers 'a', 'b' have no room on their disks for what is computed; free some there, and it goes on by itself"));
}

TEST(ProgressTest, InAPipeWritesALineAtChangesAndTheLastState) {
  std::ostringstream out;
  ProgressView view(out, {.line_every = std::chrono::hours(1)});

  view.Show(Update(0, 9));
  view.Show(Update(1, 9));
  view.Show(Update(2, 9));
  view.Finish();

  EXPECT_EQ(out.str(),
            "mine: 0/945 done, 9 running, 936 queued; 1,204 job-steps/s; about 12 min left\n"
            "mine: 2/945 done, 9 running, 934 queued; 1,204 job-steps/s; about 12 min left\n");
}

TEST(ProgressTest, InAPipeTheNewestLineIsWrittenOnceItsTimeHasComeWithoutAnotherUpdate) {
  std::ostringstream out;
  ProgressView view(out, {.line_every = std::chrono::seconds(5)});
  const ProgressView::Clock::time_point start{std::chrono::hours(1)};
  view.Show(Update(0, 9), start);
  view.Show(Update(1, 9), start + std::chrono::seconds(1));
  const std::string first = ProgressLine(Update(0, 9)) + "\n";

  view.Tick(start + std::chrono::seconds(4));
  EXPECT_EQ(out.str(), first);
  view.Tick(start + std::chrono::seconds(5));
  view.Tick(start + std::chrono::seconds(60));
  view.Finish();

  EXPECT_EQ(out.str(), first + ProgressLine(Update(1, 9)) + "\n");
}

TEST(ProgressTest, OnATerminalRedrawsItsBlock) {
  std::ostringstream out;
  ProgressView view(out, {.terminal = true, .width = [] { return 100; }});
  v1::SweepUpdate update = Update(0, 9);
  v1::RunningAttempt& attempt = *update.add_running();
  attempt.set_task("even_pairs");
  attempt.set_encoding("rope\x1b[2J");

  view.Show(update);
  const size_t first = out.str().size();
  view.Show(Update(945, 0));

  // Three lines up, and everything from there on is cleared; the second block has two lines.
  EXPECT_EQ(out.str().substr(first, 9), "\x1b[3A\r\x1b[J" + out.str().substr(first + 8, 1));
  EXPECT_EQ(out.str().substr(0, first).find("\x1b[2J"), std::string::npos);
  EXPECT_NE(out.str().find("100.0 %"), std::string::npos);
}

TEST(ProgressTest, WhatRunsStandsInNarrowColumns) {
  v1::SweepUpdate update = Update(0, 9);
  for (const int step : {7, 812}) {
    v1::RunningAttempt& attempt = *update.add_running();
    attempt.set_task("even_pairs");
    attempt.set_encoding(step == 7 ? "rope" : "rope:randomized");
    attempt.set_members(step == 7 ? 1 : 9);
    attempt.set_phase("training");
    attempt.set_step(step);
    attempt.set_steps(1000);
    attempt.set_steps_per_second(step == 7 ? 0 : 13.14);
  }
  const std::vector<std::string> block = ProgressBlock(update, 120);
  EXPECT_EQ(block[2], "  even_pairs rope             1 job  training   7/1000             ");
  EXPECT_EQ(block[3], "  even_pairs rope:randomized 9 jobs  training 812/1000 13.1 steps/s");
}

TEST(ProgressTest, LinesFitIntoNarrowTerminals) {
  v1::SweepUpdate update = Update(0, 9);
  for (int i = 0; i < 20; ++i) update.add_running()->set_task("modular_arithmetic_brackets");
  const std::vector<std::string> block = ProgressBlock(update, 30);
  EXPECT_EQ(block.size(), 12u) << "three lines, eight attempts, and how many more";
  for (const std::string& line : block) EXPECT_LE(DisplayWidth(line), 30) << line;
}

TEST(ProgressTest, HowLongItTakesIsNotCutOffInANarrowTerminal) {
  const std::vector<std::string> narrow = ProgressBlock(Update(12, 9), 50);
  ASSERT_EQ(narrow.size(), 3u);
  EXPECT_EQ(narrow[0], "mine: 12/945 done, 9 running, 924 queued");
  EXPECT_EQ(narrow[1], "  1,204 job-steps/s; about 12 min left");
  const std::vector<std::string> wide = ProgressBlock(Update(12, 9), 78);
  ASSERT_EQ(wide.size(), 2u);
  EXPECT_EQ(wide[0], ProgressLine(Update(12, 9)));
}

TEST(ProgressTest, ABlockIsAsWideAsItsTerminalIsByThen) {
  std::ostringstream out;
  int columns = 100;
  ProgressView view(out, {.terminal = true, .width = [&columns] { return columns; }});
  view.Show(Update(0, 9));
  columns = 40;
  const size_t first = out.str().size();
  view.Show(Update(1, 9));
  for (const std::string& line : Split(out.str().substr(first), '\n')) {
    const std::string drawn = line.substr(line.rfind("\x1b[J") == std::string::npos ? 0 : line.rfind("\x1b[J") + 3);
    EXPECT_LT(DisplayWidth(drawn), 40) << drawn;
  }
}

TEST(ProgressTest, WhatIsNoTerminalGetsNoBar) {
  EXPECT_EQ(ProgressBlock(Update(472, 9), 160, /*bar=*/false).at(1), "49.9 % done");
}

TEST(ProgressTest, WhatToDoAboutAFullDiskIsNotCutOff) {
  v1::SweepUpdate update = Update(12, 9);
  update.set_store_trouble("the store takes nothing: the disk is full");
  const std::vector<std::string> block = ProgressBlock(update, 42);
  ASSERT_EQ(block.size(), 5u);
  EXPECT_EQ(block[3], "the store takes nothing: the disk is full;");
  EXPECT_EQ(block[4], "it goes on by itself");
}

TEST(ProgressTest, WithoutAWidthNothingIsCutOff) {
  v1::SweepUpdate update = Update(12, 9);
  update.mutable_sweep()->set_name(std::string(300, 'n'));
  EXPECT_EQ(ProgressBlock(update, 0, /*bar=*/false).front(), ProgressLine(update));
}

TEST(ProgressTest, SurvivesNumbersThatMakeNoSense) {
  v1::SweepUpdate update;
  update.set_job_steps_done(std::numeric_limits<double>::quiet_NaN());
  update.set_job_steps_total(1);
  update.set_seconds_left(std::numeric_limits<double>::infinity());
  update.set_job_steps_per_second(std::numeric_limits<double>::infinity());
  EXPECT_EQ(ProgressBlock(update, 80).size(), 2u);
}

}  // namespace
}  // namespace longreach::client
