// The entropy of single attention heads against position. Tables have only their means in each bin, and all heads in the last one:
// the rest is in the files ("series") that a sweep's jobs left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/connection.h"
#include "client/figure/vega_lite.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

inline constexpr std::string_view kEntropyMetric = "attention_entropy";

struct HeadCurvesQuestion {
  std::vector<std::string> only;  // As TableSpec has it.
  std::string aggregate;          // Over the jobs of a panel.
  bool by_layer = true;           // Panels of a layer stand side by side; else those of a system.
  int most_panels = 0;
};

struct HeadCurves {
  // One for each layer and system, or encoding, or encoding of a system, where there are several: rows are heads, columns the ends of bins.
  // Never empty, though it may have no cells.
  std::vector<PlotPanel> panels;
  // Those of a layer, or of a system, as it was asked; 0 where some model has no such layer, so that they are not as many everywhere.
  size_t panels_together = 0;
  std::vector<std::string> notes;  // What a reader must know.
  google::protobuf::RepeatedPtrField<v1::TableNote> typed_notes;  // Those of them that a table has by kind.
};

// INVALID_ARGUMENT: too many panels or jobs. FAILED_PRECONDITION: jobs without such files, or of several sizes in a panel. DATA_LOSS: a file
// that is none.
absl::StatusOr<HeadCurves> FetchHeadCurves(Connection& connection, const v1::Sweep& sweep, const HeadCurvesQuestion& question);

}  // namespace longreach::client
