// What this worker tells the scheduler about itself.
#pragma once

#include <string>

#include "longreach/v1/trainer_pipe.pb.h"
#include "longreach/v1/worker.pb.h"

namespace longreach::agent {

// Tasks, encodings and revisions are the catalog's, because the trainer is built from it; data sets come and go, and are added
// to each call. `threads` 0: all that the machine has. Threads and memory are what a pack gets of them while `packs` are trained
// at a time: equal shares, of threads whole ones and at least one.
v1::Abilities AbilitiesOf(const v1::TrainerReady& trainer, const std::string& name, int threads, int packs, int pack_limit);

// The machine's name; "worker" when it has none.
std::string HostName();

}  // namespace longreach::agent
