// What people are told of a sweep that has not got all of its jobs, and does not: its submission broke off, and this program cannot expand it.
#pragma once

#include <string>

#include "scheduler/service/live_board.h"
#include "store/sweeps.h"

namespace longreach::service {

// A sentence: how many jobs, why, and what to do. Empty: they come, or none are to come.
std::string StalledSweep(const store::SweepRow& sweep, const LiveBoard::State& live);

}  // namespace longreach::service
