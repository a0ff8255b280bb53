// --device, of the commands that train.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace longreach {

inline constexpr const char* kCuda = "cuda";

// Adds --device, whose default is `device`.
inline void AddDevice(CLI::App& command, std::string& device, const std::string& help) {
  command.add_option("--device", device, help)->check(CLI::IsMember(std::vector<std::string>{"cpu", kCuda}))->capture_default_str();
}

}  // namespace longreach
