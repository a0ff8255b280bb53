#include "tests/support/fake_workers/fleet.h"

#include <algorithm>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <nlohmann/json.hpp>

namespace longreach::fake {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kGoodbye{5};

// As the real worker's channel is set up, so that what is seen here holds for it.
std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 8'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Otherwise all channels to one address share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

nlohmann::json Described(const Latencies& times) {
  const auto rounded = [](double ms) { return std::round(ms * 1000) / 1000; };
  return {{"count", times.count()},
          {"mean", rounded(times.mean_ms())},
          {"p50", rounded(times.Quantile(0.5))},
          {"p90", rounded(times.Quantile(0.9))},
          {"p99", rounded(times.Quantile(0.99))},
          {"max", rounded(times.max_ms())}};
}

}  // namespace

Fleet::Fleet(boost::asio::io_context& io, const Options& options) : io_(io), options_(options), watch_(io) {
  const int connections = options_.connections == 0 ? options_.workers : std::min(options_.connections, options_.workers);
  for (int i = 0; i < connections; ++i) channels_.push_back(Connect(options_.scheduler));
  for (int i = 0; i < options_.workers; ++i) {
    const std::shared_ptr<grpc::Channel>& channel = channels_[static_cast<size_t>(i % connections)];
    workers_.push_back(std::make_unique<FakeWorker>(io_, channel, options_, tally_, i));
  }
}

void Fleet::Start() {
  started_at_ = std::chrono::steady_clock::now();
  busy_at_ = started_at_;
  for (const auto& worker : workers_) worker->Start();
  Watch();
}

void Fleet::Leave() {
  if (leaving_) return;
  leaving_ = true;
  leaving_at_ = std::chrono::steady_clock::now();
  for (const auto& worker : workers_) worker->Leave();
}

bool Fleet::IsIdle() const {
  return std::ranges::all_of(workers_, [](const auto& worker) { return worker->IsIdle(); });
}

bool Fleet::HasEnded() const {
  return std::ranges::all_of(workers_, [](const auto& worker) { return worker->HasEnded(); });
}

void Fleet::End() {
  for (const auto& worker : workers_) worker->Stop();
  watch_.cancel();
  io_.stop();
}

void Fleet::Watch() {
  watch_.expires_after(kLook);
  watch_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    if (tally_.leases == 0 || !IsIdle()) busy_at_ = now;
    if (leaving_ && (HasEnded() || now - leaving_at_ > kGoodbye)) return End();
    const std::chrono::duration<double> idle = now - busy_at_;
    const std::chrono::duration<double> ran = now - started_at_;
    const bool done = (options_.until_idle && idle.count() >= options_.idle_s) || (options_.seconds > 0 && ran.count() >= options_.seconds);
    if (done) Leave();
    Watch();
  });
}

std::string Fleet::Figures() const {
  const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };
  const double working_s = std::max(seconds(tally_.last_acknowledged - tally_.first_lease), 1e-9);
  nlohmann::json errors = nlohmann::json::object();
  for (const auto& [code, count] : tally_.errors) errors[std::to_string(code)] = count;
  const nlohmann::json figures = {
      {"workers", options_.workers},
      {"connections", channels_.size()},
      {"seconds", seconds(std::chrono::steady_clock::now() - started_at_)},
      // From the first lease to the last acknowledgement.
      {"working_s", tally_.acknowledged == 0 ? 0 : working_s},
      {"reports_per_s", tally_.acknowledged == 0 ? 0 : static_cast<double>(tally_.acknowledged) / working_s},
      {"calls", tally_.calls},
      {"leases", tally_.leases},
      {"leased_jobs", tally_.leased_jobs},
      {"reports", tally_.reports},
      {"acknowledged", tally_.acknowledged},
      {"acknowledged_jobs", tally_.acknowledged_jobs},
      {"given_back", tally_.given_back},
      {"failed", tally_.failed},
      {"crashes", tally_.crashes},
      {"silences", tally_.silences},
      {"drops", tally_.drops},
      {"false_drops", tally_.false_drops},
      {"dropped_jobs", tally_.dropped_jobs},
      {"uploads", tally_.uploads},
      {"overtaken", tally_.overtaken},
      {"errors", errors},
      {"report_ms", Described(tally_.report)},
      {"assign_ms", Described(tally_.assign)},
  };
  return figures.dump();
}

}  // namespace longreach::fake
