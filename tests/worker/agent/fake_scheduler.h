// A scheduler for tests of the agent: the real services over a Unix socket, with decisions made by the test.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "longreach/v1/worker.grpc.pb.h"

namespace longreach::agent {

// Asks again and again, for as long as these tests wait for anything: far longer than what is waited for takes on a busy machine.
bool ComesTrue(const std::function<bool()>& what);

class FakeScheduler final : public v1::Worker::Service, public v1::Artifacts::Service {
 public:
  // What the worker has said and handed in so far.
  struct Seen {
    v1::SynchronizeRequest last;
    int calls = 0;
    int goodbyes = 0;  // Calls with `leaving`.
    int astray = 0;    // Calls for another store.
    int turned_away = 0;  // Calls that RefuseCalls() was for; in no other count.
    std::map<uint64_t, v1::AttemptReport> reports;
    std::vector<v1::UploadHeader> uploads;
    std::vector<v1::UploadHeader> refused;  // RefuseUploads().
    std::vector<v1::ProgressPoint> points;  // Of held attempts.
    std::vector<v1::HeldAttempt> told;      // Of all calls, without points and logs.
    std::vector<v1::AttemptLog> logs;       // The same, with text.
    // In order: "upload checkpoint 1", "report 1".
    std::vector<std::string> events;

    // By the last call.
    const v1::HeldAttempt* Held(uint64_t attempt) const;
    // By any: what is soon over may be so before a test that waits for it has its turn.
    bool WasHeld(uint64_t attempt, int step = 0) const;
    std::vector<v1::UploadHeader> UploadsOf(const std::string& kind) const;
  };

  explicit FakeScheduler(std::filesystem::path socket) : socket_(std::move(socket)) {}
  ~FakeScheduler() override { GoAway(); }

  std::string address() const { return "unix:" + socket_.string(); }
  void Listen();
  // Ends all calls and closes the socket; Listen() brings it back with all it knows.
  void GoAway();

  // From now on.
  void Offer(const v1::Lease& lease);
  void Direct(uint64_t attempt, v1::Directive::Action action, std::vector<std::string> dropped_jobs = {});
  // For what is printed from this byte on; then for what comes behind what came.
  void AskForLog(uint64_t attempt, uint64_t from);
  void StopAskingForLogs();
  void RefuseUploads(grpc::Status status);
  void RefuseDownloads(grpc::Status status);
  // Says that files may be linked into this folder, and takes them from there; with `refuses`, takes none.
  void HaveInbox(const std::filesystem::path& folder, bool refuses = false);
  // All but the next `before`.
  void RefuseCalls(grpc::Status status, int before = 0, int times = std::numeric_limits<int>::max());
  void AcknowledgeNothing();
  // What it says of itself; a call or a file for another one counts nothing.
  void BeStore(const std::string& store);
  // All leases that the worker does not hold, whatever slots it has.
  void GiveMoreThanIsAskedFor();
  void AddFile(const std::string& bytes);
  std::string File(const std::string& sha256);

  // Waits until `what` holds and returns what was seen then; fails the test after two minutes.
  Seen WaitFor(const std::string& name, const std::function<bool(const Seen&)>& what);
  v1::AttemptReport WaitForReport(uint64_t attempt);
  // For a call that says that this attempt is being trained at this step or later. It may not be the last one.
  Seen WaitForStep(uint64_t attempt, int step);

  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                           v1::SynchronizeResponse* response) override;
  grpc::Status Upload(grpc::ServerContext* context, grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override;
  grpc::Status Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                        grpc::ServerWriter<v1::DownloadResponse>* writer) override;

 private:
  grpc::Status TakeLinked(v1::UploadHeader& header, std::string& bytes);
  bool Answer(const v1::SynchronizeRequest& request, v1::SynchronizeResponse* response);

  std::filesystem::path socket_;
  std::unique_ptr<grpc::Server> server_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Seen seen_;
  std::map<uint64_t, v1::Lease> leases_;
  std::set<uint64_t> confirmed_;  // Leases that the worker was seen to hold: they are not sent again.
  std::map<uint64_t, v1::Directive> directives_;
  std::map<uint64_t, uint64_t> log_from_;
  std::map<std::string, std::string> files_;
  grpc::Status upload_status_;
  grpc::Status download_status_;
  std::filesystem::path inbox_;
  bool refuses_links_ = false;
  grpc::Status call_status_;
  int calls_before_refusal_ = 0;
  int refusals_left_ = 0;
  bool acknowledges_ = true;
  std::string store_;
  bool counts_slots_ = true;
  int generation_ = 0;  // Raised by every change that may end a wait.
};

}  // namespace longreach::agent
