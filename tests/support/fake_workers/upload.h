// Hands in one artifact, without blocking a thread.
#pragma once

#include <functional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "longreach/v1/worker.grpc.pb.h"

namespace longreach::fake {

// Streams the header and the content, which are taken as they are. `done` is called once, on a thread of gRPC's.
void Upload(v1::Artifacts::Stub& stub, v1::UploadHeader header, std::string content, std::function<void(grpc::Status)> done);

}  // namespace longreach::fake
