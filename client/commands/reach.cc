#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/axis_columns.h"
#include "client/commands/command.h"
#include "client/commands/job_means.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/plot_fits.h"
#include "client/commands/reached_lengths.h"
#include "client/commands/shared_draw.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/commands/titled_rows.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr double kUsualPercent = 90;

// A job that was tested, or has diverged.
struct TestedJob {
  std::string id;
  PairKey key;
  std::optional<Reach> reach;  // Nothing: it diverged.
};

// "<41": the shortest test length is too long. "500+": it was not tested further.
GridCell ReachCell(const Reach& reach) {
  const std::string length = std::to_string(reach.length == 0 ? reach.tested_from : reach.length);
  return NumberCell(reach.length, reach.length == 0 ? "<" + length : reach.ToTheEnd() ? length + "+" : length);
}

GridCell CountCell(size_t count) { return NumberCell(static_cast<double>(count)); }

class ReachCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Say how far a sweep's jobs generalize: up to which test length their accuracy, or another metric, stays good",
            .details =
                "A job reaches the longest test length up to which it has at least 90 % accuracy at each one, from the shortest on; --at-least\n"
                "says another bound, --at-most that of what is better when lower. A row is of the jobs of a task and encoding, or of what --by\n"
                "names: the length that ALL of them REACH, the one that at least HALF of them do, and the one that the BEST REACHES. '<41': not\n"
                "even 41, the shortest length that was tested. '500+': the end of the tests, so that nobody knows how far it goes; TO THE END says\n"
                "how many jobs get there. Between two lengths that follow each other in the tests nothing is known.\n"
                "--smooth 9: each length counts with the mean over 9 neighbouring test lengths, as scores at one length jump, those of randomized\n"
                "positions above all, and one that is below the bound ends it.\n"
                "With --jobs each job has a row of its own. Jobs that are not done or have diverged are in no row of several jobs.\n"
                "As csv and json each row also has the shortest and the longest test length (tested_from, tested_to) and how many jobs fail at\n"
                "their shortest one (none); a length that is not reached is 0 there.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach reach table-b1\n"
                        "longreach reach table-b1 --at-least 99 --smooth 9 --by encoding,learning_rate\n"
                        "longreach reach nope-small --at-most 5\n"
                        "longreach reach last --jobs -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_, {.required = false});
    app.add_option("--at-least", at_least_, "What a value must be at least, in the metric's unit [90 of one in %]")->type_name("VALUE");
    app.add_option("--at-most", at_most_, "What a value may be at most, of a metric that is better when lower")->type_name("VALUE");
    app.add_option("--smooth", smooth_, "Each length counts with the mean over so many neighbouring test lengths, an odd number")->type_name("N")->check(CheckCount)->capture_default_str();
    AddByOption(app, by_, "task,encoding, and system, of which there are several");
    app.add_option("--metric", metric_, "A metric ('longreach list metrics') [the main one of the sweep's experiment kind]")->type_name("METRIC");
    app.add_option("--slice", slice_, "What length does not name (depth=3)")->type_name("SLICE")->check(WhyNoText);
    AddOnlyOption(app, only_);
    app.add_flag("--jobs", of_jobs_, "A row for each job, with what it reaches");
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckOptions());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    if (metric_.empty()) {
      v1::TableSpec usual;
      RETURN_IF_ERROR(CompleteTable(*connection, sweep, usual));
      metric_ = usual.metric();
    }
    ASSIGN_OR_RETURN(const Bound bound, ChosenBound());
    ASSIGN_OR_RETURN(const std::vector<TestedJob> jobs, Read(*connection, sweep, bound));
    ASSIGN_OR_RETURN(const std::optional<double> trained_to, TrainedLength(*connection, sweep, only_));
    Print(session, sweep, bound, jobs, trained_to);
    return kDone;
  }

 private:
  absl::Status CheckOptions() const {
    RETURN_IF_ERROR(CheckBy(by_));
    RETURN_IF_ERROR(CheckMeasure(metric_, ""));
    RETURN_IF_ERROR(CheckNoSlices(only_, "a job has one value at each test length"));
    if (metric_ == kTrainingLoss) return UsageError(fmt::format("--metric {}: losses of training have no test length", kTrainingLoss), "'longreach plot SWEEP --x step' draws them");
    if (at_least_.has_value() && at_most_.has_value()) return UsageError("--at-least and --at-most: a length counts by one of them", "leave one of them out");
    if (smooth_ % 2 == 0) return UsageError(fmt::format("--smooth: {} is not an odd number", smooth_), "as many lengths count on either side: 1, 3, 5");
    if (of_jobs_ && !by_.empty()) return UsageError("--by beside --jobs: each job has a row of its own", "leave out --by, or --jobs for rows of several jobs");
    return absl::OkStatus();
  }

  // Of the metric, which is known.
  absl::StatusOr<Bound> ChosenBound() const {
    const catalog::Metric* const known = catalog::FindMetric(metric_);
    const catalog::Better better = known == nullptr ? catalog::Better::kNeither : known->better;
    const double factor = known == nullptr ? 1 : known->factor;
    const bool percent = known != nullptr && known->unit == "%";
    const std::string name = Printable(metric_);
    if (at_most_.has_value() && better == catalog::Better::kHigher) {
      return UsageError(fmt::format("--at-most {}: {} is better when it is higher", ShortestNumber(*at_most_), name), fmt::format("write --at-least {}", ShortestNumber(*at_most_)));
    }
    if (at_least_.has_value() && better == catalog::Better::kLower) {
      return UsageError(fmt::format("--at-least {}: {} is better when it is lower", ShortestNumber(*at_least_), name), fmt::format("write --at-most {}", ShortestNumber(*at_least_)));
    }
    if (!at_least_.has_value() && !at_most_.has_value() && !percent) {
      return UsageError(fmt::format("of {} there is no usual bound", name),
                        fmt::format("say what it must be: {}", better == catalog::Better::kLower ? "--at-most VALUE" : better == catalog::Better::kHigher ? "--at-least VALUE" : "--at-least VALUE or --at-most VALUE"));
    }
    const double asked = AskedBound();
    // A share in place of it would be a bound that nothing falls short of.
    if (percent && !(asked > 1 && asked <= 100)) {
      return UsageError(fmt::format("--at-least {}: {} is in percent, and a bound above 1 and at most 100", ShortestNumber(asked), name),
                        asked > 0 && asked <= 1 ? fmt::format("did you mean {}?", ShortestNumber(asked * 100)) : "");
    }
    if (!std::isfinite(asked)) return UsageError(fmt::format("{}: {} is not a finite number", at_most_.has_value() ? "--at-most" : "--at-least", asked));
    return Bound{.value = asked / factor, .at_least = !at_most_.has_value()};
  }

  // In the metric's unit.
  double AskedBound() const { return at_most_.value_or(at_least_.value_or(kUsualPercent)); }

  // "at least 90 %".
  std::string InWords(const Bound& bound) const {
    const catalog::Metric* const known = catalog::FindMetric(metric_);
    return fmt::format("at {} {}{}{}", bound.at_least ? "least" : "most", ShortestNumber(AskedBound()), known == nullptr || known->unit.empty() ? "" : " ", known == nullptr ? "" : known->unit);
  }

  absl::StatusOr<std::vector<TestedJob>> Read(Connection& connection, const v1::Sweep& sweep, const Bound& bound) const {
    v1::ListMeasurementsRequest question;
    question.set_sweep(sweep.id());
    question.set_metric(metric_);
    question.set_slice(slice_);
    for (const std::string& one : only_) question.add_only(one);
    std::vector<TestedJob> jobs;
    JobMeans values([&](const JobMean& one) {
      std::map<int, double> by_length;
      for (size_t i = 0; i < one.lengths.size(); ++i) {
        if (one.lengths[i] > 0) by_length.emplace(one.lengths[i], one.values[i]);  // 0 is over all of them.
      }
      TestedJob job{.id = one.job.id(), .key = KeyOf(one.job), .reach = std::nullopt};
      if (!by_length.empty()) job.reach = ReachOf(by_length, bound, smooth_);
      if (job.reach.has_value() || one.job.diverged()) jobs.push_back(std::move(job));
    });
    RETURN_IF_ERROR(ForEachMeasurementPage(connection, std::move(question), [&values](const v1::ListMeasurementsResponse& page) {
      for (const v1::JobMeasurements& of_job : page.jobs()) values.Add(of_job);
      return true;
    }));
    values.End();
    return jobs;
  }

  // As --by says; else systems, tasks and encodings, of which there are several.
  std::vector<std::string_view> Axes(const std::vector<TestedJob>& jobs) const {
    if (!by_.empty()) return {by_.begin(), by_.end()};
    std::vector<std::string_view> axes;
    for (const std::string_view axis : {"system", "task", "encoding"}) {
      const size_t place = PlaceOf(axis);
      if (std::ranges::any_of(jobs, [&](const TestedJob& job) { return job.key[place] != jobs.front().key[place]; })) axes.push_back(axis);
    }
    return axes;
  }

  Grid Rows(const std::vector<TestedJob>& jobs, bool for_people) const {
    std::vector<KeyedReach> tested;
    for (const TestedJob& job : jobs) {
      if (job.reach.has_value()) tested.push_back({.key = job.key, .reach = *job.reach});
    }
    const std::vector<std::string_view> axes = Axes(jobs);
    Grid grid;
    for (const std::string_view axis : axes) grid.columns.push_back(AxisColumn(axis));
    grid.columns.push_back({"jobs", "JOBS", true});
    if (!for_people) grid.columns.insert(grid.columns.end(), {{"tested_from", "TESTED FROM", true}, {"tested_to", "TO", true}, {"none", "NONE", true}});
    grid.columns.insert(grid.columns.end(), {{"all", "ALL REACH", true}, {"half", "HALF REACH", true}, {"best", "BEST REACHES", true}, {"to_end", "TO THE END", true}});
    for (const ReachGroup& group : ReachGroups(tested, axes)) {
      std::vector<GridCell>& row = grid.rows.emplace_back();
      for (size_t i = 0; i < axes.size(); ++i) row.push_back(AxisCell(grid.columns[i], group.values[i]));
      row.push_back(CountCell(group.jobs.size()));
      if (!for_people) {
        row.push_back(NumberCell(std::ranges::min_element(group.jobs, {}, &Reach::tested_from)->tested_from));
        row.push_back(NumberCell(std::ranges::max_element(group.jobs, {}, &Reach::tested_to)->tested_to));
        row.push_back(CountCell(static_cast<size_t>(std::ranges::count(group.jobs, 0, &Reach::length))));
      }
      for (const Reach& reach : {group.All(), group.Half(), group.Best()}) row.push_back(ReachCell(reach));
      row.push_back(CountCell(group.ToTheEnd()));
    }
    return grid;
  }

  static Grid RowsOfJobs(const std::vector<TestedJob>& jobs, bool for_people) {
    Grid grid{.columns = {{"job", "JOB"}}, .rows = {}};
    for (const std::string_view axis : kPairAxes) grid.columns.push_back(AxisColumn(axis));
    grid.columns.push_back({"diverged", "DIVERGED"});
    if (!for_people) grid.columns.insert(grid.columns.end(), {{"tested_from", "TESTED FROM", true}, {"tested_to", "TO", true}});
    grid.columns.insert(grid.columns.end(), {{"reach", "REACHES", true}, {"to_end", "TO THE END"}});
    for (const TestedJob& job : jobs) {
      std::vector<GridCell>& row = grid.rows.emplace_back();
      row.push_back({.value = job.id, .shown = ShortId(job.id)});
      for (size_t axis = 0; axis < kPairAxes.size(); ++axis) row.push_back(AxisCell(grid.columns[axis + 1], job.key[axis]));
      row.push_back(BoolCell(!job.reach.has_value()));
      if (!job.reach.has_value()) {
        row.resize(grid.columns.size(), MissingCell());
        continue;
      }
      if (!for_people) row.insert(row.end(), {NumberCell(job.reach->tested_from), NumberCell(job.reach->tested_to)});
      row.push_back(ReachCell(*job.reach));
      row.push_back(BoolCell(job.reach->ToTheEnd()));
    }
    if (for_people) LeaveOutEmpty(grid, {"system"});
    return grid;
  }

  std::string Title(const v1::Sweep& sweep, const Bound& bound) const {
    std::string title = fmt::format("{}: test length up to which {} is {}", sweep.name(), metric_, InWords(bound));
    if (!slice_.empty()) title += ", " + slice_;
    if (smooth_ > 1) title += fmt::format(", mean over {} neighbouring lengths", smooth_);
    return title;
  }

  // "trained at lengths up to 40, tested at 41 to 500"; empty: neither is known.
  static std::string Lengths(const std::vector<TestedJob>& jobs, std::optional<double> trained_to) {
    std::vector<std::string> parts;
    if (trained_to.has_value()) parts.push_back(fmt::format("trained at lengths up to {}", ShortestNumber(*trained_to)));
    std::optional<std::pair<int, int>> tested;
    for (const TestedJob& job : jobs) {
      if (!job.reach.has_value()) continue;
      if (!tested.has_value()) tested = {job.reach->tested_from, job.reach->tested_to};
      tested = {std::min(tested->first, job.reach->tested_from), std::max(tested->second, job.reach->tested_to)};
    }
    if (tested.has_value()) parts.push_back(tested->first == tested->second ? fmt::format("tested at {}", tested->first) : fmt::format("tested at {} to {}", tested->first, tested->second));
    return Join(parts, ", ");
  }

  std::vector<std::string> Notes(const v1::Sweep& sweep, const std::vector<TestedJob>& jobs) const {
    std::vector<std::string> notes;
    std::set<std::pair<int, int>> tests;
    int64_t diverged = 0;
    for (const TestedJob& job : jobs) {
      if (job.reach.has_value()) tests.emplace(job.reach->tested_from, job.reach->tested_to);
      else ++diverged;
    }
    if (tests.size() > 1) notes.emplace_back("not all jobs were tested from the same length on, or to the same one: '<' and '+' are of the tests that a job had");
    if (diverged > 0 && !of_jobs_) notes.push_back(fmt::format("{} diverged, in no row", Count(diverged, "job")));
    if (const int64_t open = sweep.jobs() - sweep.counts().succeeded(); open > 0) {
      notes.push_back(fmt::format("{} of {} not done{}", Count(open, "job"), Printable(sweep.name()), only_.empty() ? "" : ", whether asked for here or not"));
    }
    const std::string draw = smooth_ > 1 || tests.empty() ? "" : NoteOfSharedDraw(sweep.spec(), only_);
    if (!draw.empty()) notes.push_back(draw + "; --smooth 9 takes the mean over 9 neighbouring lengths");
    return notes;
  }

  void Print(Session& session, const v1::Sweep& sweep, const Bound& bound, const std::vector<TestedJob>& jobs, std::optional<double> trained_to) const {
    const bool for_people = !session.json() && session.settings().format != Format::kCsv;
    const Grid grid = of_jobs_ ? RowsOfJobs(jobs, for_people) : Rows(jobs, for_people);
    const std::vector<std::string> notes = Notes(sweep, jobs);
    if (session.json()) {
      std::vector<std::string> quoted;
      for (const std::string& note : notes) quoted.push_back(JsonText(note));
      session.out() << JsonDocument({{"title", JsonText(Title(sweep, bound))},
                                     {"sweep", JsonText(sweep.id())},
                                     {"name", JsonText(sweep.name())},
                                     {"metric", JsonText(metric_)},
                                     {"slice", JsonText(slice_)},
                                     {bound.at_least ? "at_least" : "at_most", JsonNumber(bound.value)},
                                     {"smooth", JsonNumber(smooth_)},
                                     {"trained_to", trained_to.has_value() ? JsonNumber(*trained_to) : "null"},
                                     {"rows", GridAsJson(grid)},
                                     {"notes", "[" + Join(quoted, ",") + "]"}});
    } else {
      std::vector<std::string> lines = {Title(sweep, bound), Lengths(jobs, trained_to)};
      std::erase(lines, "");
      PrintTitledRows(session, lines, grid, notes);
    }
    if (grid.rows.empty()) {
      session.Say(fmt::format("no job of sweep '{}' that is asked for has {} at a test length; 'longreach status {}{}' says how far it is", Printable(sweep.name()), Printable(metric_), ShortId(sweep.id()),
                              WhereFlags(session)));
    }
  }

  std::string sweep_ = "last";
  std::optional<double> at_least_;
  std::optional<double> at_most_;
  int smooth_ = 1;
  std::vector<std::string> by_;
  std::string metric_;
  std::string slice_;
  std::vector<std::string> only_;
  bool of_jobs_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_reach() { return std::make_unique<ReachCommand>(); }

}  // namespace longreach::client
