#include "proto/access/keep_grpc.h"

#include <grpc/grpc.h>

namespace longreach::access {

void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  (void)kept;
}

}  // namespace longreach::access
