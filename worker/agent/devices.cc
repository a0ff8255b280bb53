#include "worker/agent/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "proto/base/instruction_sets.h"
#include "proto/base/text.h"

namespace longreach::agent {
namespace {

constexpr double kGigabyte = 1e9;

// Ascending: those of this processor, which the system lets a process use.
std::vector<std::string> InstructionSetsHere() {
  std::vector<std::string> names;
  for (const InstructionSet set : InstructionSets()) {
    if (RunsHere(set)) names.emplace_back(NameOf(set));
  }
  return names;
}

std::string Problem(const std::string& problem) { return problem.empty() ? "" : fmt::format("       does not compute: {}\n", problem); }

std::string GpuAsText(const trainer::GpuDevice& gpu, size_t number) {
  std::vector<std::string> words = {gpu.name.empty() ? "no name" : gpu.name};
  if (gpu.memory_bytes > 0) words.push_back(fmt::format("{:.1f} GB of memory", gpu.memory_bytes / kGigabyte));
  if (gpu.memory_free_bytes.has_value()) words.push_back(fmt::format("{:.1f} GB of it free", *gpu.memory_free_bytes / kGigabyte));
  if (!gpu.engine.empty()) words.push_back(fmt::format("engine {}", gpu.engine));
  return fmt::format("cuda:{} {}\n", number, Join(words, ", ")) + Problem(gpu.problem);
}

}  // namespace

NvidiaDriver LookAtNvidiaDriver(const std::filesystem::path& root) {
  NvidiaDriver driver;
  std::error_code ignored;
  // The second is that of Linux within Windows.
  for (const char* file : {"dev/nvidiactl", "dev/dxg"}) driver.present |= std::filesystem::exists(root / file, ignored);
  std::ifstream version(root / "sys/module/nvidia/version");
  std::string line;
  if (std::getline(version, line)) driver.version = std::string(Trim(line));
  return driver;
}

std::string DevicesAsText(const DeviceReport& report) {
  const trainer::Devices& devices = report.devices;
  std::string text = fmt::format("LibTorch {}{}\n", devices.libtorch, devices.cuda.empty() ? "" : fmt::format(", CUDA {}", devices.cuda));
  text += fmt::format("cpu    {}, {}, {} {}, {:.1f} GB of memory, engine {}\n", devices.cpu.model, devices.cpu.registers, devices.cpu.threads,
                      devices.cpu.threads == 1 ? "thread" : "threads", devices.cpu.memory_bytes / kGigabyte, devices.cpu.engine);
  text += fmt::format("       instruction sets: {}\n", Join(InstructionSetsHere(), ", "));
  text += Problem(devices.cpu.problem);
  for (size_t number = 0; number < devices.gpus.size(); ++number) text += GpuAsText(devices.gpus[number], number);
  if (!devices.no_gpu.empty()) text += fmt::format("no GPU: {}\n", devices.no_gpu);
  if (!report.driver.version.empty()) text += fmt::format("NVIDIA driver {}\n", report.driver.version);
  if (report.visible.has_value()) text += fmt::format("CUDA_VISIBLE_DEVICES is '{}'\n", *report.visible);
  return text;
}

std::string DevicesAsJson(const DeviceReport& report) {
  using Json = nlohmann::ordered_json;
  const trainer::Devices& devices = report.devices;
  const trainer::CpuDevice& cpu = devices.cpu;
  Json gpus = Json::array();
  for (size_t number = 0; number < devices.gpus.size(); ++number) {
    const trainer::GpuDevice& gpu = devices.gpus[number];
    gpus.push_back({{"device", fmt::format("cuda:{}", number)},
                    {"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"memory_free_bytes", gpu.memory_free_bytes.has_value() ? Json(*gpu.memory_free_bytes) : Json()},
                    {"engine", gpu.engine},
                    {"problem", gpu.problem}});
  }
  const Json document = {{"schema", "longreach/v1"},
                         {"build", report.build},
                         {"libtorch", devices.libtorch},
                         {"cpu",
                          {{"model", cpu.model},
                           {"registers", cpu.registers},
                           {"instruction_sets", InstructionSetsHere()},
                           {"threads", cpu.threads},
                           {"memory_bytes", cpu.memory_bytes},
                           {"engine", cpu.engine},
                           {"engines", cpu.engines},
                           {"problem", cpu.problem}}},
                         {"gpus", gpus},
                         {"no_gpu", devices.no_gpu},
                         {"cuda", devices.cuda},
                         {"driver", {{"present", report.driver.present}, {"version", report.driver.version}}},
                         {"visible_devices", report.visible.has_value() ? Json(*report.visible) : Json()}};
  // Names of devices and words of drivers are not ours.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool AllCompute(const trainer::Devices& devices) {
  return devices.cpu.problem.empty() && std::ranges::all_of(devices.gpus, [](const trainer::GpuDevice& gpu) { return gpu.problem.empty(); });
}

}  // namespace longreach::agent
