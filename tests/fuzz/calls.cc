// Sequences of calls, as clients and workers make them and as nobody would, on a scheduler with a real store. No sequence may
// crash it, leave a store that contradicts itself, or get an answer that the caller cannot read.
//
// Each call begins as one that makes sense (a small sweep, a worker with all abilities); then fields are drawn.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proto/base/sha256.h"
#include "scheduler/service/check_members.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_logs.h"
#include "scheduler/service/query_sweeps.h"
#include "scheduler/service/query_table.h"
#include "scheduler/service/query_workers.h"
#include "scheduler/service/worker_handlers.h"
#include "store/maintenance.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/must.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using fuzz::Draw;
using fuzz::Must;

constexpr int kMaxCalls = 24;
constexpr int kWorkers = 3;
constexpr size_t kMaxKnown = 64;
// Larger sweeps are admitted, and take longer than an input may.
constexpr int64_t kMaxJobs = 100;
constexpr size_t kMaxElements = 1000;

class World final : public EngineFixture {
 public:
  World() {
    known_.words = {"",     "last", "a",        "b",        "even_pairs", "parity_check", "rope",       "rope:randomized", "shape",   "algorithmic", "w0",
                    "w1",   "w2",   "accuracy", "loss",     "task",       "encoding",     "seed",       "learning_rate",   "queued",  "failed",      "max",
                    "mean", "log",  "weights",  "checkpoint", "distance", "position",     "training",   "table_b1",        "depth=3", "\xc3\xa4",    "\n\x1b"};
    for (int i = 0; i < kWorkers; ++i) workers_.emplace_back(&current_, std::string(1, 'w').append(std::to_string(i)));
  }

  void TestBody() override {}

  void Run(std::string_view bytes) {
    Draw draw(bytes, known_);
    for (int i = 0; i < kMaxCalls && !draw.empty(); ++i) Step(draw);
    engine_->Shutdown();
    SynchronizeDrawn(draw);  // Too late.
    const absl::StatusOr<store::CheckReport> report = store::Check(store_->writer_connection(), store_->artifacts(), true, {}, CheckMembers);
    Must(report.ok(), "the store can be checked", report.status().message());
    Must(report->violations.empty(), "the ledger is right", report->violations.empty() ? "" : report->violations.front());
  }

 private:
  void Step(Draw& draw) {
    switch (draw.Byte() % 20) {
      case 0:
      case 1: return SubmitDrawn(draw);
      case 2:
      case 3: return SynchronizeDrawn(draw);
      case 4:
      case 5: return WorkProperly(draw);
      case 6: {
        v1::SteerSweepRequest request;
        request.set_sweep("last");
        request.set_action(static_cast<v1::SteerSweepRequest::Action>(1 + draw.Byte() % 5));
        if (draw.Request(request)) engine_->SteerSweep(request, [this](auto answer) { Answered(answer); });
        return;
      }
      case 7: {
        v1::SteerWorkerRequest request;
        request.set_worker("w0");
        if (draw.Request(request)) engine_->SteerWorker(request, [this](auto answer) { Answered(answer); });
        return;
      }
      case 8: return UploadDrawn(draw);
      case 9: return Answered(ListSweeps(Db().db()));
      case 10: return Ask<v1::GetSweepRequest>(draw, [](v1::GetSweepRequest& r) { r.set_sweep("last"); }, [](auto& db, auto& r, auto&) { return GetSweep(db, r); });
      case 11: return Ask<v1::ListJobsRequest>(draw, [](v1::ListJobsRequest& r) { r.set_sweep("last"); }, [](auto& db, auto& r, auto& live) { return ListJobs(db, r, live); });
      case 12: return Ask<v1::GetJobRequest>(draw, [this](v1::GetJobRequest& r) { r.set_job(job_); }, [](auto& db, auto& r, auto& live) { return GetJob(db, r, live); });
      case 13: return Ask<v1::GetJobRequest>(draw, [this](v1::GetJobRequest& r) { r.set_job(job_); }, [](auto& db, auto& r, auto& live) { return ExplainJob(db, r, live); });
      case 14: return Ask<v1::GetLogRequest>(draw, [this](v1::GetLogRequest& r) { r.set_job(job_); }, [this](auto& db, auto& r, auto&) { return GetLog(db, store_->artifacts(), r); });
      case 15:
        Answered(ListDataSets(Db().db()));
        return Answered(ListWorkers(Db().db(), engine_->board().Read()));
      case 16: return Ask<v1::GetTableRequest>(draw, [](v1::GetTableRequest& r) { r.set_sweep("last"); }, [](auto& db, auto& r, auto&) { return GetTable(db, r); });
      case 17: return Advance(std::chrono::milliseconds(500 * (1 + draw.Byte() % 64)));
      case 18: return Disturb(draw);
      default:
        RestartScheduler();
        current_ = engine_.get();
    }
  }

