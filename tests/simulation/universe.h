// What a simulation works on: sweeps that share jobs, and what is to become of each job. A job's fate and result follow from its
// id alone, so that the final table of every run can be compared with that of an undisturbed one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "longreach/v1/worker.pb.h"

namespace longreach::simulation {

enum class Fate {
  kPlain,      // Has a result.
  kDiverges,   // Its loss is not finite: a result without measurements.
  kPoison,     // Crashes every trainer that has it.
  kNonsense,   // Its result cannot be accepted.
  kForgetful,  // Has a result, but its weights are never handed in.
};

struct Job {
  std::string id;
  std::string pack_key;
  std::string task;
  std::string encoding;
  bool randomized = false;
  double learning_rate = 0;
  uint32_t seed = 0;
  int steps = 0;
  bool noop = false;            // It computes nothing: leased alone, beside what is trained, and reported at once.
  std::vector<int> sources;     // Jobs whose weights it needs.
  std::vector<int> dependants;  // Jobs that need its weights.
  uint32_t sweeps = 0;          // Bit i: sweep i has it, as a member or a prerequisite.
  Fate fate = Fate::kPlain;
};

// Some jobs of a sweep, as users name them: those that have these values.
struct Some {
  std::optional<std::string> task = {};
  std::optional<std::string> encoding = {};  // With its positions: "rope:randomized".
  std::optional<uint32_t> seed = {};

  bool Has(const Job& job) const;
  std::vector<std::string> Texts() const;
};
std::string EncodingOf(const Job& job);

struct Sweep {
  v1::SweepSpec spec;
  std::string id;
  std::vector<int> members;
  std::vector<int> prerequisites;  // Not members.
  std::vector<int> order;          // All of them as they are written: what makes an input comes before what needs it.
};

struct Universe {
  std::vector<Job> jobs;
  std::vector<Sweep> sweeps;
  std::map<std::string, int, std::less<>> by_id;

  // -1: there is none.
  int Find(std::string_view id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? -1 : found->second;
  }
  // It never has a result: of itself, or because what it needs is never there.
  bool IsHopeless(int job) const;
};

// One of kUniverses, made once. In the last of them jobs of one sweep share what they need; in the others each has its own.
inline constexpr int kUniverses = 8;
inline constexpr int kUniversesWithoutSharedInputs = 6;
const Universe& UniverseOf(int index);
// Where a seed is played: one in five where inputs are shared, and the others where they were before there was that.
int UniverseOfSeed(uint64_t seed);

// The only result that a job can have; what a worker reports for it.
v1::MemberResult ResultOf(const Job& job);
double AccuracyOf(const Job& job, int length);
double LossOf(const Job& job, int step);
// Bytes of a file of a pack, which are a function of what they are.
std::string FileOf(const Universe& universe, const std::vector<int>& jobs, std::string_view kind, int step);

}  // namespace longreach::simulation
