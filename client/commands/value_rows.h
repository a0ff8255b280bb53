// The values of a sweep's jobs in long form, a row each: what pandas and R take.
#pragma once

#include "client/commands/parts_output.h"
#include "client/connection.h"
#include "client/session.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

class ValueRows {
 public:
  // All are to outlive it. Sweeps that are printed after each other have one header in CSV.
  ValueRows(Session& session, Connection& connection, PartsOutput& output) : session_(session), connection_(connection), output_(output) {}

  // Those of a sweep that `question` asks for; its sweep and its page are filled in here. A job that diverged has a row without a value.
  // CSV is written page by page, and JSON of one sweep: a large one has millions of rows.
  // RESOURCE_EXHAUSTED: more rows than anyone reads, in a format for people. Nothing is printed then.
  absl::Status Print(const v1::Sweep& sweep, v1::ListMeasurementsRequest question);

 private:
  Session& session_;
  Connection& connection_;
  PartsOutput& output_;
  bool begun_ = false;
};

}  // namespace longreach::client
