// What the log tells of what happens (event_log.h): every line of it, and how it reads. An event notes its news among its Effects, so that nothing is told
// that was taken back. What others named is quoted, so that no name ends a line or is obeyed by a terminal; there is no secret in any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "store/jobs.h"
#include "store/maintenance.h"
#include "store/sweeps.h"
#include "store/workers.h"

namespace longreach::service {

// What somebody who does not watch wants to hear of (notice.h), by its parts; what does not fit the event is empty.
struct Notice {
  std::string_view event = {};  // A word that lives for ever: "sweep_done".
  std::string sweep = {};       // Ids, as the store has them.
  std::string worker = {};
  std::string job = {};
  std::string name = {};        // Of the sweep or the worker, as its user wrote it.
  std::string reason = {};
  std::optional<store::Counts> counts = {};
  int64_t more = 0;             // In place of one: so many that were not told one by one.
};

struct News {
  // Of each kind so many are told at a time, and the others counted: a network that fails takes hundreds of workers along.
  enum class Kind { kWorkerCame, kWorkerLost, kWorkerGone, kWorkerState, kDataSets, kSweepAsked, kSweepFails, kSweepDone, kNobodyWorks, kStore, kTokens, kCertificates, kRenewed };
  Kind kind = Kind::kStore;
  std::string line = {};
  // By its number, a sweep that may have jobs to do from now on: its end is told.
  std::optional<int64_t> sweep = {};
  // Nothing: it is for the log alone.
  std::optional<Notice> notice = {};
};

News WorkerIsNew(const store::WorkerRow& worker);
// Another process than before.
News WorkerStartedAnew(const store::WorkerRow& worker);
// It was gone, or has not called since the scheduler began.
News WorkerIsBack(std::string_view id, std::string_view name);
News WorkerLeft(std::string_view id, std::string_view name);
News WorkerIsGone(std::string_view id, std::string_view name, std::chrono::microseconds silent);
// `jobs` that it trained are free for others; `why`: "its call broke off ...".
News WorkerLost(std::string_view id, std::string_view name, std::string_view why, int jobs);
News WorkerPutAside(const store::WorkerRow& worker, std::string_view reason);
// One that was put aside is so no more, by itself.
News WorkerGetsWorkAgain(const store::WorkerRow& worker);
// `waiting` of the names that it announces are not kept yet, as the store has `most`.
News DataSetsAreNotListed(const store::WorkerRow& worker, int64_t waiting, int64_t most);
// `by`, here and below: who asked; empty where nobody has to say.
News WorkerSteered(const store::WorkerRow& worker, bool drain, std::string_view by);

News SweepSubmitted(const store::SweepRow& sweep, bool is_new, std::string_view by);
News SweepSteered(const store::SweepRow& before, const v1::SteerSweepRequest& request, std::string_view by);
// Its first job that is not tried again.
News SweepHasFailedJob(const store::SweepRow& sweep, const store::JobRow& job, std::string_view reason);
News SweepIsDone(const store::SweepRow& sweep);
// Jobs of `first`, whose turn it is, and of `others` wait, and for so long nobody has had one.
News NobodyWorks(const store::SweepRow& first, size_t others, std::chrono::minutes since);

News StoreMerged(std::string_view path, const store::MergeReport& report, std::string_view by);
News StoreBackedUp(std::string_view path, double bytes, std::string_view by);
News TokensReadAgain(size_t tokens);
// `line`: which one, until when, and what to do.
News CertificateEnds(std::string_view line);
// `line`: which one, and until when it is good.
News CertificateTakenUp(std::string_view line);

// "workers that are gone: 312 more": those of a kind that were counted only.
std::string MoreOf(News::Kind kind, int64_t count);

}  // namespace longreach::service
