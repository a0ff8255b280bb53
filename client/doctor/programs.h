// Whether the programs that lie beside the client are there, start, and are of its build.
#pragma once

#include <string>
#include <vector>

#include "client/doctor/check.h"

namespace longreach::client {

inline constexpr const char* kWorkerProgram = "worker_program";
inline constexpr const char* kTrainerProgram = "trainer_program";

// A program as it was found.
struct ProgramSeen {
  std::string path;
  bool there = false;
  std::string build = {};    // What it says with --version; empty: it does not.
  std::string problem = {};  // Why it does not start, or says nothing; empty: it did.
};

// What a program is for, and so what it means that it is missing.
struct ProgramNeed {
  std::string check;
  std::string program;
  CheckState missing = CheckState::kFailed;
  CheckState broken = CheckState::kFailed;  // It does not start, or is of another version.
  std::string what_to_do = {};   // Where it is missing.
  std::string who_does_not = {};  // Need it; where it may be missing.
};

// `scheduler`: the address that was named, whose programs lie elsewhere; empty: none was.
std::vector<ProgramNeed> NeededPrograms(const std::string& scheduler);

// `own`: the client's build, as BuildDescription() has it.
Check JudgeProgram(const ProgramNeed& need, const ProgramSeen& seen, const std::string& own);

// "0.1.0" of "0.1.0 (1a2b3c4d5e6f, GNU 12.2.0, Release)".
std::string VersionOfBuild(const std::string& build);

}  // namespace longreach::client
