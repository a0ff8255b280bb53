// Layers without a positional encoding (positions.none_every): they attend as in a model that has none, the others as in one that has it everywhere.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/catalog/catalog.h"
#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

class PositionLayersTest : public PackTest {
 protected:
  // Two layers: the second has none where every second one is without.
  static PackSettings With(const std::string& encoding, bool randomized, int none_every, bool causal = false) {
    PackSettings settings = SmallSettings("reverse_string", encoding, randomized);
    settings.model.causal = causal;
    settings.positions.none_every = none_every;
    return settings;
  }

  // Every encoding that acts in layers, in all its forms.
  static std::vector<std::pair<std::string, bool>> ActingInLayers() {
    std::vector<std::pair<std::string, bool>> forms;
    for (const catalog::Encoding& encoding : catalog::Encodings()) {
      if (!encoding.Has(catalog::kOfDistance) && !encoding.Has(catalog::kEvenHeads)) continue;
      forms.emplace_back(encoding.name, false);
      forms.emplace_back(encoding.name, true);
    }
    return forms;
  }

  // Parameters of another model by their names; all of these are there.
  static PackState Carried(const Model& from, const PackState& state, const Model& to) {
    PackState carried = ScatteredState(to, 1);
    const ParameterSet theirs = ViewParameters(from.layout(), state.parameters[0]), ours = ViewParameters(to.layout(), carried.parameters[0]);
    for (size_t i = 0; i < ours.size(); ++i) {
      const std::string& name = to.layout().parameters()[i].name;
      const Parameter* source = from.layout().Find(name);
      EXPECT_NE(source, nullptr) << name;
      if (source != nullptr) ours[i].copy_(state.parameters[0].narrow(0, source->offset, source->size).view(source->shape));
    }
    return carried;
  }

  // What a layer attends to counts for nothing.
  static void LeaveOutAttention(const Model& model, int layer, PackState& state) {
    const Parameter& o = *model.layout().Find("layer" + std::to_string(layer) + ".attn.o.w");
    state.parameters[0].narrow(0, o.offset, o.size).zero_();
  }

  static Tensor LogitsOf(StepEngine& engine, const PackSettings& settings, PackState& state) {
    return engine.Logits(TestBatch(settings, engine.model().encoding().Use(), 9), state);
  }
};

TEST_F(PositionLayersTest, EachLayerAttendsWithThemOrWithout) {
  const PackSettings none = With("none", false, 0);
  for (const std::string& name : EngineNames()) {
    for (const auto& [encoding, randomized] : ActingInLayers()) {
      SCOPED_TRACE(name + " " + encoding + (randomized ? ":randomized" : ""));
      const PackSettings all = With(encoding, randomized, 0), some = With(encoding, randomized, 2);
      const std::unique_ptr<StepEngine> in_all = MakeNamed(all, name), in_some = MakeNamed(some, name), in_none = MakeNamed(none, name);
      ASSERT_EQ(in_some->Name(), name);
      const PackState drawn = ScatteredState(in_all->model(), 1);
      const auto without = [&](int layer) {
        PackState state = drawn;
        state.parameters = drawn.parameters.clone();
        LeaveOutAttention(in_all->model(), layer, state);
        return state;
      };
      const auto carried = [&](const PackState& state, const StepEngine& to) { return Carried(in_all->model(), state, to.model()); };

      PackState first = without(0), second = without(1), whole = drawn;
      PackState some_first = carried(first, *in_some), some_second = carried(second, *in_some), some_whole = carried(whole, *in_some);
      PackState none_first = carried(first, *in_none), none_whole = carried(whole, *in_none);
      EXPECT_LT(RelativeError(LogitsOf(*in_some, some, some_first), LogitsOf(*in_none, none, none_first)), 2e-5) << "the second layer alone attends, without";
      EXPECT_LT(RelativeError(LogitsOf(*in_some, some, some_second), LogitsOf(*in_all, all, second)), 2e-5) << "the first layer alone attends, with";
      EXPECT_GT(RelativeError(LogitsOf(*in_some, some, some_whole), LogitsOf(*in_all, all, whole)), 1e-3);
      EXPECT_GT(RelativeError(LogitsOf(*in_some, some, some_whole), LogitsOf(*in_none, none, none_whole)), 1e-3);
    }
  }
}

