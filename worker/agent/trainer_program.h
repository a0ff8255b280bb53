// longreach-trainer, which lies beside the worker's program: all that needs LibTorch. To load that takes a third of a second of a processor, and some 100 MB; the
// worker itself does without.
#pragma once

#include <filesystem>

#include "proto/base/status.h"

namespace longreach::agent {

// The program, as a path for posix_spawn() that stays the same file for as long as this process lives, even when another one has been installed over it: both ends of the
// trainer's pipe are of one build. FAILED_PRECONDITION, with the place: it is not there.
absl::StatusOr<std::filesystem::path> OpenTrainerProgram();

// Whether the system finds all libraries that the program needs, LibTorch among them. It is asked where they are and loads none, which takes a hundredth of a
// second. FAILED_PRECONDITION, with the program's place and what is not found.
absl::Status FindTrainerLibraries();

// Goes on as that program, with the same process and arguments (as main() has them). Returns only where that cannot be: FAILED_PRECONDITION,
// with the place.
absl::Status BecomeTrainerProgram(char** arguments);

}  // namespace longreach::agent
