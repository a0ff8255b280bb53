#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "client/commands/before_store.h"
#include "client/commands/command.h"
#include "client/commands/other_tests.h"
#include "client/commands/outcome.h"
#include "client/commands/parts_output.h"
#include "client/commands/plan_json.h"
#include "client/commands/spec_arguments.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/output/json.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Submit final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupRun,
            .summary = "Hand a sweep to the scheduler",
            .details = kSpecDetails,
            .examples =
                "longreach submit table-b1 --scheduler head-node:7070\n"
                "longreach submit sweep.yaml --priority 10\n"
                "longreach submit table-b1 --set encoding=rope,rope:randomized --set seed=0..8 -q"};
  }
  void AddOptions(CLI::App& app) override {
    spec_.AddTo(app);
    app.add_option("--priority", priority_, "Higher numbers start first [0, or what the sweep has]")
        ->type_name("N");
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::vector<LoadedSweep> sweeps, spec_.Load());
    RETURN_IF_ERROR(PlansBeforeStore(session, /*embed_by_default=*/false, sweeps).status());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kCreate));
    RETURN_IF_ERROR(CheckParts(*connection, sweeps).status());
    PartsOutput json(session, sweeps.size() > 1);
    bool any_open = false;
    for (const LoadedSweep& one : sweeps) {
      v1::SubmitSweepRequest request = SubmissionOf(one.file);
      if (priority_.has_value()) request.set_priority(*priority_);
      const absl::StatusOr<v1::SubmitSweepResponse> submitted = connection->Call(&Connection::Stub::SubmitSweep, request, std::chrono::minutes(10));
      if (!submitted.ok()) return one.file.places.WithPlace(submitted.status());
      const v1::SubmitSweepResponse& response = *submitted;
      if (session.json()) {
        json.AddJson(one.file.spec.name(), "submitted", JsonWithPlan(response, response.plan()));
      } else {
        Print(session, *connection, response);
      }
      SayIfNameIsTaken(session, *connection, response);
      SayOfUnusedSettings(session, response.plan());
      SayOfTestLengths(session, one.file.spec);
      const v1::Sweep& sweep = response.sweep();
      if (response.created()) SayWhereTestsAloneDiffer(session, *connection, one.file.spec, response.plan(), sweep.id());
      any_open = any_open || OpenJobs(sweep) > 0;
    }
    if (session.json()) json.Finish();
    if (session.embedded() != nullptr && !session.json() && any_open) {
      session.Say(fmt::format("nothing runs yet; '{}' does", RunLine(spec_, WhereFlags(session))));
    }
    return kDone;
  }

 private:
  static void Print(Session& session, Connection& connection, const v1::SubmitSweepResponse& response) {
    const v1::Sweep& sweep = response.sweep();
    if (session.settings().quiet) {
      session.out() << sweep.id() << "\n";
      return;
    }
    const v1::Plan& plan = response.plan();
    session.out() << fmt::format("sweep {} {}: {}, {} done{}{}\n", ShortId(sweep.id()), Printable(sweep.name()), Count(plan.jobs(), "job"),
                                 Thousands(plan.done()), plan.failed() == 0 ? "" : fmt::format(", {} failed", Thousands(plan.failed())),
                                 WhatItWas(response));
    if (plan.failed() > 0) SayWhatStaysFailed(session, connection, sweep, plan.failed());
    if (session.embedded() != nullptr) return;
    session.Say(fmt::format("'longreach watch {}{}' shows how it gets on", ShortId(sweep.id()), WhereFlags(session)));
  }

  static std::string_view WhatItWas(const v1::SubmitSweepResponse& response) {
    if (response.created()) return "";
    if (response.state_before() == "cancelled") {
      if (OpenJobs(response.sweep()) == 0) return "; it was cancelled, and is not any more";
      return "; it was cancelled, and goes on: those of its jobs that were dropped begin anew ('longreach cancel' ends it again)";
    }
    if (response.state_before() == "paused") return "; it was paused, and goes on";
    return "; it was there already";
  }

  SpecArguments spec_;
  std::optional<int> priority_;
};

}  // namespace

std::unique_ptr<Command> Make_submit() { return std::make_unique<Submit>(); }

}  // namespace longreach::client
