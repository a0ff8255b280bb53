// bench-llama: time and memory of the LLaMA decoder's work on this machine, or with --device cuda on its GPU, each as one line of JSON. The folders that it makes load
// in transformers, so that both sides of a comparison compute the same (docs/benchmarks/llama.py).
//
//   bench-llama make FOLDER [--layers 12 ...]    a model of random weights
//   bench-llama perplexity FOLDER [--length T]   losses of whole windows
//   bench-llama entropy FOLDER [--length T]      the same with the entropy of each head's attention at each position
//   bench-llama generate FOLDER [--length T]     a prompt read and continued, by the most likely token or by beams
//   bench-llama tune FOLDER [--length T]         updates of the head scales, all else frozen, by the engine that jobs train with
#include <sys/resource.h>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "proto/base/text.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/device.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/folder.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

LlamaConfig FiftyMillion() {
  LlamaConfig config;
  config.hidden_dim = 512;
  config.mlp_dim = 2048;
  config.layers = 12;
  config.heads = config.kv_heads = 8;
  config.vocabulary = 256;
  config.max_positions = 1024;
  return config;
}

struct Options {
  std::string folder;
  LlamaConfig config = FiftyMillion();
  std::string type = "float32";
  int64_t length = 1024;
  int batch = 1;
  std::string device = "cpu";
  int64_t new_tokens = 64;
  int64_t beams = 1;
  int threads = 0;
  double seconds = 10;
};

// The same on every machine and in every language: x' = 1664525 x + 1013904223, its upper bits.
Tokens DrawTokens(int64_t count, int64_t vocabulary) {
  Tokens tokens;
  uint32_t x = 1;
  for (int64_t i = 0; i < count; ++i) {
    x = 1664525u * x + 1013904223u;
    tokens.push_back(static_cast<int64_t>(x >> 8) % vocabulary);
  }
  return tokens;
}

json Spent(const std::vector<double>& seconds) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"seconds", seconds}, {"peak_memory_bytes", int64_t{1024} * usage.ru_maxrss}};
}

// The weights where they are computed with.
absl::StatusOr<LlamaModel> Load(const Options& options, const LlamaLoading& how = {}) {
  ASSIGN_OR_RETURN(LlamaModel model, LoadLlama(options.folder, how));
  model.parameters = model.parameters.to(DeviceOf(options.device == "cuda"));
  return model;
}

// Calls work() once to warm up, then for as long as was asked for; the seconds of each call.
std::vector<double> Timed(const Options& options, const std::function<void()>& work) {
  // Where one call takes longer than all of them should, it is the measurement.
  const Clock::time_point begin = Clock::now();
  work();
  if (const double first = SecondsSince(begin); first > options.seconds) return {first};
  std::vector<double> seconds;
  double sum = 0;
  while (sum < options.seconds) {
    const Clock::time_point start = Clock::now();
    work();
    seconds.push_back(SecondsSince(start));
    sum += seconds.back();
  }
  return seconds;
}

absl::StatusOr<json> Make(Options options) {
  if (options.config.heads < 1) return absl::InvalidArgumentError(Text("--heads: ", options.config.heads, " is not above 0"));
  options.config.head_dim = options.config.hidden_dim / options.config.heads;
  RETURN_IF_ERROR(Validate(options.config));
  const LlamaDecoder decoder(options.config);
  LlamaModel model{.config = options.config, .parameters = at::zeros({decoder.layout().stride()}, at::kFloat), .head_factors = {}};
  Initialise(decoder.layout(), 1, {model.parameters.data_ptr<float>(), static_cast<size_t>(model.parameters.numel())});
  if (options.type == "bfloat16") model.parameters = model.parameters.to(at::kBFloat16);
  RETURN_IF_ERROR(WriteLlama(options.folder, model));
  return json{{"parameters", decoder.layout().count()}};
}

