// Wakes those who wait for something to have happened, whatever it is: they look for themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "proto/base/synchronized.h"

namespace longreach::service {

// Safe from several threads.
class Bell {
 public:
  // Called at each ring, on the ringer's thread and one at a time: it must be quick, and leave the bell alone.
  using Listener = std::function<void()>;

  // As long as it lives, its listener is called; after it is gone, never. The bell outlives it.
  class Listening {
   public:
    Listening(Listening&& other) noexcept : bell_(std::exchange(other.bell_, nullptr)), number_(other.number_) {}
    Listening& operator=(Listening&&) = delete;
    ~Listening() {
      if (bell_ != nullptr) bell_->state_.Lock()->listeners.erase(number_);
    }

   private:
    friend class Bell;
    Listening(Bell* bell, uint64_t number) : bell_(bell), number_(number) {}
    Bell* bell_;
    uint64_t number_;
  };

  [[nodiscard]] Listening Listen(Listener listener) {
    auto state = state_.Lock();
    state->listeners.emplace(++state->last, std::move(listener));
    return Listening(this, state->last);
  }

  void Ring() {
    auto state = state_.Lock();
    for (const auto& [number, listener] : state->listeners) listener();
  }

 private:
  struct State {
    uint64_t last = 0;
    std::map<uint64_t, Listener> listeners;  // By number.
  };
  Synchronized<State> state_;
};

}  // namespace longreach::service
