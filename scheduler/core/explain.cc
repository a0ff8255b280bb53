#include "scheduler/core/explain.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "proto/types/input_failure.h"
#include "scheduler/core/job_life.h"

namespace longreach::core {
namespace {

using Sentences = std::vector<std::string>;

constexpr std::string_view kNoRetryHelps =
    "What it begins with diverged, which is a result and stays: a retry fails for the same reason. Another learning rate or seed of that job is another job.";

// Of an allocation that was refused, and of a trainer that the kernel has most likely killed for want of memory.
constexpr std::string_view kOutOfMemory = "out of memory";
constexpr std::string_view kWhatGivesMemory =
    "If memory was short, a retry needs a worker with more memory, or one that trains fewer packs at a time (--packs 1), as each has its share. With another training.batch_size, or a smaller "
    "model, it is another job.";

void ExplainInputs(const JobFacts& facts, Sentences& out) {
  for (const InputFact& input : facts.inputs) {
    if (input.source_state == "succeeded") continue;
    std::string sentence = fmt::format("It needs the input '{}' of job {}, which is {}", input.name, ShortId(input.source), input.source_state);
    if (!input.source_failure.empty()) sentence += fmt::format(": {}", input.source_failure);
    out.push_back(sentence + ".");
  }
}

void ExplainDemand(const JobFacts& facts, Sentences& out) {
  if (facts.demand.wanted) return;
  out.push_back(facts.demand.held ? fmt::format("All sweeps that want it are paused; 'longreach resume {}' lets it run.", facts.held_by.empty() ? "SWEEP" : facts.held_by)
                                  : "No live sweep wants it; submitting its sweep again does.");
}

bool IsThere(const WorkerFact& worker) { return worker.state != WorkerState::kGone; }

// What has ended waits for no disk.
bool IsOpen(const JobState& state) { return std::holds_alternative<Waiting>(state) || std::holds_alternative<Queued>(state) || std::holds_alternative<Leased>(state); }

void ExplainDisk(const JobFacts& facts, Sentences& out) {
  if (facts.disk_trouble.empty() || !IsOpen(facts.state)) return;
  out.push_back(fmt::format("The scheduler has trouble with its disk ({}), and goes on by itself once that is over.", facts.disk_trouble));
}

bool IsReady(const JobFacts& facts) { return std::holds_alternative<Queued>(facts.state) && facts.demand.wanted; }

// It can take the job, or may: it has not said yet.
bool IsAble(const WorkerFact& worker) { return worker.is_unheard || (worker.state == WorkerState::kActive && worker.why_unable.empty()); }

void ExplainWorkers(const JobFacts& facts, Sentences& out) {
  if (facts.takes_nothing) {
    out.push_back("Until then no worker is given it, and workers that have come meanwhile are not known.");
    return;
  }
  const auto there = std::ranges::count_if(facts.workers, IsThere);
  if (there == 0) {
    out.push_back("There is no worker; start one with 'longreach-worker run'.");
    return;
  }
  int able = 0;
  int busy = 0;
  int unheard = 0;
  Sentences others;
  for (const WorkerFact& worker : facts.workers) {
    if (!IsThere(worker)) continue;
    if (worker.is_unheard) {
      ++unheard;
      others.push_back(fmt::format("Worker '{}' has just begun, and has not said yet what it can do.", worker.name));
    } else if (!worker.why_unable.empty()) {
      others.push_back(fmt::format("Worker '{}' {}.", worker.name, worker.why_unable));
    } else if (worker.state == WorkerState::kPutAside) {
      others.push_back(fmt::format("Worker '{}' does not get it: {}.", worker.name, worker.reason.empty() ? "it is put aside" : worker.reason));
    } else if (worker.state != WorkerState::kActive) {
      others.push_back(fmt::format("Worker '{}' gets no work: {}.", worker.name, worker.reason.empty() ? Word(worker.state) : worker.reason));
    } else {
      ++able;
      if (worker.running > 0) ++busy;
    }
  }
  if (able == 0 && unheard > 0) {
    out.push_back("Whether a worker can take it is not known yet.");
  } else if (able == 0) {
    out.push_back(there == 1 ? "The one worker that is there cannot take it." : fmt::format("None of the {} workers that are there can take it.", there));
  } else if (busy == able) {
    out.push_back(able == 1 ? "The worker that can take it is busy." : fmt::format("All {} workers that can take it are busy.", able));
  } else {
    out.push_back("A worker that can take it is idle: it will be leased at that worker's next call.");
  }
  out.insert(out.end(), others.begin(), others.end());
}

// Of a job that is cancelled: with what, and what revives it.
std::string Cancellation(const JobFacts& facts) {
  if (facts.given_up_by.empty()) {
    return facts.cancelled_with.empty() ? "It was cancelled; submitting its sweep again revives it."
                                        : fmt::format("It was cancelled with its sweep, {}; submitting that sweep again revives it.", facts.cancelled_with);
  }
  if (facts.only.empty()) {
    return fmt::format("It was cancelled with the jobs of sweep {} that need it; it is revived by a retry of one of these, or by submitting that sweep again.", facts.given_up_by);
  }
  return fmt::format("It was cancelled alone; 'longreach retry {} {}' revives it, and so does submitting that sweep again.", facts.given_up_by, facts.only);
}

void ExplainHistory(const JobFacts& facts, Sentences& out) {
  if (!facts.failure.empty() && !std::holds_alternative<Failed>(facts.state)) {
    // Perhaps not the last: those that were given back since have left it as it was.
    out.push_back(fmt::format("An attempt did not succeed: {}.", facts.failure));
  }
  if (facts.failures > 0) out.push_back(fmt::format("It failed {} of at most {} times.", facts.failures, kMaxFailures));
  if (facts.losses > 0) out.push_back(fmt::format("Its worker was lost {} of at most {} times.", facts.losses, kMaxLosses));
  // A retry of one that failed does not keep it apart.
  const bool is_over = std::holds_alternative<Succeeded>(facts.state) || std::holds_alternative<Failed>(facts.state);
  if (facts.split) out.push_back(fmt::format("A pack with it failed, so it {} trained apart from the other half of that pack.", is_over ? "was" : "is"));
  if (facts.checkpoint_step > 0 && !std::holds_alternative<Succeeded>(facts.state)) {
    out.push_back(fmt::format("It goes on from a checkpoint at step {} of {}.", facts.checkpoint_step, facts.steps));
  }
}

}  // namespace

std::vector<std::string> Explain(const JobFacts& facts) {
  Sentences out;
  if (facts.takes_nothing) ExplainDisk(facts, out);
  if (std::holds_alternative<Waiting>(facts.state)) {
    out.push_back("It waits for its inputs.");
    ExplainInputs(facts, out);
    ExplainDemand(facts, out);
  } else if (std::holds_alternative<Queued>(facts.state)) {
    if (!facts.demand.wanted) {
      ExplainDemand(facts, out);
    } else {
      out.push_back(facts.ahead == 0 ? "It is ready, and first in line."
                                     : fmt::format("It is ready; {} job{} in line before it.", facts.ahead, facts.ahead == 1 ? " is" : "s are"));
      ExplainWorkers(facts, out);
    }
  } else if (const auto* lease = std::get_if<Leased>(&facts.state)) {
    const std::string_view doing = facts.phase.has_value() ? Word(*facts.phase) : facts.step > 0 ? "its worker has not called since this scheduler began" : "not started yet";
    const std::string worker = facts.worker_name.empty() ? std::string(ShortId(lease->holder.value)) : facts.worker_name;
    out.push_back(fmt::format("Worker '{}' has it as attempt {}, in a pack of {}: {}, step {} of {}.", worker, lease->attempt.value,
                              std::max(facts.members, 1), doing, facts.step, facts.steps));
    if (facts.phase == AttemptPhase::kWaitingForDisk) {
      out.emplace_back("That worker's disk has no room for what it has computed: free some there, and it goes on by itself.");
    }
    if (!facts.demand.wanted) {
      out.push_back(facts.demand.held ? "All sweeps that want it are paused: it stops after a checkpoint." : "No sweep wants it any more.");
    }
  } else if (const auto* done = std::get_if<Succeeded>(&facts.state)) {
    out.push_back(facts.diverged ? fmt::format("It diverged: its loss was not finite at step {}. That is its result (attempt {}).",
                                               facts.diverged_at, done->attempt.value)
                                 : fmt::format("It has its result, from attempt {}.", done->attempt.value));
    std::ranges::move(NotesOnInputs(facts.job, facts.inputs), std::back_inserter(out));
  } else if (const auto* failed = std::get_if<Failed>(&facts.state)) {
    out.push_back(fmt::format("It failed: {}.", failed->reason.empty() ? "no reason was recorded" : failed->reason));
    if (InputHasDiverged(failed->reason)) out.emplace_back(kNoRetryHelps);
    else if (!facts.sweep.empty()) out.push_back(fmt::format("'longreach retry {}' gives the failed jobs of its sweep another chance.", facts.sweep));
    if (failed->reason.find(kOutOfMemory) != std::string::npos) out.emplace_back(kWhatGivesMemory);
    ExplainInputs(facts, out);
  } else {
    out.push_back(Cancellation(facts));
  }
  // Only a file that is handed in finds no room: jobs are handed out all the same.
  if (!facts.takes_nothing) ExplainDisk(facts, out);
  ExplainHistory(facts, out);
  return out;
}

std::vector<std::string> NotesOnInputs(std::string_view job, std::span<const InputFact> inputs) {
  std::vector<std::string> out;
  for (const InputFact& input : inputs) {
    if (!input.is_of_another_run) continue;
    out.push_back(input.source_state == "succeeded"
                      ? fmt::format("Its result was made of another result of its input '{}' than job {} has now: that was mended and ran again since.", input.name, ShortId(input.source))
                      : fmt::format("Its result was made of a result of its input '{}' that job {} does not have any more: that was mended, and is {}.", input.name, ShortId(input.source),
                                    input.source_state));
  }
  if (!out.empty()) out.push_back(fmt::format("What it has measured is true of what it began with; 'longreach verify {}' trains it again beside the store, and compares.", job));
  return out;
}

bool IsStuck(const JobFacts& facts) {
  return IsReady(facts) && !facts.takes_nothing && std::ranges::any_of(facts.workers, IsThere) && std::ranges::none_of(facts.workers, IsAble);
}

bool IsStuckForData(const JobFacts& facts) {
  return IsStuck(facts) && std::ranges::any_of(facts.workers, [](const WorkerFact& worker) { return IsThere(worker) && worker.lacks_data; });
}

bool LacksWorkers(const JobFacts& facts) { return IsReady(facts) && !facts.takes_nothing && std::ranges::none_of(facts.workers, IsThere); }

}  // namespace longreach::core