TEST_F(PositionLayersTest, EnginesTrainAlike) {
  for (const auto& [encoding, randomized] : ActingInLayers()) ExpectEnginesUpdateAlike(With(encoding, randomized, 2), encoding + (randomized ? " randomized" : ""));
  for (const char* encoding : {"rope", "fire", "relative"}) ExpectEnginesUpdateAlike(With(encoding, false, 2, /*causal=*/true), std::string(encoding) + " causal");
}

TEST_F(PositionLayersTest, LayersWithoutHaveNoParametersOfIt) {
  for (const auto& [encoding, randomized] : ActingInLayers()) {
    PackSettings settings = With(encoding, randomized, 3);
    settings.model.layers = 7;  // Without: the third and the sixth.
    const std::unique_ptr<Model> model = MakeModel(settings);
    std::vector<std::string> names;
    for (const Parameter& parameter : model->EncodingParameters()) {
      EXPECT_FALSE(parameter.name.starts_with("layer2.") || parameter.name.starts_with("layer5.")) << parameter.name;
      names.push_back(parameter.name);
    }
    const bool of_each_layer = encoding.ends_with("kerple") || encoding == "fire" || encoding == "relative";
    EXPECT_EQ(std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("layer6."); }), of_each_layer) << encoding;
  }
}

// A scaling makes queries and keys larger, too, where they are rotated.
TEST_F(PositionLayersTest, ARotationThatIsScaledIsNotInLayersWithout) {
  PackSettings some = With("rope", false, 2), none = With("none", false, 0);
  some.positions.rope_scaling = "yarn";
  some.positions.rope_factor = 8;
  for (const std::string& name : EngineNames()) {
    const std::unique_ptr<StepEngine> ours = MakeNamed(some, name), theirs = MakeNamed(none, name);
    PackState state = ScatteredState(ours->model(), 1);
    LeaveOutAttention(ours->model(), 0, state);
    EXPECT_LT(RelativeError(LogitsOf(*ours, some, state), LogitsOf(*theirs, none, state)), 2e-5) << name;
  }
}

TEST_F(PositionLayersTest, MembersOfAPackHaveTheBitsOfOneAlone) {
  for (const char* engine : {"libtorch", "lanes"}) {
    const auto measured = [&](int members, const std::string& folder) {
      PackRequest request = Request(With("log_kerple", true, 2), members, engine + folder);
      request.engine = engine;
      return Run(request);
    };
    ExpectSameMeasurements(measured(3, "three").results[0], measured(1, "one").results[0]);
  }
}

TEST_F(PositionLayersTest, AnEncodingOfTheEmbeddingStaysWhatItIs) {
  for (const char* encoding : {"none", "sin_cos"}) {
    const auto measured = [&](int none_every) { return Run(Request(With(encoding, false, none_every), 1, encoding + std::to_string(none_every))); };
    ExpectSameMeasurements(measured(2).results[0], measured(0).results[0]);
  }
}

// Those have trained biases in each layer, or one set for all.
TEST_F(PositionLayersTest, KernelsForGpusLeaveKerpleInSomeLayersToLibtorchAndSaySo) {
  PackSettings settings = With("log_kerple", false, 2);
  settings.model = {};
  const auto engine = [](const PackSettings& of, std::string& said) {
    return std::string(MakeEngine(of, {.threads = 1, .engine = "emulated"}, [&](const std::string& line) { said += line; })->Name());
  };
  std::string said;
  EXPECT_EQ(engine(settings, said), "libtorch");
  EXPECT_THAT(said, HasSubstr("which does not know encoding log_kerple with positions.none_every"));
  settings.encoding = "rope";
  EXPECT_EQ(engine(settings, said), "emulated-bf16");
}

TEST_F(PositionLayersTest, WhatIsRefused) {
  const auto refused = [](int none_every) { return std::string(Validate(With("rope", false, none_every)).message()); };
  EXPECT_EQ(refused(0), "");
  EXPECT_EQ(refused(2), "");
  EXPECT_THAT(refused(1), HasSubstr("positions.none_every: 1 is not in 2.."));
  EXPECT_THAT(refused(-1), HasSubstr("positions.none_every: -1 is not in 2.."));
  EXPECT_THAT(refused(3), HasSubstr("positions.none_every: 3 is above model.layers 2"));
}

}  // namespace

}  // namespace longreach::trainer
