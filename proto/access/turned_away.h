// What a scheduler that has as many connections as it takes says to one more before it closes it, and how a try to connect ended, by
// what gRPC says of it: so that whoever called can tell "full" from "nobody there".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longreach::access {

// To a caller without TLS, and to curl: an answer of HTTP/1.1, at which gRPC ends its try and waits before the next one. HTTP/2's own
// GOAWAY would be taken for a connection that stood, and gRPC 1.51 makes the next one at once: a thousand in a second, without end.
std::string FullAnswer(uint64_t connections);
// To one that speaks TLS: the alert internal_error, which stands for want of memory and the like, in the place of the handshake. So
// nothing is computed for a stranger.
std::string FullAlert();

// How many connections a scheduler has that said these `bytes`. nullopt: they are no FullAnswer(), or not all of it.
std::optional<uint64_t> ConnectionsOfFull(std::string_view bytes);

enum class ConnectEnd {
  kNobody,       // Refused, no such socket, no such host, or no way to it.
  kTurnedAway,   // By FullAnswer(), or by another server that speaks HTTP/1.1.
  kAlert,        // By FullAlert(), or by another trouble of a server that speaks TLS.
  kClosed,       // Somebody was there, and closed the connection before there was a call, perhaps with a word that was not read.
  kOther,
};

// By the text of gRPC's status UNAVAILABLE. Pure.
ConnectEnd ConnectEndOf(std::string_view grpc_text);

// Where somebody is there, what that may be, for a log; else empty. Pure.
std::string_view MeaningOf(ConnectEnd end);

}  // namespace longreach::access
