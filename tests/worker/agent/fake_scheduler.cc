#include "tests/worker/agent/fake_scheduler.h"

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "proto/base/sha256.h"

namespace longreach::agent {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::milliseconds kLook{1};

}  // namespace

bool ComesTrue(const std::function<bool()>& what) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!what()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kLook);  // Else it would take a core from what is waited for.
  }
  return true;
}

const v1::HeldAttempt* FakeScheduler::Seen::Held(uint64_t attempt) const {
  const auto found = std::find_if(last.held().begin(), last.held().end(),
                                  [&](const v1::HeldAttempt& held) { return held.attempt() == attempt; });
  return found == last.held().end() ? nullptr : &*found;
}

bool FakeScheduler::Seen::WasHeld(uint64_t attempt, int step) const {
  return std::any_of(told.begin(), told.end(), [&](const v1::HeldAttempt& held) { return held.attempt() == attempt && held.step() >= step; });
}

std::vector<v1::UploadHeader> FakeScheduler::Seen::UploadsOf(const std::string& kind) const {
  std::vector<v1::UploadHeader> of_kind;
  std::copy_if(uploads.begin(), uploads.end(), std::back_inserter(of_kind),
               [&](const v1::UploadHeader& header) { return header.kind() == kind; });
  return of_kind;
}

void FakeScheduler::Listen() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
  builder.RegisterService(static_cast<v1::Worker::Service*>(this));
  builder.RegisterService(static_cast<v1::Artifacts::Service*>(this));
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr);
}

void FakeScheduler::GoAway() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void FakeScheduler::Offer(const v1::Lease& lease) {
  const std::lock_guard lock(mutex_);
  leases_[lease.attempt()] = lease;
  ++generation_;
  changed_.notify_all();
}

void FakeScheduler::Direct(uint64_t attempt, v1::Directive::Action action, std::vector<std::string> dropped_jobs) {
  const std::lock_guard lock(mutex_);
  v1::Directive& directive = directives_[attempt];
  directive.set_attempt(attempt);
  directive.set_action(action);
  directive.mutable_dropped_jobs()->Assign(dropped_jobs.begin(), dropped_jobs.end());
  ++generation_;
  changed_.notify_all();
}

void FakeScheduler::AskForLog(uint64_t attempt, uint64_t from) {
  const std::lock_guard lock(mutex_);
  log_from_[attempt] = from;
  ++generation_;
  changed_.notify_all();
}

void FakeScheduler::StopAskingForLogs() {
  const std::lock_guard lock(mutex_);
  log_from_.clear();
  ++generation_;
  changed_.notify_all();
}

void FakeScheduler::RefuseUploads(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  upload_status_ = std::move(status);
}

void FakeScheduler::RefuseDownloads(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  download_status_ = std::move(status);
}

void FakeScheduler::HaveInbox(const std::filesystem::path& folder, bool refuses) {
  const std::lock_guard lock(mutex_);
  inbox_ = folder;
  refuses_links_ = refuses;
}

void FakeScheduler::RefuseCalls(grpc::Status status, int before, int times) {
  const std::lock_guard lock(mutex_);
  call_status_ = std::move(status);
  calls_before_refusal_ = before;
  refusals_left_ = times;
}

void FakeScheduler::AcknowledgeNothing() {
  const std::lock_guard lock(mutex_);
  acknowledges_ = false;
}

void FakeScheduler::BeStore(const std::string& store) {
  const std::lock_guard lock(mutex_);
  store_ = store;
}

void FakeScheduler::GiveMoreThanIsAskedFor() {
  const std::lock_guard lock(mutex_);
  counts_slots_ = false;
}

void FakeScheduler::AddFile(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  files_[Sha256Of(bytes)] = bytes;
}

std::string FakeScheduler::File(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  return files_[sha256];
}

FakeScheduler::Seen FakeScheduler::WaitFor(const std::string& name, const std::function<bool(const Seen&)>& what) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return what(seen_); })) {
    ADD_FAILURE() << "waited in vain for: " << name << "\nlast call: " << seen_.last.ShortDebugString();
  }
  return seen_;
}

v1::AttemptReport FakeScheduler::WaitForReport(uint64_t attempt) {
  return WaitFor(fmt::format("the report of attempt {}", attempt), [&](const Seen& seen) {
           return seen.reports.contains(attempt);
         }).reports[attempt];
}

FakeScheduler::Seen FakeScheduler::WaitForStep(uint64_t attempt, int step) {
  return WaitFor(fmt::format("attempt {} at step {}", attempt, step), [&](const Seen& seen) { return seen.WasHeld(attempt, step); });
}

