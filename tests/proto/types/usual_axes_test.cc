#include "proto/types/usual_axes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace longreach {
namespace {

using Sides = std::pair<std::string, std::string>;

v1::SweepSpec Sweep(const std::vector<std::string>& tasks, const std::vector<std::string>& encodings, int systems) {
  v1::SweepSpec spec;
  spec.mutable_axes()->mutable_task()->Assign(tasks.begin(), tasks.end());
  spec.mutable_axes()->mutable_encoding()->Assign(encodings.begin(), encodings.end());
  for (int i = 0; i < systems; ++i) spec.add_systems()->set_name(std::to_string(i));
  return spec;
}

Sides Usual(const v1::SweepSpec& spec, const Sides& given = {}) {
  v1::TableSpec table;
  table.set_rows(given.first);
  table.set_columns(given.second);
  SetUsualAxes(spec, table);
  return {table.rows(), table.columns()};
}

const std::vector<std::string> kOneTask = {"even_pairs"}, kTasks = {"even_pairs", "parity_check"};
const std::vector<std::string> kOneEncoding = {"rope"}, kEncodings = {"none", "rope"};

TEST(UsualAxesTest, AreTasksByEncodings) {
  EXPECT_EQ(Usual({}), Sides("task", "encoding"));
  EXPECT_EQ(Usual(Sweep(kTasks, kEncodings, 0)), Sides("task", "encoding"));
}

TEST(UsualAxesTest, OfSystemsNothingThatIsComparedIsOneCell) {
  EXPECT_EQ(Usual(Sweep(kOneTask, kOneEncoding, 2)), Sides("system", "task"));
  EXPECT_EQ(Usual(Sweep(kTasks, kOneEncoding, 2)), Sides("system", "task"));
  EXPECT_EQ(Usual(Sweep(kOneTask, kEncodings, 2)), Sides("system", "encoding"));
  EXPECT_EQ(Usual(Sweep(kTasks, kEncodings, 2)), Sides("task,system", "encoding"));
  EXPECT_EQ(Usual(Sweep(kTasks, kEncodings, 1)), Sides("task", "encoding"));
}

TEST(UsualAxesTest, ASystemsOwnAxesAreItsJobs) {
  v1::SweepSpec spec = Sweep(kTasks, kOneEncoding, 2);
  v1::Axes& own = *spec.mutable_systems(1)->mutable_with()->mutable_axes();
  own.add_encoding("alibi");
  EXPECT_EQ(Usual(spec), Sides("system", "task")) << "each has one";
  own.add_encoding("none");
  EXPECT_EQ(Usual(spec), Sides("task,system", "encoding"));
  for (v1::System& system : *spec.mutable_systems()) system.mutable_with()->mutable_axes()->add_task("even_pairs");
  EXPECT_EQ(Usual(spec), Sides("system", "encoding"));
}

TEST(UsualAxesTest, BesideOneSideIsAllElseThatIsCompared) {
  const v1::SweepSpec plain = Sweep(kTasks, kEncodings, 0);
  EXPECT_EQ(Usual(plain, {"", "length"}), Sides("task,encoding", "length"));
  EXPECT_EQ(Usual(plain, {"encoding", ""}), Sides("encoding", "task"));
  EXPECT_EQ(Usual(plain, {"", "task"}), Sides("encoding", "task"));
  EXPECT_EQ(Usual(Sweep(kOneTask, kEncodings, 0), {"length", ""}), Sides("length", "encoding"));
  const v1::SweepSpec systems = Sweep(kTasks, kEncodings, 2);
  EXPECT_EQ(Usual(systems, {"", "encoding"}), Sides("task,system", "encoding"));
  EXPECT_EQ(Usual(systems, {"system", ""}), Sides("system", "task,encoding"));
  EXPECT_EQ(Usual(systems, {"model.layers", ""}), Sides("model.layers", "task,encoding"));
  EXPECT_EQ(Usual(Sweep(kOneTask, kOneEncoding, 2), {"length", ""}), Sides("length", "system"));
  EXPECT_EQ(Usual(Sweep(kOneTask, kOneEncoding, 2), {"", "length"}), Sides("system", "length"));
}

TEST(UsualAxesTest, ThereIsAlwaysAnotherSide) {
  EXPECT_EQ(Usual({}, {"task,encoding", ""}), Sides("task,encoding", "seed"));
  EXPECT_EQ(Usual({}, {"", "task,encoding,seed"}), Sides("learning_rate", "task,encoding,seed"));
  EXPECT_EQ(Usual({}, {"task", "encoding,seed"}), Sides("task", "encoding,seed"));
}

}  // namespace
}  // namespace longreach
