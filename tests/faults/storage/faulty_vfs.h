// SQLite's usual VFS with failures of ours (Layer::kCalls) and a trace (trace.h).
#pragma once

namespace longreach::faults {

// Every file that SQLite opens from now on goes through it: it is the default VFS.
void UseFaultyVfs();

}  // namespace longreach::faults
