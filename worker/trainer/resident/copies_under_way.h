// Copies into shared memory that go on while their thread does, as emulation.h has them: which ones a thread has begun and not waited for.
#pragma once

#include <cstddef>
#include <vector>

namespace longreach::trainer::resident::fibers {

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

// Those of one thread.
class CopiesUnderWay {
 public:
  void Begin(const Copy& copy) { begun_.push_back(copy); }
  void EndGroup() { groups_.push_back(begun_.size()); }
  bool any() const { return !begun_.empty(); }

  // Those that are to be done now, so that at most `later` groups are under way.
  std::vector<Copy> Take(size_t later) {
    if (groups_.size() <= later) return {};
    const auto groups = static_cast<std::ptrdiff_t>(groups_.size() - later);
    const size_t count = groups_[static_cast<size_t>(groups) - 1];
    const auto end = begun_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<Copy> done(begun_.begin(), end);
    begun_.erase(begun_.begin(), end);
    groups_.erase(groups_.begin(), groups_.begin() + groups);
    for (size_t& group : groups_) group -= count;
    return done;
  }

 private:
  std::vector<Copy> begun_;
  std::vector<size_t> groups_;  // How many of them there were when each ended.
};

}  // namespace longreach::trainer::resident::fibers
