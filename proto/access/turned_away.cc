#include "proto/access/turned_away.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "proto/base/text.h"

namespace longreach::access {
namespace {

// Between these stands the number.
constexpr std::string_view kBefore = "this longreach-scheduler has ";
constexpr std::string_view kBehind = " connections, and takes no more\n";
constexpr std::string_view kStatusLine = "HTTP/1.1 503 Service Unavailable\r\n";

bool HasOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::string FullAnswer(uint64_t connections) {
  const std::string text = fmt::format("{}{}{}", kBefore, connections, kBehind);
  return fmt::format("{}Content-Type: text/plain\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}", kStatusLine, text.size(), text);
}

std::string FullAlert() {
  // A record of type alert, version 3.1 as in every first record, two bytes: fatal, internal_error (RFC 8446, 5.1 and 6.2).
  constexpr std::array<char, 7> kAlert = {0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 80};
  return {kAlert.data(), kAlert.size()};
}

std::optional<uint64_t> ConnectionsOfFull(std::string_view bytes) {
  const size_t before = bytes.find(kBefore);
  const size_t behind = bytes.find(kBehind);
  if (!bytes.starts_with(kStatusLine) || before == std::string_view::npos || behind == std::string_view::npos) return std::nullopt;
  const size_t begin = before + kBefore.size();
  if (behind < begin) return std::nullopt;
  const std::optional<int64_t> number = ParseInteger(bytes.substr(begin, behind - begin));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

ConnectEnd ConnectEndOf(std::string_view grpc_text) {
  // gRPC's words, the system's and OpenSSL's. What a server said comes first: where a name stands for several addresses, the text is of one of them.
  if (HasOneOf(grpc_text, {"http1.x server"})) return ConnectEnd::kTurnedAway;
  if (HasOneOf(grpc_text, {"alert internal error"})) return ConnectEnd::kAlert;
  if (HasOneOf(grpc_text, {"Connection refused", "No such file or directory", "DNS resolution failed", "No route to host", "Network is unreachable"})) {
    return ConnectEnd::kNobody;
  }
  // Not of a connection that was there, and ended with its server or on the way.
  const bool is_of_a_try = HasOneOf(grpc_text, {"failed to connect"});
  if (is_of_a_try && HasOneOf(grpc_text, {"Socket closed", "Connection reset by peer", "Broken pipe"})) return ConnectEnd::kClosed;
  return ConnectEnd::kOther;
}

std::string_view MeaningOf(ConnectEnd end) {
  switch (end) {
    case ConnectEnd::kTurnedAway: return "it is there and has as many connections as it takes, as its log then says, or it is a web server";
    case ConnectEnd::kAlert: return "it is there and has as many connections as it takes, as its log then says, or TLS fails on its side";
    case ConnectEnd::kClosed: return "somebody is there and closed the connection: a scheduler that has as many connections as it takes, as its log then says, or one that speaks TLS";
    case ConnectEnd::kNobody:
    case ConnectEnd::kOther: break;
  }
  return "";
}

}  // namespace longreach::access