// True: there is something to say that the worker does not know yet.
bool FakeScheduler::Answer(const v1::SynchronizeRequest& request, v1::SynchronizeResponse* response) {
  bool news = false;
  response->Clear();
  response->set_store(store_);
  response->set_inbox(inbox_.string());
  response->mutable_renew_every()->set_nanos(100'000'000);
  response->mutable_lease_term()->set_seconds(15);
  for (const v1::AttemptReport& report : request.finished()) {
    if (!acknowledges_) continue;
    response->add_acknowledged(report.attempt());
    news = true;
  }
  for (const v1::HeldAttempt& attempt : request.held()) {
    confirmed_.insert(attempt.attempt());
    v1::Directive& directive = *response->add_directives();
    directive.set_attempt(attempt.attempt());
    directive.set_action(v1::Directive::ACTION_CONTINUE);
    const auto found = directives_.find(attempt.attempt());
    if (found != directives_.end()) directive = found->second;
    if (!leases_.contains(attempt.attempt())) directive.set_action(v1::Directive::ACTION_DROP);
    news |= directive.action() != v1::Directive::ACTION_CONTINUE || !directive.dropped_jobs().empty();
    const auto asked = log_from_.find(attempt.attempt());
    if (asked != log_from_.end()) directive.set_log_from(asked->second);
    const bool knows = asked == log_from_.end() ? !attempt.has_log() : attempt.has_log() && attempt.log().text().empty() && attempt.log().from() == asked->second;
    news |= !knows;
  }
  int trained = request.free_slots();
  int noops = request.free_noop_slots();
  for (const auto& [number, lease] : leases_) {
    int& slots = lease.jobs(0).spec().experiment() == "noop" ? noops : trained;
    if ((counts_slots_ && slots == 0) || confirmed_.contains(number)) continue;
    *response->add_leases() = lease;
    --slots;
    news = true;
  }
  return news;
}

grpc::Status FakeScheduler::Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) {
  std::unique_lock lock(mutex_);
  if (!call_status_.ok() && calls_before_refusal_-- <= 0 && refusals_left_-- > 0) {
    ++seen_.turned_away;
    changed_.notify_all();
    return call_status_;
  }
  if (request->sequence() <= seen_.last.sequence() && request->incarnation() == seen_.last.incarnation()) {
    return {grpc::StatusCode::ABORTED, "a newer call was seen"};
  }
  if (!request->store().empty() && request->store() != store_) {
    response->set_store(store_);
    ++seen_.astray;
    changed_.notify_all();
    return grpc::Status::OK;
  }
  seen_.last = *request;
  ++seen_.calls;
  if (request->leaving()) ++seen_.goodbyes;
  for (const v1::HeldAttempt& held : request->held()) {
    seen_.points.insert(seen_.points.end(), held.points().begin(), held.points().end());
    v1::HeldAttempt& kept = seen_.told.emplace_back();
    kept.set_attempt(held.attempt());
    kept.set_step(held.step());
    kept.set_phase(held.phase());
    if (held.log().text().empty()) continue;
    seen_.logs.push_back(held.log());
    const auto asked = log_from_.find(held.attempt());
    if (asked != log_from_.end()) asked->second = held.log().from() + held.log().text().size();
  }
  for (const v1::AttemptReport& report : request->finished()) {
    if (!seen_.reports.contains(report.attempt())) seen_.events.push_back(fmt::format("report {}", report.attempt()));
    seen_.reports[report.attempt()] = report;
    confirmed_.insert(report.attempt());  // A no-op job is never held.
  }
  changed_.notify_all();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (!Answer(*request, response) && request->may_wait() && std::chrono::steady_clock::now() < until) {
    const int generation = generation_;
    // A cancelled call wakes nobody, so it is looked for.
    changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return generation_ != generation; });
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
  }
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::TakeLinked(v1::UploadHeader& header, std::string& bytes) {
  const std::lock_guard lock(mutex_);
  const std::filesystem::path link = inbox_ / header.linked();
  std::ifstream in(link, std::ios::binary);
  if (!in || refuses_links_) return {grpc::StatusCode::FAILED_PRECONDITION, "not on this disk"};
  bytes.assign(std::istreambuf_iterator<char>(in), {});
  header.set_sha256(Sha256Of(bytes));
  std::filesystem::remove(link);
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::Upload(grpc::ServerContext*, grpc::ServerReader<v1::UploadRequest>* reader,
                                   v1::UploadResponse* response) {
  v1::UploadRequest request;
  if (!reader->Read(&request) || !request.has_header()) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
  v1::UploadHeader header = request.header();
  {
    const std::lock_guard lock(mutex_);
    if (!upload_status_.ok()) {
      seen_.refused.push_back(header);
      changed_.notify_all();
      return upload_status_;
    }
    if (!header.store().empty() && header.store() != store_) return {grpc::StatusCode::UNAVAILABLE, "of another store"};
  }
  std::string bytes;
  if (!header.linked().empty()) {
    if (grpc::Status taken = TakeLinked(header, bytes); !taken.ok()) return taken;
  }
  while (reader->Read(&request)) bytes += request.chunk();
  if (Sha256Of(bytes) != header.sha256() || static_cast<double>(bytes.size()) != header.bytes()) {
    return {grpc::StatusCode::DATA_LOSS, "other bytes than announced"};
  }
  const std::lock_guard lock(mutex_);
  files_[header.sha256()] = bytes;
  response->set_sha256(header.sha256());
  seen_.uploads.push_back(header);
  seen_.events.push_back(fmt::format("upload {} {}", header.kind(), header.attempt()));
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::Download(grpc::ServerContext*, const v1::DownloadRequest* request,
                                     grpc::ServerWriter<v1::DownloadResponse>* writer) {
  std::string bytes;
  {
    const std::lock_guard lock(mutex_);
    if (!download_status_.ok()) return download_status_;
    const auto found = files_.find(request->sha256());
    if (found == files_.end()) return {grpc::StatusCode::NOT_FOUND, "no such artifact"};
    bytes = found->second;
  }
  constexpr size_t kChunk = 1 << 20;
  for (size_t at = 0; at < bytes.size(); at += kChunk) {
    v1::DownloadResponse response;
    response.set_chunk(bytes.substr(at, kChunk));
    writer->Write(response);
  }
  return grpc::Status::OK;
}

}  // namespace longreach::agent
