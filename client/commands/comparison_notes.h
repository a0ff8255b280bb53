// What there is to say below the rows of a comparison: which jobs are not in them, and what a difference may be of.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "client/commands/comparison.h"
#include "client/commands/paired_values.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Of decoders beside encoders, and of jobs that are in no pair, or in one with themselves.
void AddNotesOnPairing(const ComparisonAsked& asked, const std::array<SweepValues, 2>& sides, Comparison& comparison);
// Of a sweep whose jobs are not all done.
void AddNoteOnOpen(const ComparisonAsked& asked, const v1::Sweep& sweep, Comparison& comparison);
// Of scores at single lengths whose positions were drawn once; says whether there is one. `only`: as TableSpec.only, of this sweep's jobs.
bool AddNoteOnDrawnPositions(const ComparisonAsked& asked, const v1::SweepSpec& spec, const std::vector<std::string>& only, Comparison& comparison);
// Of the rows that are shown together.
void AddNotesOnRows(const ComparisonAsked& asked, const std::vector<PairedGroup>& groups, Comparison& comparison);

}  // namespace longreach::client
