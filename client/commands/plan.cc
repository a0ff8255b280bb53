#include <fmt/format.h>

#include <algorithm>

#include "client/commands/command.h"
#include "client/commands/other_tests.h"
#include "client/commands/parts_output.h"
#include "client/commands/plan_json.h"
#include "client/commands/spec_arguments.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/parts.h"
#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/published_vocabulary.h"

namespace longreach::client {
namespace {

std::string TimeText(const v1::Plan& plan) {
  if (plan.jobs() == plan.done()) return "none, all is done";
  if (NothingIsToRun(plan)) return "none, nothing is to run";
  if (!HoursAreKnown(plan)) return "not known: no worker of this store has been measured on such jobs yet";
  const double seconds = plan.hours() * 3600, most = plan.hours_high() * 3600;
  const std::string about = (seconds < 1 ? "" : "about ") + HumanDurationOrLess(seconds);
  if (std::max(seconds, most) < 1) return about + " on the workers at hand";
  return fmt::format("{} on the workers at hand ({} to {})", about, HumanDuration(plan.hours_low() * 3600), HumanDuration(most));
}

// What a GPU does of such products, as a measure of more than a few hours of a CPU.
constexpr double kGpuFlopPerSecond = 1e14;
constexpr double kMuchFlop = 1e15;

std::string ComputeText(double flops) {
  const std::string text = fmt::format("{} of matrix products", HumanFlops(flops));
  if (flops < kMuchFlop) return text;
  return fmt::format("{}: {} of a GPU that keeps up 100 TFLOP/s", text, HumanDuration(flops / kGpuFlopPerSecond));
}

// Whether the sweep, or what one of its systems makes of it, is so.
bool AnyIs(const v1::SweepSpec& sweep, bool (*is)(const v1::SweepSpec&)) {
  return is(sweep) || std::ranges::any_of(sweep.systems(), is, &v1::System::with);
}

// What it costs hangs on the vocabulary of a published model, which is in its folder.
bool HasFolder(const v1::SweepSpec& sweep) { return !sweep.model().folder().empty(); }

// What it counts of memory has biases of FIRE's pairs.
bool HasFire(const v1::SweepSpec& sweep) {
  return std::ranges::any_of(sweep.axes().encoding(), [](const std::string& encoding) { return catalog::ParseEncodingName(encoding).value_or(catalog::EncodingName{}).name == "fire"; });
}

const std::string& Details() {
  static const std::string details = fmt::format("{}\nJobs that have failed are not to run, and no cost covers them: a submission leaves them so, and 'longreach retry' or\n'run --retry-failed' tries them again.\nAs json the hours on the workers at hand are null until some of such jobs have been measured.", kSpecDetails);
  return details;
}

class PlanCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupRun,
            .summary = "Say what a sweep would run and cost, changing nothing",
            .details = Details(),
            .examples =
                "longreach plan table-b1\n"
                "longreach plan table-b1 --set training.steps=1000 --store longreach.db\n"
                "longreach plan sweep.yaml -o json"};
  }
  void AddOptions(CLI::App& app) override { spec_.AddTo(app); }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::vector<LoadedSweep> sweeps, spec_.Load());
    ASSIGN_OR_RETURN(Connection * connection,
                     session.Connect(StoreUse::kExistingOrNone, /*embed_by_default=*/true));
    PartsOutput json(session, sweeps.size() > 1);
    bool counts_a_vocabulary = false, counts_pairs = false;
    for (const LoadedSweep& one : sweeps) {
      const absl::StatusOr<v1::SubmitSweepResponse> response = DryRun(*connection, one.file);
      if (!response.ok()) return sweeps.size() > 1 ? InPart(response.status(), one) : response.status();
      const std::string& name = one.file.spec.name().empty() ? one.source.spec : one.file.spec.name();
      if (session.json()) {
        json.AddJson(name, "plan", JsonWithPlan(response->plan(), response->plan()));
      } else {
        Print(session, name, response->plan());
      }
      SayOfUnusedSettings(session, response->plan());
      SayOfTestLengths(session, one.file.spec);
      SayWhereTestsAloneDiffer(session, *connection, one.file.spec, response->plan(), /*own=*/"");
      if (response->plan().pack_memory_bytes() > 0) {
        counts_a_vocabulary |= AnyIs(one.file.spec, HasFolder);
        counts_pairs |= AnyIs(one.file.spec, HasFire);
      }
    }
    if (counts_pairs) {
      session.Say("memory has what FIRE's biases keep of each pair of positions, in the engine that keeps more: LibTorch's, as on a GPU, or of algorithmic tasks and pairs of sequences the fast one for CPUs");
    }
    if (counts_a_vocabulary) {
      session.Say(fmt::format("compute, memory and checkpoints are those of a vocabulary of {} tokens: a published model's own is in its folder, which is not read here",
                              Thousands(catalog::kPublishedVocabulary)));
    }
    if (session.json()) {
      json.Finish();
      return kDone;
    }
    if (sweeps.size() > 1) session.Say("each plan counts the jobs that it shares with others; they are done once");
    const std::string run = fmt::format("'{}'", RunLine(spec_, WhereFlags(session)));
    if (session.embedded() != nullptr) {
      session.Say(fmt::format("nothing was changed; {} runs it here, 'longreach submit' hands it to a scheduler", run));
    } else if (!session.store().empty()) {  // Who trains has a store alone, and would be refused now.
      session.Say(fmt::format("nothing was changed; another command works on this store: once that has ended, {} runs it here", run));
    } else {
      session.Say(fmt::format("nothing was changed; {} hands it to that scheduler and waits for it", run));
    }
    return kDone;
  }

 private:
  static void Print(Session& session, const std::string& name, const v1::Plan& plan) {
    const auto tell = [&session](std::string_view what, const std::string& text) { session.Tell(text, fmt::format("  {:15}", what)); };
    const bool one = plan.failed() == 1;
    session.Tell(fmt::format("{}: {}, {} done, {}{} to run", Printable(name), Count(plan.jobs(), "job"), Thousands(plan.done()),
                             plan.failed() == 0 ? "" : Thousands(plan.failed()) + " failed, ", Thousands(int64_t{plan.jobs()} - plan.done() - plan.failed())));
    if (plan.failed() > 0) {
      tell("failed", fmt::format("{}, which {} so; 'longreach retry SWEEP', once it is submitted, or 'run --retry-failed' tries {} again", Count(plan.failed(), "job"),
                                 one ? "stays" : "stay", one ? "it" : "them"));
    }
    if (plan.prerequisites() > 0) tell("prerequisites", fmt::format("{} outside of the sweep, {} done", Count(plan.prerequisites(), "job"), Thousands(plan.prerequisites_done())));
    tell("packs", Thousands(plan.packs()));
    if (!plan.data_sets().empty()) {
      tell("data", fmt::format("{}; 'longreach data list' says what this machine has", Printable(Join({plan.data_sets().begin(), plan.data_sets().end()}, ", "))));
    }
    // Of a published model they are its folder's, which the scheduler never sees.
    if (plan.pack_memory_bytes() > 0) {
      tell("compute", ComputeText(plan.flops()));
      tell("memory", fmt::format("{} for parameters, gradients and Adam of the largest pack, beside activations", HumanBytes(plan.pack_memory_bytes())));
      tell("checkpoints", HumanBytes(plan.checkpoint_bytes()));
    }
    tell("time", TimeText(plan));
  }

  SpecArguments spec_;
};

}  // namespace

std::unique_ptr<Command> Make_plan() { return std::make_unique<PlanCommand>(); }

}  // namespace longreach::client
