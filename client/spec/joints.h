// Sweeps that are to be joined, taken apart into jobs of the same settings.
#pragma once

#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/spec.pb.h"

namespace longreach::client {

// Jobs of the same settings: each of the axes is those of one sweep.
struct Joint {
  std::string sweep;   // The name of the first of them.
  std::string system;  // Of a system of theirs; empty: they have none.
  v1::SweepSpec settings;
  std::vector<v1::Axes> axes;
  std::vector<v1::Job> jobs{};         // Those that are known.
  std::vector<std::string> others{};   // Sweeps, and systems of sweeps, that would have had jobs which it has.
};

// Sweeps that say the same are one joint, but systems of one sweep stay apart, whatever they have in common: its author wanted a row for each. `jobs` are
// those of each sweep, as they are listed, or there are none.
std::vector<Joint> AllJoints(const std::vector<v1::SweepSpec>& sweeps, const std::vector<std::vector<v1::Job>>& jobs);

// Joints that have a job in common mean the same by what they say of its task and encoding: one says a default that the other leaves out, or they differ in what
// this encoding does not use. As systems of one sweep they would be refused. So one whose jobs are all there already goes, one that has no task and encoding of
// its own goes with the other, and of one that has, those in common are left to the other. What is none of these stays as it is.
std::vector<Joint> WithEachJobOnce(std::vector<Joint> all);

// All of their values. Names keep the order in which sweeps have them, numbers ascend.
v1::Axes Together(const std::vector<v1::Axes>& axes);

}  // namespace longreach::client
