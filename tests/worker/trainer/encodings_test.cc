// EncodingContractTest: what every encoding of the catalog promises. And the positions that they are fed.
#include <gtest/gtest.h>

#include "proto/catalog/catalog.h"
#include "proto/catalog/position_layers.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

PackSettings SmallSettings(const std::string& encoding, bool randomized) {
  PackSettings settings;
  settings.task = "reverse_string";
  settings.encoding = encoding;
  settings.randomized = randomized;
  settings.model = {.layers = 2,
                    .embedding_dim = 32,
                    .heads = 4,
                    .mlp_dim = 64,
                    .dropout = 0.1,
                    .sandwich_dim = 16,
                    .learned_rows = 64};
  settings.positions.max_position = 64;
  settings.training = {.steps = 3, .batch_size = 6, .lengths = {5}};
  settings.evaluation = {.lengths = {6}, .examples = 6};
  return settings;
}

PackState StateOf(const StepEngine& engine, int members) {
  std::vector<Member> jobs(static_cast<size_t>(members));
  for (size_t m = 0; m < jobs.size(); ++m) jobs[m].seed = static_cast<uint32_t>(m);
  return InitialState(engine.model().layout(), jobs);
}

struct Variant {
  std::string encoding;
  bool randomized;
};

std::vector<Variant> AllVariants() {
  std::vector<Variant> variants;
  for (const catalog::Encoding& encoding : catalog::Encodings()) {
    variants.push_back({std::string(encoding.name), false});
    if ((encoding.positions & catalog::kRandomized) != 0) {
      variants.push_back({std::string(encoding.name), true});
    }
  }
  return variants;
}

