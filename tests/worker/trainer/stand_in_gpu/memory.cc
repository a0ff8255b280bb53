#include "tests/worker/trainer/stand_in_gpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

namespace longreach::stand_in_gpu {

namespace {

// As CUDA's allocator aligns.
constexpr size_t kPiece = 512;
constexpr int kUnset = 0xFF;  // Four of these are a NaN, and so are two and eight.

}  // namespace

DeviceMemory& DeviceMemory::Ours() {
  static DeviceMemory* const ours = new DeviceMemory;
  return *ours;
}

DeviceMemory::DeviceMemory() {
  const auto map = [](int protection) {
    void* const mapped = mmap(nullptr, kBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return static_cast<char*>(mapped);
  };
  base_ = map(PROT_NONE);
  seen_ = map(PROT_READ | PROT_WRITE);
  free_[0] = kBytes;
}

void* DeviceMemory::Allocate(size_t bytes) {
  const size_t rounded = std::max(kPiece, (bytes + kPiece - 1) / kPiece * kPiece);
  const std::lock_guard lock(mutex_);
  const auto place = std::ranges::find_if(free_, [&](const auto& piece) { return piece.second >= rounded; });
  if (place == free_.end()) throw std::bad_alloc();
  const auto [begin, there] = *place;
  free_.erase(place);
  if (there > rounded) free_[begin + rounded] = there - rounded;
  used_[begin] = rounded;
  std::memset(seen_ + begin, kUnset, rounded);
  return base_ + begin;
}

void DeviceMemory::Free(void* begin) {
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(static_cast<size_t>(static_cast<char*>(begin) - base_));
  auto piece = free_.emplace(*used).first;
  used_.erase(used);
  // With the free ones beside it.
  if (const auto next = std::next(piece); next != free_.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece == free_.begin()) return;
  const auto before = std::prev(piece);
  if (before->first + before->second != piece->first) return;
  before->second += piece->second;
  free_.erase(piece);
}

bool DeviceMemory::Has(const void* address) const {
  const char* const there = static_cast<const char*>(address);
  return there >= base_ && there < base_ + kBytes;
}

}  // namespace longreach::stand_in_gpu
