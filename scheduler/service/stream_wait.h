// What a call that goes on and on waits with: until a time, or until somebody wakes it.
#pragma once

#include <memory>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include "scheduler/service/grpc_support.h"

namespace longreach::service {

// A call that wakes it may come to its turn when whoever waited is gone already.
struct StreamWait {
  explicit StreamWait(Workforce& workforce) : strand(boost::asio::make_strand(workforce.pool())), timer(strand) {}

  static void Wake(const std::shared_ptr<StreamWait>& waiting) {
    boost::asio::post(waiting->strand, [waiting] {
      waiting->woken = true;
      waiting->timer.cancel();
    });
  }

  boost::asio::strand<boost::asio::thread_pool::executor_type> strand;
  // Both on the strand.
  boost::asio::steady_timer timer;
  bool woken = false;
};

}  // namespace longreach::service
