// Sweeps within a sweep: that of one of its systems, and those whose jobs make its inputs. The scheduler makes jobs of them, and the client asks what these read.
#pragma once

#include <string>

#include "longreach/v1/spec.pb.h"

namespace longreach {

// The sweep of one system, without systems. `plain` is the sweep without its systems. What an input's job leaves out is `plain`'s, not the system's.
v1::SweepSpec WithSystem(const v1::SweepSpec& plain, const v1::System& system);

// The sweep whose jobs make an input. What it leaves out is that of the sweep that needs it: axes (`axes`, which have one value each where a job is meant),
// experiment kind, data, and each group of settings as a whole. But a sweep that trains nothing has no training to lend.
v1::SweepSpec MakerSweep(const v1::Input& input, const v1::Axes& axes, const v1::SweepSpec& sweep);

// How many jobs axes have: one for each value of an axis with all of the others. There may be more than an integer holds.
double CountOf(const v1::Axes& axes);

// That these are more than a sweep may have, and how many; empty: they are not.
std::string TooManyJobs(const v1::Axes& axes);

}  // namespace longreach
