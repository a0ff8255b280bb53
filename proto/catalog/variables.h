// Variables of the environment that mean something to any of the programs, to what they start, to deploy/, to the build or to the tests, and begin with LONGREACH_:
// one of another name is likely misspelt. tests/tidy finds one that is read and is not here.
#pragma once

#include <string_view>

namespace longreach::catalog {

inline constexpr std::string_view kVariablePrefix = "LONGREACH_";

// Ascending, without the prefix.
inline constexpr std::string_view kVariables[] = {
    "BIN",                 // Where tests, benchmarks and the package of Python find the programs.
    "CA",                  // Client and worker.
    "CERTIFICATE",         // The same.
    "CLIENT",              // deploy/slurm, deploy/kubernetes.
    "CLIENT_CA",           // Scheduler.
    "COLOR",               // Client.
    "CONTEXT",             // Client.
    "CUDA",                // make, and what sets a machine up.
    "DATA",                // Worker.
    "EVENT",               // Given to a --notify program.
    "HIRE_NAME",           // deploy/slurm, deploy/kubernetes.
    "KEY",                 // Client and worker.
    "LIBTORCH",            // make.
    "LISTEN",              // Scheduler.
    "NAME",                // Given to a --notify program.
    "NOTIFY",              // Scheduler.
    "OUTPUT",              // Client.
    "PYTHON",              // Client.
    "READER_CERTIFICATE",  // deploy/slurm.
    "READER_KEY",          // The same.
    "READER_TOKEN_FILE",   // The same.
    "SCHEDULER",           // Client and worker.
    "SCHEDULER_OPTIONS",   // deploy/systemd.
    "SERVER_CERTIFICATE",  // Scheduler.
    "SERVER_KEY",          // Scheduler.
    "STORE",               // Client.
    "SWEEP",               // Given to a --notify program.
    "TEXT",                // The same.
    "TOKEN",               // Client and worker.
    "TOKENS",              // Scheduler.
    "TOKEN_FILE",          // Client and worker.
    "TORCH",               // A bundle's programs, and what makes one.
    "TRAINER",             // make.
    "WORKER",              // deploy/slurm.
    "WORKER_DEVICE",       // The same.
    "WORKER_IDLE_S",       // The same.
    "WORKER_OPTIONS",      // deploy/systemd.
    "WORKER_STATE",        // deploy/slurm.
};

}  // namespace longreach::catalog
