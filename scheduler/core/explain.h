// Why a job is where it is, in sentences made of facts that the caller has read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/types/job.h"
#include "proto/types/words.h"
#include "scheduler/core/sweep_life.h"

namespace longreach::core {

struct InputFact {
  std::string name = {};
  std::string source = {};        // Id of the job that makes it.
  std::string source_state = {};  // Its state's word.
  std::string source_failure = {};
  bool is_of_another_run = false;  // Of a job that has its result: that was made of another one than the source's job has now, if it has any.
};

struct WorkerFact {
  std::string name = {};
  WorkerState state = WorkerState::kActive;
  std::string reason = {};      // Why it is not active.
  std::string why_unable = {};  // WhyUnable() for this job; empty: it is able.
  bool lacks_data = false;      // LacksOnlyData() for this job.
  bool is_unheard = false;      // It has just begun: what is known of it is what it said before.
  int running = 0;         // Attempts that it holds.
};

struct JobFacts {
  std::string job = {};  // As a command names it.
  JobState state = Queued{};
  bool diverged = false;
  int diverged_at = 0;
  int failures = 0;
  int losses = 0;
  std::string failure = {};      // Of its last attempt that was not given back, or why it failed.
  Demand demand = {};
  std::string sweep = {};   // Whose failed jobs may be retried, this one with them, as a command names it; empty: none.
  std::string held_by = {};  // A sweep that is paused and wants it, as a command names it; empty: none.
  // Cancelled: the sweep that has given it up and goes on, as a command names it; empty: none. And how --only of a command names the job there; empty: it makes
  // what jobs of that sweep need, and is none of them.
  std::string given_up_by = {};
  std::string only = {};
  std::string cancelled_with = {};  // The sweep that is cancelled itself, as a command names it.
  int checkpoint_step = 0;
  int steps = 0;
  bool split = false;       // It is leased apart since a pack with it failed.
  std::vector<InputFact> inputs = {};
  std::vector<WorkerFact> workers = {};
  int64_t ahead = 0;        // Jobs in line before it.
  std::string disk_trouble = {};  // What is wrong with the scheduler's disk, in the words of status; empty: nothing.
  bool takes_nothing = false;     // With it the store: nothing is handed out, and which workers are there cannot be written down, so that `workers` is of before.
  // Leased: who trains it, and how far it is.
  std::string worker_name = {};
  std::optional<AttemptPhase> phase = {};  // Nothing: the worker has not told yet.
  int step = 0;
  int members = 0;
};

// One fact each, the most important first; never empty.
std::vector<std::string> Explain(const JobFacts& facts);

// Of a job that has its result, a sentence for each input that this was made of and that is another one now; the last says what to do.
std::vector<std::string> NotesOnInputs(std::string_view job, std::span<const InputFact> inputs);

// It is ready and wanted, and of the workers that are there, at least one, none can take it. Not where the store takes nothing, as who could take it
// is not known; the same of the two below.
bool IsStuck(const JobFacts& facts);

// It is stuck, and of the workers that are there one lacks data alone.
bool IsStuckForData(const JobFacts& facts);

// It is ready and wanted, and no worker is there.
bool LacksWorkers(const JobFacts& facts);

}  // namespace longreach::core
