// Shared data that cannot be reached without its lock.
#pragma once

#include <mutex>
#include <utility>

namespace longreach {

// Synchronized<Queue> queue;  { auto locked = queue.Lock(); locked->push(1); }
template <typename T>
class Synchronized {
 public:
  // Holds the lock as long as it lives; not to be kept beyond the statement or block that needs it.
  class Locked {
   public:
    Locked(std::mutex& mutex, T& value) : lock_(mutex), value_(&value) {}
    T* operator->() { return value_; }
    T& operator*() { return *value_; }
    // For std::condition_variable::wait.
    std::unique_lock<std::mutex>& lock() { return lock_; }

   private:
    std::unique_lock<std::mutex> lock_;
    T* value_;
  };

  Synchronized() = default;
  explicit Synchronized(T value) : value_(std::move(value)) {}

  [[nodiscard]] Locked Lock() { return Locked(mutex_, value_); }

 private:
  std::mutex mutex_;
  T value_{};
};

}  // namespace longreach
