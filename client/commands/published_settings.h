// Whether a sweep's settings are those that its published table was measured with: the preset's that prints this table.
#pragma once

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Where published values stand in the table and the sweep differs from that preset: a note that names what differs. Fewer tasks,
// encodings or systems are fewer cells, and no difference. `spec` is the scheduler's, which lacks what is the default of its kind: so presets with
// published values leave defaults out, too.
void NoteOtherSettings(const v1::SweepSpec& spec, const v1::TableSpec& table, v1::Table& measured);

}  // namespace longreach::client
