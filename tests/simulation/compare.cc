#include "tests/simulation/compare.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scheduler/service/check_members.h"
#include "store/maintenance.h"
#include "store/measurements.h"

namespace longreach::simulation {
namespace {

constexpr std::string_view kJobWords[] = {"absent", "waiting", "queued", "leased", "succeeded", "failed", "cancelled"};
constexpr std::string_view kSweepWords[] = {"absent", "live", "paused", "cancelled"};

std::string_view Word(Model::JobState state) { return kJobWords[static_cast<size_t>(state)]; }
std::string_view Word(Model::SweepState state) { return kSweepWords[static_cast<size_t>(state)]; }

std::string Text(const v1::SynchronizeResponse& response) {
  std::string text;
  for (const uint64_t attempt : response.acknowledged()) text += fmt::format(" ack {}", attempt);
  for (const v1::Directive& directive : response.directives()) {
    text += fmt::format("; {} {}", directive.attempt(), v1::Directive::Action_Name(directive.action()).substr(7));
    for (const std::string& job : directive.dropped_jobs()) text += " -" + job.substr(0, 6);
  }
  for (const v1::Lease& lease : response.leases()) {
    text += fmt::format("; lease {}:", lease.attempt());
    for (const v1::LeasedJob& job : lease.jobs()) {
      text += fmt::format(" {}@{}/{}", job.id().substr(0, 6), job.checkpoint().step(), job.checkpoint_before().step());
    }
  }
  if (!response.refused().empty()) text += "; refused";
  return text;
}

void CompareText(World& world, std::string_view what, const std::string& given, const std::string& expected) {
  if (given == expected) return;
  size_t at = 0;
  while (at < given.size() && at < expected.size() && given[at] == expected[at]) ++at;
  const auto line = [at](const std::string& text) {
    const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  world.Violation(fmt::format("{}: the store has '{}', the model '{}'", what, line(given), line(expected)));
}

void CompareJobs(World& world, const Model& model, sql::Connection& db) {
  absl::StatusOr<sql::Rows> rows = db.Query(
      "SELECT num, id, state, ifnull(attempt, 0), wanted, priority, failures, losses, checkpoint_step, diverged, failure FROM jobs ORDER BY num");
  if (!rows.ok()) return world.Violation("jobs cannot be read");
  int64_t count = 0;
  while (rows->Next()) {
    ++count;
    const int index = model.universe().Find(rows->Get<std::string_view>(1));
    if (index < 0) return world.Violation("a job that nobody submitted is in the store");
    const Model::JobLife& job = model.jobs()[static_cast<size_t>(index)];
    const Job& spec = model.universe().jobs[static_cast<size_t>(index)];
    const bool succeeded = job.state == Model::JobState::kSucceeded;
    const bool same = rows->Get<int64_t>(0) == job.order && rows->Get<std::string_view>(2) == Word(job.state) &&
                      rows->Get<int64_t>(3) == job.attempt && rows->Get<int>(6) == job.failures && rows->Get<int>(7) == job.losses &&
                      rows->Get<int>(8) == job.checkpoint &&
                      rows->Get<bool>(9) == (succeeded && spec.fate == Fate::kDiverges) &&
                      (succeeded || (rows->Get<bool>(4) == model.IsWanted(index) && rows->Get<int>(5) == model.PriorityOf(index))) &&
                      (job.state != Model::JobState::kFailed || !rows->Get<std::string_view>(10).empty());
    if (same) continue;
    return world.Violation(fmt::format(
        "job {}: the store has number {}, {} (attempt {}), wanted {}, priority {}, {} failures, {} losses, checkpoint {}, '{}'; the model "
        "{}, {} ({}), {}, {}, {}, {}, {}",
        spec.id.substr(0, 8), rows->Get<int64_t>(0), rows->Get<std::string_view>(2), rows->Get<int64_t>(3), rows->Get<int>(4),
        rows->Get<int>(5), rows->Get<int>(6), rows->Get<int>(7), rows->Get<int>(8), rows->Get<std::string>(10), job.order, Word(job.state),
        job.attempt, model.IsWanted(index), model.PriorityOf(index), job.failures, job.losses,
        job.checkpoint));
  }
  const auto there = std::ranges::count_if(model.jobs(), [](const Model::JobLife& job) { return job.state != Model::JobState::kAbsent; });
  if (count != there) world.Violation(fmt::format("the store has {} jobs, the model {}", count, there));
}

void CompareSweeps(World& world, const Model& model, sql::Connection& db) {
  std::string expected;
  std::vector<std::string> lines;
  for (size_t i = 0; i < model.sweeps().size(); ++i) {
    const Model::SweepLife& sweep = model.sweeps()[i];
    if (sweep.state == Model::SweepState::kAbsent) continue;
    std::array<int, 7> counts{};
    int diverged = 0;
    int to_come = 0;
    for (const int job : model.universe().sweeps[i].members) {
      if (!model.Has(static_cast<int>(i), job)) {
        ++to_come;
        continue;
      }
      const Model::JobState of_job = model.jobs()[static_cast<size_t>(job)].state;
      // Another sweep may go on with it.
      const bool given_up = of_job != Model::JobState::kSucceeded && !model.Claims(static_cast<int>(i), job);
      const Model::JobState state = given_up ? Model::JobState::kCancelled : of_job;
      ++counts[static_cast<size_t>(state)];
      diverged += state == Model::JobState::kSucceeded && model.universe().jobs[static_cast<size_t>(job)].fate == Fate::kDiverges;
    }
    lines.push_back(fmt::format("{} {} {}: {} {} {} {} {} {} {}, {} to come, {} unsettled\n", model.universe().sweeps[i].id, Word(sweep.state), sweep.priority, counts[1],
                                counts[2], counts[3], counts[4], counts[5], counts[6], diverged, to_come,
                                sweep.unsettled ? std::to_string(*sweep.unsettled) : "none"));
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) expected += line;
  CompareText(world, "sweeps",
              ReadText(world, db,
                       "SELECT id || ' ' || state || ' ' || priority || ': ' || jobs_waiting || ' ' || jobs_queued || ' ' || jobs_leased || ' ' "
                       "|| jobs_succeeded || ' ' || jobs_failed || ' ' || jobs_cancelled || ' ' || jobs_diverged || ', ' || jobs_to_come || ' to come, ' || "
                       "ifnull(unsettled_from, 'none') || ' unsettled' FROM sweeps ORDER BY id"),
              expected);
}

void CompareGivenUp(World& world, const Model& model, sql::Connection& db) {
  std::set<std::string> lines;
  for (size_t i = 0; i < model.sweeps().size(); ++i) {
    for (const int job : model.sweeps()[i].given_up) {
      lines.insert(fmt::format("{} {}\n", model.universe().sweeps[i].id, model.universe().jobs[static_cast<size_t>(job)].id));
    }
  }
  CompareText(world, "jobs that sweeps gave up",
              ReadText(world, db,
                       "SELECT s.id || ' ' || j.id FROM given_up AS g JOIN sweeps AS s ON s.num = g.sweep JOIN jobs AS j ON j.num = g.job ORDER BY 1"),
              fmt::format("{}", fmt::join(lines, "")));
}

void CompareWorkers(World& world, const Model& model, sql::Connection& db) {
  std::string expected;
  for (const auto& [id, worker] : model.workers()) expected += fmt::format("{} {} {}\n", id, worker.incarnation, worker.state);
  CompareText(world, "workers", ReadText(world, db, "SELECT id || ' ' || incarnation || ' ' || state FROM workers ORDER BY id"), expected);
}

void CompareAttempts(World& world, const Model& model, sql::Connection& db) {
  absl::StatusOr<sql::Rows> rows = db.Query("SELECT id, ifnull(outcome, '') FROM attempts ORDER BY id");
  if (!rows.ok()) return world.Violation("attempts cannot be read");
  size_t count = 0;
  for (; rows->Next(); ++count) {
    const bool same = count < model.outcomes().size() && rows->Get<int64_t>(0) == static_cast<int64_t>(count) + 1 &&
                      rows->Get<std::string_view>(1) == model.outcomes()[count];
    if (same) continue;
    return world.Violation(fmt::format("attempt {}: the store has '{}', the model '{}'", rows->Get<int64_t>(0), rows->Get<std::string_view>(1),
                                       count < model.outcomes().size() ? model.outcomes()[count] : "no such attempt"));
  }
  if (count != model.outcomes().size()) world.Violation(fmt::format("the store has {} attempts, the model {}", count, model.outcomes().size()));
}

}  // namespace

std::string ReadText(World& world, sql::Connection& db, std::string_view query) {
  absl::StatusOr<sql::Rows> rows = db.Query(query);
  std::string text;
  while (rows.ok() && rows->Next()) {
    text += rows->Get<std::string_view>(0);
    text += '\n';
  }
  if (!rows.ok() || !rows->status().ok()) world.Violation(fmt::format("'{}' cannot be read", query));
  return text;
}

void CompareResponse(World& world, const v1::SynchronizeRequest& request, const v1::SynchronizeResponse& given,
                     const absl::StatusOr<v1::SynchronizeResponse>& expected) {
  const std::string text = Text(given);
  const std::string other = expected.ok() ? Text(*expected) : std::string(expected.status().message());
  if (text == other) return;
  world.Violation(fmt::format("the answer to call {} of worker {} is '{}', the model's is '{}'", request.sequence(), request.worker(), text, other));
}

void CompareAll(World& world, const Model& model, sql::Connection& db) {
  CompareJobs(world, model, db);
  CompareSweeps(world, model, db);
  CompareGivenUp(world, model, db);
  CompareWorkers(world, model, db);
  CompareAttempts(world, model, db);
}

void CheckLedger(World& world, sql::Connection& db, const store::ArtifactFiles& files) {
  const absl::StatusOr<store::CheckReport> report = store::Check(db, files, true, {}, service::CheckMembers);
  if (!report.ok()) return world.Violation(fmt::format("the ledger check does not run: {}", std::string(report.status().message())));
  for (const std::string& violation : report->violations) world.Violation(fmt::format("ledger: {}", violation));
}

void CheckFiles(World& world, sql::Connection& db, const store::ArtifactFiles& artifacts) {
  const std::vector<std::string> unsettled = artifacts.Unsettled();
  for (const std::string& hash : artifacts.List()) {
    const absl::StatusOr<bool> known = db.One<bool>("SELECT EXISTS (SELECT 1 FROM artifacts WHERE sha256 = ?) OR "
                                                      "EXISTS (SELECT 1 FROM unused_files WHERE sha256 = ?)", hash, hash);
    if (known.value_or(false) || std::ranges::count(unsettled, hash) > 0) continue;
    world.Violation(fmt::format("the file {} has no row and nobody knows of it", hash));
  }
}

void CheckPoints(World& world, const Universe& universe, sql::Connection& db, const std::set<Scheduler::Point>& points) {
  for (const Scheduler::Point& point : points) {
    const Job& job = universe.jobs[static_cast<size_t>(point.job)];
    const absl::StatusOr<std::optional<double>> loss =
        db.First<double>("SELECT loss FROM progress WHERE step = ? AND job = (SELECT num FROM jobs WHERE id = ?)", point.step, job.id);
    if (loss.ok() && *loss == LossOf(job, point.step)) continue;
    // A curve ends where its job diverged, whatever attempts before have told.
    const absl::StatusOr<std::optional<int>> diverged_at = db.First<int>("SELECT diverged_at FROM jobs WHERE id = ? AND diverged = 1", job.id);
    if (diverged_at.ok() && *diverged_at && **diverged_at < point.step) continue;
    return world.Violation(fmt::format("the point of job {} at step {} was acknowledged and is not in the store", job.id.substr(0, 8), point.step));
  }
}

void CheckBegins(World& world, sql::Connection& db, const std::map<uint64_t, int>& begins) {
  for (const auto& [attempt, step] : begins) {
    const absl::StatusOr<std::optional<int>> start = db.First<int>("SELECT start_step FROM attempts WHERE id = ?", attempt);
    if (start.ok() && *start == step) continue;
    return world.Violation(fmt::format("attempt {} began at step {}, which was acknowledged, and the store does not say so", attempt, step));
  }
}

void CheckTable(World& world, const Universe& universe, sql::Connection& db) {
  for (const Job& job : universe.jobs) {
    absl::StatusOr<sql::Rows> rows = db.Query("SELECT num, state FROM jobs WHERE id = ?", job.id);
    if (!rows.ok() || !rows->Next() || rows->Get<std::string_view>(1) != "succeeded") continue;
    const absl::StatusOr<std::vector<store::Measurement>> measured = store::MeasurementsOf(db, rows->Get<int64_t>(0), false);
    const v1::MemberResult expected = ResultOf(job);
    bool same = measured.ok() && static_cast<int>(measured->size()) == expected.measurements_size();
    for (int i = 0; same && i < expected.measurements_size(); ++i) {
      const store::Measurement& m = (*measured)[static_cast<size_t>(i)];
      const v1::Measurement& e = expected.measurements(i);
      same = m.metric == e.metric() && m.length == e.length() && m.slice == e.slice() && m.value == e.value();
    }
    if (!same) world.Violation(fmt::format("the result of job {} is not the one that it must have", job.id.substr(0, 8)));
  }
}

}  // namespace longreach::simulation
