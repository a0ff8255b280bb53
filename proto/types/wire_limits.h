// What a message and its parts may be, so that both of its ends mean the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longreach {

// A message, in both directions; gRPC refuses to send a larger one, and to take it.
inline constexpr int kMaxMessageBytes = 16 << 20;
// What fills a message by itself: a sweep's specification; all leases of an answer.
inline constexpr size_t kMaxContentBytes = size_t{15} << 20;
// An attempt's report, beside which a worker's call has all that it holds.
inline constexpr size_t kMaxReportBytes = size_t{14} << 20;
// By its estimate, a pack's lease and its report: packs are made no larger.
inline constexpr size_t kMaxPackBytes = size_t{12} << 20;
// Of a file in a message. All that a connection carries beside it, pings among them, waits until it is gone: two seconds at 256 kbit/s.
inline constexpr size_t kChunkBytes = size_t{64} << 10;
// What is kept of an attempt's log: its end.
inline constexpr size_t kLogBytes = size_t{64} << 10;
// What a worker's call brings of a log that somebody follows.
inline constexpr size_t kMaxLogPartBytes = size_t{16} << 10;
// Attempts of a worker's call, held and finished ones.
inline constexpr int kMaxAttemptsOfCall = 1000;
// Of what a worker can do, which is stored whenever it changes: kinds of jobs, tasks and encodings of each list; data sets, each of which gets a row that stays.
inline constexpr int kMaxAbilitiesOfList = 1000;
inline constexpr int kMaxDataSetsOfWorker = 10'000;
// Of the data sets that it has found damaged: how many it names, and the bytes of each reason.
inline constexpr int kMaxDamagedDataSets = 100;
inline constexpr size_t kMaxDamageBytes = 1000;
// Jobs of a sweep.
inline constexpr int64_t kMaxJobsOfSweep = 10'000'000;

}  // namespace longreach
