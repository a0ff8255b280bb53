// Answers on a terminal keep to its width, and elsewhere come in lines as long as they are.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "client/app.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class ProseTest : public WithFakeScheduler {
 protected:
  // With standard output and standard error on a terminal of so many columns; 0: on none.
  Outcome RunOn(int columns, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--scheduler", scheduler_.address(), "--color", "never"});
    std::ostringstream out, err;
    Environment environment;
    environment.out = &out;
    environment.err = &err;
    environment.out_is_terminal = environment.err_is_terminal = columns > 0;
    if (columns > 0) environment.width = [columns] { return columns; };
    environment.out_width = environment.err_width = [columns] { return columns; };
    environment.variable = [](const char*) { return std::string(); };
    const int code = RunClient(arguments, environment);
    return {.code = code, .out = out.str(), .err = err.str()};
  }

  static int Widest(const std::string& text) {
    int most = 0;
    for (const std::string& line : Split(text, '\n')) most = std::max(most, DisplayWidth(line));
    return most;
  }
};

constexpr int kColumns = 44;

// What one answer says beside the other, but for where lines end.
std::vector<std::string> WordsIn(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST_F(ProseTest, ReasonsOfAJobStandBelowEachOtherInLinesOfTheTerminal) {
  scheduler_.reasons = {"It is ready, and first in line.", "None of the 2 workers that are there can take it, for neither has the data set that it is trained on."};
  const Outcome whole = RunOn(0, {"explain", "bbbb"});
  ASSERT_EQ(whole.code, kDone) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("\n- " + scheduler_.reasons[1] + "\n"));

  const Outcome shown = RunOn(kColumns, {"explain", "bbbb"});
  ASSERT_EQ(shown.code, kDone) << shown.err;
  EXPECT_LE(Widest(shown.out), kColumns) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("\n- None of the 2 workers that are there can\n  take it, for neither has the data set that\n  it is trained on.\n"));
  EXPECT_EQ(WordsIn(shown.out), WordsIn(whole.out));
  EXPECT_EQ(RunOn(1000, {"explain", "bbbb"}).out, whole.out);
}

TEST_F(ProseTest, WhyASweepStandsStillIsNotCutOff) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.set_finished(false);
  update.set_store_trouble("the store takes nothing: the disk is full, as somebody has written to it what is not ours");
  scheduler_.updates = {update};
  scheduler_.watch_stays_open = false;
  const Outcome whole = RunOn(0, {"status"});
  ASSERT_EQ(whole.code, kDone) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("\n" + update.store_trouble() + "; it goes on by itself\n"));

  const Outcome shown = RunOn(kColumns, {"status"});
  ASSERT_EQ(shown.code, kDone) << shown.err;
  EXPECT_LE(Widest(shown.out), kColumns) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("\nthe store takes nothing: the disk is full,\nas somebody has written to it what is not\nours; it goes on by itself\n"));
}

TEST_F(ProseTest, APlansTextsStayInTheirColumn) {
  const Outcome whole = RunOn(0, {"plan", "table-b1"});
  ASSERT_EQ(whole.code, kDone) << whole.err;
  const Outcome shown = RunOn(kColumns, {"plan", "table-b1"});
  ASSERT_EQ(shown.code, kDone) << shown.err;
  EXPECT_LE(Widest(shown.out), kColumns) << shown.out;
  EXPECT_EQ(WordsIn(shown.out), WordsIn(whole.out));
  std::vector<std::string> lines = Split(Trim(shown.out), '\n');
  lines.erase(lines.begin());  // Its title.
  for (const std::string& line : lines) {
    ASSERT_GT(line.size(), 17u) << line;
    EXPECT_TRUE(line[16] == ' ' && line[17] != ' ') << line;
  }
}

TEST_F(ProseTest, TitleAndNotesOfAComparisonKeepToTheTerminal) {
  scheduler_.sweep.set_name("mine");
  scheduler_.sweep.mutable_spec()->set_experiment("algorithmic");
  for (uint32_t number = 0; number < 12; ++number) {
    const bool randomized = number % 2 == 1;
    v1::JobMeasurements& of_job = *scheduler_.measurements.add_jobs();
    of_job.mutable_job()->set_id(std::to_string(number));
    of_job.mutable_job()->set_task(number < 6 ? "bucket_sort" : "even_pairs");
    of_job.mutable_job()->set_encoding(randomized ? "rope:randomized" : "rope");
    of_job.mutable_job()->set_learning_rate(1e-3);
    of_job.mutable_job()->set_seed(number / 2 % 3);
    v1::Measurement& value = *of_job.add_measurements();
    value.set_metric("accuracy");
    value.set_value(randomized ? 0.5 + 0.001 * number : 0.3);
  }
  const std::vector<std::string> compare = {"compare", "last", "--between", "randomized"};
  const Outcome whole = RunOn(0, compare);
  ASSERT_EQ(whole.code, kDone) << whole.err;
  EXPECT_THAT(whole.out, ::testing::StartsWith("mine, plain and randomized: accuracy (%) over all test lengths, by pairs of jobs\n"));
  ASSERT_GT(Widest(whole.err), kColumns) << "else this tests no note: " << whole.err;

  const Outcome shown = RunOn(kColumns, compare);
  ASSERT_EQ(shown.code, kDone) << shown.err;
  EXPECT_THAT(shown.out, ::testing::StartsWith("mine, plain and randomized: accuracy (%)\nover all test lengths, by pairs of jobs\n"));
  EXPECT_LE(Widest(shown.out), kColumns) << shown.out;
  EXPECT_LE(Widest(shown.err), kColumns) << shown.err;
  EXPECT_EQ(WordsIn(shown.err), WordsIn(whole.err));
}

// Its SHA-256 is a word of 64 letters, which nothing can stand beside on 80 columns.
TEST_F(ProseTest, AJobsTablesHaveRoomForTheirHashes) {
  v1::ArtifactInfo& file = scheduler_.artifacts.emplace_back();
  file.set_kind("checkpoint");
  file.set_step(1000);
  file.set_bytes(123456789);
  file.set_sha256(std::string(64, 'f'));
  const Outcome shown = RunOn(80, {"job", "bbbb"});
  ASSERT_EQ(shown.code, kDone) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\ncheckpoint  " + file.sha256() + "\n"));
  EXPECT_LE(Widest(shown.out), 80) << shown.out;
  EXPECT_EQ(RunOn(1000, {"job", "bbbb"}).out, RunOn(0, {"job", "bbbb"}).out);
}

}  // namespace
}  // namespace longreach::client
