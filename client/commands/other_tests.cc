#include "client/commands/other_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "client/commands/sweep_calls.h"
#include "client/output/text.h"
#include "client/spec/spec_differences.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// Of more jobs another plan takes longer than a note is worth.
constexpr int32_t kMostJobsCompared = 10'000;
// Sweeps of the store whose specifications are asked for, and other evaluations of them that are planned with.
constexpr size_t kMostSweepsAsked = 8;
constexpr int kMostPlans = 3;
// For all of these plans together.
constexpr std::chrono::seconds kPatienceForPlans{5};

// A scheduler that is away or has much to do is asked no more for the sake of a note.
bool AnswersNoMore(const absl::Status& status) { return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status); }

}  // namespace

bool TrainsNothing(const v1::SweepSpec& sweep) {
  const auto says_steps = [](const v1::SweepSpec& spec) { return spec.training().has_steps(); };
  const auto says_none = [&says_steps](const v1::SweepSpec& spec) { return says_steps(spec) && spec.training().steps() == 0; };
  const bool none_of_its_own = says_none(sweep);
  if (sweep.systems().empty()) return none_of_its_own;
  return std::ranges::all_of(sweep.systems(), [&](const v1::System& system) { return says_steps(system.with()) ? says_none(system.with()) : none_of_its_own; });
}

std::vector<std::string> SweepsWithTests(const v1::ListSweepsResponse& all, const std::string& name, const std::string& own) {
  std::vector<std::string> ids;
  for (const bool named : {true, false}) {
    for (const v1::Sweep& sweep : all.sweeps()) {
      if (ids.size() == kMostSweepsAsked) return ids;
      if ((sweep.name() == name) == named && sweep.id() != own && sweep.counts().succeeded() > 0) ids.push_back(sweep.id());
    }
  }
  return ids;
}

std::string TestsAloneDiffer(const v1::Sweep& other, const v1::Evaluation& ours, int32_t done, int32_t jobs) {
  v1::SweepSpec one, two;
  *one.mutable_evaluation() = ours;
  *two.mutable_evaluation() = other.spec().evaluation();
  std::set<std::string> fields = FieldsThatDiffer(one, two);
  fields.merge(FieldsThatDiffer(two, one));
  return fmt::format("with the evaluation of sweep {} {}, {} of these {} {} done: they differ in {}, and tests are part of a job, so what is tested otherwise is trained again; "
                     "'longreach spec {} --tests' is a file that tests the weights that are there",
                     ShortId(other.id()), Printable(other.name()), Thousands(done), Count(jobs, "job"), done == 1 ? "is" : "are", Printable(Join({fields.begin(), fields.end()}, ", ")), ShortId(other.id()));
}

void SayWhereTestsAloneDiffer(Session& session, Connection& connection, const v1::SweepSpec& sweep, const v1::Plan& plan, const std::string& own) {
  if (session.settings().quiet || plan.done() >= plan.jobs() || plan.jobs() > kMostJobsCompared || TrainsNothing(sweep)) return;
  const absl::StatusOr<v1::ListSweepsResponse> all = connection.Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest());
  if (!all.ok()) return;  // It is planned all the same; so below.
  std::set<std::string> seen = {sweep.evaluation().SerializeAsString()};
  int plans = 0;
  std::optional<v1::Sweep> nearest;
  int32_t done = plan.done();
  const auto end = std::chrono::steady_clock::now() + kPatienceForPlans;
  for (const std::string& id : SweepsWithTests(*all, sweep.name(), own)) {
    const absl::StatusOr<v1::Sweep> other = FindSweep(connection, id);
    if (AnswersNoMore(other.status())) break;
    if (!other.ok() || other->spec().experiment() != sweep.experiment()) continue;
    if (!seen.insert(other->spec().evaluation().SerializeAsString()).second) continue;
    const auto left = std::chrono::ceil<std::chrono::seconds>(end - std::chrono::steady_clock::now());
    if (++plans > kMostPlans || left.count() <= 0) break;
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = sweep;
    *request.mutable_spec()->mutable_evaluation() = other->spec().evaluation();
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> planned = connection.Call(&Connection::Stub::SubmitSweep, request, left);
    if (AnswersNoMore(planned.status())) break;
    if (!planned.ok() || planned->plan().done() <= done) continue;
    // The newest may have been a part of these jobs.
    done = planned->plan().done();
    nearest = *other;
    if (done == plan.jobs()) break;
  }
  if (nearest.has_value()) session.Say(TestsAloneDiffer(*nearest, sweep.evaluation(), done, plan.jobs()));
}

}  // namespace longreach::client
