// Jobs of a LLaMA decoder through the trainer's door: bits, learning, scales of attention, and what is refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_text.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

class LlamaJobTest : public PackTest {
 protected:
  void SetUp() override {
    PackTest::SetUp();
    // The same few words again and again, in an order that changes.
    const char* const words[] = {"the ", "length ", "of ", "a ", "tape ", "is ", "not ", "its ", "end\n"};
    std::string text;
    unsigned next = 1;
    for (int i = 0; i < 4000; ++i) text += words[((next = next * 1103515245u + 12345u) >> 16) % 9];
    std::ofstream(Folder("source") / "text") << text;
    data::NoProgress quiet;
    const auto made = data::ImportText({.folder = Folder("data"), .name = "words", .sources = {Folder("source") / "text"}}, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  // "long": enough of the text for two windows of kSharedLength to be tested on.
  void ImportLong() {
    std::string text;
    while (text.size() < 50 * kSharedLength) text += Bytes(Folder("source") / "text");
    std::ofstream(Folder("source") / "long") << text;
    data::NoProgress quiet;
    ASSERT_TRUE(data::ImportText({.folder = Folder("data"), .name = "long", .sources = {Folder("source") / "long"}}, quiet).ok());
  }

  static PackSettings Small(const std::string& encoding) {
    PackSettings settings;
    settings.experiment = "llama";
    settings.task = "bytes";
    settings.data = "words";
    settings.encoding = encoding;
    settings.model = {.layers = 2, .embedding_dim = 32, .heads = 4, .mlp_dim = 48, .dropout = 0, .kv_heads = 2};
    settings.training = {.steps = 5, .batch_size = 6, .lengths = {24}, .warmup_steps = 1};
    settings.evaluation = {.lengths = {24, 48}, .examples = 12, .stride = 8, .position_bins = 6, .attention_scales = {0.5, 1, 2}};
    return settings;
  }

  PackRequest RequestOf(const PackSettings& settings, int members, const std::string& folder) {
    PackRequest request = Request(settings, members, folder);
    request.data.folder = Folder("data");
    for (Member& member : request.members) member.learning_rate *= 10;
    return request;
  }

  // Of the first member.
  static double ValueOf(const PackResult& result, const std::string& metric, int length, const std::string& slice = "") {
    return trainer::ValueOf(result.results.at(0), metric, length, slice);
  }

  PackRequest EvaluationOf(const PackSettings& settings, const PackResult& trained, const std::string& folder) {
    PackRequest request = RequestOf(settings, 1, folder);
    request.settings.training.steps = 0;
    request.members[0].weights = MemberFile{trained.weights, 0};
    return request;
  }
};

TEST_F(LlamaJobTest, AJobIsTheSameInAPackOnAnyThreadsAndResumed) {
  for (const std::string encoding : {"none", "rope"}) {
    SCOPED_TRACE(encoding);
    PackSettings settings = Small(encoding);
    if (encoding == "rope") settings.positions = {.rope_scaling = "yarn", .rope_factor = 2, .original_length = 12};
    const PackRequest pack = RequestOf(settings, 3, encoding + "_pack");
    const PackResult of_pack = Run(pack);
    ASSERT_EQ(of_pack.results.size(), 3u);

    // Alone, on one thread, stopped after two updates, at the first test length and while it is studied.
    PackRequest request = pack;
    request.members = {pack.members[2]};
    request.threads = 1;
    const std::vector<std::function<bool(const Progress&)>> stops = {
        [](const Progress& progress) { return progress.step == 2; }, [](const Progress& progress) { return progress.lengths_done == 1; },
        [](const Progress& progress) { return progress.lengths_done == 2; }};
    for (size_t i = 0; i < stops.size(); ++i) {
      request.folder = Folder(encoding + std::to_string(i));
      RecordingObserver observer;
      observer.wish = [&](const Progress& progress) { return Observer::Wish{.stop = stops[i](progress), .dropped = {}}; };
      const absl::StatusOr<PackResult> stopped = Train(request, observer);
      ASSERT_TRUE(stopped.ok()) << stopped.status();
      ASSERT_TRUE(stopped->stopped) << i;
      request.members[0].checkpoints = {{observer.checkpoints.back(), 0}};
    }
    request.folder = Folder(encoding + "_last");
    const PackResult alone = Run(request);

    ASSERT_EQ(alone.results.size(), 1u);
    ASSERT_FALSE(alone.results[0].measurements.empty());
    ExpectSameMeasurements(of_pack.results[2], alone.results[0]);
    EXPECT_EQ(Bytes(of_pack.series.at(2).file), Bytes(alone.series.at(0).file));
  }
}

TEST_F(LlamaJobTest, ADecoderLearnsAndItsMetricsAreOneLoss) {
  PackSettings settings = Small("none");
  settings.training.steps = 60;
  const PackResult result = Run(RequestOf(settings, 1, "learns"));
  ASSERT_EQ(result.results.size(), 1u);

  const double loss = ValueOf(result, "loss", 24);
  EXPECT_LT(loss, 2.5);  // log 256 is 5.5; the letters alone take 2.7.
  EXPECT_EQ(ValueOf(result, "perplexity", 24), std::exp(loss));
  EXPECT_EQ(ValueOf(result, "bits_per_byte", 24), loss / std::numbers::ln2);
  // No distribution over n bytes has more entropy than ln n.
  for (int end = 8; end <= 48; end += 8) {
    EXPECT_GT(ValueOf(result, "attention_entropy", end), 0);
    EXPECT_LT(ValueOf(result, "attention_entropy", end), std::log(end));
  }
}

TEST_F(LlamaJobTest, AScaleIsMeasuredAsItIsWhenTheModelHasIt) {
  const PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));