int64_t CountedByTheCatalog(const PackSettings& settings) {
  const int64_t layers = catalog::LayersWithPositions(settings.positions.none_every, settings.model.layers), width = settings.model.embedding_dim, heads = settings.model.heads;
  const int64_t learned_rows = settings.model.learned_rows, t5_buckets = settings.model.t5_buckets;
  const int64_t kerple_sets = settings.model.kerple_shared ? 1 : layers;
  const int64_t fire_sets = settings.model.fire_shared ? 1 : layers, fire_width = settings.model.fire_width;
#define X(name, label, positions, traits, trained, revision) \
  if (settings.encoding == #name) return trained;
#include "proto/catalog/encodings.def"
#undef X
  return -1;
}

class EncodingContractTest : public ::testing::TestWithParam<Variant> {
 protected:
  PackSettings Settings() const { return SmallSettings(GetParam().encoding, GetParam().randomized); }
};

TEST_P(EncodingContractTest, TheCatalogSaysOfItWhatItDoes) {
  const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(Settings(), {.threads = 1});
  const Encoding& encoding = engine->model().encoding();
  const catalog::Encoding& known = *catalog::FindEncoding(GetParam().encoding);
  EXPECT_EQ(encoding.Trained(), known.Has(catalog::kTrained));
  EXPECT_EQ(encoding.Use() == PositionUse::kDistances, known.Has(catalog::kOfDistance));
  EXPECT_EQ(encoding.Use() == PositionUse::kRotation, known.Has(catalog::kEvenHeads));
}

// The scheduler counts by the catalog what jobs cost, and whether weights of one fit into another.
TEST_P(EncodingContractTest, TheCatalogCountsTheNumbersThatItTrains) {
  PackSettings settings = Settings();
  settings.model.layers = 4;
  for (const bool shared : {false, true}) {
    settings.positions.none_every = shared ? 0 : 3;
    settings.model.kerple_shared = shared;
    settings.model.t5_buckets = shared ? 32 : 10;
    settings.model.fire_shared = shared;
    settings.model.fire_width = shared ? 32 : 7;
    const std::unique_ptr<Model> model = MakeModel(settings);
    int64_t declared = 0;
    for (const Parameter& parameter : model->EncodingParameters()) declared += parameter.size;
    EXPECT_EQ(declared, CountedByTheCatalog(settings)) << "shared: " << shared;
  }
}

TEST_P(EncodingContractTest, MembersInOneBatchedProductAgreeWithMembersAlone) {
  // As on a GPU against as on a CPU: other operations, the same numbers but for rounding.
  const std::unique_ptr<StepEngine> units = MakeLibtorchEngine(Settings(), {.threads = 1});
  const std::unique_ptr<StepEngine> batched =
      MakeLibtorchEngine(Settings(), {.threads = 1, .whole_pack = true});
  PackState state = StateOf(*units, 3);
  PackState same = StateOf(*batched, 3);
  const Batch batch = TrainingBatch(Settings(), units->model().encoding().Use(), 0);

  const std::vector<double> losses = units->Gradients(batch, state);
  const std::vector<double> batched_losses = batched->Gradients(batch, same);

  for (size_t m = 0; m < 3; ++m) EXPECT_NEAR(losses[m], batched_losses[m], 1e-5 * losses[m]);
  const double largest = units->gradients().abs().max().item<double>();
  EXPECT_LT((units->gradients() - batched->gradients()).abs().max().item<double>(), 1e-4 * largest);
  EXPECT_LT((units->Logits(batch, state) - batched->Logits(batch, same)).abs().max().item<double>(), 1e-4);
  const std::vector<TestResult> tests =
      units->Evaluate(TestBatch(Settings(), units->model().encoding().Use(), 6), state, [] {});
  const std::vector<TestResult> batched_tests =
      batched->Evaluate(TestBatch(Settings(), units->model().encoding().Use(), 6), same, [] {});
  for (size_t m = 0; m < 3; ++m) {
    EXPECT_EQ(tests[m].counted, 36);
    EXPECT_EQ(tests[m].counted, batched_tests[m].counted);
    EXPECT_NEAR(tests[m].loss, batched_tests[m].loss, 1e-5 * tests[m].loss);
  }
}

TEST_P(EncodingContractTest, UpdatesInARowAreThoseOneByOneInOneBatchedProduct) {
  // As on a GPU, which is given several updates before the host looks.
  const std::vector<double> learning_rates = {1e-3, 2e-3, 3e-3};
  const auto train = [&](bool whole_pack, const std::vector<int>& rows) {
    const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(Settings(), {.threads = 1, .whole_pack = whole_pack});
    PackState state = StateOf(*engine, 3);
    const Tensor initial = state.parameters.clone();
    const PositionUse use = engine->model().encoding().Use();
    std::vector<double> losses;
    for (const int updates : rows) {
      engine->Train(updates, [&](uint64_t step) { return TrainingBatch(Settings(), use, step); }, learning_rates, state,
                    [&](const std::vector<StepResult>& results) {
                      for (const StepResult& result : results) losses.push_back(result.loss);
                    });
    }
    EXPECT_EQ(state.step, 5);
    Tensor change = state.parameters - initial;
    // FIRE's hidden offsets, where a feature is above zero for all pairs, give all keys the same: softmax takes that out, and what is left of the
    // gradient is rounding.
    for (const Parameter& parameter : engine->model().EncodingParameters()) {
      if (parameter.name.ends_with("fire_1.b")) change.narrow(1, parameter.offset, parameter.size).zero_();
    }
    return std::pair<Tensor, std::vector<double>>(change, losses);
  };

  const auto [units, losses] = train(false, {1, 4});
  const auto [batched, batched_losses] = train(true, {5});
  const auto [in_parts, losses_in_parts] = train(true, {2, 3});

  EXPECT_TRUE(batched.equal(in_parts));
  EXPECT_EQ(batched_losses, losses_in_parts);
  ASSERT_EQ(batched_losses.size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(batched_losses[i], losses[i], 1e-4 * losses[i]);
  // Of all that changed: a single parameter whose gradient is rounding is moved by Adam one way or the other.
  EXPECT_LT((batched - units).norm().item<double>(), 2e-3 * units.norm().item<double>());
}

TEST_P(EncodingContractTest, WhatIsMadeOfPositionsGoesToWhereTheModelComputes) {
  // As to a GPU: to the device "meta", which has shapes and no numbers. Its operations refuse tensors of the host.
  const std::unique_ptr<Model> model = MakeModel(Settings());
  const Encoding& encoding = model->encoding();
  const Batch batch = TrainingBatch(Settings(), encoding.Use(), 0);
  const PassTerms terms = model->Prepare(batch.positions, at::kMeta);
  std::vector<Tensor> made = {terms.addition};
  made.insert(made.end(), terms.rotation.begin(), terms.rotation.end());
  made.insert(made.end(), terms.bias_tables.begin(), terms.bias_tables.end());
  const ParameterSet parameters = ViewParameters(model->layout(), at::empty({3, model->layout().stride()}, at::TensorOptions(at::kFloat).device(at::kMeta)));
  for (size_t layer = 0; encoding.Trained() && layer < batch.positions.distances.size(); ++layer) {
    const Distances& distances = batch.positions.distances[layer];
    made.push_back(encoding.BiasTable(distances, parameters, static_cast<int>(layer)));
    made.push_back(encoding.PairBias(distances, parameters, static_cast<int>(layer), 1, distances.tape() - 1, distances.tape()));
    made.push_back(encoding.Content(distances, parameters, static_cast<int>(layer)).keys);
  }
  // Of "learned" rows are looked up, which this device cannot.
  int64_t sent = Settings().encoding == "none" || Settings().encoding == "learned" ? 1 : 0;
  for (const Tensor& tensor : made) {
    if (!tensor.defined()) continue;
    EXPECT_TRUE(tensor.is_meta());
    ++sent;
  }
  EXPECT_GT(sent, 0);
}

TEST_P(EncodingContractTest, BitsDependNeitherOnPackNorOnThreads) {
  // Of LibTorch's engine; the engines that training prefers have tests of their own.
  PackSettings settings = Settings();
  settings.training.batch_size = 70;  // Three groups.
  const auto train = [&](int members, int threads) {
    const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = threads});
    PackState state = StateOf(*engine, members);
    const PositionUse use = engine->model().encoding().Use();
    const std::vector<double> learning_rates = {1e-3, 2e-3, 3e-3};
    for (uint64_t step = 0; step < 3; ++step) {
      engine->Update(engine->Gradients(TrainingBatch(settings, use, step), state), learning_rates, state);
    }
    const TestResult test = engine->Evaluate(TestBatch(settings, use, 6), state, [] {})[0];
    return std::tuple(state.parameters[0].clone(), test.hits, test.loss);
  };

  const auto [parameters, hits, loss] = train(1, 1);
  for (const auto& [members, threads] : {std::pair(1, 2), std::pair(3, 1), std::pair(3, 3)}) {
    const auto [same_parameters, same_hits, same_loss] = train(members, threads);
    EXPECT_TRUE(parameters.equal(same_parameters)) << members << " members, " << threads << " threads";
    EXPECT_EQ(hits, same_hits);
    EXPECT_EQ(loss, same_loss);
  }
}

