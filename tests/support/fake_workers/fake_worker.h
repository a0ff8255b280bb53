// Plays one worker by the protocol of proto/longreach/v1/worker.proto: announces abilities, keeps one call open, takes leases, waits
// where a real worker would train, reports, and keeps each report until it is acknowledged. It has no disk: a crash forgets all.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <grpcpp/grpcpp.h>

#include "longreach/v1/worker.grpc.pb.h"
#include "tests/support/fake_workers/options.h"
#include "worker/agent/backoff.h"

namespace longreach::fake {

// All of it runs on the one thread of `io`, but for the making of files.
class FakeWorker {
 public:
  FakeWorker(boost::asio::io_context& io, const std::shared_ptr<grpc::Channel>& channel, const Options& options, Tally& tally, int number);

  void Start();
  // Gives back what it holds, says goodbye, and ends.
  void Leave();
  // Ends at once: what it holds is left to its lease.
  void Stop();

  // It holds nothing and owes nothing.
  bool IsIdle() const { return held_.empty() && reports_.empty(); }
  bool HasEnded() const { return stopped_; }

 private:
  struct Call;
  struct Held {
    v1::Lease lease;
    std::shared_ptr<boost::asio::steady_timer> timer;
    bool handing_in = false;
  };

  void BeginIncarnation();
  void CallNow();
  void CallAfter(std::chrono::duration<double> wait);
  void OnDone(const std::shared_ptr<Call>& call);
  void OnAnswer(const Call& call);
  // The worker has something to say that the call in flight does not.
  void News();
  void Take(const v1::Lease& lease);
  void Obey(const v1::Directive& directive);
  void Finish(uint64_t attempt);
  void Succeed(uint64_t attempt);
  void HandIn(uint64_t attempt);
  void Send(uint64_t attempt, v1::UploadHeader header, std::string content);
  void OnHandedIn(uint64_t attempt, const grpc::Status& status);
  void Report(uint64_t attempt, v1::AttemptReport report);
  void Crash();
  void FallSilent();
  bool Happens(double share, uint64_t attempt, uint64_t salt) const;

  boost::asio::io_context& io_;
  const std::unique_ptr<v1::Worker::Stub> stub_;
  const std::unique_ptr<v1::Artifacts::Stub> artifacts_;
  const Options& options_;
  Tally& tally_;
  const std::string id_;
  v1::Abilities abilities_;
  uint64_t incarnation_ = 0;
  uint64_t sequence_ = 0;
  std::map<uint64_t, Held> held_;
  std::map<uint64_t, v1::AttemptReport> reports_;
  std::shared_ptr<Call> in_flight_;
  boost::asio::steady_timer next_;
  agent::Backoff backoff_;
  bool news_ = false;
  bool away_ = false;
  bool silent_ = false;
  bool leaving_ = false;
  bool stopped_ = false;
  std::chrono::duration<double> lease_term_{15};
  // When the last answered call was sent: the lease has its term from some moment after this.
  std::chrono::steady_clock::time_point renewed_at_{};
  // When slots became free that have no lease yet, the first one first.
  std::deque<std::chrono::steady_clock::time_point> freed_;
};

}  // namespace longreach::fake
