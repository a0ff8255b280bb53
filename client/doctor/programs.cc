#include "client/doctor/programs.h"

#include <fmt/format.h>

namespace longreach::client {

std::vector<ProgramNeed> NeededPrograms(const std::string& scheduler) {
  std::vector<ProgramNeed> needs = {
      {.check = "scheduler_program",
       .program = "longreach-scheduler",
       .what_to_do = "put it beside 'longreach': 'longreach run', 'plan' and every command with --store start it"},
      {.check = kWorkerProgram,
       .program = "longreach-worker",
       .what_to_do = "put it beside 'longreach', with longreach-trainer; a build with LONGREACH_TRAINER=OFF has neither: build with LibTorch, or leave training to other workers ('longreach submit')"},
      {.check = kTrainerProgram,
       .program = "longreach-trainer",
       .what_to_do = "put it beside longreach-worker, which starts it to train"},
      {.check = "tokenizer_program",
       .program = "longreach-tokenizer",
       .missing = CheckState::kWarning,
       .broken = CheckState::kWarning,
       .what_to_do = "put it beside longreach-worker, if you want 'data import tokens', passkeys or LongBench"}};
  if (scheduler.empty()) return needs;
  // Who only asks a scheduler elsewhere needs the client alone, and may lack what the others need.
  for (ProgramNeed& need : needs) {
    need.missing = CheckState::kNotAsked;
    need.broken = CheckState::kWarning;
    need.what_to_do.clear();
    need.who_does_not = fmt::format(", which commands to the scheduler at {} do not need", scheduler);
  }
  return needs;
}

std::string VersionOfBuild(const std::string& build) { return build.substr(0, build.find(' ')); }

Check JudgeProgram(const ProgramNeed& need, const ProgramSeen& seen, const std::string& own) {
  Findings findings(need.check);
  if (!seen.there) {
    findings.Add(need.missing, fmt::format("there is no program {}{}", seen.path, need.who_does_not), need.what_to_do);
  } else if (!seen.problem.empty()) {
    findings.Add(need.broken, fmt::format("{} does not start: {}", seen.path, seen.problem),
                 fmt::format("'{} --version' says the same; install all programs of one build together", need.program));
  } else if (seen.build.empty()) {
    findings.Add(CheckState::kWarning, fmt::format("{} does not say which build it is", seen.path), "install all programs of one build together");
  } else if (VersionOfBuild(seen.build) != VersionOfBuild(own)) {
    findings.Add(need.broken, fmt::format("{} is of another version: {}; the client is {}", seen.path, seen.build, own),
                 "install all programs of one build together");
  } else if (seen.build != own) {
    findings.Add(CheckState::kWarning, fmt::format("{} is of another build: {}; the client is {}", seen.path, seen.build, own),
                 "install all programs of one build together: results name the build that made them");
  } else {
    findings.Add(CheckState::kOk, seen.build);
  }
  return findings.check();
}

}  // namespace longreach::client
