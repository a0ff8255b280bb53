// All fake workers of a process, their connections, and the line of figures at the end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "tests/support/fake_workers/fake_worker.h"
#include "tests/support/fake_workers/options.h"

namespace longreach::fake {

class Fleet {
 public:
  Fleet(boost::asio::io_context& io, const Options& options);

  void Start();
  // Every worker gives back what it holds and says goodbye; what has not got through after a few seconds is left.
  void Leave();

  // One line of JSON.
  std::string Figures() const;

 private:
  void Watch();
  bool IsIdle() const;
  bool HasEnded() const;
  void End();

  boost::asio::io_context& io_;
  const Options options_;
  Tally tally_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  boost::asio::steady_timer watch_;
  std::chrono::steady_clock::time_point started_at_{};
  std::chrono::steady_clock::time_point busy_at_{};
  std::chrono::steady_clock::time_point leaving_at_{};
  bool leaving_ = false;
};

}  // namespace longreach::fake
