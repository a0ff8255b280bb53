// Times of the wire (Timestamp, Duration), of the store (INTEGER microseconds UTC) and of C++.
#pragma once

#include <cstdint>
#include <string>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "proto/base/clock.h"

namespace longreach {

google::protobuf::Timestamp ToTimestamp(WallTime time);
WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration ToDuration(std::chrono::microseconds duration);
std::chrono::microseconds FromDuration(const google::protobuf::Duration& duration);

inline int64_t ToMicros(WallTime time) { return time.time_since_epoch().count(); }
inline WallTime FromMicros(int64_t micros) { return WallTime(std::chrono::microseconds(micros)); }

// "2026-03-01 12:00:00Z", as the client shows times.
std::string ReadableTime(WallTime time);

}  // namespace longreach
