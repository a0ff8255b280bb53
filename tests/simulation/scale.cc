#include "tests/simulation/scale.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <queue>

#include <fmt/format.h>

#include "proto/base/build_info.h"
#include "proto/catalog/catalog.h"
#include "scheduler/service/check_members.h"
#include "scheduler/service/engine.h"
#include "store/log_keeper.h"
#include "store/maintenance.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/simulation/world.h"

namespace longreach::simulation {
namespace {

constexpr Duration kTick = milliseconds(5);  // Calls that come within this are one group.
constexpr size_t kGroup = 256;               // As the writer's.

double CpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds_of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double ResidentMib() {
  std::ifstream in("/proc/self/statm");
  double all = 0;
  double resident = 0;
  in >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

v1::SweepSpec SweepOf(int64_t jobs) {
  v1::SweepSpec spec;
  spec.set_name("scale");
  spec.set_experiment("noop");
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_encoding("none");
  // Of seeds alone the specification would not fit into a message.
  constexpr int64_t kRates = 10;
  for (int64_t i = 1; i <= kRates; ++i) spec.mutable_axes()->add_learning_rate(1e-4 * static_cast<double>(i));
  for (int64_t seed = 0; seed < std::max<int64_t>(jobs / kRates, 1); ++seed) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  return spec;
}

v1::Abilities AbilitiesOfAll() {
  v1::Abilities abilities;
  abilities.set_build(BuildDescription());
  abilities.set_device("none: it is simulated");
  abilities.set_threads(1);
  abilities.set_pack_limit(1);
  abilities.add_experiments("noop");
  v1::Ability& task = *abilities.add_tasks();
  task.set_name("even_pairs");
  task.set_revision(catalog::FindTask("even_pairs")->revision);
  v1::Ability& encoding = *abilities.add_encodings();
  encoding.set_name("none");
  encoding.set_revision(catalog::FindEncoding("none")->revision);
  abilities.set_model_revision(catalog::kModelRevision);
  return abilities;
}

class Fleet {
 public:
  Fleet(const ScaleOptions& options, store::Store& store, ScaleFigures& figures)
      : options_(options), store_(store), figures_(figures), world_(1, false), abilities_(AbilitiesOfAll()), workers_(options.workers) {
    service::EngineOptions engine;
    engine.max_workers = static_cast<size_t>(options.workers);
    engine_ = std::make_unique<service::Engine>(world_.clock, engine, [this](store::Event event) { waiting_.push_back(std::move(event)); }, [] {});
  }

  absl::Status Run() {
    RETURN_IF_ERROR(engine_->Restore(store_.writer_connection()));
    ASSIGN_OR_RETURN(keeper_, store::LogKeeper::Start(store_.writer_connection()));
    const Duration renew = seconds(5);
    for (int i = 0; i < options_.workers; ++i) world_.After(renew * i / options_.workers, [this, i] { Call(i); });
    RETURN_IF_ERROR(PlayUntil(world_.now() + renew));  // The fleet comes.
    const double cpu = CpuSeconds();
    figures_.calls = figures_.finished = 0;
    groups_ms_.clear();
    RETURN_IF_ERROR(PlayUntil(world_.now() + Seconds(options_.played_s)));
    figures_.cores = (CpuSeconds() - cpu) / options_.played_s;
    figures_.resident_mib = ResidentMib();
    std::ranges::sort(groups_ms_);
    const auto share = [this](double of_all) { return groups_ms_[static_cast<size_t>(of_all * static_cast<double>(groups_ms_.size() - 1))]; };
    if (!groups_ms_.empty()) {
      figures_.group_p50_ms = share(0.5);
      figures_.group_p99_ms = share(0.99);
      figures_.group_max_ms = share(1);
    }
    engine_->Shutdown();
    return absl::OkStatus();
  }

 private:
  struct One {
    uint64_t sequence = 0;
    std::optional<v1::Lease> lease = {};
    SteadyTime done_at{};
  };

  absl::Status PlayUntil(SteadyTime end) {
    while (world_.now() < end) {
      const SteadyTime tick = std::min(end, std::max(world_.now(), std::min({end, world_.NextAt(), Deadline()})) + kTick);
      while (world_.NextAt() < tick && waiting_.size() < kGroup) world_.RunNext();
      if (waiting_.size() < kGroup) world_.clock.Set(tick);
      RETURN_IF_ERROR(RunGroup());
    }
    return absl::OkStatus();
  }

  SteadyTime Deadline() { return engine_->NextDeadline().value_or(SteadyTime::max()); }

  absl::Status RunGroup() {
    if (Deadline() <= world_.now()) waiting_.push_back(engine_->AtDeadline(world_.now()));
    if (waiting_.empty()) return absl::OkStatus();
    std::vector<store::Event> group = std::exchange(waiting_, {});
    const auto began = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(store::RunGroup(store_.writer_connection(), group));
    groups_ms_.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
    keeper_->AfterGroup();
    return absl::OkStatus();
  }

  void Call(int i) {
    One& one = workers_[static_cast<size_t>(i)];
    v1::SynchronizeRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_worker(fmt::format("scale-{}", i));
    request.set_incarnation(1);
    request.set_sequence(++one.sequence);
    *request.mutable_abilities() = abilities_;
    const bool ends = one.lease && one.done_at <= world_.now();
    if (ends) {
      *request.add_finished() = Success(*one.lease);
    } else if (one.lease) {
      request.add_held()->set_attempt(one.lease->attempt());
    }
    request.set_free_noop_slots(one.lease && !ends ? 0 : 1);
    ++figures_.calls;
    engine_->Synchronize(std::move(request), [this, i](absl::StatusOr<v1::SynchronizeResponse> answer) { Answered(i, answer); });
  }

  static v1::AttemptReport Success(const v1::Lease& lease) {
    v1::AttemptReport report;
    report.set_attempt(lease.attempt());
    report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
    v1::MemberResult& result = *report.add_results();
    result.set_job(lease.jobs(0).id());
    v1::Measurement& measurement = *result.add_measurements();
    measurement.set_metric("echo");
    measurement.set_value(0.5);
    return report;
  }

  void Answered(int i, const absl::StatusOr<v1::SynchronizeResponse>& answer) {
    One& one = workers_[static_cast<size_t>(i)];
    Duration next = seconds(5);
    if (answer.ok()) {
      for (const v1::Directive& directive : answer->directives()) figures_.false_expiries += directive.action() == v1::Directive::ACTION_DROP;
      if (!answer->acknowledged().empty()) {
        ++figures_.finished;
        one.lease.reset();
      }
      if (!answer->leases().empty()) {
        one.lease = answer->leases(0);
        one.done_at = world_.now() + Seconds(options_.job_s * (0.5 + world_.dice.Below(1000) * 1e-3));
      }
    }
    if (one.lease) next = std::min(next, std::max<Duration>(one.done_at - world_.now(), milliseconds(1)));
    world_.After(next, [this, i] { Call(i); });
  }

  const ScaleOptions& options_;
  store::Store& store_;
  ScaleFigures& figures_;
  World world_;
  const v1::Abilities abilities_;
  std::vector<One> workers_;
  std::unique_ptr<service::Engine> engine_;
  std::unique_ptr<store::LogKeeper> keeper_;
  std::vector<store::Event> waiting_;
  std::vector<double> groups_ms_;
};

// As a client does it, with the writer's own thread and the true time.
absl::Status Submit(const ScaleOptions& options, store::Store& store, ScaleFigures& figures) {
  SystemClock clock;
  std::unique_ptr<store::Writer> writer;
  service::Engine engine(clock, {}, [&writer](store::Event event) { writer->Submit(std::move(event)); }, [&writer] { writer->Wake(); });
  ASSIGN_OR_RETURN(const std::unique_ptr<store::LogKeeper> keeper, store::LogKeeper::Start(store.writer_connection()));
  writer = std::make_unique<store::Writer>(store.writer_connection(), clock,
                                           store::WriterOptions{.after_group = [&keeper](sql::Connection&) { keeper->AfterGroup(); }});
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = SweepOf(options.jobs);
  const double cpu = CpuSeconds();
  const auto began = std::chrono::steady_clock::now();
  const absl::StatusOr<v1::SubmitSweepResponse> response = engine.SubmitSweep(request, store);
  writer.reset();
  RETURN_IF_ERROR(response.status());
  figures.submit_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  figures.submit_cpu_us_per_job = (CpuSeconds() - cpu) * 1e6 / response->sweep().jobs();
  return absl::OkStatus();
}

absl::StatusOr<ScaleFigures> RunIn(const ScaleOptions& options, const std::filesystem::path& folder) {
  ScaleFigures figures;
  ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store, store::Store::Open((folder / "scale.db").string()));
  RETURN_IF_ERROR(Submit(options, *store, figures));
  ASSIGN_OR_RETURN(const int64_t pages, store->writer_connection().One<int64_t>("PRAGMA page_count"));
  ASSIGN_OR_RETURN(const int64_t page_bytes, store->writer_connection().One<int64_t>("PRAGMA page_size"));
  figures.store_bytes_per_job = static_cast<double>(pages) * static_cast<double>(page_bytes) / static_cast<double>(options.jobs);
  RETURN_IF_ERROR(Fleet(options, *store, figures).Run());
  ASSIGN_OR_RETURN(const int64_t lost, store->writer_connection().One<int64_t>("SELECT count(*) FROM attempts WHERE outcome = 'lost'"));
  figures.false_expiries += lost;
  if (!options.check) return figures;
  ASSIGN_OR_RETURN(const store::CheckReport report, store::Check(store->writer_connection(), store->artifacts(), true, {}, service::CheckMembers));
  if (!report.violations.empty()) return absl::DataLossError(report.violations[0]);
  return figures;
}

}  // namespace

absl::StatusOr<ScaleFigures> RunAtScale(const ScaleOptions& options) {
  std::string pattern = (std::filesystem::path(options.folder) / "scale-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::InvalidArgumentError(fmt::format("cannot make a folder in '{}'; name another with --folder", options.folder));
  }
  const absl::StatusOr<ScaleFigures> figures = RunIn(options, pattern);
  std::error_code ignored;
  std::filesystem::remove_all(pattern, ignored);
  return figures;
}

}  // namespace longreach::simulation
