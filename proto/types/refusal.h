// What a worker says of a job that no worker can train.
#pragma once

#include <string_view>

namespace longreach {

// How the detail of a failed attempt begins then: what is wrong is in the job and in the bytes of its data sets, which are the same on every machine. The job
// fails at once, and the worker is not to blame. A worker that is only too old for a job does not say so.
inline constexpr std::string_view kRefusedEverywhere = "refused, as any worker would: ";

}  // namespace longreach