  PackRequest doubled = EvaluationOf(settings, trained, "doubled");
  doubled.settings.model.attention_scale = 2;
  const PackResult by_setting = Run(doubled);
  doubled.settings.model.attention_scale = 1;
  doubled.members[0].attention_scale = 2;
  doubled.folder = Folder("by_input");
  const PackResult by_input = Run(doubled);

  double least = 1e9, best = 0;
  for (const double scale : {0.5, 1.0, 2.0}) {
    const double loss = ValueOf(trained, "position_loss", 48, scale == 0.5 ? "attention_scale=0.5" : scale == 1 ? "attention_scale=1" : "attention_scale=2");
    if (loss < least) std::tie(least, best) = std::tuple(loss, scale);
  }
  EXPECT_EQ(ValueOf(trained, "position_loss", 48), ValueOf(trained, "position_loss", 48, "attention_scale=1"));
  EXPECT_EQ(ValueOf(by_setting, "position_loss", 48), ValueOf(trained, "position_loss", 48, "attention_scale=2"));
  EXPECT_NE(ValueOf(by_setting, "position_loss", 48), ValueOf(trained, "position_loss", 48));
  EXPECT_EQ(ValueOf(trained, "best_attention_scale", 48), best);
  EXPECT_EQ(ValueOf(by_setting, "head_scale", 0, "layer=1,head=3"), 2);
  ExpectSameMeasurements(by_setting.results[0], by_input.results[0]);
}

TEST_F(LlamaJobTest, AScaleAtWhichAttentionOverflowsTakesNothingFromTheRest) {
  PackSettings settings = Small("none");
  settings.evaluation.attention_scales = {0.5, 1};
  const PackResult without = Run(RequestOf(settings, 1, "without"));
  settings.evaluation.attention_scales.push_back(3e38);

  const PackResult with = Run(RequestOf(settings, 1, "with"));

  EXPECT_FALSE(with.results[0].diverged);
  // What is finite of it, if anything, is there; the best scale is none whose loss is not.
  MemberResult others = with.results[0];
  const size_t removed = std::erase_if(others.measurements, [](const Measurement& one) { return one.slice == "attention_scale=3e+38"; });
  EXPECT_LT(removed, 6u);
  ExpectSameMeasurements(others, without.results[0]);
  EXPECT_EQ(SafetensorsFile::Open(with.series.at(0).file)->Find("position_loss")->shape, (std::vector<int64_t>{3, 6}));
}

