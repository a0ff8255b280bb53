// bench-limits: what this machine can do at all, in the terms of the scheduler's work, as one line of JSON. SQLite: durable commits
// of one row, and rows in groups, in a file of the given folder with the settings of a store. gRPC: unary calls with small
// messages over TCP to a callback server in this process, a connection for each caller.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>

#include "longreach/v1/worker.grpc.pb.h"
#include "store/sql/connection.h"
#include "tests/support/temporary_folder.h"

namespace longreach {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr std::string_view kRow = "INSERT INTO rows(id, text) VALUES (?, ?)";
const std::string kText(64, 'x');

absl::Status WriteGroup(sql::Connection& db, int rows, int64_t& id) {
  ASSIGN_OR_RETURN(sql::Transaction tx, sql::Transaction::Begin(db));
  for (int i = 0; i < rows; ++i) RETURN_IF_ERROR(tx.Run(kRow, ++id, kText).status());
  return tx.Commit();
}

// Rows a second in durable transactions of so many.
absl::StatusOr<double> RowsPerSecond(const std::filesystem::path& file, int group, double seconds) {
  ASSIGN_OR_RETURN(sql::Connection db, sql::Connection::Open(file, sql::Mode::kReadWriteCreate));
  RETURN_IF_ERROR(db.One<std::string>("PRAGMA journal_mode = WAL").status());
  RETURN_IF_ERROR(db.Execute("CREATE TABLE rows(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT"));
  int64_t rows = 0;
  const Clock::time_point start = Clock::now();
  while (SecondsSince(start) < seconds) RETURN_IF_ERROR(WriteGroup(db, group, rows));
  return static_cast<double>(rows) / SecondsSince(start);
}

class Server final : public v1::Worker::CallbackService {
  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context, const v1::SynchronizeRequest*,
                                        v1::SynchronizeResponse* response) override {
    response->mutable_renew_every()->set_seconds(5);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// A connection with a few calls under way all the time.
class Caller {
 public:
  Caller(const std::string& address, int number) {
    grpc::ChannelArguments own;
    own.SetInt("longreach.number", number);  // Channels with the same arguments would share a connection.
    own.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    stub_ = v1::Worker::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
    request_.set_worker("someone");
  }
  void Call() {
    struct State {
      grpc::ClientContext context;
      v1::SynchronizeResponse response;
    };
    auto state = std::make_shared<State>();
    stub_->async()->Synchronize(&state->context, &request_, &state->response, [this, state](const grpc::Status& status) {
      if (!status.ok()) {
        ++failed_;
        return;
      }
      ++done_;
      Call();
    });
  }
  void Start(int calls) {
    for (int i = 0; i < calls; ++i) Call();
  }
  int64_t done() const { return done_; }
  int64_t failed() const { return failed_; }

 private:
  std::unique_ptr<v1::Worker::Stub> stub_;
  v1::SynchronizeRequest request_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<int64_t> failed_ = 0;
};

absl::StatusOr<double> CallsPerSecond(double seconds) {
  constexpr int kCallers = 8;
  constexpr int kCallsAtOnce = 8;
  // Server and callers live to the end of the process: calls are under way until then.
  static Server service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  static const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return absl::UnavailableError("no port to listen on");
  static std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < kCallers; ++i) callers.push_back(std::make_unique<Caller>(fmt::format("127.0.0.1:{}", port), i));
  const Clock::time_point start = Clock::now();
  for (const auto& caller : callers) caller->Start(kCallsAtOnce);
  // The time of the measurement itself.
  std::mutex never;
  std::unique_lock lock(never);
  std::condition_variable().wait_for(lock, std::chrono::duration<double>(seconds), [] { return false; });
  int64_t done = 0;
  for (const auto& caller : callers) done += caller->done();
  const double took = SecondsSince(start);
  int64_t failed = 0;
  for (const auto& caller : callers) failed += caller->failed();
  if (failed > 0) return absl::UnavailableError(fmt::format("{} calls failed", failed));
  return static_cast<double>(done) / took;
}

absl::StatusOr<nlohmann::json> Measure(const std::filesystem::path& folder, double seconds) {
  nlohmann::json limits;
  ASSIGN_OR_RETURN(limits["sqlite_commits_per_second"], RowsPerSecond(folder / "one.db", 1, seconds));
  ASSIGN_OR_RETURN(limits["sqlite_rows_per_second_groups_of_256"], RowsPerSecond(folder / "groups.db", 256, seconds));
  ASSIGN_OR_RETURN(limits["grpc_calls_per_second"], CallsPerSecond(seconds));
  return limits;
}

int Main(int argc, char** argv) {
  CLI::App app("Measures what SQLite and gRPC can do on this machine. Prints one line of JSON.", "bench-limits");
  double seconds = 3;
  app.add_option("--seconds", seconds, "For each limit")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  absl::StatusOr<nlohmann::json> limits;
  {
    const testing::TemporaryFolder folder;
    limits = Measure(folder.path(), seconds);
  }
  if (limits.ok()) std::cout << limits->dump() << std::endl;
  else std::cerr << "error: " << std::string(limits.status().message()) << std::endl;
  // Without an end for what gRPC has in flight.
  std::_Exit(limits.ok() ? 0 : 1);
}

}  // namespace
}  // namespace longreach

int main(int argc, char** argv) { return longreach::Main(argc, argv); }
