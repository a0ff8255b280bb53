// Of a sweep that will train what is trained already: its jobs differ from those of another sweep of the store in their tests alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Says so, with how many jobs, where a sweep whose jobs are not all done would have more of them done with another one's evaluation. `own`: its id, if it has been
// submitted. Cheap: a few sweeps of the store are looked at, and a sweep of very many jobs is not compared.
void SayWhereTestsAloneDiffer(Session& session, Connection& connection, const v1::SweepSpec& sweep, const v1::Plan& plan, const std::string& own);

// No job of the sweep itself is trained: they test weights that are there, and to test them otherwise trains nothing again.
bool TrainsNothing(const v1::SweepSpec& sweep);

// Ids of the sweeps that are worth a look: those with results, of this name before others, as many as are looked at.
std::vector<std::string> SweepsWithTests(const v1::ListSweepsResponse& all, const std::string& name, const std::string& own);

// The sentence: `done` of a plan's `jobs` would be done with the evaluation of `other` in the place of `ours`.
std::string TestsAloneDiffer(const v1::Sweep& other, const v1::Evaluation& ours, int32_t done, int32_t jobs);

}  // namespace longreach::client
