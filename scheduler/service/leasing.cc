#include "scheduler/service/leasing.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "proto/catalog/packs.h"
#include "proto/types/words.h"
#include "scheduler/core/job_life.h"
#include "scheduler/core/packs.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/for_older_workers.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/input_files.h"
#include "scheduler/service/needs.h"
#include "store/artifacts.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// core knows no catalog, and a worker may ask for as much as that says.
static_assert(core::kMaxPackLimit == catalog::kMaxJobsOfPack && core::kMaxSlots == catalog::kMaxPacksAtATime && core::kMaxNoopSlots == catalog::kMaxNoopsAtATime);

v1::ArtifactRef RefOf(const store::ArtifactRow& row) {
  v1::ArtifactRef ref;
  ref.set_sha256(row.sha256);
  ref.set_bytes(static_cast<double>(row.bytes));
  ref.set_step(row.step);
  ref.set_member(row.member);
  return ref;
}

absl::StatusOr<v1::LeasedJob> BuildJob(sql::Connection& db, const store::JobRow& job, const store::ArtifactFiles* files, SpecReader& specs) {
  v1::LeasedJob leased;
  leased.set_id(job.id);
  ASSIGN_OR_RETURN(*leased.mutable_spec(), specs.Read(job));
  // Of a job that is only tested, checkpoints hold the tests that are done, all at step 0.
  if (job.checkpoint_step > 0 || leased.spec().training().steps() == 0) {
    ASSIGN_OR_RETURN(std::vector<store::ArtifactRow> checkpoints, store::CheckpointsOf(db, job.num));
    if (!checkpoints.empty()) *leased.mutable_checkpoint() = RefOf(checkpoints[0]);
    if (checkpoints.size() > 1) *leased.mutable_checkpoint_before() = RefOf(checkpoints[1]);
  }
  experiments::LeaveOutForOlderWorkers(*leased.mutable_spec());
  if (leased.spec().inputs().empty()) return leased;
  ASSIGN_OR_RETURN(std::vector<store::JobInputRow> inputs, store::InputsOf(db, job.num));
  for (const store::JobInputRow& input : inputs) {
    v1::ResolvedInput& resolved = *leased.add_inputs();
    ASSIGN_OR_RETURN(resolved, ResolveInput(db, input, job.spec));
    RETURN_IF_ERROR(CheckFileOf(resolved, input, files));
  }
  return leased;
}

// Jobs that can be trained as they are, and what the worker is sent of each; those that cannot fail here and now instead of in the
// hands of every worker in turn.
struct Usable {
  std::vector<store::JobRow> jobs;
  std::vector<v1::LeasedJob> leased;
};

// Of more than `most_bytes` only the first jobs.
absl::StatusOr<Usable> UsableOf(sql::Transaction& tx, std::vector<store::JobRow> jobs, size_t most_bytes, const store::ArtifactFiles* files,
                                SpecReader& specs, Effects& effects) {
  Usable usable;
  size_t bytes = 0;
  for (store::JobRow& job : jobs) {
    absl::StatusOr<v1::LeasedJob> built = BuildJob(tx, job, files, specs);
    if (built.ok() && built->ByteSizeLong() > most_bytes) {
      built = absl::InvalidArgumentError(fmt::format("what a worker needs to know of it takes {} bytes, and an answer has room for {}; "
                                                     "submit it with fewer lengths or inputs",
                                                     built->ByteSizeLong(), most_bytes));
    }
    if (built.ok()) {
      bytes += built->ByteSizeLong();
      if (bytes > most_bytes) break;
      usable.jobs.push_back(std::move(job));
      usable.leased.push_back(*std::move(built));
      continue;
    }
    const absl::Status& why = built.status();
    if (why.code() != absl::StatusCode::kNotFound && why.code() != absl::StatusCode::kInvalidArgument) return why;
    RETURN_IF_ERROR(FailUnstarted(tx, job, std::string_view(why.message().data(), why.message().size()), effects));
  }
  return usable;
}

