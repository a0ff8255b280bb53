// A function of the CUDA plugin's table as one that throws.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>

namespace longreach::trainer {

// Throws std::runtime_error with the device's words when it refuses.
template <typename Arguments>
std::function<void(const Arguments&)> Calling(int (*function)(const Arguments*, char*, size_t)) {
  return [function](const Arguments& arguments) {
    char error[256] = "";
    if (function(&arguments, error, sizeof(error)) != 0) throw std::runtime_error(error);
  };
}

}  // namespace longreach::trainer
