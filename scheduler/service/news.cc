#include "scheduler/service/news.h"

#include <fmt/format.h>

#include "proto/types/job.h"
#include "scheduler/service/access/refusals.h"

namespace longreach::service {
namespace {

std::string Worker(std::string_view id, std::string_view name) { return fmt::format("the worker '{}' ({})", ForLog(name), ForLog(ShortId(id))); }
std::string Worker(const store::WorkerRow& worker) { return Worker(worker.id, worker.name); }
std::string Sweep(const store::SweepRow& sweep) { return fmt::format("the sweep '{}' ({})", ForLog(sweep.name), ShortId(sweep.id)); }
std::string By(std::string_view who) { return who.empty() ? "" : fmt::format(" by {}", who); }
std::string Count(int64_t count, std::string_view of) { return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s"); }
std::string Jobs(int jobs) { return Count(jobs, "job"); }

Notice NoticeOfWorker(std::string_view event, std::string_view id, std::string_view name, std::string_view reason = "") {
  return {.event = event, .worker = std::string(id), .name = std::string(name), .reason = std::string(reason)};
}
Notice NoticeOfSweep(std::string_view event, const store::SweepRow& sweep) { return {.event = event, .sweep = sweep.id, .name = sweep.name, .counts = sweep.counts}; }

// Whether jobs of it may come to their end after that.
bool MayHaveJobsThen(const store::SweepRow& before, v1::SteerSweepRequest::Action action) {
  const bool retried = action == v1::SteerSweepRequest::ACTION_RETRY || action == v1::SteerSweepRequest::ACTION_RETRY_JOBS;
  return retried || before.counts.open() > 0;
}

double InSeconds(std::chrono::microseconds duration) { return std::chrono::duration<double>(duration).count(); }

std::string Named(const v1::SteerSweepRequest& request) {
  std::string named;
  for (const std::string& one : request.only()) named += (named.empty() ? "" : ", ") + one;
  return ForLog(named);
}

std::string Asked(const store::SweepRow& before, const v1::SteerSweepRequest& request) {
  switch (request.action()) {
    case v1::SteerSweepRequest::ACTION_PAUSE: return "is paused";
    case v1::SteerSweepRequest::ACTION_RESUME: return "is resumed";
    case v1::SteerSweepRequest::ACTION_CANCEL: return "is cancelled";
    case v1::SteerSweepRequest::ACTION_RETRY: return fmt::format("is retried, with {} that failed,", Jobs(before.counts.failed));
    case v1::SteerSweepRequest::ACTION_CANCEL_JOBS: return fmt::format("goes on without its jobs of {}, which are cancelled", Named(request));
    case v1::SteerSweepRequest::ACTION_RETRY_JOBS: return fmt::format("has its jobs of {} retried", Named(request));
    default: return fmt::format("gets the priority {} in place of {}", request.priority(), before.priority);
  }
}

}  // namespace

News WorkerIsNew(const store::WorkerRow& worker) {
  return {.kind = News::Kind::kWorkerCame, .line = fmt::format("{} is here for the first time: {}, {}, build {}", Worker(worker),
                                                              worker.device.empty() ? "no device told" : ForLog(worker.device), Count(worker.threads, "thread"),
                                                              ForLog(worker.build))};
}

News WorkerStartedAnew(const store::WorkerRow& worker) {
  return {.kind = News::Kind::kWorkerCame, .line = fmt::format("{} was started anew", Worker(worker))};
}

News WorkerIsBack(std::string_view id, std::string_view name) {
  return {.kind = News::Kind::kWorkerCame, .line = fmt::format("{} is back", Worker(id, name))};
}

News WorkerLeft(std::string_view id, std::string_view name) {
  return {.kind = News::Kind::kWorkerGone, .line = fmt::format("{} has left", Worker(id, name))};
}

News WorkerIsGone(std::string_view id, std::string_view name, std::chrono::microseconds silent) {
  return {.kind = News::Kind::kWorkerGone, .line = fmt::format("{} is gone: silent for {:g} s", Worker(id, name), InSeconds(silent)),
          .notice = NoticeOfWorker("worker_gone", id, name)};
}

News WorkerLost(std::string_view id, std::string_view name, std::string_view why, int jobs) {
  return {.kind = News::Kind::kWorkerLost, .line = fmt::format("{} is lost: {}; {} of it {} free for others", Worker(id, name), why, Jobs(jobs), jobs == 1 ? "is" : "are")};
}

News WorkerPutAside(const store::WorkerRow& worker, std::string_view reason) {
  return {.kind = News::Kind::kWorkerState, .line = fmt::format("{} is put aside: {}", Worker(worker), ForLog(reason)),
          .notice = NoticeOfWorker("worker_put_aside", worker.id, worker.name, reason)};
}

News WorkerGetsWorkAgain(const store::WorkerRow& worker) {
  return {.kind = News::Kind::kWorkerState, .line = fmt::format("{} is put aside no more", Worker(worker))};
}

News DataSetsAreNotListed(const store::WorkerRow& worker, int64_t waiting, int64_t most) {
  return {.kind = News::Kind::kDataSets,
          .line = fmt::format("{} announces {} that {} not listed, as the store knows {} already; each is once a job asks for it", Worker(worker), Count(waiting, "data set"),
                              waiting == 1 ? "is" : "are", Count(most, "data set"))};
}

News WorkerSteered(const store::WorkerRow& worker, bool drain, std::string_view by) {
  return {.kind = News::Kind::kWorkerState, .line = fmt::format("{} {}{}", Worker(worker), drain ? "is drained" : "is given work again", By(by))};
}

News SweepSubmitted(const store::SweepRow& sweep, bool is_new, std::string_view by) {
  return {.kind = News::Kind::kSweepAsked,
          .line = fmt::format("{} of {} was submitted{}{}", Sweep(sweep), Jobs(sweep.counts.jobs()), is_new ? "" : " again", By(by)),
          .sweep = sweep.num};
}

News SweepSteered(const store::SweepRow& before, const v1::SteerSweepRequest& request, std::string_view by) {
  News news{.kind = News::Kind::kSweepAsked, .line = fmt::format("{} {}{}", Sweep(before), Asked(before, request), By(by))};
  if (MayHaveJobsThen(before, request.action())) news.sweep = before.num;  // Else it would come to its end twice.
  return news;
}

News SweepHasFailedJob(const store::SweepRow& sweep, const store::JobRow& job, std::string_view reason) {
  Notice notice = NoticeOfSweep("first_failure", sweep);
  notice.job = job.id;
  notice.reason = reason;
  return {.kind = News::Kind::kSweepFails, .line = fmt::format("{} has its first failed job, {}: {}", Sweep(sweep), ShortId(job.id), ForLog(reason)), .notice = std::move(notice)};
}

News SweepIsDone(const store::SweepRow& sweep) {
  std::string line = fmt::format("{} is done: {} succeeded", Sweep(sweep), Jobs(sweep.counts.succeeded));
  if (sweep.counts.diverged > 0) line += fmt::format(" ({} of them diverged)", sweep.counts.diverged);
  if (sweep.counts.failed > 0) line += fmt::format(", {} failed", sweep.counts.failed);
  if (sweep.counts.cancelled > 0) line += fmt::format(", {} cancelled", sweep.counts.cancelled);
  return {.kind = News::Kind::kSweepDone, .line = std::move(line), .notice = NoticeOfSweep("sweep_done", sweep)};
}

News NobodyWorks(const store::SweepRow& first, size_t others, std::chrono::minutes since) {
  const std::string and_others = others == 0 ? "" : fmt::format(", as do those of {}", Count(static_cast<int64_t>(others), "other sweep"));
  return {.kind = News::Kind::kNobodyWorks,
          .line = fmt::format("{} of {} wait{}{}, and for {} minutes no worker has had any", Jobs(first.counts.queued), Sweep(first),
                              first.counts.queued == 1 ? "s" : "", and_others, since.count()),
          .notice = NoticeOfSweep("nobody_works", first)};
}

News StoreMerged(std::string_view path, const store::MergeReport& report, std::string_view by) {
  return {.kind = News::Kind::kStore, .line = fmt::format("the store '{}' was merged{}: {} and {} were added, {}", ForLog(path), By(by),
                                                         Jobs(report.jobs_added), Count(report.results_added, "result"),
                                                         report.differences.size() == 1 ? "1 result differs" : Count(static_cast<int64_t>(report.differences.size()), "result") + " differ")};
}

News StoreBackedUp(std::string_view path, double bytes, std::string_view by) {
  return {.kind = News::Kind::kStore, .line = fmt::format("the store was backed up to '{}'{}: {:.0f} bytes", ForLog(path), By(by), bytes)};
}

News TokensReadAgain(size_t tokens) {
  return {.kind = News::Kind::kTokens, .line = fmt::format("the file of tokens has changed and was read again: {}", Count(static_cast<int64_t>(tokens), "token"))};
}

News CertificateEnds(std::string_view line) {
  return {.kind = News::Kind::kCertificates, .line = std::string(line), .notice = Notice{.event = "certificate_ends"}};
}

News CertificateTakenUp(std::string_view line) { return {.kind = News::Kind::kRenewed, .line = fmt::format("taken up without a restart: {}", line)}; }

std::string MoreOf(News::Kind kind, int64_t count) {
  const auto more = [count](std::string_view of) { return fmt::format("{}: {} more", of, count); };
  switch (kind) {
    case News::Kind::kWorkerCame: return more("workers that came");
    case News::Kind::kWorkerLost: return more("workers that are lost");
    case News::Kind::kWorkerGone: return more("workers that are gone");
    case News::Kind::kDataSets: return more("workers whose data sets are not listed");
    case News::Kind::kWorkerState: return more("workers put aside, drained, or given work again");
    case News::Kind::kSweepAsked: return more("sweeps submitted or steered");
    case News::Kind::kSweepFails: return more("sweeps with a first failed job");
    case News::Kind::kSweepDone: return more("sweeps that are done");
    case News::Kind::kNobodyWorks: return more("times that nobody worked");
    case News::Kind::kStore: return more("merges and backups");
    case News::Kind::kTokens: return more("changes of the file of tokens");
    case News::Kind::kCertificates: return more("certificates that expire");
    case News::Kind::kRenewed: return more("certificates taken up");
  }
  return "";
}

}  // namespace longreach::service