absl::StatusOr<json> Perplexity(const Options& options, bool entropy) {
  ASSIGN_OR_RETURN(const LlamaModel model, Load(options));
  const LlamaDecoder decoder(model.config);
  ThreadPool pool(options.threads);
  const ParameterSet parameters = ViewParameters(decoder.layout(), model.parameters);
  const torch::NoGradGuard no_gradient;
  const Tensor tokens = at::tensor(DrawTokens(options.batch * options.length, model.config.vocabulary)).to(model.parameters.device());
  LlamaFeed feed{.batch = options.batch, .length = options.length, .tokens = tokens, .head_factors = {}, .pool = &pool};
  double loss = 0, nats = 0;
  const auto pass = [&] {
    std::vector<AttentionTrace> traces;
    if (entropy) feed.traces = &traces;
    loss = decoder.TokenLosses(parameters, feed).mean().item<double>();
    nats = 0;
    for (const AttentionTrace& trace : traces) nats += trace.entropy.mean().item<double>() / static_cast<double>(traces.size());
  };
  json result = Spent(Timed(options, pass));
  result["loss"] = loss;
  if (entropy) result["mean_entropy"] = nats;
  return result;
}

absl::StatusOr<json> Generate(const Options& options) {
  ASSIGN_OR_RETURN(const LlamaModel model, Load(options, {.type = at::kFloat, .nope = {}}));
  const LlamaDecoder decoder(model.config);
  ThreadPool pool(options.threads);
  const ParameterSet parameters = ViewParameters(decoder.layout(), model.parameters);
  const FrozenModel frozen{.decoder = &decoder, .parameters = &parameters, .head_factors = {}, .pool = &pool};
  const GenerationRule rule{.beams = options.beams, .most_new_tokens = options.new_tokens};
  const Tokens prompt = DrawTokens(options.length, model.config.vocabulary);
  Generated answer;
  const auto generate = [&] {
    DecoderContinuation continuation(frozen, DecoderContinuation::Memory::kCache);
    answer = rule.beams == 1 ? Greedy(continuation, prompt, rule) : BeamSearch(continuation, prompt, rule);
  };
  json result = Spent(Timed(options, generate));
  result["tokens"] = answer.tokens;
  return result;
}

absl::StatusOr<json> Tune(const Options& options) {
  ASSIGN_OR_RETURN(const LlamaModel model, LoadLlama(options.folder, {.type = at::kFloat, .nope = {}}));
  const LlamaConfig& config = model.config;
  PackSettings settings;
  settings.experiment = "llama";
  settings.encoding = config.nope ? "none" : "rope";
  settings.model = {.layers = static_cast<int>(config.layers), .embedding_dim = static_cast<int>(config.hidden_dim),
                    .heads = static_cast<int>(config.heads), .mlp_dim = static_cast<int>(config.mlp_dim), .dropout = 0,
                    .kv_heads = static_cast<int>(config.kv_heads), .rope_theta = config.rope_theta};
  settings.training = {.steps = 1'000'000, .batch_size = options.batch, .lengths = {static_cast<int>(options.length)}, .weight_decay = 0,
                       .trainable = PackSettings::Training::Trainable::kHeadScales, .scale_bound = PackSettings::Training::ScaleBound::kNone};
  if (config.vocabulary != 256) return absl::InvalidArgumentError("tune: jobs train on bytes; make the model with --vocabulary 256");
  const std::unique_ptr<StepEngine> engine = MakeEngine(settings, {.threads = options.threads, .cuda = options.device == "cuda", .engine = ""},
                                                        [](const std::string& line) { std::cerr << line << std::endl; });
  PackState state = InitialState(engine->model().layout(), std::vector<Member>(1), /*draw=*/true, engine->model().Rule().first);
  // The scales, which are 1, lie behind the decoder's own parameters.
  state.parameters[0].narrow(0, 0, model.parameters.numel()).copy_(model.parameters);
  state.MoveTo(engine->device());
  Batch batch;
  batch.size = options.batch;
  batch.tape = batch.outputs = options.length;
  const std::vector<int64_t> tokens = DrawTokens(options.batch * (options.length + 1), config.vocabulary);
  for (int64_t b = 0; b < options.batch; ++b) {
    const auto begin = tokens.begin() + b * (options.length + 1);
    batch.tokens.insert(batch.tokens.end(), begin, begin + options.length);
    batch.targets.insert(batch.targets.end(), begin + 1, begin + options.length + 1);
    batch.valid.push_back(static_cast<int32_t>(options.length));
  }
  std::vector<double> losses;
  const auto update = [&] { losses.push_back(engine->Update(engine->Gradients(batch, state), {0.01}, state)[0].loss); };
  json result = Spent(Timed(options, update));
  losses.resize(std::min<size_t>(losses.size(), 3));
  result["first_losses"] = losses;
  return result;
}

