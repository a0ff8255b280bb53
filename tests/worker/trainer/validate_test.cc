// What the trainer refuses: with field, value and the next step, and before anything is written.
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "proto/base/processors.h"
#include "proto/catalog/packs.h"
#include "tests/worker/trainer/pack_fixture.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

struct Refused {
  std::string name;
  std::function<void(PackRequest&)> change;
  std::string field;
  std::string value;
};

class ValidateTest : public PackTest, public ::testing::WithParamInterface<Refused> {};

TEST_P(ValidateTest, NamesFieldAndValue) {
  PackRequest request = Request(SmallSettings("even_pairs", "rope", true), 1, "a");
  ASSERT_TRUE(Validate(request.settings).ok()) << Validate(request.settings);
  GetParam().change(request);
  RecordingObserver observer;

  const absl::StatusOr<PackResult> result = Train(request, observer);

  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  const std::string message(result.status().message());
  EXPECT_THAT(message, HasSubstr(GetParam().field));
  EXPECT_THAT(message, HasSubstr(GetParam().value));
  EXPECT_TRUE(std::filesystem::is_empty(Folder("a")));
}

INSTANTIATE_TEST_SUITE_P(
    Settings, ValidateTest,
    ::testing::Values(
        Refused{"Task", [](PackRequest& r) { r.settings.task = "even_pears"; }, "task",
                "did you mean 'even_pairs'"},
        Refused{"Encoding", [](PackRequest& r) { r.settings.encoding = "roep"; }, "encoding",
                "did you mean 'rope'"},
        Refused{"Experiment", [](PackRequest& r) { r.settings.experiment = "imagenet"; }, "experiment",
                "imagenet"},
        Refused{"RandomizedShape", [](PackRequest& r) { r.settings.encoding = "shape"; }, "encoding",
                "shape:randomized"},
        Refused{"RandomizedNone", [](PackRequest& r) { r.settings.encoding = "none"; }, "encoding",
                "none:randomized"},
        Refused{"BatchSize", [](PackRequest& r) { r.settings.training.batch_size = 0; },
                "training.batch_size", "0"},
        Refused{"Steps", [](PackRequest& r) { r.settings.training.steps = -1; }, "training.steps", "-1"},
        Refused{"NoLengths", [](PackRequest& r) { r.settings.training.lengths = {}; }, "training.lengths",
                "empty"},
        Refused{"ZeroLength", [](PackRequest& r) { r.settings.training.lengths = {0}; }, "training.lengths",
                "0"},
        Refused{"LengthsDescend", [](PackRequest& r) { r.settings.evaluation.lengths = {3, 2}; },
                "evaluation.lengths", "2"},
        Refused{"TapeBeyondL", [](PackRequest& r) { r.settings.evaluation.lengths = {64}; },
                "evaluation.lengths", "tape of 65"},
        Refused{"CurveEvery", [](PackRequest& r) { r.settings.evaluation.curve_every = -1; }, "evaluation.curve_every", "-1"},
        Refused{"CurveLength",
                [](PackRequest& r) {
                  r.settings.evaluation.curve_every = 4;
                  r.settings.evaluation.curve_lengths = {7};
                },
                "evaluation.curve_lengths", "7 is not among"},
        Refused{"CurveOfTooManyPoints",
                [](PackRequest& r) {
                  r.settings.training.steps = 10'000;
                  r.settings.evaluation.curve_every = 1;
                },
                "evaluation.curve_every", "more than 1000"},
        Refused{"Examples", [](PackRequest& r) { r.settings.evaluation.examples = 0; }, "evaluation.examples",
                "0"},
        Refused{"Heads", [](PackRequest& r) { r.settings.model.heads = 5; }, "model.heads", "5"},
        Refused{"OddHeads", [](PackRequest& r) { r.settings.model.heads = 32; }, "model.heads", "rope"},
        Refused{"Layers", [](PackRequest& r) { r.settings.model.layers = 0; }, "model.layers", "0"},
        Refused{"Dropout", [](PackRequest& r) { r.settings.model.dropout = 1; }, "model.dropout", "1"},
        Refused{"DropoutNan", [](PackRequest& r) { r.settings.model.dropout = std::nan(""); },
                "model.dropout", "nan"},
        Refused{"SandwichDim", [](PackRequest& r) { r.settings.model.sandwich_dim = 7; },
                "model.sandwich_dim", "7"},
        Refused{"T5Buckets", [](PackRequest& r) { r.settings.model.t5_buckets = 33; }, "model.t5_buckets", "33"},
        Refused{"T5FewBuckets", [](PackRequest& r) { r.settings.model.t5_buckets = 2; }, "model.t5_buckets", "2"},
        Refused{"T5MaxDistance", [](PackRequest& r) { r.settings.model.t5_max_distance = 16; }, "model.t5_max_distance", "16"},
        Refused{"FireWidth", [](PackRequest& r) { r.settings.model.fire_width = 0; }, "model.fire_width", "0"},
        Refused{"FireThreshold", [](PackRequest& r) { r.settings.model.fire_threshold = -3; }, "model.fire_threshold", "-3"},
        Refused{"ClipNorm", [](PackRequest& r) { r.settings.training.clip_norm = 0; }, "training.clip_norm",
                "0"},
        Refused{"WarmUp", [](PackRequest& r) { r.settings.training.warmup_steps = 12; }, "training.warmup_steps", "12"},
        Refused{"FinalRate", [](PackRequest& r) { r.settings.training.final_rate = 1.5; }, "training.final_rate", "1.5"},
        Refused{"AsReleased", [](PackRequest& r) { r.settings.positions.relative_as_released = true; },
                "positions.relative_as_released", "relative:randomized"},
        Refused{"LearningRate", [](PackRequest& r) { r.members[0].learning_rate = -1e-4; }, "learning_rate",
                "-0.0001"},
        Refused{"LearningRateNan", [](PackRequest& r) { r.members[0].learning_rate = std::nan(""); },
                "learning_rate", "nan"},
        Refused{"NoMembers", [](PackRequest& r) { r.members.clear(); }, "members", "0"},
        Refused{"TooManyMembers", [](PackRequest& r) { r.members.resize(catalog::kMaxJobsOfPack + 1, r.members[0]); },
                "members", "1025"},
        Refused{"NothingToEvaluate", [](PackRequest& r) { r.settings.training.steps = 0; }, "training.steps",
                "no weights"},
        Refused{"Engine", [](PackRequest& r) { r.engine = "lanes-fp8"; }, "engine", "lanes-fp8"},
        Refused{"Folder", [](PackRequest& r) { r.folder = "/nowhere"; }, "folder", "/nowhere"}),
    [](const auto& variant) { return variant.param.name; });

