// Which call of the storage layer fails, and how.
//
// All that the store asks of the operating system passes here: SQLite's calls through a VFS (faulty_vfs.h), those of artifact
// files, the lock and backups through the linker (file_calls.cc), SQLite's memory through its own methods (faulty_memory.h); all
// other memory through operator new (faulty_new.cc).
// One thread only: so a number names the same call in every run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace longreach::faults {

enum class Layer {
  kCalls,   // Reads, writes, syncs, ... of files.
  kMemory,  // What SQLite allocates.
  kNew,     // What C++ allocates. The scheduler ends there (scheduler/service/memory.h), so it is killed at the call.
};

enum class Harm {
  kIo,        // The device does not answer.
  kFull,      // No space left; of a write, the first half is done.
  kNoMemory,  // No memory for the call.
  kKill,      // kill -9 before the call.
};

struct Plan {
  Layer layer = Layer::kCalls;
  Harm harm = Harm::kIo;
  int64_t nth = 0;  // From 1; 0: none fails, they are only counted.
  bool from_then_on = false;
};

struct Seen {
  int64_t calls = 0;
  int64_t struck = 0;
};

// From now on calls are counted, and fail as planned.
void Arm(const Plan& plan);
// No call fails any more; what happened since Arm().
Seen Disarm();

// Asked before each call; what shall become of it. Does not return when the process is to be killed.
std::optional<Harm> Strike(Layer layer);

// The errno of a harm.
int ErrnoOf(Harm harm);
std::string_view NameOf(Harm harm);
std::string_view NameOf(Layer layer);

}  // namespace longreach::faults