TEST_F(LlamaJobTest, WhichSlidingWindowsThereAreIsNoMatterToWhatIsMeasuredAgainstPosition) {
  const PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  PackRequest request = EvaluationOf(settings, trained, "spread");
  const PackResult spread = Run(request);
  for (const auto protocol : {PackSettings::Evaluation::PerplexityProtocol::kNopeInOrder, PackSettings::Evaluation::PerplexityProtocol::kYarn}) {
    request.settings.evaluation.perplexity_protocol = protocol;
    request.folder = Folder(std::to_string(static_cast<int>(protocol)));

    const PackResult other = Run(request);

    EXPECT_NE(ValueOf(other, "loss", 48), ValueOf(spread, "loss", 48)) << "other windows slide";
    for (int end = 8; end <= 48; end += 8) {
      EXPECT_EQ(ValueOf(other, "position_loss", end), ValueOf(spread, "position_loss", end)) << end;
      EXPECT_EQ(ValueOf(other, "attention_entropy", end), ValueOf(spread, "attention_entropy", end)) << end;
      EXPECT_EQ(ValueOf(other, "best_attention_scale", end), ValueOf(spread, "best_attention_scale", end)) << end;
    }
    EXPECT_EQ(Bytes(other.series.at(0).file), Bytes(spread.series.at(0).file));
  }
}