TEST_P(EncodingContractTest, EveryParameterGetsAGradient) {
  PackSettings settings = Settings();
  settings.model.fire_threshold = 4096;  // Nothing comes of FIRE's threshold where all queries are beyond it, as those of outputs may be when positions are drawn.
  const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = 1});
  PackState state = StateOf(*engine, 1);

  engine->Gradients(TrainingBatch(settings, engine->model().encoding().Use(), 0), state);

  for (const Parameter& parameter : engine->model().layout().parameters()) {
    EXPECT_GT(engine->gradients()[0].narrow(0, parameter.offset, parameter.size).abs().max().item<double>(),
              0)
        << parameter.name;
  }
}

TEST_P(EncodingContractTest, DistinguishesOrdersOfTheTokens) {
  // Reversing the input must change what the last output says, unless there is no encoding.
  PackSettings settings = Settings();
  settings.model.dropout = 0;
  const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = 1});
  PackState state = StateOf(*engine, 1);
  Batch batch = OnTape(2, {0, 1, 1, 0, 0, /**/ 0, 0, 1, 1, 0}, std::vector<uint8_t>(10), {5, 5}, 2);
  // The same positions for both sequences, shifted or not.
  batch.positions = DrawPositions(settings, engine->model().encoding().Use(), batch.tape, 2,
                                  {.key = 3, .step = 0, .test = false});
  if (batch.positions.embedding.defined() && batch.positions.embedding.dim() == 2) {
    batch.positions.embedding = batch.positions.embedding.select(0, 0).expand({2, batch.tape}).contiguous();
  }

  const Tensor logits = engine->Logits(batch, state)[0].view({2, 5, -1});

  const double difference = (logits[0] - logits[1]).abs().max().item<double>();
  if (GetParam().encoding == "none") {
    EXPECT_LT(difference, 1e-5);
  } else {
    EXPECT_GT(difference, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EncodingContractTest, ::testing::ValuesIn(AllVariants()),
                         [](const auto& variant) {
                           return variant.param.encoding + (variant.param.randomized ? "_randomized" : "");
                         });

TEST(EncodingsTest, SwitchesChangeWhatTheySay) {
  const auto count = [](PackSettings settings) {
    return MakeLibtorchEngine(settings, {.threads = 1})->model().layout().count();
  };
  const auto logits = [](PackSettings settings) {
    const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = 1});
    PackState state = StateOf(*engine, 1);
    return engine->Logits(TestBatch(settings, engine->model().encoding().Use(), 6), state);
  };
  const auto differ = [&](const PackSettings& a, const PackSettings& b) {
    return (logits(a) - logits(b)).abs().max().item<double>() > 1e-6;
  };
  // 8 parameters per layer, or 8 for all.
  PackSettings kerple = SmallSettings("log_kerple", false);
  const int64_t per_layer = count(kerple);
  PackSettings shared = kerple;
  shared.model.kerple_shared = true;
  EXPECT_EQ(per_layer - count(shared), 8);
  for (const std::string encoding : {"log_kerple", "power_kerple", "sandwich"}) {
    PackSettings plain = SmallSettings(encoding, false), broken = plain;
    broken.model.break_symmetry = true;
    EXPECT_TRUE(differ(plain, broken)) << encoding;
  }
  PackSettings sandwich = SmallSettings("sandwich", false), wider = sandwich;
  wider.model.sandwich_dim = 128;
  EXPECT_TRUE(differ(sandwich, wider));
  PackSettings t5 = SmallSettings("t5", false), fewer = t5, nearer = t5;
  fewer.model.t5_buckets = 8;
  nearer.model.t5_max_distance = 20;
  EXPECT_EQ(count(t5) - count(fewer), (32 - 8) * 4);
  EXPECT_TRUE(differ(t5, fewer));
  EXPECT_TRUE(differ(t5, nearer));
  PackSettings fire = SmallSettings("fire", false), narrow = fire, early = fire, one = fire;
  narrow.model.fire_width = 8;
  early.model.fire_threshold = 4;
  one.model.fire_shared = true;
  EXPECT_EQ(count(fire) - count(narrow), 2 * (32 - 8) * (2 + 4));
  EXPECT_EQ(count(fire) - count(one), 2 + 32 * (2 + 4));
  EXPECT_TRUE(differ(fire, early));
  PackSettings relative = SmallSettings("relative", true), released = relative;
  released.positions.relative_as_released = true;
  EXPECT_TRUE(differ(relative, released));
  for (const std::string encoding : {"alibi", "fire", "log_kerple", "power_kerple", "relative", "sandwich", "t5"}) {
    PackSettings by_distance = SmallSettings(encoding, true), by_position = by_distance;
    by_position.positions.randomized_by = PackSettings::Positions::RandomizedBy::kPosition;
    EXPECT_TRUE(differ(by_distance, by_position)) << encoding;
  }
}

