// The way back from a job, or a sweep, to a file that asks for it.
#pragma once

#include <string>

#include "longreach/v1/spec.pb.h"
#include "longreach/v1/table.pb.h"

namespace longreach::client {

// The sweep of that one job, without its inputs: they are known by their ids alone.
v1::SweepSpec SweepOf(const v1::JobSpec& job);

// A sweep file that says the same, with that table where it says anything.
std::string ToYaml(const v1::SweepSpec& spec, const v1::TableSpec& table = {});

}  // namespace longreach::client
