// A worker's health: whether it is the machine, rather than the jobs, that fails.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::core {

// Failed attempts of different jobs after which a worker is put aside.
inline constexpr int kFailuresToPutAside = 3;
// What is remembered: the newest.
inline constexpr size_t kFailuresKept = 16;
inline constexpr size_t kAloneKept = 64;

// An attempt that failed on a worker.
struct FailedAttempt {
  std::vector<int64_t> jobs;
  bool before_success = false;  // Something else has succeeded there since: it says nothing about the machine any more, but about the jobs.
  bool operator==(const FailedAttempt&) const = default;
};

// What failed on a worker, the oldest first.
struct Health {
  std::vector<FailedAttempt> failed = {};  // No job is in two of them.
  // Jobs that failed alone, whatever has succeeded since: they are given to this worker last, so that it does not use up all of their tries.
  std::vector<int64_t> alone = {};
  bool operator==(const Health&) const = default;
};

// A part of an attempt that is there takes its place: of the halves of a failed pack the one without the culprit succeeds, and if both fail,
// then these are two. An attempt that shares jobs otherwise, and a job that fails alone again, say nothing new: they may be to blame.
Health AfterFailure(const Health& before, std::span<const int64_t> jobs);
// `near`: the jobs in the record that are of a sweep which one of the jobs that succeeded is of. Those are forgotten: their sweep works here.
Health AfterSuccess(const Health& before, const std::set<int64_t>& near);

enum class Standing {
  kGood,
  kAsideForSweeps,  // It gets no jobs of some sweeps.
  kAside,           // It gets none.
};
struct Verdict {
  Standing standing = Standing::kGood;
  std::set<int64_t> sweeps = {};  // Those that it gets no jobs of.
};
// The sweeps that have all jobs of a failed attempt, and of these the ones that have given none of them up.
struct SweepsOfAttempt {
  std::set<int64_t> having = {};
  std::set<int64_t> wanting = {};
};
// `sweeps`: for each failed attempt. Three failures of jobs that a sweep wants, with nothing of it succeeding here in between: none of its jobs.
// Three in a row that are not of one sweep: it is the machine, whatever sweeps have given up since.
Verdict VerdictOf(const Health& health, std::span<const SweepsOfAttempt> sweeps);

// Of so many kinds of packs jobs of a sweep must have failed before the worker gets none of that sweep: else it gets none of those kinds.
inline constexpr size_t kKindsToBlame = 3;

// "4,5/1,2,3|7;8": how it is stored; before the stroke what failed alone, before the bar what is before a success. Unreadable text is an
// empty record.
std::string ToText(const Health& health);
Health ParseHealth(std::string_view text);

}  // namespace longreach::core