// The data set of that name, as the store knows it.
absl::StatusOr<v1::DataSet> DataOf(sql::Connection& db, const std::string& name) {
  ASSIGN_OR_RETURN(std::optional<store::DataSetRow> row, store::FindDataSet(db, name));
  if (!row) return absl::InternalError(fmt::format("a lease for the data set '{}', which the store does not know", name));
  v1::DataSet data;
  data.set_name(row->name);
  data.set_sha256(row->sha256);
  data.set_bytes(row->bytes);
  return data;
}

absl::Status AddData(sql::Connection& db, const store::Requirement& requirement, v1::Lease& lease) {
  const DataSetNames names = SplitDataSets(requirement.data);
  if (!names.corpus.empty()) {
    ASSIGN_OR_RETURN(*lease.mutable_data(), DataOf(db, names.corpus));
  }
  if (!names.model.empty()) {
    ASSIGN_OR_RETURN(*lease.mutable_model(), DataOf(db, names.model));
  }
  if (!names.longbench.empty()) {
    ASSIGN_OR_RETURN(*lease.mutable_longbench(), DataOf(db, names.longbench));
  }
  for (const std::string& name : names.mixture) {
    ASSIGN_OR_RETURN(*lease.add_mixture(), DataOf(db, name));
  }
  return absl::OkStatus();
}

// What is sent of a pack, but for its attempt's number.
absl::StatusOr<v1::Lease> LeaseOf(sql::Connection& db, const store::Requirement& requirement, std::span<v1::LeasedJob> jobs) {
  v1::Lease lease;
  for (v1::LeasedJob& job : jobs) *lease.add_jobs() = std::move(job);
  RETURN_IF_ERROR(AddData(db, requirement, lease));
  return lease;
}

// Leases jobs that were found usable, as one pack.
absl::Status LeasePack(sql::Transaction& tx, const store::WorkerRow& worker, std::span<const store::JobRow> jobs, v1::Lease lease,
                       WallTime now, v1::SynchronizeResponse& response, Effects& effects) {
  std::vector<int64_t> nums;
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(core::Life before, LifeOf(job, worker.id));
    RETURN_IF_ERROR(core::Grant(before, Attempt{}, WorkerId{worker.id}).status());  // Its number is the store's to give.
    nums.push_back(job.num);
  }
  const store::JobRow& first = jobs[0];
  ASSIGN_OR_RETURN(int64_t attempt, store::StartAttempt(tx,
                                                        {.worker = worker.id,
                                                         .incarnation = worker.incarnation,
                                                         .started_at = now,
                                                         .build = worker.build,
                                                         .device = worker.device,
                                                         .threads = worker.threads,
                                                         .start_step = first.checkpoint_step,
                                                         .device_id = worker.device_id},
                                                        nums));
  lease.set_attempt(static_cast<uint64_t>(attempt));
  *response.add_leases() = std::move(lease);
  effects.started.push_back({.attempt = attempt,
                             .start_step = first.checkpoint_step,
                             .live = {.worker = worker.id,
                                      .worker_name = worker.name,
                                      .task = first.requirement.task,
                                      .encoding = ToText({first.requirement.encoding, first.randomized}),
                                      .noop = NeedsNoTrainer(jobs),
                                      .members = static_cast<int>(jobs.size()),
                                      .step = first.checkpoint_step,
                                      .steps = first.steps,
                                      .phase = AttemptPhase::kStarting}});
  return absl::OkStatus();
}

