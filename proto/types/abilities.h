// What a build's catalog lets a worker say of itself.
#pragma once

#include "longreach/v1/worker.pb.h"

namespace longreach {

// Adds the algorithmic tasks and all encodings, each with its revision, and the model's revision. Of data sets and experiments, which a
// build may lack, nothing.
void AddCatalog(v1::Abilities& abilities);

}  // namespace longreach
