// Parts of a log that grows, for those who follow it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "longreach/v1/worker.pb.h"
#include "proto/types/wire_limits.h"

namespace longreach::agent {

// What is there of a log from a byte on; of more than kMaxLogPartBytes its end. No text: it goes no further, is shorter than that, or cannot be read.
v1::AttemptLog ReadLogPart(const std::filesystem::path& log, uint64_t from);

// Of a log that is asked for and was not read yet: calls do not wait for a disk, and without a word the scheduler takes a worker for one that does not
// know the question.
v1::AttemptLog LogNotReadYet();

}  // namespace longreach::agent
