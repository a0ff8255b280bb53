// SQLite's allocator with failures of ours (Layer::kMemory).
#pragma once

namespace longreach::faults {

// Before anything else of SQLite is called. Without lookaside memory, so that every allocation is one that can fail.
void UseFaultyMemory();

}  // namespace longreach::faults
