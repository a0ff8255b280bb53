#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/spec/presets.h"
#include "client/spec/spec_reader.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/longbench.h"

namespace longreach::client {
namespace {

SweepFile Preset(std::string_view name) {
  absl::StatusOr<SweepFile> file = LoadSweep(std::string(name));
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *file : SweepFile();
}

int64_t Product(const v1::Axes& axes) {
  return int64_t{axes.task_size()} * axes.encoding_size() * axes.learning_rate_size() * axes.seed_size();
}

TEST(PresetsTest, EveryPresetIsComplete) {
  for (const catalog::File& preset : catalog::Presets()) {
    const SweepFile file = Preset(preset.name);
    EXPECT_EQ(file.spec.name(), preset.name) << "results finds a sweep's table by the preset's name";
    EXPECT_NE(file.summary, "") << preset.name;
    if (!file.parts.empty()) continue;
    EXPECT_TRUE(file.has_table) << preset.name;
    // Systems bring axes of their own.
    EXPECT_TRUE(!file.spec.systems().empty() || Product(file.spec.axes()) > 0) << preset.name;
  }
}

TEST(PresetsTest, ATitleStaysWhereWhatItTellsOfIsThePresetsAlone) {
  const auto title = [](const std::string& preset, const std::vector<std::string>& overrides) {
    const absl::StatusOr<std::vector<LoadedSweep>> sweeps = LoadSweeps({.spec = preset, .overrides = overrides});
    EXPECT_TRUE(sweeps.ok()) << sweeps.status();
    return sweeps.ok() ? sweeps->front().file.table.title() : "";
  };
  EXPECT_THAT(title("quickstart", {}), ::testing::HasSubstr("beyond the training lengths"));
  EXPECT_THAT(title("quickstart", {"training.steps=5"}), ::testing::HasSubstr("beyond the training lengths"));
  EXPECT_EQ(title("quickstart", {"evaluation.lengths=3..9"}), "");
  EXPECT_EQ(title("nope-small", {"training.lengths=64"}), "");
  EXPECT_THAT(title("table-b1", {"evaluation.lengths=600"}), ::testing::HasSubstr("averaged over test lengths")) << "which is so of any";
  const struct {
    std::string preset, other, told, title;
  } cases[] = {{"quickstart", "encoding=rope", "training.lengths=1..5", "Quickstart: "},
               {"quickstart-language", "training.steps=5", "evaluation.lengths=64", "Quickstart: "},
               {"quickstart-images", "seed=1", "evaluation.lengths=42", "Quickstart: "},
               {"ruoss-2023", "seed=0", "encoding=log_kerple", "Encodings of Ruoss"},
               {"ruoss-2023", "task=even_pairs", "axes.encoding=rope", "Encodings of Ruoss"},
               {"table-2", "seed=0", "training.steps=0", "Table 2: "},
               {"noop", "encoding=rope", "seed=0", "No-op jobs: "},
               {"nope-small", "training.steps=9", "task=tokens", "NoPE in small: "},
               {"nope-passkey", "training.batch_size=4", "model.folder=mine", "NoPE and RoPE of 1.1 billion"},
               {"nope-table-1", "data=proof-pile", "model.layers=2", "NoPE and RoPE of 1.1 billion"},
               {"nope-table-2", "seed=1", "model.mlp_dim=64", "NoPE and RoPE of 1.1 billion"},
               {"nope-positions", "evaluation.examples=9", "systems.rope.with.model.folder=mine", "NoPE and RoPE of 1.1 billion"}};
  for (const auto& one : cases) {
    EXPECT_THAT(title(one.preset, {one.other}), ::testing::StartsWith(one.title)) << one.preset << " " << one.other;
    EXPECT_EQ(title(one.preset, {one.other, one.told}), "") << one.preset << " " << one.told;
  }
}

TEST(PresetsTest, PartsArePresetsThatPrintPublishedTables) {
  const absl::StatusOr<std::vector<LoadedSweep>> parts = LoadSweeps({.spec = "nope-tinyllama", .overrides = {}});
  ASSERT_TRUE(parts.ok()) << parts.status();
  std::vector<std::string> names;
  for (const LoadedSweep& part : *parts) {
    names.push_back(part.file.spec.name());
    EXPECT_TRUE(part.file.has_table) << names.back();
    EXPECT_EQ(TableOfPreset(names.back()).SerializeAsString(), part.file.table.SerializeAsString()) << names.back();
  }
  EXPECT_THAT(names, ::testing::ElementsAre("nope-table-1", "nope-table-1-proof-pile", "nope-table-2", "nope-positions", "nope-passkey"));
  EXPECT_EQ((*parts)[0].file.spec.data(), "pg19");
  EXPECT_EQ((*parts)[1].file.spec.data(), "proof-pile");
  EXPECT_EQ((*parts)[1].file.table.published(), "nope_table_1");
}

TEST(PresetsTest, HaveThePapersNumberOfJobs) {
  EXPECT_EQ(Product(Preset("table-b1").spec.axes()), 945);
  EXPECT_EQ(Product(Preset("ruoss-2023").spec.axes()), 1485);
  EXPECT_EQ(Product(Preset("table-1").spec.axes()), 54);
  EXPECT_EQ(Product(Preset("table-2").spec.axes()), 9);
  EXPECT_EQ(Product(Preset("table-3").spec.axes()), 54);
}

// The values that an axis of a sweep's table has.
std::set<std::string> ValuesOf(const v1::SweepSpec& spec, std::string_view axis) {
  if (axis == "task") return {spec.axes().task().begin(), spec.axes().task().end()};
  if (axis == "encoding") return {spec.axes().encoding().begin(), spec.axes().encoding().end()};
  if (axis == "longbench_task") {
    std::set<std::string> tasks = {std::string(catalog::kWholeSlice)};
    for (const catalog::LongBenchTask& task : catalog::kLongBenchTasks) tasks.emplace(task.name);
    return tasks;
  }
  std::set<std::string> systems;
  if (axis == "system") {
    for (const v1::System& system : spec.systems()) systems.insert(system.name());
  }
  return systems;  // Lengths are in the order of their size.
}

TEST(PresetsTest, TablesPrintExactlyTheAxesOfTheirSweep) {
  for (const catalog::File& preset : catalog::Presets()) {
    const SweepFile file = Preset(preset.name);
    const std::set<std::string> rows(file.table.row_order().begin(), file.table.row_order().end());
    EXPECT_EQ(rows, ValuesOf(file.spec, file.table.rows())) << preset.name;
    std::set<std::string> columns(file.table.column_order().begin(), file.table.column_order().end());
    for (const v1::ExtraColumn& extra : file.table.extra_columns()) {
      EXPECT_EQ(columns.erase(extra.key()), 1u) << extra.key();
      EXPECT_TRUE(!extra.input().empty() || catalog::FindPreset(extra.sweep()) != nullptr) << extra.sweep();
    }
    EXPECT_EQ(columns, ValuesOf(file.spec, file.table.columns())) << preset.name;
  }
}

TEST(PresetsTest, PublishedTablesAreOfAxesAndSayNumbers) {
  const std::set<std::string> job_axes = {"data", "encoding", "length", "system", "task"};
  for (const catalog::File& table : catalog::PublishedTables()) {
    std::set<std::map<std::string, std::string, std::less<>>> seen;
    std::map<std::pair<std::map<std::string, std::string, std::less<>>, double>, std::string> texts;
    for (const catalog::PublishedValue& value : catalog::PublishedValues(table.name)) {
      EXPECT_TRUE(seen.insert(value.keys).second) << table.name << ": " << value.text;
      EXPECT_GT(value.value, 0) << table.name << ": " << value.text;
      // Tables look texts up by value, whichever corpus it is of.
      std::map<std::string, std::string, std::less<>> axes = value.keys;
      axes.erase("data");
      EXPECT_EQ(texts.emplace(std::pair(axes, value.value), value.text).first->second, value.text) << table.name;
      for (const auto& [axis, key] : value.keys) {
        EXPECT_TRUE(job_axes.contains(axis) || catalog::FindSliceAxis(axis) != nullptr) << table.name << ": " << axis;
        EXPECT_FALSE(key.empty()) << table.name << ": " << axis;
      }
    }
    EXPECT_FALSE(seen.empty()) << table.name;
  }
}

// (encoding, length) of the cells that a table of lengths has.
std::set<std::pair<std::string, int64_t>> CellsOf(const SweepFile& file, const std::vector<int64_t>& lengths) {
  std::set<std::pair<std::string, int64_t>> cells;
  const auto& encodings = file.table.rows() == "encoding" ? file.table.row_order() : file.table.column_order();
  for (const std::string& encoding : encodings) {
    for (const int64_t length : lengths) cells.emplace(encoding, length);
  }
  return cells;
}

TEST(PresetsTest, Tables1To3HaveTheCellsOfThePublishedTables) {
  for (const auto& [name, lengths] : std::map<std::string, std::vector<int64_t>>{
           {"table-1", {256, 1024}}, {"table-2", {256, 1024}}, {"table-3", {506, 2025}}}) {
    const SweepFile file = Preset(name);
    std::set<std::pair<std::string, int64_t>> published;
    for (const catalog::PublishedValue& value : catalog::PublishedValues(file.table.published())) {
      const std::string& encoding = value.keys.at("encoding");
      EXPECT_TRUE(published.emplace(encoding, std::stoll(value.keys.at("length"))).second) << encoding;
      EXPECT_GT(value.value, 0);
    }
    EXPECT_EQ(published, CellsOf(file, lengths)) << name;
  }
}

TEST(PresetsTest, TableB1HasTheOrderAndTheCellsOfThePublishedTable) {
  const SweepFile file = Preset("table-b1");
  const std::vector<catalog::PublishedValue> published = catalog::PublishedValues(file.table.published());
  ASSERT_EQ(published.size(), 120u);
  size_t at = 0;
  for (const std::string& task : file.table.row_order()) {
    for (const std::string& encoding : file.table.column_order()) {
      ASSERT_LT(at, published.size());
      EXPECT_EQ(published[at].keys.at("task"), task) << at;
      EXPECT_EQ(published[at].keys.at("encoding"), encoding) << at;
      ++at;
    }
  }
  EXPECT_EQ(at, published.size());
}

// Systems by the names that the paper's tables have them by; factors of untrained extensions were not published.
TEST(PresetsTest, PresetsOfTheNopeTablesHaveThePublishedSystems) {
  for (const std::string name : {"nope-table-1", "nope-table-2"}) {
    const SweepFile file = Preset(name);
    std::set<std::string> published;
    for (const catalog::PublishedValue& value : catalog::PublishedValues(file.table.published())) published.insert(value.keys.at("system"));
    ASSERT_FALSE(published.empty()) << name;
    std::set<std::string> systems;
    for (const v1::System& system : file.spec.systems()) {
      const std::string& one = system.name();
      const bool tried = one.starts_with("rope-dynamic-") || one.starts_with("rope-yarn-");
      systems.insert(tried ? one.substr(0, one.rfind('-')) : one);
    }
    EXPECT_EQ(systems, published);
  }
}

}  // namespace
}  // namespace longreach::client
