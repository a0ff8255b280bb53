#include "scheduler/service/access/account.h"

#include <algorithm>

namespace longreach::service {

std::optional<Sent> Account::Read(const TcpTraffic& traffic, bool admitted,
                                  const std::function<std::optional<CallCount>()>& count_calls) {
  // What came between the progress and this reading is forgiven: the error is on the caller's side.
  if (traffic.written != written_) taken_at_progress_ = traffic.taken;
  written_ = traffic.written;
  if (traffic.taken >= taken_at_count_ + kBytesUncounted) {
    taken_at_count_ = traffic.taken;
    const std::optional<CallCount> calls = count_calls();
    if (calls != calls_) taken_at_progress_ = traffic.taken;
    calls_ = calls;
    if (calls_) calls_at_most_ = std::max(calls_at_most_, calls_->open());
  }
  if (!calls_) return std::nullopt;
  return Sent{.calls_open = calls_->open(),
              .calls_at_most = calls_at_most_,
              .admitted = admitted,
              .bytes_without_progress = traffic.taken - std::min(traffic.taken, taken_at_progress_)};
}

}  // namespace longreach::service
