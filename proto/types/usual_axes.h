// The rows, columns and aggregate of a table that says none. The scheduler fills them in; the client as well, which says them in titles and CSV. Pure.
#pragma once

#include "longreach/v1/spec.pb.h"
#include "longreach/v1/table.pb.h"

namespace longreach {

// Fills in the axes that a table leaves open: tasks by encodings; where a sweep has systems these by tasks, or by encodings where a system has
// several of them, and of several tasks too tasks and systems by encodings. Of a table that has one side the other is all of these of which
// there are several, so that what a sweep compares is never one cell unasked. Settings that are an axis stand for systems.
void SetUsualAxes(const v1::SweepSpec& spec, v1::TableSpec& table);

// Of a table with a metric: the best of all, and where it chooses the best of an axis the mean of each value, as the best of the best of each is
// the best of all.
void SetUsualAggregate(v1::TableSpec& table);

}  // namespace longreach
