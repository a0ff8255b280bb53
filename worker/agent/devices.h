// `longreach-worker devices`: what this machine has to compute with, or why it has no GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "worker/trainer/train.h"

namespace longreach::agent {

// What the system knows of NVIDIA's driver, whether or not a plugin can be loaded.
struct NvidiaDriver {
  bool present = false;  // Its device files are there: this machine, or its container, has been given a GPU.
  std::string version;   // "580.95.05". Empty: the system does not say.
};
// Files are looked for below `root`: "/", but for tests.
NvidiaDriver LookAtNvidiaDriver(const std::filesystem::path& root);

struct DeviceReport {
  std::string build;
  trainer::Devices devices;
  NvidiaDriver driver;
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, where it is set.
};

// Some lines for people; a JSON document for programs. Both end with a line feed.
std::string DevicesAsText(const DeviceReport& report);
std::string DevicesAsJson(const DeviceReport& report);

// Whether all that is there computes.
bool AllCompute(const trainer::Devices& devices);

}  // namespace longreach::agent
