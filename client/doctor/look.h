// Looks at this installation by starting its programs and calling its scheduler. What it means is decided elsewhere in this folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "client/doctor/data.h"
#include "client/doctor/programs.h"
#include "client/doctor/scheduler.h"
#include "client/interrupt.h"
#include "client/settings.h"
#include "proto/base/status.h"

namespace longreach::client {

// A program beside the client, asked which build it is.
ProgramSeen LookAtProgram(const std::filesystem::path& binaries, const std::string& program, const InterruptScope& interrupt);

// What the worker's program answers to a command. UNAVAILABLE: it is `worker`, and cannot be asked. INTERNAL: it refused, with its own words.
absl::StatusOr<std::string> AskWorker(const ProgramSeen& worker, const std::vector<std::string>& arguments, const InterruptScope& interrupt);

// The same of what this machine computes with, which the worker has the trainer's program tell. UNAVAILABLE as well where that cannot be asked.
absl::StatusOr<std::string> AskForDevices(const ProgramSeen& worker, const ProgramSeen& trainer, const InterruptScope& interrupt);

// Calls the scheduler of the settings.
SchedulerSeen LookAtScheduler(const Settings& settings);

// The checks "authority", "certificate" and "credentials" of what the settings name.
std::vector<Check> CheckCredentialFiles(const access::CredentialFiles& files);

}  // namespace longreach::client