TEST_F(LlamaJobTest, EntropiesOfAllHeadsAreAFileBesideTheirMeans) {
  PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 2, "trained"));
  ASSERT_EQ(trained.series.size(), 2u);
  EXPECT_EQ(trained.series[1].member, 1);
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(trained.series[0].file);
  ASSERT_TRUE(file.ok()) << file.status();
  for (const auto& [key, value] : {std::pair("kind", "attention_entropy"), std::pair("metric", "attention_entropy"), std::pair("unit", "nats"),
                                   std::pair("job", "job0"), std::pair("encoding", "none"), std::pair("step", "5"), std::pair("length", "48"),
                                   std::pair("bin_width", "8")}) {
    EXPECT_EQ(file->Metadata(key), value) << key;
  }
  ASSERT_NE(file->Find("attention_entropy"), nullptr);
  EXPECT_EQ(file->Find("attention_entropy")->shape, (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(file->Find("head_scale"), nullptr);  // They are all 1.
  EXPECT_EQ(file->Find("position_loss")->shape, (std::vector<int64_t>{3, 6}));
  EXPECT_EQ((*file->Doubles("position_loss"))[2 * 6 + 5], ValueOf(trained, "position_loss", 48, "attention_scale=2"));
  const std::vector<double> entropies = *file->Doubles("attention_entropy");
  for (size_t bin = 0; bin < 6; ++bin) {
    double sum = 0;
    for (size_t head = 0; head < 8; ++head) sum += entropies[head * 6 + bin];
    EXPECT_NEAR(sum / 8, ValueOf(trained, "attention_entropy", static_cast<int>(bin + 1) * 8), 1e-12);
  }
  EXPECT_EQ(entropies[5], ValueOf(trained, "attention_entropy", 48, "layer=0,head=0"));
  EXPECT_EQ(entropies[(4 + 3) * 6 + 5], ValueOf(trained, "attention_entropy", 48, "layer=1,head=3"));

  // With scales of heads these stand beside.
  PackRequest request = EvaluationOf(settings, trained, "scaled");
  request.settings.model.attention_scale = 2;
  const PackResult scaled = Run(request);
  ASSERT_EQ(scaled.series.size(), 1u);
  EXPECT_EQ(*SafetensorsFile::Open(scaled.series[0].file)->Floats("head_scale"), std::vector<float>(8, 2.0f));
  // Without bins there is nothing against position.
  request.settings.evaluation.position_bins = 0;
  request.settings.evaluation.attention_scales = {};
  request.folder = Folder("without");
  EXPECT_TRUE(Run(request).series.empty());
}

TEST_F(LlamaJobTest, LossesOfManyScalesAreInTheFileAlone) {
  PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  PackRequest request = EvaluationOf(settings, trained, "fine");
  request.settings.evaluation.position_bins = 48;
  std::vector<double>& scales = request.settings.evaluation.attention_scales;
  scales.clear();
  for (int i = 0; i < 20; ++i) scales.push_back((90 + 5 * i) / 100.0);  // With the model's own 21 x 48 losses.
  const PackResult fine = Run(request);
  request.folder = Folder("coarse");
  scales.pop_back();
  const PackResult coarse = Run(request);

  const SafetensorsFile file = *SafetensorsFile::Open(fine.series[0].file);
  ASSERT_NE(file.Find("position_loss"), nullptr);
  EXPECT_EQ(file.Find("position_loss")->shape, (std::vector<int64_t>{20, 48}));
  const std::vector<double> losses = *file.Doubles("position_loss"), tried = *file.Doubles("attention_scale");
  EXPECT_EQ(tried.size(), 20u);
  EXPECT_EQ(tried[2], 1.0);
  const auto of_scales = [](const PackResult& result) {
    return std::ranges::count_if(result.results[0].measurements, [](const Measurement& one) { return one.slice.starts_with("attention_scale="); });
  };
  EXPECT_EQ(of_scales(fine), 0);
  EXPECT_EQ(of_scales(coarse), 19 * 48) << "these are still measurements";
  for (const int bin : {0, 17, 47}) {
    EXPECT_EQ(losses[2 * 48 + static_cast<size_t>(bin)], ValueOf(fine, "position_loss", bin + 1)) << "at 1, as the model has it";
    EXPECT_EQ(losses[7 * 48 + static_cast<size_t>(bin)], ValueOf(coarse, "position_loss", bin + 1, "attention_scale=1.25"));
    double best = 0, least = 1e9;
    for (size_t scale = 0; scale < 20; ++scale) {
      const double loss = losses[scale * 48 + static_cast<size_t>(bin)];
      if (loss < least) std::tie(least, best) = std::tuple(loss, tried[scale]);
    }
    EXPECT_EQ(ValueOf(fine, "best_attention_scale", bin + 1), best);
  }
}

TEST_F(LlamaJobTest, LongWindowsAreStudiedByAllThreadsWithASignOfLifeAfterEachBlock) {
  PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  ImportLong();
  settings.data = "long";
  settings.evaluation = {.lengths = {kSharedLength}, .examples = 2, .position_bins = 4};
  std::vector<PackResult> results;
  for (const int threads : {1, 3}) {
    PackRequest request = EvaluationOf(settings, trained, "long" + std::to_string(threads));
    request.threads = threads;
    RecordingObserver observer;
    int signs = 0;
    observer.wish = [&](const Progress& progress) {
      signs += progress.phase == Progress::Phase::kEvaluating && progress.lengths_done == 1;
      return Observer::Wish{};
    };
    absl::StatusOr<PackResult> result = Train(request, observer);
    ASSERT_TRUE(result.ok()) << result.status();
    // Of each window two blocks, its logits and its end.
    EXPECT_EQ(signs, 2 * (2 + 1 + 1));
    results.push_back(*std::move(result));
  }
  ExpectSameMeasurements(results[0].results[0], results[1].results[0]);
}

TEST_F(LlamaJobTest, EntropiesOfHeadsAreNoMeasurementsWhereTheyAreTooMany) {
  PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  ImportLong();
  settings.data = "long";
  // Eight heads, and as many bins as a metric may have values; or room for them all.
  for (const int bins : {1000, 500}) {
    settings.evaluation = {.lengths = {1000}, .examples = 1, .position_bins = bins};
    const PackResult result = Run(EvaluationOf(settings, trained, "bins" + std::to_string(bins)));
    const auto& all = result.results.at(0).measurements;
    EXPECT_EQ(std::ranges::count(all, "attention_entropy", &Measurement::metric), bins == 1000 ? 1000 : 508);
    ASSERT_EQ(result.series.size(), 1u);
    EXPECT_EQ(SafetensorsFile::Open(result.series[0].file)->Find("attention_entropy")->shape, (std::vector<int64_t>{2, 4, bins}));
  }
}

TEST_F(LlamaJobTest, AScaleByPositionLeavesThePositionsBeforeIt) {
  const PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  PackRequest request = EvaluationOf(settings, trained, "plain");
  const PackResult plain = Run(request);

  // Bins of 8 positions, of which the first three lie before it.
  request.settings.model.attention_scale = 2;
  request.settings.model.attention_scale_from = 24;
  request.folder = Folder("piecewise");
  const PackResult piecewise = Run(request);
  request.settings.model.attention_scale_growth = 0.5;
  request.folder = Folder("growing");
  const PackResult growing = Run(request);
  for (const char* const metric : {"position_loss", "attention_entropy"}) {
    for (int end = 8; end <= 48; end += 8) {
      SCOPED_TRACE(end);
      EXPECT_EQ(ValueOf(piecewise, metric, end) == ValueOf(plain, metric, end), end <= 24);
      EXPECT_EQ(ValueOf(growing, metric, end) == ValueOf(piecewise, metric, end), end <= 24);
      // Scales that are tried begin there too.
      if (metric[0] != 'p') continue;
      EXPECT_EQ(ValueOf(piecewise, metric, end, "attention_scale=0.5") == ValueOf(plain, metric, end), end <= 24);
      EXPECT_EQ(ValueOf(piecewise, metric, end, "attention_scale=2"), ValueOf(piecewise, metric, end));
      EXPECT_EQ(ValueOf(growing, metric, end, "attention_scale=2"), ValueOf(growing, metric, end));
    }
  }
  // Windows of the training length are as they were; their heads' scale is the one that was given.
  EXPECT_EQ(ValueOf(piecewise, "loss", 24), ValueOf(plain, "loss", 24));
  EXPECT_NE(ValueOf(piecewise, "loss", 48), ValueOf(plain, "loss", 48));
  EXPECT_EQ(ValueOf(growing, "head_scale", 0, "layer=1,head=3"), 2);
}

TEST_F(LlamaJobTest, TuningOfHeadScalesChangesThemAlone) {
  PackSettings settings = Small("none");
  settings.training.steps = 40;
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  PackRequest request = RequestOf(settings, 1, "tuned");
  request.settings.training = {.steps = 20, .batch_size = 6, .lengths = {48}, .warmup_steps = 2,
                               .trainable = PackSettings::Training::Trainable::kHeadScales};
  request.members[0].weights = MemberFile{trained.weights, 0};
  request.members[0].attention_scale = 1.25;
  request.members[0].learning_rate = 0.1;
  const PackResult tuned = Run(request);

  const absl::StatusOr<SafetensorsFile> before = SafetensorsFile::Open(trained.weights), after = SafetensorsFile::Open(tuned.weights);
  ASSERT_TRUE(before.ok() && after.ok());
  int changed = 0;
  for (const auto& [name, entry] : before->entries()) {
    if (name == "param/attn.scales") continue;
    if (*before->Floats(name) != *after->Floats(name)) ++changed;
  }
  EXPECT_EQ(changed, 0);
  const std::vector<float> scales = *after->Floats("param/attn.scales");
  EXPECT_EQ(scales.size(), 8u);
  for (const float scale : scales) EXPECT_GE(scale, 1.0f);
  EXPECT_GT(*std::ranges::max_element(scales), *std::ranges::min_element(scales));
  // The other way round: training of all weights leaves the scales alone.
  const std::vector<float> untouched = *before->Floats("param/attn.scales");
  for (const float scale : untouched) EXPECT_EQ(scale, 1.0f);
}

TEST_F(LlamaJobTest, RefusesWhatItCannotCompute) {
  const auto refused = [&](const std::function<void(PackSettings&)>& change) {
    PackSettings settings = Small("rope");
    change(settings);
    return std::string(Validate(settings).message());
  };
  EXPECT_EQ(refused([](PackSettings&) {}), "");
  EXPECT_THAT(refused([](PackSettings& s) { s.positions.rope_scaling = "longrope"; }), HasSubstr("unknown name 'longrope'; known are dynamic, linear"));
  EXPECT_THAT(refused([](PackSettings& s) { s.positions.rope_scaling = "yarn"; }), HasSubstr("positions.original_length: 0"));
  EXPECT_THAT(refused([](PackSettings& s) { s.model.kv_heads = 3; }), HasSubstr("model.kv_heads: 3 does not divide model.heads 4"));
  EXPECT_THAT(refused([](PackSettings& s) { s.encoding = "alibi"; }), HasSubstr("'rope' or 'none'"));
  EXPECT_THAT(refused([](PackSettings& s) { s.evaluation.stride = 24; }), HasSubstr("evaluation.stride: 24"));
  EXPECT_THAT(refused([](PackSettings& s) {
                s.evaluation = {};
                s.evaluation.stride = -1;
              }),
              HasSubstr("evaluation.stride: -1 is negative"));
  EXPECT_THAT(refused([](PackSettings& s) { s.evaluation.position_bins = 7; }), HasSubstr("7 bins do not divide"));
  EXPECT_THAT(refused([](PackSettings& s) { s.training.warmup_steps = 5; }), HasSubstr("training.warmup_steps: 5"));
  EXPECT_THAT(refused([](PackSettings& s) { s.model.attention_scale_from = -1; }), HasSubstr("model.attention_scale_from: -1 is below 0"));
  EXPECT_THAT(refused([](PackSettings& s) { s.model.attention_scale_from = 24; }), HasSubstr("model.attention_scale_from: 24 is for tests; training.steps is 5"));
  EXPECT_THAT(refused([](PackSettings& s) { s.model.attention_scale_growth = 0.5; }), HasSubstr("model.attention_scale_growth: 0.5 needs model.attention_scale_from"));
}

TEST_F(LlamaJobTest, WeightsOfAnotherShapeAreRefusedWithTheTensorsName) {
  const PackSettings settings = Small("none");
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  PackRequest request = EvaluationOf(settings, trained, "other");
  request.settings.model.mlp_dim = 64;
  RecordingObserver observer;
  EXPECT_THAT(std::string(Train(request, observer).status().message()),
              HasSubstr("tensor 'param/layer0.mlp.gate.w' has another type or shape than this model"));
  request.settings.model = settings.model;
  request.settings.model.layers = 3;
  EXPECT_THAT(std::string(Train(request, observer).status().message()), HasSubstr("has no tensor 'param/layer2.norm1.scale'"));
}

TEST_F(LlamaJobTest, AContextThatDoesNotFitIntoMemoryIsRefusedWithTheBytes) {
  PackSettings settings = Small("none");
  settings.evaluation.lengths = {24, 1 << 20};
  EXPECT_EQ(*ThreadsThatFit(settings, 1, 2, 1e11), 2);
  const absl::Status refused = ThreadsThatFit(settings, 1, 2, 1e8).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("evaluation.lengths: 1048576 takes at least "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(" bytes of memory, with one thread, and this machine has 100000000"));
}

TEST_F(LlamaJobTest, ThereAreAsManyThreadsAsTheMemorySufficesFor) {
  PackSettings settings = Small("none");
  settings.evaluation.lengths = {1 << 14};
  const double of_three = EstimateMemory(settings, 1, 3).bytes;
  EXPECT_LT(EstimateMemory(settings, 1, 2).bytes, of_three);
  EXPECT_EQ(*ThreadsThatFit(settings, 1, 8, of_three), 3);
  EXPECT_EQ(*ThreadsThatFit(settings, 1, 8, of_three - 1), 2);
  EXPECT_EQ(*ThreadsThatFit(settings, 1, 2, of_three), 2);
}

TEST_F(LlamaJobTest, OnAGpuTheMemoryIsThatOfAsManySequencesAsItComputesAtATime) {
  PackSettings settings = Small("none");
  settings.model = {.layers = 22, .embedding_dim = 2048, .heads = 32, .mlp_dim = 5632, .dropout = 0, .kv_heads = 4};
  settings.model.vocabulary = 32'000;
  settings.training = {.steps = 200, .batch_size = 8, .lengths = {4096}, .warmup_steps = 20,
                       .trainable = PackSettings::Training::Trainable::kHeadScales};
  settings.evaluation = {.lengths = {4096}, .examples = 16, .stride = 256};
  const auto bytes = [&](int members) { return EstimateMemory(settings, members, 1, MemoryOf::kGpu).bytes; };

  EXPECT_EQ(SequencesAtATime(settings, 1, 4096), 1);
  EXPECT_GT(bytes(1), 18e9);
  EXPECT_LT(bytes(1), 22e9);
  EXPECT_EQ(bytes(3), 3 * bytes(1));
  const double of_eight = bytes(1);
  settings.training.batch_size = 1;
  EXPECT_EQ(bytes(1), of_eight);
  // Short sequences are computed some at a time, as many as there are.
  EXPECT_GT(SequencesAtATime(settings, 1, 256), 8);
  settings.training.lengths = {256};
  const double of_one = bytes(1);
  settings.training.batch_size = 8;
  EXPECT_GT(bytes(1), of_one);
}

TEST_F(LlamaJobTest, AGpusMemoryIsForAllThatIsAskedAndTheMachinesForWhatIsSentThere) {
  PackSettings settings = Small("none");
  settings.training.steps = 0;
  settings.evaluation = {.lengths = {24, 1 << 14}, .examples = 12};
  const auto bytes = [&](MemoryOf where) { return EstimateMemory(settings, 3, 2, where).bytes; };
  const double windows = bytes(MemoryOf::kGpu), weights = bytes(MemoryOf::kBesideGpu);
  EXPECT_LT(weights, windows);
  settings.evaluation.passkey_lengths = {1 << 20};
  EXPECT_GT(bytes(MemoryOf::kGpu), windows);
  EXPECT_THAT(std::string(ThreadsThatFit(settings, 3, 1, 1e7, "this machine, on its GPU,", MemoryOf::kGpu).status().message()),
              HasSubstr("evaluation.passkey_lengths: 1048576 takes at least "));
  settings.evaluation.passkey_lengths = {};
  settings.evaluation.longbench = "bench";
  settings.evaluation.longbench_window = 1 << 20;
  EXPECT_GT(bytes(MemoryOf::kGpu), windows);
  EXPECT_EQ(bytes(MemoryOf::kBesideGpu), weights);
}

TEST_F(LlamaJobTest, APackThatSharesTheMachineIsRefusedWhatDoesNotFitIntoItsShare) {
  PackRequest request = RequestOf(Small("none"), 1, "share");
  RecordingObserver observer;
  request.memory_bytes = 1000;

  const absl::Status refused = Train(request, observer).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("each of the packs that are trained here at a time has 1000;"));
}

}  // namespace

}  // namespace longreach::trainer
