// A worker's health: whether it is the machine, rather than the jobs, that fails.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::core {

// Failed attempts in a row, of different jobs, after which a worker is put aside.
inline constexpr int kFailuresToPutAside = 3;

// The jobs of the attempts that failed in a row on a worker, no job in two of them. An attempt that shares a job with an
// earlier one says nothing new about the worker: the job may be to blame.
struct Health {
  std::vector<std::vector<int64_t>> failed;
  bool operator==(const Health&) const = default;
};

Health AfterFailure(const Health& before, std::span<const int64_t> jobs);
bool IsPutAside(const Health& health);

// What a worker that has failed since its last success is offered, one after the other until something is ready. The farther it is from
// what failed, the more another failure says about the machine, and a job that fails everywhere takes fewer workers from the others.
enum class Offer {
  kOtherSweeps,  // No sweep that has a failed job has it, and it could not be in a pack with one.
  kOtherPacks,   // It could not be in a pack with a failed job.
  kOtherJobs,
  kAll,
};
inline constexpr std::array kOffers = {Offer::kOtherSweeps, Offer::kOtherPacks, Offer::kOtherJobs, Offer::kAll};

// The record of one that was put aside, all of whose failed jobs are of one sweep, when another sweep has work for it: it is as far from
// being put aside as one more failure, and if that is of the other sweep, then it is put aside for good.
Health WithAnotherChance(const Health& health);

// "1,2,3;7": how it is stored. Unreadable text is an empty record.
std::string ToText(const Health& health);
Health ParseHealth(std::string_view text);

}  // namespace longreach::core
