// A request of a browser and the answer to it, as values: what the dashboard decides about, without sockets.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace longreach::client {

struct HttpRequest {
  std::string method;
  std::string target;  // As it was sent: path and parameters.
  // Fields of the header; empty where there is none.
  std::string host;
  std::string authorization;
  std::string fetch_site;  // Sec-Fetch-Site: from whose page the browser was sent.
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields{};  // Of the header, beside those that all answers have.
};

}  // namespace longreach::client