  // What comes between calls and their answers.
  void Disturb(Draw& draw) {
    switch (draw.Byte() % 4) {
      case 0:
      case 1: {  // A connection breaks.
        const TestWorker& worker = workers_[draw.Byte() % kWorkers];
        return engine_->Forget(worker.id(), worker.incarnation(), worker.sequence() + draw.Byte() % 4);
      }
      case 2:  // Nothing can be written.
        disk_full_ = true;
        Step(draw);
        disk_full_ = false;
        return;
      default:  // The writer is busy, so that calls come while others wait for it.
        busy_ = true;
        for (int calls = 1 + draw.Byte() % 4; calls > 0; --calls) draw.Byte() % 2 == 0 ? SynchronizeDrawn(draw) : WorkProperly(draw);
        RunWaiting();
    }
  }

  store::Snapshot Db() {
    absl::StatusOr<store::Snapshot> snapshot = store_->Read();
    Must(snapshot.ok(), "a store can be read", snapshot.status().message());
    return *std::move(snapshot);
  }

  template <typename Request, typename Prepare, typename Read>
  void Ask(Draw& draw, Prepare prepare, Read read) {
    Request request;
    prepare(request);
    if (!draw.Request(request)) return;
    store::Snapshot snapshot = Db();
    const LiveBoard::State live = engine_->board().Read();
    Answered(read(snapshot.db(), request, live));
  }

  template <typename Reply>
  void Answered(const absl::StatusOr<Reply>& answer) {
    if (answer.ok()) {
      Reply read;
      Must(read.ParseFromString(answer->SerializeAsString()), "an answer can be read", Reply::descriptor()->name());
      return;
    }
    Must(answer.status().code() != absl::StatusCode::kInternal, "no call breaks an invariant", answer.status().message());
    Must(!answer.status().message().empty(), "a refusal says why");
  }

  template <typename T>
  static void Note(std::vector<T>& known, T value) {
    if (known.size() < kMaxKnown) known.push_back(std::move(value));
  }

  static bool IsSmall(const v1::SweepSpec& spec) {
    int64_t jobs = 1;
    const v1::Axes& axes = spec.axes();
    for (const int size : {axes.task_size(), axes.encoding_size(), axes.learning_rate_size(), axes.seed_size()}) jobs *= std::max(size, 1);
    return jobs <= kMaxJobs;
  }

