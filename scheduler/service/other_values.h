// For whoever asks for a value that was not measured: what was.
#pragma once

#include <set>
#include <span>
#include <string>

#include "longreach/v1/api.pb.h"
#include "store/jobs.h"

namespace longreach::service {

// "over all lengths and at 41, 42, 43, ..., 500"; 0 is over all lengths.
std::string AtLengths(const std::set<int>& lengths);

// Of a job's measurements: the metrics, where the table's is none of them; else its slices, where the table's is none of those; else the
// lengths that it has values at: "there are values of accuracy over all lengths and at 41, 42, 43, ..., 500". Empty: of nothing.
std::string OtherValues(std::span<const store::Measurement> measured, const v1::TableSpec& table);

}  // namespace longreach::service
