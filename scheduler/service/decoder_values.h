// What values of decoders for algorithmic tasks and pairs of sequences (model.causal) say, beside those of encoders.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"

namespace longreach::service {

// By system whether it is a decoder; of a sweep without systems, whose jobs are all alike, it is under an empty name. Nothing: its kind has no such choice.
std::map<std::string, bool> DecodersOf(const v1::SweepSpec& sweep);

// Why jobs of a sweep have no value of a metric at any length, though they are done. Empty: nothing of the sweep says so.
std::string WhyUnmeasured(const v1::SweepSpec& sweep, std::string_view metric);

// Where a table has measured both, and a task of the sweep has several outputs: that the metric is not the same of both. Empty: it is.
std::string NoteOnDecoders(const v1::SweepSpec& sweep, std::string_view metric, const std::set<std::string>& measured_systems);

}  // namespace longreach::service