// Names among the needs that the store has not kept when they were announced, as it knew so many.
absl::Status BindNeeded(sql::Transaction& tx, const v1::Abilities& abilities, WallTime now, core::Needs& needs) {
  for (core::NeededData& needed : needs.data_sets) {
    if (!needed.sha256.empty()) continue;
    const auto there = std::ranges::find_if(abilities.data_sets(), [&needed](const v1::DataSet& data) { return data.name() == needed.name; });
    if (there == abilities.data_sets().end()) continue;
    ASSIGN_OR_RETURN(const store::DataSetRow bound, store::BindDataSet(tx, {.name = there->name(), .sha256 = there->sha256(), .bytes = there->bytes(), .first_seen_at = now}));
    needed.sha256 = bound.sha256;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::JobSpec> SpecReader::Read(const store::JobRow& job) {
  std::string shared;
  for (size_t at = 0; at < job.spec.size();) {
    const size_t end = std::min(job.spec.find('\n', at), job.spec.size() - 1) + 1;
    const std::string_view line = std::string_view(job.spec).substr(at, end - at);
    if (!line.starts_with("learning_rate=") && !line.starts_with("seed=")) shared += line;
    at = end;
  }
  if (shared.empty() || shared != shared_) {
    ASSIGN_OR_RETURN(spec_, experiments::ReadJob(job.spec));
    shared_ = std::move(shared);
  }
  spec_.set_learning_rate(job.learning_rate);
  spec_.set_seed(job.seed);
  return spec_;
}

absl::StatusOr<const std::vector<size_t>*> Leasing::AbleFor(sql::Transaction& tx, const std::string& worker, const v1::Abilities& abilities, WallTime now) {
  if (!works_) {
    ASSIGN_OR_RETURN(std::vector<store::RequirementRow> rows, store::Requirements(tx));
    works_.emplace();
    for (store::RequirementRow& row : rows) {
      const experiments::Kind* kind = experiments::FindKind(row.requirement.experiment);
      works_->push_back({.row = std::move(row), .noop = kind != nullptr && kind->ComputesNothing()});
    }
  }
  auto able = able_.find(worker);
  if (able == able_.end()) {
    std::vector<size_t> indexes;
    for (size_t i = 0; i < works_->size(); ++i) {
      ASSIGN_OR_RETURN(core::Needs needs, NeedsOf(tx, (*works_)[i].row.requirement));
      RETURN_IF_ERROR(BindNeeded(tx, abilities, now, needs));
      if (core::WhyUnable(needs, abilities).empty()) indexes.push_back(i);
    }
    able = able_.emplace(worker, std::move(indexes)).first;
  }
  return &able->second;
}

absl::Status Leasing::Look(sql::Connection& db, size_t work, const store::Apart& apart, std::optional<std::optional<store::LeaseGroup>>& head) {
  const int64_t requirement = (*works_)[work].row.num;
  head.reset();
  if (apart.empty()) {
    ASSIGN_OR_RETURN(head, store::NextGroup(db, requirement));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const store::ApartGroup found, store::NextGroupApart(db, requirement, apart));
  gave_up_ |= found.gave_up;
  if (!found.gave_up) head = found.group;
  return absl::OkStatus();
}

absl::StatusOr<Leasing::Turn> Leasing::Next(sql::Connection& db, const std::vector<size_t>& able, const store::Apart& apart, const Room& room) {
  Heads& line = lines_[apart];
  line.resize(works_->size());
  std::optional<size_t> sure;  // Looked at just now.
  while (true) {
    std::vector<size_t> ready;
    std::vector<core::GroupHead> heads;
    for (const size_t i : able) {
      if (room.Of((*works_)[i].noop) <= 0) continue;
      if (!line[i]) RETURN_IF_ERROR(Look(db, i, apart, line[i]));
      if (!line[i] || !*line[i]) continue;
      ready.push_back(i);
      heads.push_back({.priority = (*line[i])->priority, .first = (*line[i])->first});
    }
    const std::optional<size_t> next = core::NextInLine(heads);
    if (!next) return Turn{};
    const size_t work = ready[*next];
    if (work == sure) {
      Turn turn{.work = work, .group = **line[work], .apart = apart};
      line[work].reset();  // It goes now.
      heads.erase(heads.begin() + static_cast<std::ptrdiff_t>(*next));
      if (const std::optional<size_t> then = core::NextInLine(heads)) turn.before = heads[*then];
      return turn;
    }
    RETURN_IF_ERROR(Look(db, work, apart, line[work]));
    sure = work;
  }
}

absl::StatusOr<Leasing::Turn> Leasing::NextOf(sql::Connection& db, const std::vector<size_t>& able, const FailedWork& failed, const Room& room) {
  for (const store::Apart& apart : failed.Offers()) {
    ASSIGN_OR_RETURN(Turn turn, Next(db, able, apart, room));
    if (turn.work) return turn;
  }
  return Turn{};
}

absl::StatusOr<std::vector<store::JobRow>> Leasing::JobsOf(sql::Connection& db, const Turn& turn, const v1::Abilities& abilities, int room) {
  const Work& work = (*works_)[*turn.work];
  if (!turn.apart.empty()) return store::JobsOfGroupApart(db, turn.group, work.noop ? 1 : core::PackLimit(abilities), turn.apart);
  if (!work.noop) return store::JobsOfGroup(db, turn.group, core::PackLimit(abilities));
  ASSIGN_OR_RETURN(std::vector<store::JobRow> ready, store::FirstReady(db, work.row.num, room));
  if (turn.before) std::erase_if(ready, [&](const store::JobRow& job) { return core::ComesBefore(*turn.before, {job.priority, job.num}); });
  return ready;
}

absl::Status Leasing::Lease(sql::Transaction& tx, const store::WorkerRow& worker, const FailedWork& failed, const v1::Abilities& abilities,
                            Room room, WallTime now, AnswerRoom& answer, v1::SynchronizeResponse& response, Effects& effects) {
  gave_up_ = false;
  if (room.IsNone() || answer.full()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<size_t>* able, AbleFor(tx, worker.id, abilities, now));
  while (true) {
    ASSIGN_OR_RETURN(const Turn turn, NextOf(tx, *able, failed, room));
    if (!turn.work) return absl::OkStatus();
    const bool noop = (*works_)[*turn.work].noop;
    ASSIGN_OR_RETURN(std::vector<store::JobRow> ready, JobsOf(tx, turn, abilities, room.noops));
    if (ready.size() > 1 && !noop) {
      const absl::StatusOr<v1::JobSpec> spec = specs_.Read(ready.front());
      const auto most = static_cast<size_t>(spec.ok() ? MostInPack(*spec) : 1);
      if (ready.size() > most) ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(most), ready.end());
    }
    if (ready.empty()) return absl::InternalError(fmt::format("the group of job {} has no ready job", turn.group.first));
    ASSIGN_OR_RETURN(Usable usable, UsableOf(tx, std::move(ready), most_bytes_, files_, specs_, effects));
    const size_t count = usable.jobs.size();
    if (count == 0) continue;  // All of them have failed, so the next look finds others.
    const size_t pack = noop ? 1 : count;
    for (size_t at = 0; at < count; at += pack) {
      const auto jobs = std::span(usable.jobs).subspan(at, pack);
      ASSIGN_OR_RETURN(v1::Lease lease, LeaseOf(tx, jobs.front().requirement, std::span(usable.leased).subspan(at, pack)));
      if (!answer.Take(lease)) return absl::OkStatus();
      RETURN_IF_ERROR(LeasePack(tx, worker, jobs, std::move(lease), now, response, effects));
      --room.Of(noop);
    }
  }
}

absl::StatusOr<v1::Lease> BuildLease(sql::Connection& db, int64_t attempt, const store::ArtifactFiles* files) {
  v1::Lease lease;
  lease.set_attempt(static_cast<uint64_t>(attempt));
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt));
  SpecReader specs;
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(*lease.add_jobs(), BuildJob(db, job, files, specs));
  }
  if (!jobs.empty()) RETURN_IF_ERROR(AddData(db, jobs[0].requirement, lease));
  return lease;
}

bool NeedsNoTrainer(std::span<const store::JobRow> jobs) {
  const experiments::Kind* kind = jobs.empty() ? nullptr : experiments::FindKind(jobs[0].requirement.experiment);
  return kind != nullptr && kind->ComputesNothing();
}

absl::StatusOr<LiveAttempt> LiveAttemptOf(sql::Connection& db, const store::AttemptRow& attempt) {
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt.id));
  LiveAttempt live;
  live.worker = attempt.worker;
  live.worker_name = attempt.worker_name;
  live.noop = NeedsNoTrainer(jobs);
  live.members = static_cast<int>(jobs.size());
  live.step = attempt.step;
  if (!jobs.empty()) {
    live.task = jobs[0].requirement.task;
    live.encoding = ToText({jobs[0].requirement.encoding, jobs[0].randomized});
    live.steps = jobs[0].steps;
  }
  return live;
}

}  // namespace longreach::service
