#include "proto/types/time.h"

#include <fmt/format.h>

namespace longreach {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Seconds and the nanoseconds that follow them; Timestamp wants nanoseconds that are never negative.
template <typename Message>
Message Split(microseconds time, seconds whole) {
  Message message;
  message.set_seconds(whole.count());
  message.set_nanos(static_cast<int32_t>(nanoseconds(time - whole).count()));
  return message;
}

}  // namespace

google::protobuf::Timestamp ToTimestamp(WallTime time) {
  const microseconds since = time.time_since_epoch();
  return Split<google::protobuf::Timestamp>(since, floor<seconds>(since));
}

WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp) {
  return WallTime(seconds(timestamp.seconds()) + floor<microseconds>(nanoseconds(timestamp.nanos())));
}

google::protobuf::Duration ToDuration(microseconds duration) {
  return Split<google::protobuf::Duration>(duration, std::chrono::duration_cast<seconds>(duration));
}

std::string ReadableTime(WallTime time) {
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace longreach
