// Which jobs go to which worker, and together: pure functions over what the caller has read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/types/job.h"
#include "proto/types/words.h"  // Brings v1::Abilities.

namespace longreach::core {

// A data set with the bytes that the store binds its name to; those are empty where it knows none yet.
struct NeededData {
  std::string name = {};
  std::string sha256 = {};
};

// What jobs of one kind of work ask of a worker.
struct Needs {
  std::string experiment = {};
  std::string task = {};
  int task_revision = 1;
  std::string encoding = {};
  int encoding_revision = 1;
  int model_revision = 1;
  std::vector<NeededData> data_sets = {};  // All that they read.
};

// Why a worker cannot do such work, as a sentence's end ("has no task 'x'"); empty: it can.
std::string WhyUnable(const Needs& needs, const v1::Abilities& abilities);
// It is data sets alone that it lacks: its program could do such work.
bool LacksOnlyData(const Needs& needs, const v1::Abilities& abilities);

// A group of jobs that may be leased together, by its first job in line.
struct GroupHead {
  int priority = 0;
  int64_t first = 0;  // Number of the job: the order of submission.
};
// Whether the turn of `a` comes before that of `b`: higher priority, then submitted first.
bool ComesBefore(const GroupHead& a, const GroupHead& b);
// The index of the group whose turn it is: highest priority, then submitted first. Nothing when there is none.
std::optional<size_t> NextInLine(std::span<const GroupHead> groups);

// The most jobs that a pack for this worker may have, whatever it claims.
inline constexpr int kMaxPackLimit = 1024;
int PackLimit(const v1::Abilities& abilities);

// How many jobs with specifications of this size and at most so many measurements may be in a pack, so that its lease and the report of its
// results fit into a message each.
int MembersOfMessage(size_t specification_bytes, double measurements);

// How many more attempts a worker gets now: what it could take, less those it was given and has not confirmed yet.
inline constexpr int kMaxSlots = 64;
// Of attempts that compute nothing.
inline constexpr int kMaxNoopSlots = 256;
int NewLeases(int free_slots, int unconfirmed, int most = kMaxSlots);

// After a failed attempt with several members, of which `members` are left: their split groups, in order. The first
// half gets one group and the rest another, so that they lease apart from then on and only the culprit keeps failing.
// The numbers are used by no other attempt.
std::vector<int64_t> SplitGroups(Attempt attempt, size_t members);
// The group of a job that goes on from a checkpoint of an attempt which ended without a result for it, and was not split: that attempt's members stay one pack. On a
// GPU a job's bits depend on its pack, and another worker's pack limit or another pack at the same step would else mix them anew. Of a half that was leased in parts
// each part has a group of its own, too. Negative: no group of a split. The number is used by no other attempt.
int64_t GroupOfBegun(Attempt attempt, int64_t split_group);

// Attempts that `jobs` with one pack key take.
int64_t PacksOf(int64_t jobs, int pack_limit);

// Pack limit when no worker is at hand: 3 learning rates x 3 seeds, as in the papers.
inline constexpr int kUsualPackLimit = 9;

}  // namespace longreach::core