TEST(EncodingsTest, ParametersOfEachLayerNameItAndThoseOfAllLayersNone) {
  // What the names of the last layer's parameters begin with.
  const auto place = [](const std::string& encoding, bool shared) {
    PackSettings settings = SmallSettings(encoding, false);
    settings.model.kerple_shared = settings.model.fire_shared = shared;
    const std::string name = MakeModel(settings)->EncodingParameters().back().name;
    return name.substr(0, name.find(encoding == "fire" ? "fire_" : "kerple_"));
  };
  for (const std::string encoding : {"fire", "log_kerple", "power_kerple"}) {
    EXPECT_EQ(place(encoding, false), "layer1.attn.") << encoding;
    EXPECT_EQ(place(encoding, true), "attn.") << encoding;
  }
}

TEST(EncodingsTest, KerpleParametersAreBroughtBackIntoTheirRangeInEveryMember) {
  for (const std::string encoding : {"log_kerple", "power_kerple"}) {
    const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(SmallSettings(encoding, false), {.threads = 1});
    const ParameterLayout& layout = engine->model().layout();
    for (const int members : {1, 3}) {
      PackState state = StateOf(*engine, members);
      const ParameterSet parameters = ViewParameters(layout, members == 1 ? state.parameters[0] : state.parameters);
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (layout.parameters()[i].name.find("kerple") == std::string::npos) continue;
        parameters[i].fill_(1.5);
        parameters[i].select(-1, 0).fill_(-1);
        parameters[i].select(-1, 1).fill_(7);
      }
      const Tensor others = parameters[0].clone();

      engine->model().encoding().Clamp(parameters);

      EXPECT_TRUE(parameters[0].equal(others));
      for (size_t i = 0; i < parameters.size(); ++i) {
        const std::string& name = layout.parameters()[i].name;
        if (name.find("kerple") == std::string::npos) continue;
        const bool bounded = encoding == std::string("power_kerple") && name.ends_with("_p");
        EXPECT_TRUE((parameters[i].select(-1, 0) == 0.01f).all().item<bool>()) << name;
        EXPECT_TRUE((parameters[i].select(-1, 1) == (bounded ? 2.0f : 7.0f)).all().item<bool>()) << name;
        EXPECT_TRUE((parameters[i].narrow(-1, 2, parameters[i].size(-1) - 2) == 1.5f).all().item<bool>()) << name;
      }
    }
  }
}

