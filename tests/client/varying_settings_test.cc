// What the systems of a sweep differ in, as titles and rows of values name it.
#include "client/commands/varying_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/commands/title_words.h"

namespace longreach::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// layers x batch_size.
v1::SweepSpec Grid() {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_seed(0);
  spec.mutable_axes()->add_seed(1);
  spec.mutable_model()->set_heads(4);
  for (const int layers : {1, 2}) {
    for (const int batch : {8, 16}) {
      v1::System& system = *spec.add_systems();
      system.set_name("layers-" + std::to_string(layers) + "_batch_size-" + std::to_string(batch));
      system.mutable_with()->mutable_model()->set_layers(layers);
      system.mutable_with()->mutable_training()->set_batch_size(batch);
    }
  }
  return spec;
}

TEST(VaryingSettingsTest, AreThoseOfWhichThereAreSeveralValues) {
  EXPECT_THAT(VaryingSettings(Grid()), ElementsAre("model.layers", "training.batch_size"));
  EXPECT_THAT(VaryingSettings(Grid(), {"model.layers=2"}), ElementsAre("training.batch_size"));
  EXPECT_THAT(VaryingSettings(Grid(), {"model.layers=2.0", "seed=0"}), ElementsAre("training.batch_size")) << "2.0 is 2";
  EXPECT_THAT(VaryingSettings(Grid(), {"system=layers-1_batch_size-8"}), IsEmpty());
  EXPECT_THAT(VaryingSettings(v1::SweepSpec()), IsEmpty());
}

TEST(VaryingSettingsTest, ASystemHasItsOwnValueElseTheSweeps) {
  v1::SweepSpec spec = Grid();
  EXPECT_EQ(SettingOfSystem(spec, spec.systems(3), "model.layers"), "2");
  EXPECT_EQ(SettingOfSystem(spec, spec.systems(3), "model.heads"), "4");
  EXPECT_EQ(SettingOfSystem(spec, spec.systems(3), "model.dropout"), "");
}

TEST(VaryingSettingsTest, WhatAValueAggregatesOver) {
  const auto over = [](const std::vector<std::string>& shown, const std::vector<std::string>& only = {}) {
    return AggregatedOver(Grid(), {.aggregate = "mean", .shown = shown, .only = only});
  };
  EXPECT_EQ(over({"system", "task"}), "mean over seeds");
  EXPECT_EQ(over({"encoding", "task"}), "mean over seeds and systems");
  EXPECT_EQ(over({"model.layers", "task"}), "mean over seeds and training.batch_size");
  EXPECT_EQ(over({"model.layers", "training.batch_size"}), "mean over seeds");
  EXPECT_EQ(over({"model.heads", "seed"}), "mean over model.layers and training.batch_size");
  EXPECT_EQ(over({"model.heads", "task"}), "mean over seeds, model.layers and training.batch_size");
  EXPECT_EQ(over({"model.heads", "seed"}, {"training.batch_size=8"}), "mean over model.layers");
  EXPECT_EQ(over({"encoding", "seed"}, {"training.batch_size=8", "model.layers=1"}), "");
}

TEST(VaryingSettingsTest, SystemsThatDifferInMoreThanAGridAreCalledSo) {
  v1::SweepSpec spec = Grid();
  v1::System& other = *spec.add_systems();
  other = spec.systems(0);
  other.set_name("longer");
  other.mutable_with()->mutable_training()->add_lengths(7);  // A list is no setting of one value.
  EXPECT_EQ(AggregatedOver(spec, {.aggregate = "max", .shown = {"model.layers", "training.batch_size"}, .only = {}}), "maximum over seeds and systems");
}

}  // namespace
}  // namespace longreach::client
