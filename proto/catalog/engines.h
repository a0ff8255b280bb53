// What processes other than the worker know of its engines.
#pragma once

#include <string_view>

namespace longreach::catalog {

// So begins the line of a job's log that says that LibTorch took the place of the engine that was wanted, followed by that one's name and by
// why. The worker writes it; a command that waits for its sweep looks for it and shows it.
inline constexpr std::string_view kLibtorchInstead = "engine libtorch instead of ";

}  // namespace longreach::catalog
