// What the models of that set are used for: perplexity, generation, tuning, entropies against factors.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "proto/base/line_fit.h"
#include "proto/base/text.h"
#include "tests/golden/check/nope/checks.h"
#include "tests/golden/check/nope/models.h"
#include "tests/golden/check/stored.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/tuning.h"

namespace longreach::golden {

namespace {

using nlohmann::json;
using trainer::DecoderContinuation;
using trainer::FrozenModel;
using trainer::HeadScaleSettings;
using trainer::ThreadPool;
using trainer::Window;
using trainer::WindowRule;

// Of the set's README.
constexpr double kWindowLoss = 1e-4;
constexpr double kTrajectory = 1e-4;
// Sums of 16 log p; a margin is between two logits.
constexpr double kRunScore = 1e-4;
constexpr double kMargin = 4e-4;
constexpr double kRunFit = 1e-4;
// What the set's searches with an EOS were allowed.
constexpr int64_t kMostNewTokens = 16;

// The cases that runs ask for, each made once.
class Cases {
 public:
  Cases(NopeSet& set, bool on_gpu) : set_(set), on_gpu_(on_gpu), manifest_(set.Json("manifest.json")), pool_(kNopeThreads) {}

  // Null, and a failed requirement, if it cannot be made.
  const NopeCase* Find(const std::string& name, FileCheck& check) {
    if (!made_.contains(name)) {
      absl::StatusOr<NopeCase> fresh = MakeCase(set_, manifest_, name);
      if (on_gpu_ && fresh.ok()) fresh = OnGpu(*std::move(fresh));
      made_.emplace(name, std::move(fresh));
    }
    const absl::StatusOr<NopeCase>& made = made_.at(name);
    check.Require(made.ok(), Text(name, ": ", made.status().message()));
    return made.ok() ? &*made : nullptr;
  }
  FrozenModel Frozen(const NopeCase& run) {
    return {.decoder = run.decoder.get(),
            .parameters = &run.parameters,
            .head_factors = run.factors.defined() ? run.Factors() : Tensor(),
            .pool = &pool_};
  }
  ThreadPool* pool() { return &pool_; }

