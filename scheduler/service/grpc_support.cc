#include "scheduler/service/grpc_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/base/utf8.h"

namespace longreach::service {
namespace {

constexpr size_t kMost = 6000;
constexpr size_t kAtTheEnd = kMost / 4;

// As gRPC writes it: percent signs and what is not printable ASCII take three.
size_t SentBytes(char c) { return c >= ' ' && c <= '~' && c != '%' ? 1 : 3; }

}  // namespace

std::string ForTrailers(std::string_view text) {
  size_t sent = 0;
  for (const char c : text) sent += SentBytes(c);
  if (sent <= kMost) return std::string(text);
  size_t head = 0, tail = text.size();
  for (size_t room = kMost - kAtTheEnd; room >= SentBytes(text[head]); ++head) room -= SentBytes(text[head]);
  for (size_t room = kAtTheEnd; room >= SentBytes(text[tail - 1]); --tail) room -= SentBytes(text[tail - 1]);
  while (head > 0 && IsWithinCharacter(text[head])) --head;
  while (tail < text.size() && IsWithinCharacter(text[tail])) ++tail;
  return fmt::format("{} [... {} bytes ...] {}", text.substr(0, head), tail - head, text.substr(tail));
}

}  // namespace longreach::service