TEST(DescribeMachineTest, SaysWhatThereIs) {
  const Capabilities capabilities = *DescribeMachine(false);

  EXPECT_FALSE(capabilities.device.empty());
  EXPECT_EQ(capabilities.device_id, OwnProcessors());
  EXPECT_GE(capabilities.threads, 1);
  EXPECT_GT(capabilities.memory_bytes, 1e8);
  EXPECT_THAT(capabilities.experiments, ::testing::ElementsAre("algorithmic", "images", "language", "llama", "sequences"));
}

TEST(LookAtDevicesTest, SaysWhatTheProcessorTakesAndWhyThereIsNoGpu) {
  const Devices devices = LookAtDevices("/nowhere/liblongreach_cuda.so");

  EXPECT_THAT(devices.libtorch, ::testing::StartsWith("2."));
  EXPECT_EQ(devices.cpu.problem, "");
  EXPECT_FALSE(devices.cpu.model.empty());
  EXPECT_EQ(devices.cpu.threads, DescribeMachine(false)->threads);
  EXPECT_THAT(devices.cpu.engines, ::testing::Contains(devices.cpu.engine));
  EXPECT_THAT(devices.gpus, ::testing::IsEmpty());
  EXPECT_THAT(devices.no_gpu, HasSubstr("/nowhere/liblongreach_cuda.so"));
  EXPECT_EQ(devices.cuda, "");
}

TEST(BenchTest, CountsFlopByTheFormula) {
  PackSettings settings;
  settings.task = "bucket_sort";
  settings.encoding = "none";

  // 3 B [T (2 d (V_in + 1) + 491520 + 2 d V_out) + 1280 T^2], reference section 9; ten tokens and their places are a tape of 20.
  EXPECT_DOUBLE_EQ(MatmulFlops(settings, 10),
                   3.0 * 128 * (20 * (128.0 * 6 + 491520 + 128.0 * 5) + 1280.0 * 400));
  // A decoder reads the outputs, too, and looks back only.
  settings.model.causal = true;
  EXPECT_DOUBLE_EQ(MatmulFlops(settings, 10), 3.0 * 128 * (20 * (128.0 * 11 + 491520 + 128.0 * 5) + 1280.0 * 200));
}

// Of even_pairs.
BenchRequest SmallBench(const std::string& encoding, const std::vector<int>& lengths, int batch, int examples, double seconds) {
  BenchRequest request;
  request.settings.task = "even_pairs";
  request.settings.encoding = encoding;
  request.settings.training.lengths = lengths;
  request.settings.training.batch_size = batch;
  request.settings.evaluation.examples = examples;
  request.seconds = seconds;
  return request;
}

