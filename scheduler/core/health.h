// A worker's health: whether it is the machine, rather than the jobs, that fails.
#pragma once

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
Health AfterSuccess();
bool IsPutAside(const Health& health);

// "1,2,3;7": how it is stored. Unreadable text is an empty record.
std::string ToText(const Health& health);
Health ParseHealth(std::string_view text);

}  // namespace longreach::core
