// `longreach plot --lines head`: the curves of single heads, from the files that jobs left.
#include <nlohmann/json.hpp>

#include <cstring>

#include "proto/base/sha256.h"
#include "tests/client/plot_fixture.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The entropies of two layers of three heads in four bins of 16 positions: their digits are layer, head and bin.
std::string Entropies() {
  nlohmann::json header = {{"__metadata__", {{"bin_width", "16"}}},
                           {"attention_entropy", {{"dtype", "F64"}, {"shape", {2, 3, 4}}, {"data_offsets", {0, 2 * 3 * 4 * sizeof(double)}}}}};
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  for (int i = 0; i < 2 * 3 * 4; ++i) {
    const double value = i / 12 + i / 4 % 3 * 0.1 + i % 4 * 0.01;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

class HeadCurvesTest : public PlotTest {
 protected:
  HeadCurvesTest() {
    const char* const systems[] = {"rope", "nope"};
    for (int i = 0; i < 2; ++i) {
      scheduler_.sweep.mutable_spec()->add_systems()->set_name(systems[i]);
      scheduler_.jobs.mutable_jobs(i)->add_systems(systems[i]);
    }
    Leave(Entropies());
  }
  // Each of the jobs has left this.
  void Leave(const std::string& bytes) {
    scheduler_.artifacts.assign(1, v1::ArtifactInfo());
    scheduler_.artifacts[0].set_kind("series");
    scheduler_.artifacts[0].set_sha256(Sha256Of(bytes));
    scheduler_.files[scheduler_.artifacts[0].sha256()] = bytes;
  }
  Outcome Heads(std::vector<std::string> more, const std::string& file = "a.vl.json") {
    more.insert(more.begin(), {"--metric", "attention_entropy", "--lines", "head"});
    return Run(file, std::move(more));
  }
  std::vector<std::string> Panels(const std::string& file) const {
    std::vector<std::string> panels;
    const nlohmann::json spec = nlohmann::json::parse(Written(file));
    for (const nlohmann::json& title : spec["facet"]["sort"]) panels.push_back(title.get<std::string>());
    return panels;
  }
};

TEST_F(HeadCurvesTest, WhatCellsOfTheTableAreOverIsNotSaidOfCurves) {
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_MIXED, "", "cells over systems");
  scheduler_.table.add_notes("something else");
  EXPECT_EQ(Heads({}).code, kDone);
  const std::string written = Written("a.vl.json");
  EXPECT_THAT(written, ::testing::Not(::testing::HasSubstr("cells over systems")));
  EXPECT_THAT(written, ::testing::HasSubstr("something else"));
}

TEST_F(HeadCurvesTest, EachLayerAndSystemIsAPanelOfItsHeads) {
  const Outcome outcome = Heads({});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("48 points in 4 panels"));
  EXPECT_THAT(Panels("a.vl.json"), ElementsAre("rope, layer 0", "nope, layer 0", "rope, layer 1", "nope, layer 1"));
  EXPECT_EQ(nlohmann::json::parse(Written("a.vl.json"))["columns"], 2) << "a layer is a row";
  // Words and what is not finished are the table's.
  EXPECT_EQ(scheduler_.table_request.table().metric(), "attention_entropy");
  EXPECT_EQ(scheduler_.table_request.table().rows(), "layer");
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  const nlohmann::json& values = spec["data"]["values"];
  ASSERT_EQ(values.size(), 48);
  const nlohmann::json& last = values.back();
  EXPECT_EQ(last["panel"], "nope, layer 1");
  EXPECT_EQ(last["line"], "head 2");
  EXPECT_EQ(last["x"], 64);
  EXPECT_DOUBLE_EQ(last["y"].get<double>(), 1.23);
  EXPECT_EQ(last["jobs"], 1);
  EXPECT_EQ(spec["spec"]["layer"][0]["encoding"]["y"]["title"], "attention entropy (nats)");

  // The paper has them in bits.
  EXPECT_EQ(Heads({"--bits"}, "bits.vl.json").code, kDone);
  const nlohmann::json in_bits = nlohmann::json::parse(Written("bits.vl.json"));
  EXPECT_NEAR(in_bits["data"]["values"].back()["y"].get<double>(), 1.7745149002934249, 1e-12);
  EXPECT_EQ(in_bits["spec"]["layer"][0]["encoding"]["y"]["title"], "attention entropy (bits)");

  EXPECT_EQ(Heads({"--panels", "system"}, "b.vl.json").code, kDone);
  EXPECT_THAT(Panels("b.vl.json"), ElementsAre("rope, layer 0", "rope, layer 1", "nope, layer 0", "nope, layer 1"));
  EXPECT_EQ(nlohmann::json::parse(Written("b.vl.json"))["columns"], 2);
  EXPECT_EQ(Heads({"--panels", "system", "--only", "layer=0"}, "c.vl.json").code, kDone);
  EXPECT_EQ(nlohmann::json::parse(Written("c.vl.json"))["columns"], 3) << "systems that have one panel each fill rows as others do";
}

