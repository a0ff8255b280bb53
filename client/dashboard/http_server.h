// HTTP/1.1 for a browser of this machine: on the loopback address alone, requests without a body.
#pragma once

#include <functional>
#include <memory>

#include "client/dashboard/http.h"
#include "proto/base/status.h"

namespace longreach::client {

class HttpServer {
 public:
  // Called on several threads at once; may take as long as it likes.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Listens on 127.0.0.1; port 0: on a free one. Nobody is answered before Serve().
  // FAILED_PRECONDITION: another process listens there.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(int port);
  // Waits for the answers that are being made, but for none that is not begun.
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  virtual void Serve(Handler handler) = 0;
};

}  // namespace longreach::client
