#include "scheduler/service/access/call_counts.h"

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <memory>
#include <optional>
#include <string_view>

#include "proto/base/text.h"

namespace longreach::service {
namespace {

struct Free {
  void operator()(char* text) const { gpr_free(text); }
};
using Json = std::unique_ptr<char, Free>;  // As gRPC writes it, without blanks; null for what is not there.

// The text that stands for `key` first in `json`, from `from` on, which then lies behind it; channelz writes numbers as text too.
std::optional<std::string_view> Next(std::string_view json, std::string_view key, size_t& from) {
  const std::string before = fmt::format("\"{}\":\"", key);
  const size_t begin = json.find(before, from);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t end = json.find('"', begin + before.size());
  if (end == std::string_view::npos) return std::nullopt;
  from = end;
  return json.substr(begin + before.size(), end - begin - before.size());
}

uint64_t Number(std::string_view json, std::string_view key) {
  size_t from = 0;
  const std::optional<std::string_view> text = Next(json, key, from);
  return text ? static_cast<uint64_t>(ParseInteger(*text).value_or(0)) : 0;  // Left out: 0.
}

}  // namespace

std::optional<CallCount> CallCounts::Of(const std::string& peer) {
  auto id = ids_.find(peer);
  if (id == ids_.end()) {
    Look();
    id = ids_.find(peer);
    if (id == ids_.end()) return std::nullopt;
  }
  const Json socket(grpc_channelz_get_socket(id->second));
  if (socket == nullptr) {
    ids_.erase(id);
    return std::nullopt;
  }
  return CallCount{.begun = Number(socket.get(), "streamsStarted"),
                   .ended = Number(socket.get(), "streamsSucceeded") + Number(socket.get(), "streamsFailed"),
                   .messages = Number(socket.get(), "messagesReceived")};
}

void CallCounts::Look() {
  const Json servers(grpc_channelz_get_servers(0));
  size_t at = 0;
  while (servers != nullptr) {
    const std::optional<std::string_view> server = Next(servers.get(), "serverId", at);
    if (!server) break;
    const intptr_t server_id = ParseInteger(*server).value_or(0);
    intptr_t next_socket = 0;
    for (bool more = true; more;) {
      const Json sockets(grpc_channelz_get_server_sockets(server_id, next_socket, 0));
      if (sockets == nullptr) break;
      const std::string_view text = sockets.get();
      more = text.find("\"end\":true") == std::string_view::npos;
      size_t from = 0;
      bool any = false;
      while (const std::optional<std::string_view> name = Next(text, "name", from)) {
        const std::optional<std::string_view> id = Next(text, "socketId", from);
        if (!id) break;
        const intptr_t number = ParseInteger(*id).value_or(0);
        ids_[std::string(name->substr(name->rfind(' ') + 1))] = number;  // "chttp2 ipv4:10.0.0.7:4242"
        next_socket = number + 1;
        any = true;
      }
      more &= any;
    }
  }
}

}  // namespace longreach::service