int Main(int argc, char** argv) {
  CLI::App app("Time and memory of the LLaMA decoder's work");
  app.require_subcommand(1);
  Options options;
  std::string chosen;
  const auto command = [&](const std::string& name, const std::string& what) {
    CLI::App* const sub = app.add_subcommand(name, what);
    sub->add_option("folder", options.folder)->required();
    sub->callback([&chosen, name] { chosen = name; });
    return sub;
  };
  CLI::App* const make = command("make", "Write a model of random weights");
  make->add_option("--layers", options.config.layers)->capture_default_str();
  make->add_option("--width", options.config.hidden_dim)->capture_default_str();
  make->add_option("--mlp", options.config.mlp_dim)->capture_default_str();
  make->add_option("--heads", options.config.heads)->capture_default_str();
  make->add_option("--kv-heads", options.config.kv_heads)->capture_default_str();
  make->add_option("--vocabulary", options.config.vocabulary)->capture_default_str();
  make->add_option("--positions", options.config.max_positions)->capture_default_str();
  make->add_flag("--nope", options.config.nope);
  make->add_option("--type", options.type)->check(CLI::IsMember({"float32", "bfloat16"}))->capture_default_str();
  for (const std::string name : {"perplexity", "entropy", "generate", "tune"}) {
    CLI::App* const sub = command(name, name == "tune"       ? "Updates of the head scales"
                                        : name == "generate" ? "A prompt and how it goes on"
                                                             : "Passes over whole windows");
    sub->add_option("--length", options.length, "Tokens of a window, or of the prompt")->check(CLI::Range(2, 1 << 20))->capture_default_str();
    sub->add_option("--batch", options.batch, "Windows")->check(CLI::Range(1, 1024))->capture_default_str();
    sub->add_option("--device", options.device, "cpu, or cuda: the first GPU")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
    sub->add_option("--threads", options.threads, "0: all cores")->check(CLI::Range(0, 1024))->capture_default_str();
    sub->add_option("--seconds", options.seconds, "How long to measure")->check(CLI::PositiveNumber)->capture_default_str();
  }
  CLI::App* const generate = app.get_subcommand("generate");
  generate->add_option("--new", options.new_tokens, "Tokens that follow the prompt")->check(CLI::Range(1, 1 << 16))->capture_default_str();
  generate->add_option("--beams", options.beams, "1: the most likely token each time")->check(CLI::Range(1, 64))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.device == "cuda") {
    if (const absl::Status loaded = LoadCudaPlugin(OwnCudaPlugin()); !loaded.ok()) {
      std::cerr << "bench-llama: " << loaded.message() << std::endl;
      return 1;
    }
  }
  PrepareThread();
  const absl::StatusOr<json> result = chosen == "make"       ? Make(options)
                                      : chosen == "tune"     ? Tune(options)
                                      : chosen == "generate" ? Generate(options)
                                                             : Perplexity(options, chosen == "entropy");
  if (!result.ok()) {
    std::cerr << "bench-llama: " << result.status().message() << std::endl;
    return 1;
  }
  std::cout << *result << std::endl;
  return 0;
}

}  // namespace
}  // namespace longreach::trainer

int main(int argc, char** argv) { return longreach::trainer::Main(argc, argv); }
