#include "tests/scheduler/service/query_fixture.h"

#include "proto/base/sha256.h"
#include "scheduler/experiments/expansion.h"
#include "store/artifacts.h"
#include "store/sweeps.h"
#include "store/workers.h"

namespace longreach::service {

v1::SweepSpec SmallSweep(const std::string& name) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_experiment("algorithmic");
  v1::Axes& axes = *spec.mutable_axes();
  for (const char* task : {"even_pairs", "parity_check"}) axes.add_task(task);
  for (const char* encoding : {"rope", "rope:randomized"}) axes.add_encoding(encoding);
  for (const double rate : {1e-4, 3e-4}) axes.add_learning_rate(rate);
  for (const uint32_t seed : {0u, 1u}) axes.add_seed(seed);
  spec.mutable_training()->set_steps(100);
  for (const int length : {50, 60}) spec.mutable_evaluation()->add_lengths(length);
  return spec;
}

v1::SweepSpec LongSweep(const std::string& name) {
  v1::SweepSpec spec = SmallSweep(name);
  v1::Axes& axes = *spec.mutable_axes();
  axes.mutable_task()->DeleteSubrange(1, 1);
  axes.mutable_encoding()->DeleteSubrange(1, 1);
  axes.mutable_learning_rate()->Truncate(1);
  for (uint32_t seed = 2; seed < 500; ++seed) axes.add_seed(seed);
  return spec;
}

QueryFixture::QueryFixture() {
  absl::StatusOr<std::unique_ptr<store::Store>> opened = store::Store::Open(folder_.file().string());
  EXPECT_TRUE(opened.ok()) << opened.status();
  store_ = *std::move(opened);
}

void QueryFixture::Write(const std::function<absl::Status(sql::Transaction&)>& change) {
  absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin(store_->writer_connection());
  ASSERT_TRUE(tx.ok()) << tx.status();
  const absl::Status changed = change(*tx);
  ASSERT_TRUE(changed.ok()) << changed;
  const absl::Status committed = tx->Commit();
  ASSERT_TRUE(committed.ok()) << committed;
}

store::Snapshot QueryFixture::Read() {
  absl::StatusOr<store::Snapshot> snapshot = store_->Read();
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return *std::move(snapshot);
}

QueryFixture::Made QueryFixture::AddSweep(const v1::SweepSpec& spec, int priority) {
  Made made;
  now_ += std::chrono::seconds(1);
  Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(experiments::Expansion expansion, experiments::Expansion::Of(spec));
    std::vector<store::NewJob> jobs;
    for (int64_t i = 0; i < expansion.size(); ++i) {
      const experiments::ExpandedJob job = expansion.At(i);
      store::NewJob& made_of = jobs.emplace_back();
      made_of.id = job.id.value;
      made_of.spec = job.canonical;
      made_of.requirement.experiment = job.spec.experiment();
      made_of.requirement.task = job.spec.task();
      made_of.requirement.encoding = job.spec.encoding();
      made_of.requirement.data = job.spec.data();
      made_of.randomized = job.spec.randomized();
      made_of.learning_rate = job.spec.learning_rate();
      made_of.seed = job.spec.seed();
      made_of.steps = job.spec.training().steps();
      made_of.pack_key = job.pack_key;
      made.ids.push_back(job.id.value);
    }
    ASSIGN_OR_RETURN(store::InsertedJobs inserted, store::InsertJobs(tx, jobs));
    made.jobs = inserted.nums;
    made.id = expansion.id().value;
    ASSIGN_OR_RETURN(made.num, store::InsertSweep(tx, {.id = made.id, .name = spec.name(), .spec = expansion.canonical(),
                                                       .priority = priority, .submitted_at = now_, .jobs = std::ssize(made.jobs)}));
    RETURN_IF_ERROR(store::AddSweepJobs(tx, made.num, made.jobs, {}));
    return store::RefreshWanted(tx, made.num);
  });
  return made;
}

