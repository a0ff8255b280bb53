#include "client/commands/value_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/listings.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/suggestions.h"
#include "client/commands/system_settings.h"
#include "client/commands/varying_settings.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

// In formats for people, who would have to read them.
constexpr size_t kMostRowsShown = 10'000;

std::vector<GridCell> CellsOf(const v1::Job& job) {
  return {{.value = job.id(), .shown = ShortId(job.id())},
          TextCell(SystemsText(job)),
          TextCell(job.task()),
          TextCell(job.encoding()),
          NumberCell(job.learning_rate()),
          NumberCell(job.seed()),
          BoolCell(job.diverged())};
}

GridCell CellOf(const std::string& path, const std::string& value) {
  if (value.empty()) return MissingCell();
  if (IsFlagSetting(path)) return BoolCell(value == "true");
  const std::optional<double> number = IsNumberSetting(path) ? ParseDouble(value) : std::nullopt;
  return number ? NumberCell(*number) : TextCell(value);
}

// Behind the values those of these settings, as each job has them.
void AddSettings(const v1::ListMeasurementsResponse& page, const std::vector<std::string>& paths, const SystemSettings& settings, Grid& grid) {
  for (const std::string& path : paths) grid.columns.push_back({path, path, IsNumberSetting(path)});
  auto row = grid.rows.begin();
  for (const v1::JobMeasurements& of_job : page.jobs()) {
    std::vector<GridCell> cells;
    for (const std::string& path : paths) cells.push_back(CellOf(path, settings.OfJob(of_job.job(), path)));
    for (int i = 0; i < std::max(of_job.measurements_size(), 1); ++i, ++row) row->insert(row->end(), cells.begin(), cells.end());
  }
}

// `sweep` is the value of a first column; empty: there is none.
Grid GridOf(const v1::ListMeasurementsResponse& page, const std::string& sweep) {
  Grid grid;
  grid.columns = {{"job", "JOB"},
                  {"system", "SYSTEM"},
                  {"task", "TASK"},
                  {"encoding", "ENCODING"},
                  {"learning_rate", "LEARNING RATE", true},
                  {"seed", "SEED", true},
                  {"diverged", "DIVERGED"},
                  {"metric", "METRIC"},
                  {"length", "LENGTH", true},
                  {"slice", "SLICE"},
                  {"value", "VALUE", true}};
  if (!sweep.empty()) grid.columns.insert(grid.columns.begin(), GridColumn{"sweep", "SWEEP"});
  for (const v1::JobMeasurements& of_job : page.jobs()) {
    std::vector<GridCell> job = CellsOf(of_job.job());
    if (!sweep.empty()) job.insert(job.begin(), TextCell(sweep));
    for (const v1::Measurement& one : of_job.measurements()) {
      std::vector<GridCell>& row = grid.rows.emplace_back();
      row.reserve(grid.columns.size());
      row.insert(row.end(), job.begin(), job.end());
      row.push_back(TextCell(one.metric()));
      row.push_back(one.length() == 0 ? NumberCell(0, "all") : NumberCell(one.length()));
      row.push_back(TextCell(one.slice()));
      row.push_back(NumberCell(one.value(), fmt::format("{:.6g}", one.value())));
    }
    if (!of_job.measurements().empty()) continue;
    // It diverged. Left out, the mean over the others would pass for that of all.
    job.insert(job.end(), 4, MissingCell());
    grid.rows.push_back(std::move(job));
  }
  return grid;
}

}  // namespace

absl::Status ValueRows::Print(const v1::Sweep& sweep, v1::ListMeasurementsRequest question) {
  const Format format = session_.settings().format;
  question.set_sweep(sweep.id());  // What 'last' or a name stands for may change from one page to the next.
  const bool is_csv = format == Format::kCsv;
  // For programs: people read them in the names of systems. Several sweeps have one header.
  const bool with_settings = (is_csv || session_.json()) && !output_.several();
  SystemSettings effective(sweep.spec());
  if (with_settings) {
    ASSIGN_OR_RETURN(effective, SystemSettings::Fetch(connection_, sweep, {}));
  }
  const std::vector<std::string> paths = with_settings ? VaryingSettings(effective) : std::vector<std::string>();
  Grid all;
  std::string json;  // Of one of several sweeps; that of one alone is written page by page.
  int64_t count = 0;
  RETURN_IF_ERROR(ForEachMeasurementPage(connection_, std::move(question), [&](const v1::ListMeasurementsResponse& page) -> absl::StatusOr<bool> {
    Grid grid = GridOf(page, is_csv && output_.several() ? sweep.name() : "");
    if (!paths.empty()) AddSettings(page, paths, effective, grid);
    const bool is_list_begun = count > 0;
    count += std::ssize(grid.rows);
    if (is_csv) {
      session_.out() << GridAsCsv(grid, !begun_);
      begun_ = true;
      return static_cast<bool>(session_.out());  // False: nobody reads on.
    }
    if (session_.json()) {
      const std::string list = GridAsJson(grid);
      const std::string_view rows = std::string_view(list).substr(1, list.size() - 2);  // Without its brackets.
      const std::string_view separator = is_list_begun && !rows.empty() ? "," : "";
      if (output_.several()) {
        (json += separator) += rows;
        return true;
      }
      if (!begun_) session_.out() << fmt::format("{{\"schema\":{},\"measurements\":[", JsonText(kJsonSchema));
      begun_ = true;
      session_.out() << separator << rows;
      return static_cast<bool>(session_.out());
    }
    all.columns = std::move(grid.columns);
    all.rows.insert(all.rows.end(), std::make_move_iterator(grid.rows.begin()), std::make_move_iterator(grid.rows.end()));
    if (all.rows.size() <= kMostRowsShown) return true;
    return Error(absl::StatusCode::kResourceExhausted,
                 fmt::format("sweep '{}' has more than {} such values, which are too many to be shown as {}", Printable(sweep.name()),
                             Thousands(kMostRowsShown), FormatName(format)),
                 "-o csv and -o json have all of them; --metric, --length, --slice and --only choose some");
  }));
  if (!session_.out()) return absl::OkStatus();

  if (session_.json() && output_.several()) {
    output_.Add({{"name", JsonText(sweep.name())}, {"measurements", "[" + json + "]"}});
  } else if (session_.json()) {
    session_.out() << "]}\n";
  } else if (!is_csv) {
    LeaveOutEmpty(all, {"system", "slice"});
    output_.Begin(sweep.name());
    session_.Print(all, "measurements");
  }
  if (count == 0) {
    session_.Say(fmt::format("no job of sweep '{}' has such values; 'longreach status {}{}' says how far it is", Printable(sweep.name()),
                             ShortId(sweep.id()), WhereFlags(session_)));
  }
  return absl::OkStatus();
}

}  // namespace longreach::client
