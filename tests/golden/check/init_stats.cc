#include "tests/golden/check/init_stats.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "tests/golden/check/stored.h"
#include "worker/trainer/model/encoder.h"
#include "worker/trainer/parameters.h"

namespace longreach::golden {

namespace {

using trainer::Initial;
using trainer::Parameter;

constexpr double kSigmas = 5;
constexpr int kSeeds = 20;

struct Moments {
  double count = 0, mean = 0, deviation = 0, lowest = 0, highest = 0;
};

Moments Pooled(const Parameter& parameter, const std::vector<std::vector<float>>& members) {
  Moments moments{.lowest = HUGE_VAL, .highest = -HUGE_VAL};
  double sum = 0, squares = 0;
  for (const std::vector<float>& member : members) {
    for (int64_t i = 0; i < parameter.size; ++i) {
      const double value = member[static_cast<size_t>(parameter.offset + i)];
      sum += value;
      squares += value * value;
      moments.lowest = std::min(moments.lowest, value);
      moments.highest = std::max(moments.highest, value);
    }
  }
  moments.count = static_cast<double>(parameter.size) * static_cast<double>(members.size());
  moments.mean = sum / moments.count;
  moments.deviation = std::sqrt(std::max(0.0, squares / moments.count - moments.mean * moments.mean));
  return moments;
}

// The values that a parameter can have at all.
std::pair<double, double> Support(const Initial& initial) {
  switch (initial.kind) {
    case Initial::Kind::kZeros: return {0, 0};
    case Initial::Kind::kOnes: return {1, 1};
    case Initial::Kind::kTruncatedNormal: return {-2 * initial.scale, 2 * initial.scale};
    case Initial::Kind::kNormal: return {-HUGE_VAL, HUGE_VAL};
    case Initial::Kind::kUniform: return {0, initial.scale};
    case Initial::Kind::kSymmetric: return {-initial.scale, initial.scale};
    case Initial::Kind::kConstant: return {initial.scale, initial.scale};
  }
  return {0, 0};
}

void CheckParameter(const Parameter& parameter, const Moments& ours, const nlohmann::json& stored,
                    FileCheck& check) {
  const std::string& name = parameter.name;
  check.Require(stored.at("shape").get<std::vector<int64_t>>() == parameter.shape,
                name + ": has another shape");
  const double samples = stored.at("samples").get<double>();
  const double deviation = stored.at("std").get<double>();
  const double sigma = std::max(deviation, ours.deviation) * std::sqrt(1 / samples + 1 / ours.count);
  const double rounding = 1e-7;
  check.Compare(name + " mean", ours.mean - stored.at("mean").get<double>(), kSigmas * sigma + rounding);
  // The error of a deviation is below that of a normal distribution's, whose tails are the longest here.
  check.Compare(name + " std", ours.deviation - deviation, kSigmas * sigma / std::sqrt(2.0) + rounding);
  const auto [low, high] = Support(parameter.initial);
  const double slack = 1e-6;
  check.Require(
      stored.at("min").get<double>() >= low - slack && stored.at("max").get<double>() <= high + slack,
      name + ": stored values lie outside of our range");
  check.Require(ours.lowest >= low - slack && ours.highest <= high + slack,
                name + ": our values lie outside of our range");
}

}  // namespace

void CheckInitStats(const std::filesystem::path& folder, Report& report) {
  const std::string relative = "init_stats.json";
  if (!std::filesystem::exists(folder / relative)) {
    report.Absent(relative);
    return;
  }
  FileCheck check(relative);
  try {
    std::ifstream in(folder / relative);
    const nlohmann::json json = nlohmann::json::parse(in);
    for (const auto& [encoding, parameters] : json.items()) {
      const catalog::Encoding* known = catalog::FindEncoding(encoding);
      check.Require(known != nullptr, "unknown encoding " + encoding);
      if (known == nullptr) continue;
      // Full size, as the reference's: the defaults of the settings.
      trainer::PackSettings settings;
      settings.task = "bucket_sort";
      settings.encoding = encoding;
      const catalog::Task& task = *catalog::FindTask(settings.task);
      const trainer::Encoder encoder(settings, task.input_vocabulary, task.output_vocabulary);
      const trainer::ParameterLayout& layout = encoder.layout();
      std::vector<std::vector<float>> members(kSeeds,
                                              std::vector<float>(static_cast<size_t>(layout.stride())));
      for (int seed = 0; seed < kSeeds; ++seed) {
        trainer::Initialise(layout, static_cast<uint32_t>(seed), members[static_cast<size_t>(seed)]);
      }
      for (const auto& [name, stored] : parameters.items()) {
        const Parameter* parameter = layout.Find(name);
        check.Require(parameter != nullptr, encoding + " has no parameter " + name);
        if (parameter != nullptr) CheckParameter(*parameter, Pooled(*parameter, members), stored, check);
      }
    }
  } catch (const nlohmann::json::exception& error) {
    check.Require(false, Text("not as the layout says: ", error.what()));
  }
  report.Add(check);
}

}  // namespace longreach::golden
