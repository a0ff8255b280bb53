// A scheduler of canned answers on a Unix socket, and the client run in this process against it.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/app.h"
#include "longreach/v1/api.grpc.pb.h"
#include "longreach/v1/worker.grpc.pb.h"
#include "proto/base/synchronized.h"

namespace longreach::client {

// A private folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lrtest-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  void WriteScript(const std::string& name, const std::string& text) const {
    Write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path_ / name, std::filesystem::perms::owner_all);
  }

 private:
  std::filesystem::path path_;
};

// Answers with what its fields say. Set them before the call that reads them.
class FakeScheduler final : public v1::Longreach::Service {
 public:
  FakeScheduler() {
    sweep.set_id(std::string(64, 'a'));
    sweep.set_name("table-b1");
    sweep.set_state("live");
    sweep.set_jobs(2);
    sweep.mutable_counts()->set_succeeded(2);
    for (int i = 0; i < 2; ++i) {
      v1::Job& job = *jobs.add_jobs();
      job.set_id(std::string(63, 'b') + std::to_string(i));
      job.set_task("even_pairs");
      job.set_encoding("rope:randomized");
      job.set_learning_rate(3e-4);
      job.set_seed(i);
      job.set_state("succeeded");
      job.set_score(0.875);
      job.set_step(1000);
      job.set_steps(1000);
    }
    v1::WorkerInfo& worker = *workers.add_workers();
    worker.set_id("0123456789");
    worker.set_name("gpu-1");
    worker.set_state("active");
    table.set_title("Table");
    table.set_metric("accuracy");
    table.set_unit("%");
    table.add_rows()->set_key("even_pairs");
    table.add_columns()->set_key("rope");
    table.add_cells()->set_measured(87.5);
    plan.set_jobs(945);
    plan.set_packs(105);
    Start();
  }
  ~FakeScheduler() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "unix:" + (folder_.path() / "s").string(); }

  // Jobs of "narrow" and "wide" have these values of a setting, whatever table is asked for: as the scheduler answers for systems, tasks and
  // the setting by encodings.
  void AnswerBySystem(const std::string& narrow, const std::string& wide) {
    table.clear_rows();
    table.clear_columns();
    table.clear_cells();
    table.add_columns()->set_key("rope:randomized");
    for (const std::string& row : {"narrow,even_pairs," + narrow, "wide,even_pairs," + wide}) {
      table.add_rows()->set_key(row);
      table.add_cells()->set_jobs(1);
    }
  }

  // The status that a call of this name gets instead of its answer.
  std::map<std::string, grpc::Status> refusals;
  // Updates of WatchSweep; by default one, of `sweep`, finished.
  std::vector<v1::SweepUpdate> updates;
  // WatchSweep stays open behind its updates until the client leaves.
  std::atomic<bool> watch_stays_open = false;
  // The first WatchSweep breaks behind its updates; at the second the sweep has finished.
  bool breaks_once = false;
  // As what a stream that breaks ends.
  grpc::StatusCode breaks_as = grpc::StatusCode::UNAVAILABLE;

  // What WatchSweep was asked for, in turn.
  std::vector<std::string> watched;

  // Of the pages of jobs, of measurements and of attempts, whatever is behind the first one.
  grpc::Status behind_first_page;

  // Of FollowLog, in turn; empty: the scheduler does not know that call.
  std::vector<v1::LogPart> log_parts;
  // It stays open behind its parts until the client leaves.
  std::atomic<bool> log_stays_open = false;
  // So many times it breaks behind the first of them.
  int log_breaks = 0;
  std::string state_behind_log;  // Of the job, once all parts were sent; empty: as before.
  uint32_t log_attempt = 0;      // Whose log GetLog has.
  std::string left_log = "step 1\nstep 2";  // And what it says.
  std::atomic<int> followed{0};
  std::function<void()> when_explained = [] {}, when_followed = [] {};

  // No worker can take any job, or none is there.
  bool stuck = false, no_worker = false;
  bool lacks_data = false;  // That is why it is stuck.
  // What ExplainJob says.
  std::vector<std::string> reasons = {"It is ready, and first in line.", "no worker has task even_pairs"};
  std::vector<std::string> notes{};  // Of the job that GetJob shows.
  std::vector<v1::Measurement> on_the_way{};  // Of that job, beside its accuracy.

  v1::Sweep sweep;
  std::vector<v1::Sweep> other_sweeps;
  std::vector<v1::Sweep> merged_sweeps;  // Among the others once a store was merged.
  v1::ListJobsResponse jobs;
  v1::JobSpec job_spec;  // Of each.
  v1::ListMeasurementsResponse measurements;
  v1::ListWorkersResponse workers;
  v1::Table table;
  v1::Plan plan;
  std::function<void()> when_watched = [] {}, when_steered = [] {};
  // May change the plan that is answered.
  std::function<void(const v1::SubmitSweepRequest&, v1::Plan&)> when_planned = [](const v1::SubmitSweepRequest&, v1::Plan&) {};
  v1::CheckStoreResponse check;
  v1::RepairStoreResponse repair;
  std::function<void()> when_checked = [] {};
  std::function<void()> when_merged = [] {};
  int jobs_added = 0;  // By a merge.
  std::vector<v1::AttemptInfo> attempts;                               // Of each job,
  std::map<std::string, std::vector<v1::AttemptInfo>> attempts_of{};  // but for these, by their ids.
  bool lacks_named_jobs = false;  // Of jobs that are asked for by name it has none.
  // Of each job; and the files, by hash.
  std::vector<v1::ArtifactInfo> artifacts;
  std::map<std::string, std::string> files;
  std::string state_before;  // Of a sweep that is submitted; empty: it is new.

  // What was asked.
  v1::SubmitSweepRequest submitted;
  v1::GetTableRequest table_request;
  v1::SteerSweepRequest steered;
  v1::SteerWorkerRequest steered_worker;
  v1::ListJobsRequest jobs_request;
  v1::ListMeasurementsRequest measurements_request;
  v1::ListAttemptsRequest attempts_request;
  v1::GetLogRequest log_request;
  std::atomic<int> calls{0};
  Synchronized<std::map<std::string, int>> calls_of;  // By their names.
  std::atomic<int> explained{0};

 private:
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    builder.RegisterService(&artifacts_service_);
    server_ = builder.BuildAndStart();
  }

  const std::vector<v1::AttemptInfo>& AttemptsOf(const std::string& job) const {
    const auto own = attempts_of.find(job);
    return own == attempts_of.end() ? attempts : own->second;
  }

  grpc::Status Answer(const std::string& name) {
    ++calls;
    ++(*calls_of.Lock())[name];
    const auto at = refusals.find(name);
    return at == refusals.end() ? grpc::Status::OK : at->second;
  }

  grpc::Status SubmitSweep(grpc::ServerContext*, const v1::SubmitSweepRequest* request,
                           v1::SubmitSweepResponse* response) override {
    submitted = *request;
    *response->mutable_plan() = plan;
    when_planned(*request, *response->mutable_plan());
    if (!request->dry_run()) *response->mutable_sweep() = sweep;
    response->set_created(state_before.empty());
    response->set_state_before(state_before);
    return Answer("SubmitSweep");
  }
  grpc::Status ListSweeps(grpc::ServerContext*, const v1::ListSweepsRequest*,
                          v1::ListSweepsResponse* response) override {
    *response->add_sweeps() = sweep;
    for (const v1::Sweep& other : other_sweeps) *response->add_sweeps() = other;
    return Answer("ListSweeps");
  }
  grpc::Status GetSweep(grpc::ServerContext*, const v1::GetSweepRequest* request, v1::Sweep* response) override {
    *response = sweep;
    for (const v1::Sweep& other : other_sweeps) {
      if (other.id() == request->sweep()) *response = other;
    }
    return Answer("GetSweep");
  }
  grpc::Status WatchSweep(grpc::ServerContext* context, const v1::GetSweepRequest* request,
                          grpc::ServerWriter<v1::SweepUpdate>* writer) override {
    watched.push_back(request->sweep());
    when_watched();
    if (const grpc::Status status = Answer("WatchSweep"); !status.ok()) return status;
    if (updates.empty() && !watch_stays_open) {
      v1::SweepUpdate update;
      *update.mutable_sweep() = sweep;
      update.set_finished(true);
      writer->Write(update);
    }
    if (breaks_once && watched.size() > 1) {
      v1::SweepUpdate ended = updates.back();
      ended.set_finished(true);
      writer->Write(ended);
      return grpc::Status::OK;
    }
    for (const v1::SweepUpdate& update : updates) writer->Write(update);
    if (breaks_once) return {breaks_as, "the scheduler restarts"};
    while (watch_stays_open && !context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return grpc::Status::OK;
  }
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    jobs_request = *request;
    // One job a page, so that paging is used by every test.
    const int at = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    if (at < jobs.jobs_size()) *response->add_jobs() = jobs.jobs(at);
    if (at + 1 < jobs.jobs_size()) response->set_next_page_token(std::to_string(at + 1));
    return at > 0 && !behind_first_page.ok() ? behind_first_page : Answer("ListJobs");
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::GetJobResponse* response) override {
    const auto asked = std::find_if(jobs.jobs().begin(), jobs.jobs().end(), [request](const v1::Job& job) { return job.id() == request->job(); });
    *response->mutable_job() = asked == jobs.jobs().end() ? jobs.jobs(0) : *asked;  // The beginning of an id is the first one's.
    *response->mutable_spec() = job_spec;
    response->mutable_notes()->Assign(notes.begin(), notes.end());
    response->set_canonical("longreach-job/1\ntask=even_pairs\n");
    v1::Measurement& measurement = *response->add_measurements();
    measurement.set_metric("accuracy");
    measurement.set_value(0.875);
    for (const v1::Measurement& one : on_the_way) *response->add_measurements() = one;
    for (const auto& [step, loss] : {std::pair(10, 1.0), {20, 0.25}}) {
      v1::ProgressPoint& point = *response->add_progress();
      point.set_step(step);
      point.set_loss(loss);
    }
    const std::vector<v1::AttemptInfo>& had = AttemptsOf(request->job());
    response->mutable_attempts()->Assign(had.begin(), had.end());
    response->mutable_artifacts()->Assign(artifacts.begin(), artifacts.end());
    return Answer("GetJob");
  }
  grpc::Status ExplainJob(grpc::ServerContext*, const v1::GetJobRequest*,
                          v1::ExplainJobResponse* response) override {
    *response->mutable_job() = jobs.jobs(0);
    response->mutable_reasons()->Assign(reasons.begin(), reasons.end());
    response->set_stuck(stuck);
    response->set_no_worker(no_worker);
    response->set_lacks_data(lacks_data);
    ++explained;
    when_explained();
    return Answer("ExplainJob");
  }
  grpc::Status GetLog(grpc::ServerContext*, const v1::GetLogRequest* request, v1::GetLogResponse* response) override {
    log_request = *request;
    response->set_text(left_log);
    response->set_attempt(log_attempt);
    return Answer("GetLog");
  }
  grpc::Status FollowLog(grpc::ServerContext* context, const v1::GetJobRequest*, grpc::ServerWriter<v1::LogPart>* writer) override {
    if (log_parts.empty() && !refusals.contains("FollowLog")) return {grpc::StatusCode::UNIMPLEMENTED, "an older scheduler"};
    ++followed;
    when_followed();
    if (log_breaks > 0) {
      --log_breaks;
      writer->Write(log_parts.front());
      return {breaks_as, "the scheduler restarts"};
    }
    if (!state_behind_log.empty()) jobs.mutable_jobs(0)->set_state(state_behind_log);
    for (const v1::LogPart& part : log_parts) writer->Write(part);
    while (log_stays_open && !context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Answer("FollowLog");
  }
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse* response) override {
    *response = workers;
    return Answer("ListWorkers");
  }
  grpc::Status ListDataSets(grpc::ServerContext*, const v1::ListDataSetsRequest*,
                            v1::ListDataSetsResponse*) override {
    return Answer("ListDataSets");
  }
  grpc::Status GetTable(grpc::ServerContext*, const v1::GetTableRequest* request,
                        v1::Table* response) override {
    table_request = *request;
    *response = table;
    return Answer("GetTable");
  }
  grpc::Status ListMeasurements(grpc::ServerContext*, const v1::ListMeasurementsRequest* request,
                                v1::ListMeasurementsResponse* response) override {
    {
      const auto turn = asking_.Lock();  // Several metrics are asked for at a time.
      measurements_request = *request;
    }
    // One job a page, as of ListJobs.
    const int at = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    if (at < measurements.jobs_size()) *response->add_jobs() = measurements.jobs(at);
    if (at + 1 < measurements.jobs_size()) response->set_next_page_token(std::to_string(at + 1));
    return at > 0 && !behind_first_page.ok() ? behind_first_page : Answer("ListMeasurements");
  }
  grpc::Status ListAttempts(grpc::ServerContext*, const v1::ListAttemptsRequest* request, v1::ListAttemptsResponse* response) override {
    attempts_request = *request;
    const std::set<std::string> named(request->jobs().begin(), request->jobs().end());
    std::vector<v1::Job> asked;
    for (const v1::Job& job : jobs.jobs()) {
      const bool is_named = named.contains(job.id());
      if (AttemptsOf(job.id()).empty() || (!request->jobs().empty() && (!is_named || lacks_named_jobs))) continue;
      asked.push_back(job);
    }
    // One job a page, as of ListJobs; of very many jobs more, as each page has all of their names in its question.
    const size_t at = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    const size_t end = std::min(asked.size(), at + (asked.size() > 100 ? 300 : 1));
    for (size_t i = at; i < end; ++i) {
      v1::JobAttempts& added = *response->add_jobs();
      *added.mutable_job() = asked[i];
      const std::vector<v1::AttemptInfo>& had = AttemptsOf(asked[i].id());
      added.mutable_attempts()->Assign(had.begin(), had.end());
      if (request->whole()) {
        *added.mutable_spec() = job_spec;
        added.mutable_artifacts()->Assign(artifacts.begin(), artifacts.end());
      }
    }
    if (end < asked.size()) response->set_next_page_token(std::to_string(end));
    return at > 0 && !behind_first_page.ok() ? behind_first_page : Answer("ListAttempts");
  }
  grpc::Status SteerSweep(grpc::ServerContext*, const v1::SteerSweepRequest* request,
                          v1::Sweep* response) override {
    steered = *request;
    when_steered();
    *response = sweep;
    return Answer("SteerSweep");
  }
  grpc::Status SteerWorker(grpc::ServerContext*, const v1::SteerWorkerRequest* request,
                           v1::WorkerInfo* response) override {
    steered_worker = *request;
    *response = workers.workers(0);
    if (response->state() != "gone") response->set_state(request->drain() ? "draining" : "active");
    return Answer("SteerWorker");
  }
  grpc::Status BackupStore(grpc::ServerContext*, const v1::BackupStoreRequest*,
                           v1::BackupStoreResponse* response) override {
    response->set_bytes(4096);
    return Answer("BackupStore");
  }
  grpc::Status CheckStore(grpc::ServerContext*, const v1::CheckStoreRequest*,
                          v1::CheckStoreResponse* response) override {
    when_checked();
    *response = check;
    return Answer("CheckStore");
  }
  grpc::Status RepairStore(grpc::ServerContext*, const v1::RepairStoreRequest*, v1::RepairStoreResponse* response) override {
    *response = repair;
    return Answer("RepairStore");
  }
  grpc::Status MergeStore(grpc::ServerContext*, const v1::MergeStoreRequest*,
                          v1::MergeStoreResponse* response) override {
    when_merged();
    response->set_jobs_added(jobs_added);
    response->set_sweeps_added(static_cast<int>(merged_sweeps.size()));
    other_sweeps.insert(other_sweeps.end(), merged_sweeps.begin(), merged_sweeps.end());
    return Answer("MergeStore");
  }
  grpc::Status GetInfo(grpc::ServerContext*, const v1::GetInfoRequest*,
                       v1::GetInfoResponse* response) override {
    response->set_store_version(3);
    response->set_store_version_found(1);
    response->mutable_now()->set_seconds(1'800'000'000);
    return Answer("GetInfo");
  }

  // Chunk by chunk, as files go.
  class ArtifactsService final : public v1::Artifacts::Service {
   public:
    explicit ArtifactsService(FakeScheduler& scheduler) : scheduler_(scheduler) {}
    grpc::Status Download(grpc::ServerContext*, const v1::DownloadRequest* request,
                          grpc::ServerWriter<v1::DownloadResponse>* writer) override {
      const auto found = scheduler_.files.find(request->sha256());
      if (found == scheduler_.files.end()) return {grpc::StatusCode::NOT_FOUND, "no artifact has this hash"};
      constexpr size_t kChunk = 10;
      for (size_t at = 0; at < found->second.size(); at += kChunk) {
        v1::DownloadResponse response;
        response.set_chunk(found->second.substr(at, kChunk));
        writer->Write(response);
      }
      return scheduler_.Answer("Download");
    }

   private:
    FakeScheduler& scheduler_;
  };

  Synchronized<int> asking_;
  TempFolder folder_;
  ArtifactsService artifacts_service_{*this};
  std::unique_ptr<grpc::Server> server_;
};

