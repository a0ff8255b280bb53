// Published tables: every value that measured ones are printed beside. Papers do not change, so neither do these.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/longbench.h"

namespace longreach::catalog {
namespace {

// "encoding=rope:randomized,length=256: 222.4" of each value, sorted.
std::string PublishedLines(std::string_view table) {
  std::vector<std::string> lines;
  for (const PublishedValue& value : PublishedValues(table)) {
    std::string line;
    for (const auto& [name, key] : value.keys) line += (line.empty() ? "" : ",") + name + "=" + key;
    lines.push_back(line + ": " + value.text + "\n");
  }
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

// SHA-256 of the same lines, made of another copy of the papers' tables.
TEST(PublishedTablesTest, ValuesAreThoseOfThePapers) {
  const std::map<std::string, std::string> papers = {
      {"nope_table_1", "28a4fa278465a11459f959604f228e7562082465e0b0694b37bc77cab2a330df"},
      {"nope_table_2", "430afab08ec87a8bdbb475bd42bc354b8b031c27dc36594beb906e24011e9e7b"},
      {"table_1", "fce30906ae560cb30553145c6ee762a6378632273ed0a437d077a163469b02f9"},
      {"table_2", "d7fa7e2be2de824b325650612aa25143252afb2ced793dbc64c3f4993586a777"},
      {"table_3", "366fad0d5c07f70e8fb08558839a86ea5413fa1ea1f096aa3024cf4e549c0154"},
      {"table_b1", "ced4830e4121e80ae0e2f1c0047f0b5748a6eb49c49f37c94f6a4ecea7695245"},
  };
  EXPECT_EQ(PublishedTables().size(), papers.size());
  for (const auto& [table, sha256] : papers) EXPECT_EQ(Sha256Of(PublishedLines(table)), sha256) << PublishedLines(table);
}

TEST(PublishedTablesTest, TableB1HasTheTasksOfItsPreset) {
  const std::string_view preset = FindPreset("table-b1")->text;
  const std::vector<const Task*> tasks = TasksOfTableB1();
  EXPECT_EQ(tasks.size(), 15u);
  for (const Task* task : tasks) EXPECT_NE(preset.find("\n    - " + std::string(task->name) + "\n"), preset.npos) << task->name;
}

// Numbers of one decimal: their mean may be half of one off, and so may the one that is printed.
TEST(PublishedTablesTest, LongBenchsAverageIsThePlainMeanOfItsTasks) {
  std::map<std::string, double> sums, averages;
  for (const PublishedValue& value : PublishedValues("nope_table_2")) {
    const std::string& system = value.keys.find("system")->second;
    if (value.keys.find("longbench_task")->second == kWholeSlice) averages[system] = value.value;
    else sums[system] += value.value;
  }
  EXPECT_EQ(averages.size(), 11u);
  for (const auto& [system, sum] : sums) {
    EXPECT_NEAR(sum / static_cast<double>(kLongBenchTasks.size()), averages[system], 0.1 + 1e-9) << system;
  }
}

TEST(PublishedTablesTest, WhatIsBeyondANumberOrUncertainKeepsItsText) {
  std::map<std::string, int> of_text;
  for (const PublishedValue& value : PublishedValues("nope_table_1")) {
    EXPECT_TRUE(std::isfinite(value.value) && value.value > 0) << value.text;
    EXPECT_TRUE(!value.text.starts_with('>') || value.value == 1000) << value.text;
    ++of_text[value.text.starts_with('>') ? ">" : value.text.ends_with('?') ? "?" : ""];
  }
  EXPECT_EQ(of_text[">"], 10);
  EXPECT_EQ(of_text["?"], 2);
}

}  // namespace
}  // namespace longreach::catalog
