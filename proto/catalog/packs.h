// How many jobs are trained together, and how many packs at a time: as the worker and commands that start one take them.
#pragma once

#include <string>
#include <string_view>

namespace longreach::catalog {

// Jobs in a pack.
inline constexpr int kMaxJobsOfPack = 1024;
// Packs that a worker trains at a time: as many leases as the scheduler gives a worker.
inline constexpr int kMaxPacksAtATime = 64;
// Jobs that compute nothing, which a worker's agent takes with one answer; their reports go with its next call.
inline constexpr int kMaxNoopsAtATime = 256;

// Packs at a time that a command's own worker is told to train when the user says nothing. Of small models two on a CPU, because now and
// then each waits for its last item of work, a file or an answer. On a GPU some more, as packs of three fill a third of it. Of nine, which fill
// an H200, two at a time make a sixth more than one, and four a fifth. Engines that train a job on one multiprocessor need 14 of nine to fill it, and
// make a tenth more of twice as many (docs/benchmarks/gpu.md).
inline constexpr int kUsualPacksOnCpu = 2;
inline constexpr int kUsualPacksOnGpu = 4;
inline constexpr int kUsualPacksOfResident = 30;

// engine: as `--engine` says, empty: the worker's choice. No more than `threads`, of which each has one, but for resident engines, whose threads hardly
// do anything. Models that are not small keep the memory to themselves.
int UsualPacks(std::string_view experiment, bool cuda, std::string_view engine, int threads);

// What `--pack-limit` says where the worker is to find the number out.
inline constexpr std::string_view kMeasured = "measured";

// Why `text` is no `--pack-limit`: neither a number from 1 to kMaxJobsOfPack nor kMeasured. Empty: it is one.
std::string CheckPackLimit(const std::string& text);

}  // namespace longreach::catalog