TEST(BenchTest, MeasuresStepsProductsAndTests) {
  BenchRequest request = SmallBench("rope", {1, 2}, 4, 4, 0.2);
  request.pack = 2;

  const absl::StatusOr<BenchResult> result = Bench(request);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->job_steps_per_second, 0);
  EXPECT_GT(result->cpu_ms_per_job_step, 0);
  EXPECT_GT(result->gflops, 0);
  EXPECT_GT(result->gemm_peak_gflops, result->gflops);
  EXPECT_GT(result->eval_sequences_per_second, 0);
  EXPECT_TRUE(result->simulated.empty());
}

TEST(BenchTest, MeasuresPacksThatAreTrainedAtTheSameTime) {
  BenchRequest request = SmallBench("rope", {1, 2}, 4, 4, 0.05);
  request.pack = 2;
  request.threads = 2;
  request.beside = {request.settings, request.settings};
  request.beside[1].task = "reverse_string";
  int begun = 0;
  request.begin = [&] { ++begun; };

  const absl::StatusOr<BenchResult> result = Bench(request);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(begun, 1);
  ASSERT_EQ(result->packs.size(), 3u);
  double updates = 0;
  for (const PackRate& pack : result->packs) {
    EXPECT_GT(pack.updates_per_second, 0);
    EXPECT_EQ(pack.engine, result->engine);
    updates += pack.updates_per_second;
  }
  EXPECT_DOUBLE_EQ(result->job_steps_per_second, 2 * updates);
  EXPECT_GT(result->gflops, 0);
  EXPECT_GT(result->cpu_ms_per_job_step, 0);
  EXPECT_FALSE(result->engine.empty());
  EXPECT_EQ(result->gemm_peak_gflops, 0);
}

TEST(BenchTest, APackThatCannotBeTrainedEndsThoseBesideIt) {
  BenchRequest request = SmallBench("rope", {1, 2}, 4, 4, 1e9);
  request.beside = {request.settings};
  request.beside[0].model.embedding_dim = request.beside[0].model.mlp_dim = 1 << 16;
  request.beside[0].model.layers = 1000;
  request.begin = [] { ADD_FAILURE() << "begun without one of them"; };

  EXPECT_EQ(Bench(request).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(BenchTest, TellsWhereTheTimeGoesIfTheEngineKnows) {
  BenchRequest request = SmallBench("rope", {1, 2}, 2, 2, 0.01);
  for (const auto& [engine, knows] : {std::pair("emulated", true), std::pair("libtorch", false)}) {
    request.engine = engine;
    const absl::StatusOr<BenchResult> result = Bench(request);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->phases.empty(), !knows) << engine;
    EXPECT_EQ(result->gigabytes_per_second > 0, knows) << engine;
    EXPECT_EQ(result->copy_peak_gigabytes_per_second > 0, knows) << engine;
  }
}

TEST(BenchTest, SimulatesThreadsForEveryEngine) {
  for (const std::string engine : {"lanes-portable", "libtorch"}) {
    BenchRequest request = SmallBench("log_kerple", {2}, 64, 4, 0.1);
    request.engine = engine;
    request.simulated_threads = {1, 2, 3, 8, 1000};

    const absl::StatusOr<BenchResult> result = Bench(request);

    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->simulated.size(), 5u);
    EXPECT_EQ(result->simulated[0].speedup, 1);
    EXPECT_GT(result->serial_ms_per_update, 0);
    for (size_t i = 1; i < result->simulated.size(); ++i) {
      const SimulatedRate& one = result->simulated[i];
      EXPECT_EQ(one.threads, request.simulated_threads[i]);
      // More threads are never slower, and never more than so many times as fast.
      EXPECT_GE(one.speedup, result->simulated[i - 1].speedup) << engine;
      EXPECT_LT(one.speedup, one.threads) << engine;
      EXPECT_NEAR(one.job_steps_per_second, one.speedup * result->simulated[0].job_steps_per_second, 1e-6 * one.job_steps_per_second);
    }
    EXPECT_GT(result->simulated[1].speedup, 1) << engine;
    EXPECT_LT(result->simulated[4].job_steps_per_second, 1e3 / result->serial_ms_per_update);
  }
}

TEST(BenchTest, RefusesToSimulateNoThreadsAndTheThreadsOfAGpu) {
  BenchRequest request;
  request.settings.task = "even_pairs";
  request.settings.encoding = "none";
  request.settings.training.lengths = {2};
  for (const int threads : {0, kMostSimulatedThreads + 1}) {
    request.simulated_threads = {threads};
    EXPECT_EQ(Bench(request).status().code(), absl::StatusCode::kInvalidArgument);
  }
  request.simulated_threads = {2};
  request.beside = {request.settings};
  EXPECT_EQ(Bench(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.beside.clear();
  request.cuda = true;
  EXPECT_EQ(Bench(request).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace

}  // namespace longreach::trainer