void QueryFixture::AddWorker(const std::string& id, const std::string& name, const std::string& abilities) {
  Write([&](sql::Transaction& tx) {
    return store::PutWorker(tx, {.id = id, .name = name, .incarnation = 1, .abilities = abilities, .build = "1.0",
                                 .device = "cpu", .threads = 2, .pack_limit = 16, .state = WorkerState::kActive,
                                 .reason = "", .recent_failures = "", .first_seen_at = now_, .seen_at = now_});
  });
}

int64_t QueryFixture::Lease(const std::string& worker, std::span<const int64_t> jobs, const std::string& build, int start_step) {
  int64_t attempt = 0;
  Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(attempt, store::StartAttempt(tx, {.worker = worker, .incarnation = 1, .started_at = now_, .build = build,
                                                       .device = "cpu", .threads = 2, .start_step = start_step},
                                                  jobs));
    return absl::OkStatus();
  });
  return attempt;
}

void QueryFixture::Succeed(int64_t attempt, std::span<const int64_t> jobs, std::span<const double> accuracies) {
  Write([&](sql::Transaction& tx) -> absl::Status {
    for (size_t i = 0; i < jobs.size(); ++i) {
      const double accuracy = accuracies[i];
      store::JobResult result;
      result.measurements = {{"accuracy", 0, "", accuracy}, {"accuracy", 50, "", accuracy / 2}, {"loss", 0, "", 1 - accuracy}};
      RETURN_IF_ERROR(store::CompleteJob(tx, jobs[i], attempt, result));
    }
    return absl::OkStatus();
  });
}

void QueryFixture::Diverge(int64_t attempt, int64_t job, int at) {
  Write([&](sql::Transaction& tx) {
    return store::CompleteJob(tx, job, attempt, {.diverged = true, .diverged_at = at, .measurements = {}});
  });
}

void QueryFixture::Fail(int64_t attempt, int64_t job, const std::string& failure) {
  Write([&](sql::Transaction& tx) {
    return store::FailJob(tx, job, attempt, {.failures = 3, .losses = 1, .failure = failure, .split_group = 0});
  });
}

void QueryFixture::GiveBack(int64_t attempt, std::span<const int64_t> jobs) {
  Write([&](sql::Transaction& tx) -> absl::Status {
    for (const int64_t job : jobs) RETURN_IF_ERROR(store::RequeueJob(tx, job, attempt, {}));
    return absl::OkStatus();
  });
}

void QueryFixture::End(int64_t attempt, Outcome outcome, const std::string& detail) {
  Write([&](sql::Transaction& tx) {
    return store::EndAttempt(tx, attempt, outcome, detail, "libtorch", now_ + std::chrono::seconds(7));
  });
}

void QueryFixture::Checkpoint(int64_t attempt, int64_t job, int step) {
  Write([&](sql::Transaction& tx) {
    return store::AddArtifact(tx, {.job = job, .kind = ArtifactKind::kCheckpoint, .step = step, .attempt = attempt, .member = 0,
                                   .sha256 = Sha256Of(std::to_string(step)), .bytes = 5, .created_at = now_});
  });
}

void QueryFixture::PutLog(int64_t attempt, int64_t job, const std::string& text, int step) {
  const std::string sha256 = Sha256Of(text);
  absl::StatusOr<store::ArtifactWriter> writer = store_->artifacts().Create(sha256, static_cast<int64_t>(text.size()));
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append(text).ok());
  const absl::StatusOr<store::Pin> pin = writer->Commit();
  ASSERT_TRUE(pin.ok()) << pin.status();
  Write([&](sql::Transaction& tx) {
    return store::AddArtifact(tx, {.job = job, .kind = ArtifactKind::kLog, .step = step, .attempt = attempt, .member = 0, .sha256 = sha256,
                                   .bytes = static_cast<int64_t>(text.size()), .created_at = now_});
  });
}

}  // namespace longreach::service
