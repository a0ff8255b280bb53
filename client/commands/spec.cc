#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/joined_sweeps.h"
#include "client/spec/spec_reader.h"
#include "client/spec/sweep_writer.h"
#include "client/spec/tests_of_sweep.h"
#include "proto/base/names.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// Whether a table of the one suits the other: its axes may be systems.
bool HaveSameSystems(const v1::SweepSpec& one, const v1::SweepSpec& other) {
  const auto names = [](const v1::SweepSpec& spec) {
    std::set<std::string> all;
    for (const v1::System& system : spec.systems()) all.insert(system.name());
    return all;
  };
  return names(one) == names(other);
}

class Spec final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Print the sweep file of a sweep, or one file that has the jobs of several",
            .details =
                "A job is known by what it is, so a file with the jobs of several sweeps finds their results: submitted, it is one sweep for\n"
                "'results', 'compare' and 'plot', and only jobs that are not done are trained (docs/howto/join.md). 'longreach plan' says how many.\n"
                "Sweeps with the same settings become one of all their tasks, encodings, learning rates and seeds; a note says how many of its\n"
                "jobs none of them has. Sweeps that differ in settings become systems with their names, and systems that are there stay. Of systems that\n"
                "would have the same job one has it, as a note says. The scheduler is asked whether it would take the sweep: what is printed it takes.\n"
                "The file has the sweep's table, too, but for its title, which may tell of what --set changes. 'longreach run', 'plan' and\n"
                "'submit' take it as /dev/stdin.\n"
                "With --tests the file's sweep trains nothing: its jobs begin with the weights that jobs of the sweep have, and are tested as --set\n"
                "says ('evaluation.lengths'). Jobs that have not been trained yet are trained first.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach spec last\n"
                        "longreach spec rope alibi --name both >both.yaml\n"
                        "longreach spec last --name more-seeds | longreach run /dev/stdin --set seed=0..9\n"
                        "longreach spec last --tests | longreach run /dev/stdin --set evaluation.lengths=600..1000:100"};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepsArgument(app, sweeps_);
    app.add_option("--name", name_, "The sweep's name in the file [its own; of several sweeps all of theirs, with '_' between them]")->type_name("NAME");
    app.add_flag("--tests", tests_, "A sweep that tests the weights of that sweep's jobs, NAME-tests");
  }

  absl::StatusOr<int> Run(Session& session) override {
    const bool begins_well = !name_.starts_with('-') && !name_.starts_with('.');
    if (!name_.empty() && (!IsOfNameCharacters(name_) || name_.size() > kMaxNameBytes || !begins_well || name_ == "last")) {
      return UsageError(fmt::format("--name: '{}' is no name of a sweep", Printable(name_)),
                        fmt::format("at most {} letters, digits, '-', '_' and '.', the first of them neither '-' nor '.', and not 'last'", kMaxNameBytes));
    }
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const std::vector<v1::Sweep> sweeps, Find(*connection));
    ASSIGN_OR_RETURN(const std::string name, NameOf(sweeps));
    SweepFile file = FileOf(sweeps.front().spec(), sweeps.front());
    file.spec.set_name(name);
    if (sweeps.size() > 1) {
      ASSIGN_OR_RETURN(file, Joined(session, *connection, sweeps, name));
    }
    if (tests_) file = FileOf(TestsOfSweep(file.spec), sweeps.front());
    if (sweeps.front().has_table_trouble()) {
      session.Say(fmt::format("note: the table that sweep '{}' was submitted with cannot be read ({})", Printable(sweeps.front().name()),
                              Printable(sweeps.front().table_trouble())));
    }
    if (session.json()) session.out() << JsonDocument({{"spec", JsonOf(file.spec)}, {"table", file.has_table ? JsonOf(file.table) : "null"}});
    else session.out() << ToYaml(file.spec, file.table);
    return kDone;
  }

 private:
  // Each once, in the order in which they are named.
  absl::StatusOr<std::vector<v1::Sweep>> Find(Connection& connection) const {
    std::vector<v1::Sweep> found;
    for (const std::string& name : sweeps_.empty() ? std::vector<std::string>{"last"} : sweeps_) {
      ASSIGN_OR_RETURN(v1::Sweep sweep, FindSweep(connection, name));
      const bool is_there = std::ranges::any_of(found, [&sweep](const v1::Sweep& other) { return other.id() == sweep.id(); });
      if (!is_there) found.push_back(std::move(sweep));
    }
    return found;
  }

  absl::StatusOr<std::string> NameOf(const std::vector<v1::Sweep>& sweeps) const {
    if (!name_.empty()) return name_;
    std::vector<std::string> names;
    for (const v1::Sweep& sweep : sweeps) names.push_back(sweep.name());
    std::string name = Join(names, "_") + (tests_ ? "-tests" : "");
    if ((sweeps.size() > 1 || tests_) && name.size() > kMaxNameBytes) {
      return UsageError(fmt::format("'{}' would be the sweep's name, and has {} characters; at most {}", Printable(name), name.size(), kMaxNameBytes),
                        "give it another one with --name");
    }
    return name;
  }

  // Several sweeps as one that the scheduler takes, with its table.
  static absl::StatusOr<SweepFile> Joined(Session& session, Connection& connection, const std::vector<v1::Sweep>& sweeps, const std::string& name) {
    std::vector<v1::SweepSpec> specs;
    for (const v1::Sweep& sweep : sweeps) {
      specs.push_back(sweep.spec());
      specs.back().set_name(sweep.name());
    }
    ASSIGN_OR_RETURN(JoinedSweep joined, JoinSweeps(specs, name));
    SweepFile file = FileOf(joined.spec, sweeps.front());
    absl::Status taken = DryRun(connection, file).status();
    const bool may_not_ask = taken.code() == absl::StatusCode::kPermissionDenied;
    // Systems may have come to the same job. Which ones do is seen by their jobs, which are many.
    if (!joined.spec.systems().empty() && (may_not_ask || taken.code() == absl::StatusCode::kInvalidArgument)) {
      ASSIGN_OR_RETURN(const std::vector<std::vector<v1::Job>> jobs, JobsOf(connection, sweeps));
      ASSIGN_OR_RETURN(joined, JoinSweeps(specs, name, jobs));
      file = FileOf(joined.spec, sweeps.front());
      if (!may_not_ask) taken = DryRun(connection, file).status();
    }
    if (may_not_ask) session.Say("note: whether the scheduler takes this sweep is not known, as you may not submit one");
    else if (!taken.ok()) return Refused(taken);
    for (const std::string& note : joined.notes) session.Say("note: " + note);
    if (joined.new_jobs > 0) {
      session.Say(fmt::format("note: {} of its {} are of none of these sweeps, as it has each value of an axis with all of the others",
                              Thousands(static_cast<int64_t>(joined.new_jobs)), Count(static_cast<int64_t>(joined.jobs), "job")));
    }
    return file;
  }

  static SweepFile FileOf(const v1::SweepSpec& spec, const v1::Sweep& first) {
    SweepFile file;
    file.spec = spec;
    if (HaveSameSystems(spec, first.spec())) file.table = UsualTable(first);
    file.table.clear_title();
    file.has_table = file.table.ByteSizeLong() > 0;
    return file;
  }

  static absl::Status Refused(const absl::Status& status) {
    const auto [message, hint] = SplitError(status);
    // A scheduler that does not answer, say, has nothing to do with what they are.
    if (status.code() != absl::StatusCode::kInvalidArgument && status.code() != absl::StatusCode::kResourceExhausted) return status;
    constexpr std::string_view kAdvice = "'longreach spec' of each sweep alone is a file to change; 'longreach compare' and 'plot' take sweeps as they are";
    return Error(status.code(), fmt::format("one sweep of these would be refused: {}", message), hint.empty() ? std::string(kAdvice) : fmt::format("{}\n{}", hint, kAdvice));
  }

  static absl::StatusOr<std::vector<std::vector<v1::Job>>> JobsOf(Connection& connection, const std::vector<v1::Sweep>& sweeps) {
    std::vector<std::vector<v1::Job>> all;
    for (const v1::Sweep& sweep : sweeps) {
      std::vector<v1::Job>& jobs = all.emplace_back();
      v1::ListJobsRequest request;
      request.set_sweep(sweep.id());
      RETURN_IF_ERROR(ForEachJobPage(connection, request, [&jobs](v1::ListJobsResponse& page) {
        std::ranges::move(*page.mutable_jobs(), std::back_inserter(jobs));
        return absl::OkStatus();
      }));
    }
    return all;
  }

  std::vector<std::string> sweeps_;
  std::string name_;
  bool tests_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_spec() { return std::make_unique<Spec>(); }

}  // namespace longreach::client
