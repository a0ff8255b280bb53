#include "client/commands/job_sample.h"

#include <iterator>

namespace longreach::client {
namespace {

// The finalizer of SplitMix64: each bit of `x` tells on all bits of the value.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// By its id, which is a hash already, and the draw.
uint64_t RankOf(std::string_view id, uint64_t draw) {
  uint64_t hash = Mix(draw);
  for (const char c : id) hash = Mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

void JobSample::Add(std::string_view id) {
  ++added_;
  least_.emplace(RankOf(id, draw_), id);
  if (least_.size() > size_) least_.erase(std::prev(least_.end()));
}

std::vector<std::string> JobSample::Drawn() const {
  std::vector<std::string> ids;
  for (const auto& [rank, id] : least_) ids.push_back(id);
  return ids;
}

}  // namespace longreach::client