TEST(EncodingsTest, FullSizeModelsHaveTheStatedNumberOfParameters) {
  const auto count = [](const std::string& task, const std::string& encoding) {
    PackSettings settings;
    settings.task = task;
    settings.encoding = encoding;
    return MakeLibtorchEngine(settings, {.threads = 1})->model().layout().count();
  };
  EXPECT_EQ(count("even_pairs", "rope"), 248'962);
  EXPECT_EQ(count("bucket_sort", "none"), 249'349);
  EXPECT_EQ(count("bucket_sort", "relative"), 249'349 + 21'120);
  EXPECT_EQ(count("bucket_sort", "log_kerple"), 249'349 + 80);
  EXPECT_EQ(count("bucket_sort", "learned"), 249'349 + 64 * 2048);
  EXPECT_EQ(count("bucket_sort", "t5"), 249'349 + 32 * 8);
  EXPECT_EQ(count("bucket_sort", "fire"), 249'349 + 5 * (2 + 2 * 32 + 32 * 8));
}

TEST(PositionsTest, DistancesByOffsetAreToeplitz) {
  const std::vector<int64_t> by_offset = {0, 3, 7};

  const Distances distances = Distances::ByOffset(by_offset);

  for (int64_t query = 0; query < 3; ++query) {
    for (int64_t key = 0; key < 3; ++key) {
      const float expected =
          static_cast<float>(by_offset[static_cast<size_t>(std::abs(key - query))] * (key < query ? -1 : 1));
      EXPECT_EQ(distances.values()[distances.Entry(query, key)].item<float>(), expected);
    }
  }
  EXPECT_EQ(distances.Entries(1, 2)[0][2].item<int64_t>(), distances.Entry(1, 2));
}

TEST(PositionsTest, DistancesOfPositionsAreTheirDifferences) {
  const std::vector<int64_t> positions = {2, 5, 11};

  const Distances distances = Distances::OfPositions(positions);

  for (size_t query = 0; query < 3; ++query) {
    for (size_t key = 0; key < 3; ++key) {
      EXPECT_EQ(distances.values()[distances.Entry(static_cast<int64_t>(query), static_cast<int64_t>(key))]
                    .item<float>(),
                static_cast<float>(positions[key] - positions[query]));
    }
  }
}

TEST(PositionsTest, RandomizedDrawsAreSortedDistinctWithinLAndFreshPerLayer) {
  const PackSettings settings = SmallSettings("rope", true);

  const PassPositions pass =
      DrawPositions(settings, PositionUse::kRotation, 20, 3, {.key = 1, .step = 2, .test = false});
  const PassPositions later =
      DrawPositions(settings, PositionUse::kRotation, 20, 3, {.key = 1, .step = 3, .test = false});

  ASSERT_EQ(pass.rotation.size(), 2u);
  for (const Tensor& position_T : pass.rotation) {
    EXPECT_TRUE((position_T.narrow(0, 1, 19) > position_T.narrow(0, 0, 19)).all().item<bool>());
    EXPECT_GE(position_T[0].item<int64_t>(), 0);
    EXPECT_LT(position_T[19].item<int64_t>(), 64);
  }
  EXPECT_FALSE(pass.rotation[0].equal(pass.rotation[1]));
  EXPECT_FALSE(pass.rotation[0].equal(later.rotation[0]));
}

TEST(PositionsTest, ConsecutiveOnesAreThoseOfAllLayers) {
  const PassPositions rotation = DrawPositions(SmallSettings("rope", false), PositionUse::kRotation, 20, 3, {});
  const PassPositions distances = DrawPositions(SmallSettings("alibi", false), PositionUse::kDistances, 20, 3, {});

  ASSERT_EQ(rotation.rotation.size(), 2u);
  ASSERT_EQ(distances.distances.size(), 2u);
  EXPECT_TRUE(rotation.rotation[1].equal(at::arange(20, at::kLong)));
  EXPECT_TRUE(rotation.rotation[1].is_same(rotation.rotation[0]));
  EXPECT_TRUE(distances.distances[1].values().equal(at::arange(-19, 20, at::kLong).to(at::kFloat)));
  EXPECT_TRUE(distances.distances[1].values().is_same(distances.distances[0].values()));
}

TEST(PositionsTest, AFullDrawIsAllOfThem) {
  // T = L positions from {0..L-1}, T - 1 = L - 1 distances from {1..L-1}: only one outcome.
  const PassPositions positions =
      DrawPositions(SmallSettings("sin_cos", true), PositionUse::kEmbedding, 64, 1, {});
  const PassPositions distances =
      DrawPositions(SmallSettings("alibi", true), PositionUse::kDistances, 64, 1, {});

  EXPECT_TRUE(positions.embedding.equal(at::arange(64, at::kLong)));
  EXPECT_TRUE(distances.distances[0].values().equal(at::arange(-63, 64, at::kLong).to(at::kFloat)));
}

TEST(PositionsTest, ShapeShiftsEachSequenceWithinL) {
  using ShiftAtTest = PackSettings::Positions::ShiftAtTest;
  PackSettings settings = SmallSettings("shape", false);
  const auto shifts = [&](bool test) {
    const PassPositions pass =
        DrawPositions(settings, PositionUse::kEmbedding, 14, 2000, {.key = 1, .step = 2, .test = test});
    EXPECT_TRUE((pass.embedding - pass.embedding.narrow(1, 0, 1))
                    .equal(at::arange(14, at::kLong).expand({2000, 14})));
    return std::get<0>(at::_unique(pass.embedding.select(1, 0)));
  };
  // All of {0..L-T}.
  EXPECT_TRUE(shifts(false).equal(at::arange(51, at::kLong)));
  EXPECT_TRUE(shifts(true).equal(at::arange(51, at::kLong)));
  // {0..K-1} in training; at test K, or 0.
  settings.positions.shift_max = 9;
  EXPECT_TRUE(shifts(false).equal(at::arange(9, at::kLong)));
  settings.positions.shift_at_test = ShiftAtTest::kFixed;
  EXPECT_TRUE(shifts(true).equal(at::tensor({9}, at::kLong)));
  EXPECT_TRUE(shifts(false).equal(at::arange(9, at::kLong)));
  settings.positions.shift_at_test = ShiftAtTest::kZero;
  EXPECT_TRUE(shifts(true).equal(at::tensor({0}, at::kLong)));
  // A K that there is no room for: {0..L-T-1}, and 0 alone for a tape as long as L.
  settings.positions.shift_max = 500;
  EXPECT_TRUE(shifts(false).equal(at::arange(50, at::kLong)));
  settings.positions.max_position = 14;
  EXPECT_TRUE(shifts(false).equal(at::tensor({0}, at::kLong)));
}

}  // namespace

}  // namespace longreach::trainer
