// What a GPU's thread has begun and goes on while it does (copies into shared memory, products of matrices), as emulation.h has it.
#pragma once

#include <cstddef>
#include <vector>

namespace longreach::trainer::resident::fibers {

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

// That of one thread, in groups: what has been begun and not waited for.
template <class Work>
class UnderWay {
 public:
  void Begin(const Work& work) { begun_.push_back(work); }
  void EndGroup() { groups_.push_back(begun_.size()); }
  bool any() const { return !begun_.empty(); }

  // What is to be done now, so that at most `later` groups are under way.
  std::vector<Work> Take(size_t later) {
    if (groups_.size() <= later) return {};
    const auto groups = static_cast<std::ptrdiff_t>(groups_.size() - later);
    const size_t count = groups_[static_cast<size_t>(groups) - 1];
    const auto end = begun_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<Work> done(begun_.begin(), end);
    begun_.erase(begun_.begin(), end);
    groups_.erase(groups_.begin(), groups_.begin() + groups);
    for (size_t& group : groups_) group -= count;
    return done;
  }

 private:
  std::vector<Work> begun_;
  std::vector<size_t> groups_;  // How many of them there were when each ended.
};

}  // namespace longreach::trainer::resident::fibers
