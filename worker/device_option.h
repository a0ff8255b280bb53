// --device, of the commands that train.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "proto/base/status.h"
#include "proto/catalog/devices.h"

namespace longreach {

// Adds --device, whose default is `device`.
void AddDevice(CLI::App& command, std::string& device);

// What was given, which CUDA sees alone from now on if it has a number: this process and those that it starts know one GPU. To be called
// before anything asks CUDA. FAILED_PRECONDITION: CUDA_VISIBLE_DEVICES names fewer.
absl::StatusOr<catalog::Device> TakeDevice(const std::string& device);

}  // namespace longreach
