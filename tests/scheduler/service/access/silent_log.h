// A log of refusals that counts its lines and keeps the last.
#pragma once

#include <string>

#include "scheduler/service/access/refusals.h"

namespace longreach::service {

class SilentLog final : public Refusals {
 public:
  using Refusals::Refusals;
  int lines = 0;
  std::string last;

 protected:
  void Write(const std::string& line) override {
    ++lines;
    last = line;
  }
};

}  // namespace longreach::service
