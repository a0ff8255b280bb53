// How long gRPC lives in a process that has opened a channel or a server.
#pragma once

namespace longreach::access {

// Keeps gRPC's threads for the life of the process. When its last object goes, gRPC 1.51 joins a thread that may sit in a
// poll of 10 s: a program would sometimes take that long to end.
void KeepGrpc();

}  // namespace longreach::access
