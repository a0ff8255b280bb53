// What computes a worker's updates: `--device`, as the worker and commands that start some take it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::catalog {

// "cpu"; "cuda", the first GPU that CUDA sees; or "cuda:N", the one with that number, from 0.
struct Device {
  bool cuda = false;
  std::optional<int> gpu{};

  bool operator==(const Device&) const = default;
};

// nullopt: it is none.
std::optional<Device> ParseDevice(std::string_view text);
// One or, as "cuda:0,2,4..7", several GPUs in ascending order, each once. Empty: it is none.
std::vector<Device> ParseDevices(std::string_view text);
std::string ToText(const Device& device);

// Why `text` is none. Empty: it is one.
std::string CheckDevice(const std::string& text);
std::string CheckDevices(const std::string& text);

// What CUDA_VISIBLE_DEVICES is to be so that CUDA sees the GPU with this number of those alone that it sees with `visible`, the variable's
// value; nullptr: it is not set. nullopt: it has not so many.
std::optional<std::string> VisibleAlone(int gpu, const char* visible);

}  // namespace longreach::catalog
