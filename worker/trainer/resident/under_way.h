// What a GPU's thread has begun and goes on while it does (copies into shared memory, products of matrices), as emulation.h has it.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace longreach::trainer::resident::fibers {

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

// A call with what it needs, without memory of its own.
class Deferred {
 public:
  template <class Call>
  static Deferred Of(const Call& call) {
    static_assert(sizeof(Call) <= sizeof(call_) && alignof(Call) <= alignof(void*) && std::is_trivially_copyable_v<Call>);
    Deferred deferred;
    std::memcpy(deferred.call_, &call, sizeof(call));
    deferred.run_ = [](const void* of) { (*static_cast<const Call*>(of))(); };
    return deferred;
  }
  void Run() const { run_(call_); }

 private:
  alignas(void*) char call_[4 * sizeof(void*)] = {};
  void (*run_)(const void*) = nullptr;
};

// That of one thread, in groups: what has been begun and not waited for.
template <class Work>
class UnderWay {
 public:
  void Begin(const Work& work) { begun_.push_back(work); }
  void EndGroup() { groups_.push_back(begun_.size()); }
  bool any() const { return !begun_.empty(); }
  void Clear() {
    begun_.clear();
    groups_.clear();
  }

  // How many are to be done, the first ones, so that at most `later` groups are under way.
  size_t Due(size_t later) const { return groups_.size() <= later ? 0 : groups_[groups_.size() - later - 1]; }
  const Work& operator[](size_t i) const { return begun_[i]; }
  // They are done.
  void Drop(size_t later) {
    if (groups_.size() <= later) return;
    const size_t count = Due(later);
    begun_.erase(begun_.begin(), begun_.begin() + static_cast<std::ptrdiff_t>(count));
    groups_.erase(groups_.begin(), groups_.end() - static_cast<std::ptrdiff_t>(later));
    for (size_t& group : groups_) group -= count;
  }

 private:
  std::vector<Work> begun_;
  std::vector<size_t> groups_;  // How many of them there were when each ended.
};

}  // namespace longreach::trainer::resident::fibers