struct Outcome {
  int code = 0;
  std::string out = {};
  std::string err = {};
};

// Keeps what is written, and calls `when_said` with each line.
class SaidLines final : public std::streambuf {
 public:
  explicit SaidLines(std::function<void()> when_said) : when_said_(std::move(when_said)) {}
  const std::string& text() const { return text_; }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    text_ += traits_type::to_char_type(c);
    if (text_.back() == '\n') when_said_();
    return c;
  }

 private:
  std::function<void()> when_said_;
  std::string text_;
};

// Runs a command line without a terminal and with these environment variables only. `binaries` is the
// folder of longreach-scheduler and longreach-worker; `when_said` is called when a line was written to its standard error.
inline Outcome RunCommandLine(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string>& variables = {},
                              const std::filesystem::path& binaries = "/nonexistent", const std::function<void()>& when_said = [] {}) {
  std::ostringstream out;
  SaidLines said(when_said);
  std::ostream err(&said);
  Environment environment;
  environment.out = &out;
  environment.err = &err;
  environment.variable = [&variables](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  environment.variable_names = [&variables] {
    std::vector<std::string> names;
    for (const auto& [name, value] : variables) names.push_back(name);
    return names;
  };
  environment.binaries = binaries;
  const int code = RunClient(arguments, environment);
  return {.code = code, .out = out.str(), .err = said.text()};
}

// Tests of commands that a scheduler of canned answers answers.
class WithFakeScheduler : public ::testing::Test {
 protected:
  Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--scheduler", scheduler_.address()});
    return RunCommandLine(arguments);
  }

  FakeScheduler scheduler_;
};

}  // namespace longreach::client
