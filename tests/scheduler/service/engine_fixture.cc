#include "tests/scheduler/service/engine_fixture.h"

#include <algorithm>
#include <utility>

#include "proto/base/build_info.h"
#include "proto/base/sha256.h"
#include "proto/types/abilities.h"
#include "scheduler/service/check_members.h"
#include "store/maintenance.h"
#include "store/measurements.h"
#include "store/sweeps.h"
#include "tests/store/fixture.h"

namespace longreach::service {

EngineFixture::EngineFixture() {
  absl::StatusOr<std::unique_ptr<store::Store>> opened = store::Store::Open(folder_.file().string());
  if (!opened.ok()) ADD_FAILURE() << opened.status();
  store_ = *std::move(opened);
  RestartScheduler();
}

void EngineFixture::CheckLedger() {
  const absl::StatusOr<store::CheckReport> report = store::Check(store_->writer_connection(), store_->artifacts(), true, {}, CheckMembers);
  ASSERT_TRUE(report.ok()) << report.status();
  for (const std::string& violation : report->violations) ADD_FAILURE() << violation;
}

void EngineFixture::RestartScheduler() {
  options_.files = &store_->artifacts();
  engine_ = std::make_unique<Engine>(
      clock_, options_,
      [this](store::Event event) {
        ++events_;
        if (during_event_) std::exchange(during_event_, nullptr)();
        if (disk_full_) {
          event.done(absl::ResourceExhaustedError("no space left on the disk"));
          return;
        }
        waiting_.push_back(std::move(event));
        if (!busy_) RunWaiting();
      },
      [] {});
  const absl::Status restored = engine_->Restore(store_->writer_connection());
  ASSERT_TRUE(restored.ok()) << restored;
}

void EngineFixture::RunWaiting() {
  busy_ = false;
  std::vector<store::Event> group = std::exchange(waiting_, {});
  (void)store::RunGroup(store_->writer_connection(), group);
}

void EngineFixture::RunDeadlines() {
  for (int i = 0; i < 100; ++i) {
    const std::optional<SteadyTime> next = engine_->NextDeadline();
    if (!next || *next > clock_.Steady()) return;
    store::Event event = engine_->AtDeadline(clock_.Steady());
    if (disk_full_) {
      // As the writer does: what is due comes again, but later.
      event.apply = [apply = event.apply](sql::Transaction& tx) {
        RETURN_IF_ERROR(apply(tx));
        return absl::ResourceExhaustedError("no space left on the disk");
      };
    }
    std::vector<store::Event> group;
    group.push_back(std::move(event));
    (void)store::RunGroup(store_->writer_connection(), group);
    if (disk_full_) return;
  }
  ADD_FAILURE() << "the engine's deadlines do not move on";
}

void EngineFixture::Advance(std::chrono::microseconds by) {
  clock_.Advance(by);
  RunDeadlines();
}

v1::SweepSpec EngineFixture::Sweep(const std::string& name, int seeds) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_experiment("algorithmic");
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_encoding("rope");
  spec.mutable_axes()->add_learning_rate(1e-3);
  for (int seed = 0; seed < seeds; ++seed) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  spec.mutable_training()->set_steps(100);
  return spec;
}

v1::SubmitSweepResponse EngineFixture::Submit(const v1::SweepSpec& spec, std::optional<int> priority) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = spec;
  if (priority) request.set_priority(*priority);
  absl::StatusOr<v1::SubmitSweepResponse> response = engine_->SubmitSweep(request, *store_);
  EXPECT_TRUE(response.ok()) << response.status();
  return response.value_or(v1::SubmitSweepResponse());
}

TestWorker EngineFixture::Worker(const std::string& id) {
  current_ = engine_.get();
  return TestWorker(&current_, id);
}

absl::StatusOr<v1::Sweep> EngineFixture::Steer(const std::string& sweep, v1::SteerSweepRequest::Action action, int priority) {
  v1::SteerSweepRequest request;
  request.set_sweep(sweep);
  request.set_action(action);
  request.set_priority(priority);
  absl::StatusOr<v1::Sweep> answer = absl::InternalError("no answer");
  engine_->SteerSweep(request, [&](absl::StatusOr<v1::Sweep> given) { answer = std::move(given); });
  return answer;
}

absl::StatusOr<v1::WorkerInfo> EngineFixture::Drain(const std::string& worker, bool drain) {
  v1::SteerWorkerRequest request;
  request.set_worker(worker);
  request.set_drain(drain);
  absl::StatusOr<v1::WorkerInfo> answer = absl::InternalError("no answer");
  engine_->SteerWorker(request, [&](absl::StatusOr<v1::WorkerInfo> given) { answer = std::move(given); });
  return answer;
}

absl::Status EngineFixture::Upload(const v1::LeasedJob& job, int64_t attempt, const std::string& worker, const std::string& kind, int step) {
  const std::string bytes = kind + std::to_string(step);
  v1::UploadHeader header;
  header.set_attempt(static_cast<uint64_t>(attempt));
  header.set_worker(worker);
  header.set_kind(kind);
  header.set_step(step);
  header.set_sha256(Sha256Of(bytes));
  header.set_bytes(static_cast<double>(bytes.size()));
  header.add_jobs(job.id());
  absl::StatusOr<store::ArtifactWriter> writer = store_->artifacts().Create(header.sha256(), static_cast<int64_t>(bytes.size()));
  RETURN_IF_ERROR(writer.status());
  RETURN_IF_ERROR(writer->Append(bytes));
  ASSIGN_OR_RETURN(store::Pin pin, writer->Commit());
  absl::Status answer = absl::InternalError("no answer");
  engine_->RecordUpload(header, std::move(pin), [&](absl::StatusOr<WallTime> given) { answer = given.status(); });
  return answer;
}

