// Times of the wire (Timestamp, Duration) and of C++.
#pragma once

#include <string>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "proto/base/clock.h"

namespace longreach {

google::protobuf::Timestamp ToTimestamp(WallTime time);
WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration ToDuration(std::chrono::microseconds duration);

// "2026-03-01 12:00:00Z", as the client shows times.
std::string ReadableTime(WallTime time);

}  // namespace longreach
