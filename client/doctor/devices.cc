#include "client/doctor/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/doctor/json_members.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr const char* kCpu = "cpu";
constexpr const char* kGpu = "gpu";
// Of a GPU's memory: where less is free, others have most of it.
constexpr double kLittleFree = 0.2;

Check JudgeCpu(const nlohmann::json& document) {
  const nlohmann::json cpu = Member(document, kCpu);
  Findings findings(kCpu);
  findings.Add(CheckState::kOk, fmt::format("LibTorch {}, {}, {}, {}, {}, engine {}", TextOf(document, "libtorch"), TextOf(cpu, "model"), TextOf(cpu, "registers"),
                                            Count(static_cast<int64_t>(std::clamp(NumberOf(cpu, "threads"), 0.0, 1e6)), "thread"), HumanBytes(NumberOf(cpu, "memory_bytes")), TextOf(cpu, "engine")));
  if (const std::string problem = TextOf(cpu, "problem"); !problem.empty()) {
    findings.Add(CheckState::kFailed, fmt::format("it does not compute: {}", problem), "install the LibTorch that this build is for (deploy/setup.sh), and look at its message");
  }
  return findings.check();
}

void AddGpu(const nlohmann::json& gpu, Findings& findings) {
  const double all = NumberOf(gpu, "memory_bytes"), free = NumberOf(gpu, "memory_free_bytes");
  const bool told = Member(gpu, "memory_free_bytes").is_number();
  const std::string device = TextOf(gpu, "device");
  if (const std::string problem = TextOf(gpu, "problem"); !problem.empty()) {
    findings.Add(CheckState::kFailed, fmt::format("{} {} does not compute: {}", device, TextOf(gpu, "name"), problem),
                 fmt::format("see what nvidia-smi says of {}; workers can do without it ('--device cpu', or another number)", device));
    return;
  }
  const bool little = told && free < kLittleFree * all;
  findings.Add(little ? CheckState::kWarning : CheckState::kOk,
               fmt::format("{} {}, {}{}, engine {}", device, TextOf(gpu, "name"), HumanBytes(all), told ? fmt::format(", {} free", HumanBytes(free)) : "", TextOf(gpu, "engine")),
               little ? fmt::format("other programs have most of the memory of {}; nvidia-smi names them", device) : "");
}

Check JudgeGpus(const nlohmann::json& document) {
  Findings findings(kGpu);
  const nlohmann::json driver = Member(document, "driver"), gpus = Member(document, "gpus");
  if (gpus.is_array()) {
    for (const nlohmann::json& gpu : gpus) AddGpu(gpu, findings);
  }
  if (const std::string none = TextOf(document, "no_gpu"); !none.empty()) {
    const nlohmann::json present = Member(driver, "present");
    const bool given = present.is_boolean() && present.get<bool>();
    findings.Add(given ? CheckState::kWarning : CheckState::kOk, fmt::format("none: {}", none),
                 given ? "NVIDIA's device files are here; put right what the reason names, if you want to train on a GPU" : "");
  }
  if (const std::string cuda = TextOf(document, "cuda"); !cuda.empty()) findings.Add(CheckState::kOk, "CUDA " + cuda);
  if (const std::string version = TextOf(driver, "version"); !version.empty()) findings.Add(CheckState::kOk, "NVIDIA driver " + version);
  if (const nlohmann::json visible = Member(document, "visible_devices"); visible.is_string()) {
    findings.Add(CheckState::kOk, fmt::format("CUDA_VISIBLE_DEVICES is '{}'", visible.get<std::string>()));
  }
  return findings.check();
}

}  // namespace

std::vector<Check> JudgeDevices(const absl::StatusOr<std::string>& answer) {
  if (!answer.ok()) {
    const std::string why(answer.status().message());
    if (absl::IsUnavailable(answer.status())) return {NotAsked(kCpu, why), NotAsked(kGpu, why)};
    Findings findings(kCpu);
    findings.Add(CheckState::kFailed, why, "'longreach-worker devices' says the same");
    return {findings.check(), NotAsked(kGpu, "'longreach-worker devices' does not say")};
  }
  const nlohmann::json document = ParsedObject(*answer);
  if (!Member(document, kCpu).is_object()) {
    Findings findings(kCpu);
    findings.Add(CheckState::kWarning, "'longreach-worker devices' does not say what it computes with", "install all programs of one build together");
    return {findings.check(), NotAsked(kGpu, "'longreach-worker devices' does not say")};
  }
  return {JudgeCpu(document), JudgeGpus(document)};
}

}  // namespace longreach::client
