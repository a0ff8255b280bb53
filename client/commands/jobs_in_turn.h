// Many jobs, with all that is known of each. No call tells of several, so some are asked for at a time: of such a call most is waiting, on a line between two
// machines above all.
#pragma once

#include <cstddef>
#include <deque>
#include <future>
#include <string>
#include <vector>

#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

class JobsInTurn {
 public:
  // The connection outlives it.
  JobsInTurn(Connection& connection, std::vector<std::string> ids);

  // The answer for the next of them; not to be called more often than there are jobs. Behind an error other than NOT_FOUND no further one is asked for.
  absl::StatusOr<v1::GetJobResponse> Next();

 private:
  void Ask();

  Connection& connection_;
  std::vector<std::string> ids_;
  size_t asked_ = 0;
  std::deque<std::future<absl::StatusOr<v1::GetJobResponse>>> answers_;
};

}  // namespace longreach::client
