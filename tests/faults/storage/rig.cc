#include "tests/faults/storage/rig.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "proto/base/build_info.h"
#include "proto/base/sha256.h"
#include "proto/types/abilities.h"
#include "scheduler/service/check_members.h"
#include "scheduler/service/maintenance.h"
#include "store/maintenance.h"
#include "tests/faults/storage/later_migrations.h"

namespace longreach::faults {
namespace {

constexpr const char* kWorker = "worker-of-the-rig";
constexpr int kFilesInGo = 16;  // As the server.

v1::Abilities AbilitiesOfAll() {
  v1::Abilities abilities;
  abilities.set_name("rig");
  abilities.set_build("1.0");
  abilities.set_device("cpu");
  abilities.set_threads(2);
  abilities.set_pack_limit(4);
  abilities.add_experiments("algorithmic");
  AddCatalog(abilities);
  return abilities;
}

std::string ContentOf(const std::string& kind, int step, size_t bytes) {
  std::string content = fmt::format("{} of step {}\n", kind, step);
  while (content.size() < bytes) content += static_cast<char>('a' + content.size() % 23);
  return content;
}

}  // namespace

absl::Status Rig::Open() {
  Close();
  ASSIGN_OR_RETURN(store_, store::Store::Open(file().string(), {.migrations = migrations_}));
  if (options_.synchronous_off) RETURN_IF_ERROR(store_->writer_connection().Execute("PRAGMA synchronous = OFF"));
  if (options_.checkpoint_pages > 0) {
    RETURN_IF_ERROR(store_->writer_connection().Execute(fmt::format("PRAGMA wal_autocheckpoint = {}", options_.checkpoint_pages)));
  }
  service::EngineOptions options;
  options.jobs_in_slice = 4;  // Sweeps come in several slices,
  options.jobs_settled_in_slice = 4;  // and follow what users say in several.
  options.files = &store_->artifacts();
  auto engine = std::make_unique<service::Engine>(
      outside_.clock, options, [this](store::Event event) { Run(std::move(event)); }, [] {});
  RETURN_IF_ERROR(engine->Restore(store_->writer_connection()));
  RETURN_IF_ERROR(store::RemoveUnsettledFiles(store_->writer_connection(), store_->artifacts()).status());
  engine_ = std::move(engine);
  return absl::OkStatus();
}

absl::Status Rig::OpenLater() {
  migrations_ = LaterMigrations();
  return Open();
}

void Rig::Close() {
  engine_.reset();
  store_.reset();
}

void Rig::Run(store::Event event) {
  std::vector<store::Event> group;
  group.push_back(std::move(event));
  (void)store::RunGroup(store_->writer_connection(), group);
  (void)store::RemoveUnusedFiles(store_->writer_connection(), store_->artifacts(), kFilesInGo);
}

void Rig::Tell(const std::string& about, const std::string& what, const std::string& query) {
  const Fact& fact = outside_.facts[about] = {.what = what, .query = query};
  if (told_) told_(about, &fact);
}

void Rig::Withdraw(const std::string& about) {
  outside_.facts.erase(about);
  if (told_) told_(about, nullptr);
}

absl::Status Rig::Submit(const std::string& name, int seeds, int priority) {
  v1::SubmitSweepRequest request;
  v1::SweepSpec& spec = *request.mutable_spec();
  spec.set_name(name);
  spec.set_experiment("algorithmic");
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_encoding("rope");
  spec.mutable_axes()->add_learning_rate(1e-3);
  for (int seed = 0; seed < seeds; ++seed) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  spec.mutable_training()->set_steps(1000);
  request.set_priority(priority);
  Withdraw("priority of " + name);
  Withdraw("state of " + name);
  Withdraw("jobs of " + name);
  Withdraw("what is given up of " + name);
  RETURN_IF_ERROR(engine_->SubmitSweep(request, *store_).status());
  Tell("sweep " + name, fmt::format("sweep '{}' has {} jobs", name, seeds),
       fmt::format("SELECT count(*) = {} FROM sweep_jobs JOIN sweeps ON sweeps.num = sweep WHERE name = '{}'", seeds, name));
  Tell("priority of " + name, fmt::format("sweep '{}' has priority {}", name, priority),
       fmt::format("SELECT count(*) FROM sweeps WHERE name = '{}' AND priority = {}", name, priority));
  return absl::OkStatus();
}

absl::Status Rig::Steer(const std::string& sweep, v1::SteerSweepRequest::Action action, int priority) {
  const bool ranks = action == v1::SteerSweepRequest::ACTION_SET_PRIORITY;
  const std::string about = (ranks ? "priority of " : "state of ") + sweep;
  Withdraw(about);
  Withdraw("jobs of " + sweep);
  v1::SteerSweepRequest request;
  request.set_sweep(sweep);
  request.set_action(action);
  request.set_priority(priority);
  absl::StatusOr<v1::Sweep> answer = absl::InternalError("no answer");
  engine_->SteerSweep(request, [&](absl::StatusOr<v1::Sweep> given) { answer = std::move(given); });
  RETURN_IF_ERROR(answer.status());
  Tell("jobs of " + sweep, fmt::format("all jobs of sweep '{}' follow it", sweep),
       fmt::format("SELECT count(*) FROM sweeps WHERE name = '{}' AND unsettled_from IS NULL", sweep));
  if (ranks) {
    Tell(about, fmt::format("sweep '{}' has priority {}", sweep, priority),
         fmt::format("SELECT count(*) FROM sweeps WHERE name = '{}' AND priority = {}", sweep, priority));
  } else {
    Tell(about, fmt::format("sweep '{}' is {}", sweep, answer->state()),
         fmt::format("SELECT count(*) FROM sweeps WHERE name = '{}' AND state = '{}'", sweep, answer->state()));
  }
  return absl::OkStatus();
}

absl::Status Rig::SteerSome(const std::string& sweep, v1::SteerSweepRequest::Action action, const std::string& only, int given_up) {
  const std::string about = "what is given up of " + sweep;
  Withdraw(about);
  v1::SteerSweepRequest request;
  request.set_sweep(sweep);
  request.set_action(action);
  request.add_only(only);
  absl::Status answer = absl::InternalError("no answer");
  engine_->SteerSweep(request, [&](absl::StatusOr<v1::Sweep> given) { answer = given.status(); });
  RETURN_IF_ERROR(answer);
  Tell(about, fmt::format("sweep '{}' has given up {} of its jobs", sweep, given_up),
       fmt::format("SELECT count(*) = {} FROM given_up AS g JOIN sweeps AS s ON s.num = g.sweep WHERE s.name = '{}'", given_up, sweep));
  return absl::OkStatus();
}

absl::Status Rig::Drain(bool drain) {
  Withdraw("drain");
  v1::SteerWorkerRequest request;
  request.set_worker(kWorker);
  request.set_drain(drain);
  absl::Status answer = absl::InternalError("no answer");
  engine_->SteerWorker(request, [&](absl::StatusOr<v1::WorkerInfo> given) { answer = given.status(); });
  RETURN_IF_ERROR(answer);
  Tell("drain", drain ? "the worker drains" : "the worker is active",
       fmt::format("SELECT count(*) FROM workers WHERE state = '{}'", drain ? "draining" : "active"));
  return absl::OkStatus();
}

absl::Status Rig::Backup(const std::string& name) {
  v1::BackupStoreRequest request;
  request.set_path((folder_ / name).string());
  absl::Status status = service::BackupStore(*store_, request).status();
  // Made by a try before, whose answer was an error: the name is taken, and the copy is whole or it would not have that name.
  if (status.code() == absl::StatusCode::kAlreadyExists) status = absl::OkStatus();
  RETURN_IF_ERROR(status);
  Tell("backup", "there is a copy " + name, "@" + name);
  return absl::OkStatus();
}

absl::Status Rig::Merge(const std::filesystem::path& other) {
  ASSIGN_OR_RETURN(store::MergeSource source, store::MergeSource::Open(other));
  std::vector<store::Pin> pins;
  RETURN_IF_ERROR(source.CopyFiles(store_->artifacts(), [this](const store::NamedFile& file) { return store::PartsOf(store_->writer_connection(), file); }, pins));
  service::Effects effects;
  absl::Status answer = absl::InternalError("no answer");
  Run({.apply = [&](sql::Transaction& tx) -> absl::Status {
         ASSIGN_OR_RETURN(store::MergeReport report, source.Apply(tx));
         RETURN_IF_ERROR(engine_->DropMembers(tx, report.dropped, effects));
         effects.work = true;
         return absl::OkStatus();
       },
       .done =
           [&](const absl::Status& status) {
             if (status.ok()) engine_->Carry(effects);
             answer = status;
           }});
  RETURN_IF_ERROR(answer);
  Tell("merge", "the other store's sweep is here", "SELECT count(*) FROM sweeps WHERE name = 'theirs'");
  return absl::OkStatus();
}

absl::Status Rig::Look() {
  ASSIGN_OR_RETURN(v1::CheckStoreResponse checked, service::CheckStore(*store_, {}));
  // A device that does not answer is listed by SQLite's own check like damage.
  if (checked.violations_size() > 0) return absl::UnavailableError(checked.violations(0));
  ASSIGN_OR_RETURN(store::Snapshot snapshot, store_->Read());
  RETURN_IF_ERROR(store::ListSweeps(snapshot).status());
  ASSIGN_OR_RETURN(sql::Rows rows, snapshot.db().Query("SELECT id, state FROM jobs ORDER BY num"));
  while (rows.Next()) {
    // What a failing read leaves must not look like a value.
    if (rows.Get<std::string>(0).size() != 64 && rows.status().ok()) return absl::DataLossError("a job's id was read as something else");
  }
  return rows.status();
}

v1::SynchronizeRequest Rig::Request(int slots, bool leaving, const std::vector<v1::ProgressPoint>& points) const {
  static const v1::Abilities abilities = AbilitiesOfAll();
  v1::SynchronizeRequest request;
  request.set_protocol(kProtocolVersion);
  request.set_worker(kWorker);
  request.set_incarnation(outside_.incarnation);
  *request.mutable_abilities() = abilities;
  for (const v1::Lease& lease : outside_.held) {
    v1::HeldAttempt& held = *request.add_held();
    held.set_attempt(lease.attempt());
    held.set_phase("training");
  }
  if (request.held_size() > 0) request.mutable_held(0)->mutable_points()->Assign(points.begin(), points.end());
  for (const v1::AttemptReport& report : outside_.finished) *request.add_finished() = report;
  request.set_free_slots(outside_.held.empty() ? slots : 0);
  request.set_leaving(leaving);
  return request;
}

absl::Status Rig::Synchronize(int slots, bool leaving, std::vector<v1::ProgressPoint> points) {
  v1::SynchronizeRequest request = Request(slots, leaving, points);
  request.set_sequence(++outside_.sequence);
  absl::StatusOr<v1::SynchronizeResponse> answer = absl::InternalError("no answer");
  engine_->Synchronize(request, [&](absl::StatusOr<v1::SynchronizeResponse> given) { answer = std::move(given); });
  RETURN_IF_ERROR(answer.status());
  Follow(request, *answer);
  return absl::OkStatus();
}

void Rig::Follow(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response) {
  for (const v1::HeldAttempt& held : sent.held()) {
    if (held.points().empty()) continue;
    const v1::ProgressPoint& last = held.points(held.points_size() - 1);
    Tell("points", fmt::format("the point of step {} is in", last.step()),
         fmt::format("SELECT count(*) FROM progress JOIN jobs ON num = job WHERE id = '{}' AND step = {}", last.job(), last.step()));
  }
  for (const uint64_t attempt : response.acknowledged()) {
    std::erase_if(outside_.finished, [attempt](const v1::AttemptReport& report) { return report.attempt() == attempt; });
    Tell(fmt::format("report {}", attempt), fmt::format("the report of attempt {} was taken", attempt),
         fmt::format("SELECT count(*) FROM attempts WHERE id = {0} AND outcome IS NOT NULL AND (outcome <> 'succeeded' OR EXISTS "
                     "(SELECT 1 FROM jobs WHERE attempt = {0} AND state = 'succeeded'))", attempt));
  }
  for (const v1::Directive& directive : response.directives()) {
    if (directive.action() != v1::Directive::ACTION_DROP) continue;
    std::erase_if(outside_.held, [&](const v1::Lease& lease) { return lease.attempt() == directive.attempt(); });
  }
  for (const v1::Lease& lease : response.leases()) {
    if (std::ranges::any_of(outside_.held, [&](const v1::Lease& held) { return held.attempt() == lease.attempt(); })) continue;
    outside_.held.push_back(lease);
    Tell(fmt::format("lease {}", lease.attempt()), fmt::format("attempt {} was given out", lease.attempt()),
         fmt::format("SELECT count(*) FROM attempts WHERE id = {}", lease.attempt()));
  }
}

v1::UploadHeader Rig::HeaderOf(const std::string& kind, int step, const std::string& content) const {
  const v1::Lease& lease = outside_.held.front();
  v1::UploadHeader header;
  header.set_attempt(lease.attempt());
  header.set_worker(kWorker);
  header.set_kind(kind);
  header.set_step(step);
  header.set_sha256(Sha256Of(content));
  header.set_bytes(static_cast<double>(content.size()));
  for (const v1::LeasedJob& job : lease.jobs()) header.add_jobs(job.id());
  return header;
}

absl::Status Rig::Record(const v1::UploadHeader& header, store::Pin pin) {
  absl::Status answer = absl::InternalError("no answer");
  engine_->RecordUpload(header, std::move(pin), [&](absl::StatusOr<WallTime> given) { answer = given.status(); });
  RETURN_IF_ERROR(answer);
  Tell("newest " + header.kind(), fmt::format("the {} of step {} is stored", header.kind(), header.step()),
       fmt::format("SELECT count(*) FROM artifacts WHERE kind = '{}' AND step = {} AND sha256 = '{}'", header.kind(), header.step(), header.sha256()));
  return absl::OkStatus();
}

// As the server's handler of uploads, as is the next.
absl::Status Rig::Upload(const std::string& kind, int step, size_t bytes) {
  if (outside_.held.empty()) return absl::FailedPreconditionError("the worker holds nothing");
  const std::string content = ContentOf(kind, step, bytes);
  const v1::UploadHeader header = HeaderOf(kind, step, content);
  std::optional<store::Pin> pin = store_->artifacts().FindAndPin(header.sha256(), static_cast<int64_t>(content.size()));
  if (!pin) {
    ASSIGN_OR_RETURN(store::ArtifactWriter writer, store_->artifacts().Create(header.sha256(), static_cast<int64_t>(content.size())));
    RETURN_IF_ERROR(writer.Append(std::string_view(content).substr(0, content.size() / 2)));
    RETURN_IF_ERROR(writer.Append(std::string_view(content).substr(content.size() / 2)));
    ASSIGN_OR_RETURN(pin, writer.Commit());
  }
  return Record(header, *std::move(pin));
}

absl::Status Rig::UploadLinked(const std::string& kind, int step) {
  if (outside_.held.empty()) return absl::FailedPreconditionError("the worker holds nothing");
  const std::string content = ContentOf(kind, step, 3000);
  const std::string name = fmt::format("{}-{}", kind, step);
  const int fd = open((store_->artifacts().inbox() / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return absl::UnavailableError("the worker cannot write its file");
  const ssize_t written = write(fd, content.data(), content.size());
  close(fd);
  if (written != std::ssize(content)) return absl::UnavailableError("the worker cannot write its file");
  ASSIGN_OR_RETURN(store::ArtifactWriter writer, store_->artifacts().TakeLinked(name, "", std::ssize(content)));
  ASSIGN_OR_RETURN(const bool whole, writer.ReadOn(2 * std::ssize(content)));
  if (!whole) return absl::InternalError("the worker's file has no end");
  v1::UploadHeader header = HeaderOf(kind, step, content);
  if (writer.sha256() != header.sha256()) return absl::InternalError("other bytes than the worker's");
  std::optional<store::Pin> pin = store_->artifacts().FindAndPin(header.sha256(), std::ssize(content));
  if (!pin) {
    ASSIGN_OR_RETURN(pin, writer.Commit());
  }
  return Record(header, *std::move(pin));
}

std::vector<v1::ProgressPoint> Rig::Points(int from, int to) const {
  std::vector<v1::ProgressPoint> points;
  if (outside_.held.empty()) return points;
  for (int step = from; step <= to; ++step) {
    v1::ProgressPoint& point = points.emplace_back();
    point.set_job(outside_.held.front().jobs(0).id());
    point.set_step(step);
    point.set_loss(1.0 / step);
  }
  return points;
}

void Rig::End(v1::AttemptReport::Outcome outcome) {
  if (outside_.held.empty()) return;
  const v1::Lease lease = outside_.held.front();
  outside_.held.erase(outside_.held.begin());
  v1::AttemptReport& report = outside_.finished.emplace_back();
  report.set_attempt(lease.attempt());
  report.set_outcome(outcome);
  report.set_engine("rig");
  if (outcome == v1::AttemptReport::OUTCOME_FAILED) report.set_detail("crashed: as the scenario wants");
  if (outcome != v1::AttemptReport::OUTCOME_SUCCEEDED) return;
  Withdraw("newest checkpoint");  // Pruned with the job's success.
  for (const v1::LeasedJob& job : lease.jobs()) {
    v1::MemberResult& result = *report.add_results();
    result.set_job(job.id());
    for (const int length : {0, 41, 42, 43}) {
      v1::Measurement& measurement = *result.add_measurements();
      measurement.set_metric("accuracy");
      measurement.set_length(length);
      measurement.set_value(0.5 + job.spec().seed() / 100.0 + length / 1000.0);
    }
  }
}

absl::Status Rig::Advance(std::chrono::seconds by) {
  outside_.clock.Advance(by);
  for (int i = 0; i < 100; ++i) {
    const std::optional<SteadyTime> next = engine_->NextDeadline();
    if (!next || *next > outside_.clock.Steady()) return absl::OkStatus();
    store::Event event = engine_->AtDeadline(outside_.clock.Steady());
    absl::Status status;
    event.done = [&status, done = event.done](const absl::Status& given) {
      status = given;
      done(given);
    };
    Run(std::move(event));
    RETURN_IF_ERROR(status);
  }
  return absl::InternalError("the engine's deadlines do not move on");
}

absl::Status Rig::FinishAll() {
  for (int i = 0; i < 50; ++i) {
    // A call that comes with something in hand may be told no more than to drop it.
    const bool idle = outside_.held.empty() && outside_.finished.empty();
    RETURN_IF_ERROR(Synchronize(1));
    if (idle && outside_.held.empty()) return absl::OkStatus();
    End(v1::AttemptReport::OUTCOME_SUCCEEDED);
    RETURN_IF_ERROR(Synchronize(0));
  }
  return absl::InternalError("the sweeps do not come to an end");
}

absl::Status Rig::WriteGroup() {
  std::vector<absl::Status> answers(3);
  const auto change = [&](size_t i, const std::string& sql, const absl::Status& verdict) {
    return store::Event{.apply = [sql, verdict](sql::Transaction& tx) -> absl::Status {
                          RETURN_IF_ERROR(tx.Run(sql).status());
                          return verdict;
                        },
                        .done = [&answers, i](const absl::Status& status) { answers[i] = status; }};
  };
  std::vector<store::Event> group;
  // Columns that nothing writes afterwards: a worker that comes again has its own name and device.
  group.push_back(change(0, "UPDATE sweeps SET submitted_at = 1", absl::OkStatus()));
  group.push_back(change(1, "UPDATE workers SET build = 'refused'", absl::InvalidArgumentError("refused")));
  group.push_back(change(2, "UPDATE workers SET first_seen_at = 3", absl::OkStatus()));
  const absl::Status status = store::RunGroup(store_->writer_connection(), group);
  if (answers[0].ok()) Tell("first", "the first change of a group is there", "SELECT count(*) FROM sweeps WHERE submitted_at = 1");
  if (answers[2].ok()) Tell("third", "the third change of a group is there", "SELECT count(*) FROM workers WHERE first_seen_at = 3");
  Tell("second", "a refused change is not there", "SELECT count(*) = 0 FROM workers WHERE build = 'refused'");
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(answers[0]);
  return answers[2];
}

std::vector<std::string> Rig::Violations() {
  const absl::StatusOr<store::CheckReport> report = store::Check(store_->writer_connection(), store_->artifacts(), true, {}, service::CheckMembers);
  if (!report.ok()) return {fmt::format("the check fails: {}", report.status().ToString())};
  std::vector<std::string> violations = report->violations;
  for (const auto& [about, fact] : outside_.facts) {
    if (fact.query.starts_with('@')) {
      absl::StatusOr<sql::Connection> copy = sql::Connection::Open(folder_ / fact.query.substr(1), sql::Mode::kReadOnly);
      const bool whole = copy.ok() && copy->One<std::string>("PRAGMA integrity_check").value_or("") == "ok";
      if (!whole) violations.push_back("lost: " + fact.what);
      continue;
    }
    const absl::StatusOr<int64_t> holds = store_->writer_connection().One<int64_t>(fact.query);
    if (!holds.ok()) violations.push_back(fmt::format("cannot tell whether {}: {}", fact.what, holds.status().ToString()));
    else if (*holds == 0) violations.push_back("lost: " + fact.what);
  }
  return violations;
}

std::string Rig::Results() {
  return store_->writer_connection()
      .One<std::string>("SELECT ifnull(group_concat(line, '\n'), '') FROM (SELECT id || ' ' || state || ' ' || ifnull("
                        "(SELECT group_concat(length || '=' || value) FROM measurements WHERE job = num), '-') AS line "
                        "FROM jobs ORDER BY id)")
      .value_or("cannot be read");
}

}  // namespace longreach::faults