  void SubmitDrawn(Draw& draw) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = Sweep(draw.Byte() % 2 == 0 ? "a" : "b", 1 + draw.Byte() % 3);
    if (!draw.Request(request) || !IsSmall(request.spec()) || request.ByteSizeLong() > kMaxElements) return;
    const absl::StatusOr<v1::SubmitSweepResponse> answer = engine_->SubmitSweep(request, *store_);
    Answered(answer);
    if (answer.ok() && !answer->sweep().id().empty()) Note(known_.words, answer->sweep().id());
  }

  void SynchronizeDrawn(Draw& draw) {
    TestWorker& worker = workers_[draw.Byte() % kWorkers];
    v1::SynchronizeRequest request = worker.next();
    request.set_worker(worker.id());
    request.set_incarnation(worker.incarnation());
    request.set_sequence(worker.sequence() + draw.Byte() % 4);
    for (const v1::Lease& lease : leases_) {
      // Nothing, held, finished in some way.
      const uint8_t state = draw.Byte() % 4;
      if (state == 1) request.add_held()->set_attempt(lease.attempt());
      if (state == 2) *request.add_finished() = SuccessOf(lease);
      if (state == 3) {
        v1::AttemptReport& report = *request.add_finished();
        report.set_attempt(lease.attempt());
        report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
        report.set_detail(draw.Text());
      }
    }
    if (!draw.Request(request)) return;
    engine_->Synchronize(request, [this](absl::StatusOr<v1::SynchronizeResponse> answer) {
      Answered(answer);
      if (answer.ok()) Learn(*answer);
    });
  }

  // A worker that does what it is told, so that there are leases and results to be wrong about.
  void WorkProperly(Draw& draw) {
    TestWorker& worker = workers_[draw.Byte() % kWorkers];
    if (draw.Byte() % 8 == 7) worker.Restart();
    const uint8_t ending = draw.Byte() % 4;
    if (!leases_.empty() && ending != 3) {
      const v1::Lease lease = leases_.back();
      leases_.pop_back();
      if (ending == 0) worker.Succeed(lease);
      if (ending == 1) worker.Fail(lease, draw.Text());
      if (ending == 2) worker.GiveBack(lease);
    }
    const auto answer = worker.Call();
    if (answer) {
      Answered(*answer);
      if (answer->ok()) Learn(**answer);
    }
  }

  void UploadDrawn(Draw& draw) {
    const std::string bytes = draw.Text();
    v1::UploadHeader header;
    header.set_sha256(Sha256Of(bytes));
    header.set_bytes(static_cast<double>(bytes.size()));
    header.set_kind("log");
    header.set_worker("w0");
    if (!leases_.empty()) {
      header.set_attempt(leases_.back().attempt());
      for (const v1::LeasedJob& job : leases_.back().jobs()) header.add_jobs(job.id());
    }
    const std::string hash = header.sha256();
    if (!draw.Request(header)) return;
    // The handler looks at it, and puts the file there before a row names it.
    if (!CheckUploadHeader(header, {}).ok()) return;
    if (header.sha256() != hash || header.bytes() != static_cast<double>(bytes.size())) return;
    absl::StatusOr<store::ArtifactWriter> writer = store_->artifacts().Create(hash, static_cast<int64_t>(bytes.size()));
    Must(writer.ok() && writer->Append(bytes).ok(), "an artifact can be written");
    absl::StatusOr<store::Pin> pin = writer->Commit();
    Must(pin.ok(), "an artifact can be kept");
    engine_->RecordUpload(header, *std::move(pin), [](absl::StatusOr<WallTime> answer) {
      Must(answer.ok() || answer.status().code() != absl::StatusCode::kInternal, "no upload breaks an invariant", answer.status().message());
    });
  }

  void Learn(const v1::SynchronizeResponse& response) {
    for (const v1::Lease& lease : response.leases()) {
      Note(known_.numbers, lease.attempt());
      for (const v1::LeasedJob& job : lease.jobs()) {
        Note(known_.words, job.id());
        job_ = job.id();
      }
      if (leases_.size() < 8) leases_.push_back(lease);
    }
  }

  fuzz::Known known_;
  Engine* current_ = engine_.get();  // What the workers know of a scheduler that may be started again.
  std::vector<TestWorker> workers_;
  std::vector<v1::Lease> leases_;
  std::string job_ = "0123";
};

}  // namespace
}  // namespace longreach::service

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  longreach::service::World().Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
