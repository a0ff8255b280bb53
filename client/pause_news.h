// Whether a sweep is paused, for whom waits for it: told when it changes.
#pragma once

#include <string>

#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

class PauseNews {
 public:
  explicit PauseNews(Session& session) : session_(session) {}

  // That the sweep has been paused, and what lets it go on, or that it goes on. Empty: neither since the state before, or it is over.
  std::string Of(const v1::SweepUpdate& update);

 private:
  Session& session_;
  bool paused_ = false;
};

}  // namespace longreach::client