v1::JobCounts EngineFixture::Counts(const std::string& sweep) {
  const absl::StatusOr<store::SweepRow> row = store::NewestSweep(store_->writer_connection(), sweep);
  EXPECT_TRUE(row.ok()) << row.status();
  v1::JobCounts counts;
  if (!row.ok()) return counts;
  counts.set_waiting(row->counts.waiting);
  counts.set_queued(row->counts.queued);
  counts.set_leased(row->counts.leased);
  counts.set_succeeded(row->counts.succeeded);
  counts.set_failed(row->counts.failed);
  counts.set_cancelled(row->counts.cancelled);
  counts.set_diverged(row->counts.diverged);
  return counts;
}

store::JobRow EngineFixture::Job(const std::string& id) {
  const absl::StatusOr<std::optional<store::JobRow>> row = store::FindJob(store_->writer_connection(), id);
  EXPECT_TRUE(row.ok() && row->has_value()) << id;
  return row.ok() && row->has_value() ? **row : store::JobRow();
}

store::AttemptRow EngineFixture::Attempt(uint64_t id) {
  const absl::StatusOr<std::optional<store::AttemptRow>> row = store::FindAttempt(store_->writer_connection(), static_cast<int64_t>(id));
  EXPECT_TRUE(row.ok() && row->has_value()) << id;
  return row.ok() && row->has_value() ? **row : store::AttemptRow();
}

std::vector<double> EngineFixture::Scores(const std::string& sweep) {
  std::vector<double> scores;
  const absl::StatusOr<store::SweepRow> row = store::NewestSweep(store_->writer_connection(), sweep);
  for (const int64_t job : store::SweepMembers(store_->writer_connection(), row->num)) {
    const auto value = store::MeasuredValue(store_->writer_connection(), job, "accuracy", 0, "");
    if (value.ok() && value->has_value()) scores.push_back(**value);
  }
  return scores;
}

void TestWorker::SetAbilities() {
  v1::Abilities& abilities = *next_.mutable_abilities();
  abilities.set_name("name-of-" + id_);
  abilities.set_build("1.0");
  abilities.set_device("cpu");
  abilities.set_threads(2);
  abilities.set_pack_limit(16);
  abilities.add_experiments("algorithmic");
  AddCatalog(abilities);
  next_.set_free_slots(1);
  next_.set_protocol(kProtocolVersion);
}

std::optional<absl::StatusOr<v1::SynchronizeResponse>> TestWorker::Call() {
  v1::SynchronizeRequest request = next_;
  request.set_worker(id_);
  request.set_incarnation(incarnation_);
  request.set_sequence(++sequence_);
  for (const uint64_t attempt : held_) {
    v1::HeldAttempt* held = request.add_held();
    *held = told_[attempt];
    held->set_attempt(attempt);
    if (held->phase().empty()) held->set_phase("training");
  }
  for (const v1::AttemptReport& report : finished_) *request.add_finished() = report;
  // Answers may come after this call's end, so each call has a place of its own.
  late_ = std::make_shared<std::optional<absl::StatusOr<v1::SynchronizeResponse>>>();
  (*engine_)->Synchronize(request, [place = late_](absl::StatusOr<v1::SynchronizeResponse> answer) { *place = std::move(answer); });
  return *late_;
}

v1::SynchronizeResponse TestWorker::Sync() {
  std::optional<absl::StatusOr<v1::SynchronizeResponse>> answer = Call();
  if (!answer || !answer->ok()) {
    ADD_FAILURE() << id_ << ": " << (answer ? std::string(answer->status().message()) : "held open");
    return {};
  }
  const v1::SynchronizeResponse response = **answer;
  for (const v1::Directive& directive : response.directives()) {
    if (directive.action() == v1::Directive::ACTION_DROP) std::erase(held_, directive.attempt());
  }
  for (const uint64_t attempt : response.acknowledged()) {
    std::erase_if(finished_, [attempt](const v1::AttemptReport& report) { return report.attempt() == attempt; });
  }
  for (const v1::Lease& lease : response.leases()) held_.push_back(lease.attempt());
  return response;
}

v1::Lease TestWorker::Take() {
  const v1::SynchronizeResponse response = Sync();
  EXPECT_EQ(response.leases_size(), 1) << id_;
  return response.leases_size() > 0 ? response.leases(0) : v1::Lease();
}

v1::AttemptReport SuccessOf(const v1::Lease& lease) {
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  report.set_engine("test");
  for (const v1::LeasedJob& job : lease.jobs()) {
    v1::MemberResult* result = report.add_results();
    result->set_job(job.id());
    for (const int length : {0, 50}) {
      v1::Measurement* measurement = result->add_measurements();
      measurement->set_metric("accuracy");
      measurement->set_length(length);
      measurement->set_value(0.5 + job.spec().seed() % 50 / 100.0);
    }
  }
  return report;
}

void TestWorker::Succeed(const v1::Lease& lease) {
  std::erase(held_, lease.attempt());
  finished_.push_back(SuccessOf(lease));
}

void TestWorker::Fail(const v1::Lease& lease, const std::string& detail) {
  std::erase(held_, lease.attempt());
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
  report.set_detail(detail);
  finished_.push_back(report);
}

void TestWorker::GiveBack(const v1::Lease& lease) {
  std::erase(held_, lease.attempt());
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
  finished_.push_back(report);
}

}  // namespace longreach::service
