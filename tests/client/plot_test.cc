// `longreach plot` beside a scheduler that answers as the test says: what it asks for, what it writes, what it refuses. The
// program that draws is a stand-in here; the real one is in tests/e2e/test_plot.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PlotTest : public testing::Test {
 protected:
  PlotTest() {
    scheduler_.sweep.mutable_spec()->mutable_axes()->add_task("even_pairs");
    scheduler_.table.clear_columns();
    scheduler_.table.add_columns()->set_key("40");
  }
  Outcome Run(const std::string& file, std::vector<std::string> more = {}, const std::map<std::string, std::string>& variables = {}) {
    more.insert(more.begin(), {"plot", "last", "--file", (folder_.path() / file).string(), "--scheduler", scheduler_.address()});
    return RunCommandLine(more, variables);
  }
  std::string Written(const std::string& file) const {
    std::ifstream in(folder_.path() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  FakeScheduler scheduler_;
  TempFolder folder_;
};

TEST_F(PlotTest, AsksForLengthsOfEachEncodingUnlessToldOtherwise) {
  const Outcome outcome = Run("a.vl.json");

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "length");
  EXPECT_EQ(scheduler_.table_request.table().metric(), "");  // The sweep's own.
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "mean");
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  EXPECT_EQ(spec["data"]["values"][0]["y"], 87.5);
  EXPECT_EQ(spec["title"]["text"], "table-b1: accuracy");
  EXPECT_THAT(outcome.out, HasSubstr("1 point in 1 panel"));
}

TEST_F(PlotTest, SystemsAreLinesAndTasksArePanels) {
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_task("bucket_sort");
  scheduler_.sweep.mutable_spec()->add_systems()->set_name("yarn");

  const Outcome outcome = Run("a.vl.json", {"--only", "task=even_pairs,bucket_sort", "--only", "seed=1"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.table_request.table().rows(), "system");
  // The last question was for one panel.
  EXPECT_THAT(scheduler_.table_request.table().only(), ElementsAre("seed=1", "task=even_pairs"));
  // The scheduler here has one task to show.
  EXPECT_EQ(nlohmann::json::parse(Written("a.vl.json"))["title"]["text"], "table-b1: accuracy, even_pairs");
}

TEST_F(PlotTest, PicturesAreDrawnByThePythonThatIsNamed) {
  // $1 is -c, $2 the script, then the specification's file, the picture's and the format.
  folder_.WriteScript("python", "grep -q 87.5 \"$3\" && printf 'a %s' \"$5\" > \"$4\"");
  const std::string python = (folder_.path() / "python").string();

  const Outcome outcome = Run("a.svg", {"-o", "json"}, {{"LONGREACH_PYTHON", python}});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(Written("a.svg"), "a svg");
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["points"], 1);
}

TEST_F(PlotTest, WithoutWhatDrawsItSaysWhatToDoAndWritesNothing) {
  const auto refused = [&](const std::string& script, const std::string& text) {
    folder_.WriteScript("python3", script);
    const Outcome outcome = Run("a.png", {}, {{"PATH", "/nonexistent:" + folder_.path().string()}});
    EXPECT_EQ(outcome.code, kFailed);
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.png"));
  };
  refused("exit 3", "python3' does not have it\n  'pip install vl-convert-python'");
  refused("echo lost the thread >&2; exit 1", "vl-convert-python did not draw the figure (exit code 1)\n  lost the thread");
  refused("exit 0", "did not draw the figure");
  EXPECT_THAT(Run("a.png").err, HasSubstr("there is no python3 in PATH"));
  EXPECT_THAT(Run("a.png", {}, {{"LONGREACH_PYTHON", "/nonexistent/python"}}).err, HasSubstr("there is no program '/nonexistent/python'"));
}

TEST_F(PlotTest, RefusesWhatCannotBeDrawn) {
  const auto refused = [&](std::vector<std::string> more, const std::string& text, const std::string& file = "a.vl.json") {
    const Outcome outcome = Run(file, std::move(more));
    EXPECT_EQ(outcome.code, kUsage) << text;
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / file));
  };
  refused({}, "ends in none of .svg, .png, .pdf and .vl.json", "a.jpg");
  refused({"--x", "task"}, "--x: unknown value 'task'");
  refused({"--lines", "encodng"}, "--lines: unknown value 'encodng'\n  did you mean 'encoding'?");
  refused({"--x", "seed", "--lines", "seed"}, "seed, seed and none: they must differ");
  refused({"--metric", "acuracy"}, "did you mean 'accuracy'?");

  scheduler_.table.mutable_cells(0)->clear_measured();
  const Outcome nothing = Run("a.vl.json");
  EXPECT_EQ(nothing.code, kFailed);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to draw: no job of sweep 'table-b1' has a value of accuracy (%) there yet"));

  folder_.Write("there.vl.json", "mine");
  EXPECT_EQ(Run("there.vl.json").code, kFailed);
  EXPECT_EQ(Written("there.vl.json"), "mine");
}

}  // namespace
}  // namespace longreach::client