 private:
  NopeSet& set_;
  bool on_gpu_;
  json manifest_;
  ThreadPool pool_;
  std::map<std::string, absl::StatusOr<NopeCase>> made_;
};

void CheckPerplexity(const json& expected, const std::vector<std::vector<int64_t>>& documents, Cases& cases, FileCheck& check) {
  const std::string name = expected.at("case").get<std::string>(), protocol = expected.at("protocol").get<std::string>();
  const NopeCase* const run = cases.Find(name, check);
  if (run == nullptr) return;
  const int64_t bos = expected.value("bos", int64_t{-1});
  const WindowRule rule{.length = expected.at("max_length").get<int64_t>(), .stride = expected.at("window").get<int64_t>(),
      .bos = bos >= 0,
                        .most_scored = expected.value("cap", int64_t{0})};
  const std::string what = Text(name, " ", protocol, " ", rule.length, "/", rule.stride, rule.bos ? " with BOS" : "",
      rule.most_scored > 0 ? " capped" : "");
  check.Require(protocol == "nope" || protocol == "yarn", what + ": unknown protocol");
  std::vector<int64_t> lengths;
  for (const std::vector<int64_t>& document : documents) lengths.push_back(static_cast<int64_t>(document.size()));
  const std::vector<Window> windows = protocol == "nope" ? trainer::NopeWindows(lengths, rule)
      : trainer::YarnWindows(lengths, rule);
  std::vector<double> losses;
  for (const Window& window : windows) {
    losses.push_back(trainer::WindowLoss(cases.Frozen(*run), documents[static_cast<size_t>(window.document)], window,
        bos).value_or(std::nan("")));
  }
  const trainer::Perplexity ours = trainer::Summarize(windows, losses);
  check.Require(ours.windows == expected.at("windows") && ours.scored_tokens == expected.at("scored_tokens"),
                Text(what, ": ", ours.windows, " windows score ", ours.scored_tokens, " tokens"));
  check.Compare(what + " mean window loss", ours.mean_window_loss - expected.at("mean_window_loss").get<double>(), kNopeLoss);
  check.Compare(what + " ppl", ours.perplexity / expected.at("ppl").get<double>() - 1, kNopePerplexityRelative);
  check.Compare(what + " token-weighted loss", ours.token_weighted_loss - expected.at("token_weighted_loss").get<double>(),
      kNopeLoss);
  const json rows = expected.value("rows", json::array());
  check.Require(rows.empty() || rows.size() == windows.size(), what + ": another number of rows");
  for (size_t i = 0; i < rows.size() && i < windows.size(); ++i) {
    const Window& window = windows[i];
    const json place = {window.document, window.begin, window.end, window.scored};
    check.Require(place == json({rows[i].at("doc"), rows[i].at("begin"), rows[i].at("end"), rows[i].at("scored")}),
        Text(what, ": window ", i, " is ", place.dump()));
    check.Compare(Text(what, " window ", i), losses[i] - rows[i].at("loss").get<double>(), kWindowLoss);
  }
}

// The smallest gap between the best and the second logit of the new tokens. The set has it from one pass over the whole text:
// with dynamic NTK its logits are not those that the tokens were chosen by.
double SmallestMargin(const FrozenModel& model, const trainer::Tokens& prompt, const trainer::Tokens& generated) {
  const torch::NoGradGuard no_gradient;
  trainer::Tokens text = prompt;
  text.insert(text.end(), generated.begin(), generated.end());
  trainer::LlamaFeed feed;
  feed.batch = 1;
  feed.length = static_cast<int64_t>(text.size());
  feed.tokens = at::tensor(text, at::kLong).to(model.parameters->front().device());
  feed.head_factors = model.head_factors;
  const Tensor logits = model.decoder->Logits(*model.parameters, model.decoder->Hidden(*model.parameters, feed));
  const int64_t first = static_cast<int64_t>(prompt.size()) - 1;
  const Tensor best = std::get<0>(logits.narrow(0, first, static_cast<int64_t>(generated.size())).topk(2, -1));
  return (best.select(1, 0) - best.select(1, 1)).min().item<double>();
}

void CheckGeneration(const json& expected, Cases& cases, FileCheck& check) {
  const std::string name = expected.at("case").get<std::string>();
  const NopeCase* const run = cases.Find(name, check);
  if (run == nullptr) return;
  const auto prompt = expected.at("prompt").get<trainer::Tokens>(), stored = expected.at("new_tokens").get<trainer::Tokens>();
  trainer::GenerationRule rule{.beams = expected.at("num_beams").get<int64_t>(),
      .most_new_tokens = static_cast<int64_t>(stored.size())};
  if (expected.contains("eos") && !expected.at("eos").is_null()) {
    rule.eos = {expected.at("eos").get<int64_t>()};
    rule.most_new_tokens = std::max(rule.most_new_tokens, kMostNewTokens);
  }
  rule.length_penalty = expected.value("length_penalty", 1.0);
  const bool cached = expected.at("use_cache").get<bool>();
  const bool dynamic = run->model.config.rope_scaling.kind == trainer::RopeScaling::Kind::kDynamic;
  std::vector<DecoderContinuation::Memory> memories = {cached ? DecoderContinuation::Memory::kCacheAsTransformers
      : DecoderContinuation::Memory::kNone};
  if (cached && !dynamic) memories.push_back(DecoderContinuation::Memory::kCache);
  // Where float64 gives other tokens, rounding chose them.
  const bool certain = expected.value("same_in_f64", true);
  for (const DecoderContinuation::Memory memory : memories) {
    const std::string what = Text(name, rule.beams > 1 ? " beams" : " greedy", cached ? "" : " without cache",
                                  rule.eos.empty() ? "" : Text(" to ", rule.eos[0]));
    DecoderContinuation model(cases.Frozen(*run), memory);
    const trainer::Generated ours = rule.beams > 1 ? trainer::BeamSearch(model, prompt, rule)
        : trainer::Greedy(model, prompt, rule);
    check.Require(ours.tokens == stored || !certain, what + ": other tokens than " + expected.at("new_tokens").dump());
    if (ours.tokens != stored) continue;
    if (expected.contains("sequence_score")) {
      check.Compare(what + " score", ours.score - expected.at("sequence_score").get<double>(),
          kRunScore * static_cast<double>(stored.size()));
    }
    if (expected.contains("min_top2_margin")) {
      const double margin = SmallestMargin(cases.Frozen(*run), prompt, stored);
      check.Compare(what + " margin", margin - expected.at("min_top2_margin").get<double>(), kMargin);
    }
  }
}

HeadScaleSettings SettingsOf(const json& run) {
  HeadScaleSettings settings;
  settings.learning_rate = run.at("lr").get<double>();
  settings.steps = run.at("total_steps").get<int>();
  settings.warmup_steps = run.at("warmup_steps").get<int>();
  settings.final_share = run.at("eta_min").get<double>();
  settings.clip_norm = run.at("max_grad_norm").get<double>();
  settings.bound = HeadScaleSettings::Bound::kNone;
  if (run.at("relu_in_forward").get<bool>()) settings.bound = HeadScaleSettings::Bound::kRelu;
  if (!run.at("scale_lower_bound").is_null()) {
    settings.bound = HeadScaleSettings::Bound::kClamp;
    settings.lower_bound = run.at("scale_lower_bound").get<double>();
  }
  return settings;
}

// All runs as members of one pack.
void CheckTuning(const json& runs, const SafetensorsFile& stored, const NopeCase& model, Cases& cases, FileCheck& check) {
  const absl::StatusOr<std::vector<int64_t>> ids = stored.Longs("data");
  const bool blocks = ids.ok() && stored.Find("data")->shape.size() == 3 &&
                      std::ranges::all_of(*ids, [&](int64_t id) { return id >= 0 && id < model.model.config.vocabulary; });
  check.Require(blocks && !runs.empty(), "there are no blocks of tokens");
  if (!blocks || runs.empty()) return;
  const Tensor data = at::tensor(*ids, at::kLong).view(stored.Find("data")->shape);
  std::vector<HeadScaleSettings> settings;
  std::vector<Tensor> initial;
  for (const json& run : runs) {
    settings.push_back(SettingsOf(run));
    initial.push_back(at::full({model.model.config.layers, model.model.config.heads}, run.at("init").get<double>(), at::kFloat));
    check.Require(run.at("betas") == json({0.9, 0.95}) && run.at("eps") == 1e-8 && run.at("weight_decay") == 0.0,
        "another optimizer than AdamW(0.9, 0.95, 1e-8)");
  }
  trainer::HeadScaleTuner tuner(*model.decoder, model.parameters, settings, at::stack(initial), cases.pool());
  std::vector<std::vector<Tensor>> factors(runs.size());
  for (int64_t step = 0; step < data.size(0); ++step) {
    const std::vector<trainer::TuningStep> results = tuner.Step(data[step]);
    for (size_t e = 0; e < runs.size(); ++e) {
      factors[e].push_back(tuner.factors()[static_cast<int64_t>(e)].clone());
      const json& log = runs[e].at("log").at(static_cast<size_t>(step));
      const std::string what = Text(runs[e].at("name").get<std::string>(), " step ", step);
      const double rate = trainer::RateAt(settings[e].schedule(), settings[e].learning_rate, static_cast<int>(step));
      check.Compare(what + " rate", rate - log.at("lr").get<double>(), 1e-9);
      check.Compare(what + " loss", results[e].loss - log.at("loss").get<double>(), kTrajectory);
      check.Compare(what + " gradient norm", results[e].gradient_norm - log.at("grad_norm").get<double>(), kTrajectory);
    }
  }
  for (size_t e = 0; e < runs.size(); ++e) {
    const std::string name = runs[e].at("name").get<std::string>();
    const std::optional<Tensor> expected = Floats(stored, name);
    check.Require(expected.has_value(), name + " has no factors");
    if (expected) CompareTensors(name, at::stack(factors[e]), *expected, kTrajectory, check);
  }
}

// The entropy of each head at the last position, mean over the inputs, against its factor.
void CheckCorrelation(NopeSet& set, const json& stored, Cases& cases, FileCheck& check) {
  const std::string name = stored.at("case").get<std::string>();
  const NopeCase* const run = cases.Find(name, check);
  const absl::StatusOr<SafetensorsFile> inputs = set.Safetensors("inputs/" + name.substr(0, name.find('.')) + ".safetensors");
  const absl::StatusOr<std::vector<int64_t>> ids = inputs.ok() ? inputs->Longs("input_ids") : inputs.status();
  check.Require(ids.ok(), std::string(ids.status().message()));
  if (run == nullptr || !ids.ok()) return;
  trainer::LlamaFeed feed;
  feed.tokens = at::tensor(*ids, at::kLong).to(run->device());
  feed.batch = inputs->Find("input_ids")->shape.at(0);
  feed.length = inputs->Find("input_ids")->shape.at(1);
  feed.head_factors = run->Factors();
  std::vector<trainer::AttentionTrace> traces;
  feed.traces = &traces;
  run->decoder->Hidden(run->parameters, feed);
  for (const json& layer : stored.at("layers")) {
    const int64_t index = layer.at("layer").get<int64_t>();
    const Tensor last = traces.at(static_cast<size_t>(index)).entropy.select(-1, feed.length - 1).mean(0).to(at::kDouble).to(at::kCPU);
    const auto scale = layer.at("scale").get<std::vector<double>>();
    CompareTensors(Text("layer ", index, " entropy"), last,
        at::tensor(layer.at("entropy_nats_last").get<std::vector<double>>(), at::kDouble), kRunFit, check);
    const absl::StatusOr<FittedLine> line = FitLine(scale, {last.const_data_ptr<double>(), static_cast<size_t>(last.numel())});
    check.Require(line.ok(), std::string(line.status().message()));
    if (!line.ok()) continue;
    check.Compare(Text("layer ", index, " slope"), line->slope - layer.at("slope").get<double>(), kRunFit);
    check.Compare(Text("layer ", index, " intercept"), line->intercept - layer.at("intercept").get<double>(), kRunFit);
    check.Compare(Text("layer ", index, " r"), line->correlation.value_or(std::nan("")) - layer.at("pearson_r").get<double>(), kRunFit);
  }
}

}  // namespace

void CheckNopeRuns(NopeSet& set, Report& report) {
  Cases here(set, false), there(set, true);
  const auto everywhere = [&](FileCheck& check, const std::function<void(Cases&)>& compare) {
    compare(here);
    if (!set.on_gpu()) return;
    check.SetPlace("on the GPU");
    compare(there);
  };
  CheckJson(set, "ppl/expected.json", report, [&](const json& entries, FileCheck& check) {
    const auto documents = set.Json("ppl/docs.json").at("documents").get<std::vector<std::vector<int64_t>>>();
    everywhere(check, [&](Cases& cases) {
      for (const json& expected : entries) CheckPerplexity(expected, documents, cases, check);
    });
  });
  CheckJson(set, "generation.json", report, [&](const json& entries, FileCheck& check) {
    everywhere(check, [&](Cases& cases) {
      for (const json& expected : entries) CheckGeneration(expected, cases, check);
    });
  });
  CheckJson(set, "train_hs.json", report, [&](const json& runs, FileCheck& check) {
    const absl::StatusOr<SafetensorsFile> stored = set.Safetensors("train_hs.safetensors");
    check.Require(stored.ok(), std::string(stored.status().message()));
    everywhere(check, [&](Cases& cases) {
      const NopeCase* const model = cases.Find("A.nope", check);
      if (stored.ok() && model != nullptr) CheckTuning(runs, *stored, *model, cases, check);
    });
  });
  CheckJson(set, "correlation.json", report, [&](const json& stored, FileCheck& check) {
    const torch::NoGradGuard no_gradient;
    everywhere(check, [&](Cases& cases) { CheckCorrelation(set, stored, cases, check); });
  });
}

}  // namespace longreach::golden
