// What this worker tells the scheduler about itself.
#pragma once

#include <string>

#include "longreach/v1/trainer_pipe.pb.h"
#include "longreach/v1/worker.pb.h"

namespace longreach::agent {

// Tasks, encodings and revisions are the catalog's, because the trainer is built from it; data sets come and go, and are added
// to each call. `threads` 0: all that the machine has. They are those of a pack that has the worker for itself; memory is what a pack
// gets while `packs` are trained at a time, because what one has taken cannot be taken back.
v1::Abilities AbilitiesOf(const v1::TrainerReady& trainer, const std::string& name, int threads, int packs, int pack_limit);

// Adds a data set to those that are not announced, with the reason in one line of UTF-8, cut where the scheduler takes no more. Of more than it takes the first ones are named.
void AddDamagedDataSet(const std::string& name, const std::string& reason, v1::Abilities& abilities);

// What pack `pack` of `packs` gets of so many threads: whole ones, the first packs those that are left over, and each at least one.
int ShareOfThreads(int threads, int packs, int pack);

// The machine's name; "worker" when it has none.
std::string HostName();

}  // namespace longreach::agent