TEST_F(HeadCurvesTest, OnlyChoosesSystemsLayersAndHeads) {
  const Outcome outcome = Heads({"--only", "system=nope", "--only", "layer=1", "--only", "head=0,2"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  const nlohmann::json& values = spec["data"]["values"];
  ASSERT_EQ(values.size(), 8);
  EXPECT_EQ(values[0]["line"], "head 0");
  EXPECT_EQ(values[0]["panel"], "layer 1");
  EXPECT_EQ(values[4]["line"], "head 2");
  EXPECT_EQ(spec["title"]["text"], "table-b1: attention entropy, layer 1");
  EXPECT_THAT(scheduler_.table_request.table().only(), ElementsAre("system=nope", "layer=1", "head=0,2"));
}

TEST_F(HeadCurvesTest, OnlyChoosesSystemsByTheirSettings) {
  for (v1::System& system : *scheduler_.sweep.mutable_spec()->mutable_systems()) {
    system.mutable_with()->mutable_model()->set_layers(system.name() == "nope" ? 1 : 2);
  }
  scheduler_.table.mutable_rows(0)->set_key("nope");  // The systems that are left, as the scheduler says.

  const Outcome outcome = Heads({"--only", "model.layers=1", "--only", "layer=0,1"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(Panels("a.vl.json"), ElementsAre("layer 0", "layer 1")) << "of one system";
  EXPECT_THAT(outcome.out, HasSubstr("24 points in 2 panels"));
  EXPECT_EQ(scheduler_.table_request.table().rows(), "layer");
  EXPECT_THAT(scheduler_.table_request.table().only(), ElementsAre("model.layers=1", "layer=0,1"));
}

TEST_F(HeadCurvesTest, JobsOfASystemAreAggregated) {
  scheduler_.jobs.mutable_jobs(1)->set_systems(0, "rope");
  EXPECT_EQ(Heads({"--only", "layer=0"}).code, kDone);
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  ASSERT_EQ(spec["data"]["values"].size(), 12);
  EXPECT_EQ(spec["data"]["values"][0]["jobs"], 2);
  EXPECT_DOUBLE_EQ(spec["data"]["values"][1]["y"].get<double>(), 0.01);
  // One of them by itself.
  EXPECT_EQ(Heads({"--only", "layer=0", "--only", "seed=1"}, "b.vl.json").code, kDone);
  EXPECT_EQ(nlohmann::json::parse(Written("b.vl.json"))["data"]["values"][0]["jobs"], 1);
}

TEST_F(HeadCurvesTest, EncodingsOfASystemHavePanelsOfTheirOwn) {
  for (const char* encoding : {"rope", "none"}) scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding(encoding);
  scheduler_.sweep.mutable_spec()->mutable_systems(1)->mutable_with()->mutable_axes()->add_encoding("rope");
  for (int i = 0; i < 2; ++i) {
    scheduler_.jobs.mutable_jobs(i)->set_systems(0, "rope");
    scheduler_.jobs.mutable_jobs(i)->set_encoding(i == 0 ? "none" : "rope");
  }
  const Outcome outcome = Heads({"--only", "layer=0"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(Panels("a.vl.json"), ElementsAre("rope, rope, layer 0", "rope, none, layer 0"));
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  EXPECT_EQ(spec["data"]["values"][0]["jobs"], 1) << "heads of two models have no mean";
  EXPECT_THAT(spec["title"].dump(), Not(HasSubstr("mean over encodings")));

  EXPECT_EQ(Heads({"--only", "encoding=none"}, "b.vl.json").code, kDone);
  EXPECT_THAT(Panels("b.vl.json"), ElementsAre("layer 0", "layer 1")) << "of one";
}

TEST_F(HeadCurvesTest, SaysWhatIsNotThere) {
  const auto refused = [&](int code, const std::vector<std::string>& more, const std::string& text) {
    const Outcome outcome = Heads(more);
    EXPECT_EQ(outcome.code, code) << text;
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.vl.json"));
  };
  refused(kUsage, {"--panels", "none"}, "--panels none: curves of heads have a panel for each layer and system");
  refused(kUsage, {"--slice", "layer=0"}, "--slice: curves of heads have none");
  Leave("no file of tensors");
  refused(kFailed, {}, "job bbbbbbbb: the entropies of attention heads cannot be read");
  scheduler_.artifacts.clear();
  refused(kFailed, {}, "none of 2 jobs has left the entropies of its attention heads");
  scheduler_.jobs.clear_jobs();
  refused(kFailed, {}, "nothing to draw: no job of sweep 'table-b1' has a value of attention entropy (nats) there yet");
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_NO_VALUE, "", "nothing by layer");
  refused(kFailed, {}, "there yet\n  nothing by layer\n");
}

}  // namespace
}  // namespace longreach::client
