// Whether all that runs has long been computed and is not written yet, as on a full disk, which a worker waits for in silence: told by
// commands whose own worker it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

class SlowWriting {
 public:
  using Clock = std::chrono::steady_clock;

  // One sentence, once every running attempt has been writing for kPatience; a second time only when others are. Else empty. `where`: the
  // flags that name the store to another command.
  std::string Of(const v1::SweepUpdate& update, const std::string& where, Clock::time_point now);

  // Weights of a published model take some seconds.
  static constexpr std::chrono::seconds kPatience{30};

 private:
  std::map<uint32_t, Clock::time_point> since_;  // Of the attempts that write: since when.
  bool told_ = false;
};

}  // namespace longreach::client
