#include "client/commands/sweep_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "client/commands/listings.h"
#include "client/commands/suggestions.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/parts.h"
#include "proto/base/text.h"
#include "proto/catalog/sequence_kinds.h"
#include "proto/catalog/usual_lengths.h"

namespace longreach::client {
namespace {

using Lengths = google::protobuf::RepeatedField<int32_t>;

const Lengths& OwnOr(const Lengths& own, const Lengths& others) { return own.empty() ? others : own; }

// The sentence, or "".
std::string TestsWithinTraining(const Lengths& trained, const Lengths& tested) {
  const int first = trained.empty() ? catalog::kFirstTrainedLength : *std::ranges::min_element(trained);
  const int last = trained.empty() ? catalog::kLastTrainedLength : *std::ranges::max_element(trained);
  Lengths tests = tested;
  for (int length = catalog::kFirstTestedLength; tested.empty() && length <= catalog::kLastTestedLength; ++length) tests.Add(length);
  const auto within = std::ranges::count_if(tests, [&](int32_t length) { return length >= first && length <= last; });
  if (within == 0) return "";
  return fmt::format("{} of {} {} within the training lengths, {} to {}: {}", Thousands(within), Count(tests.size(), "test length"),
                     within == 1 ? "is" : "are", first, last, within == tests.size() ? "nothing is tested beyond them" : "a value over all lengths is of both");
}

bool Trains(const v1::Training& training) { return !training.has_steps() || training.steps() > 0; }

// Those at which the weights that are tested were trained: by the job, or by what made those of a job that trains nothing. Empty: the default.
// nullopt: by nothing that the sweep knows.
std::optional<Lengths> TrainedLengths(const v1::SweepSpec& sweep, const v1::Training& training, const google::protobuf::RepeatedPtrField<v1::Input>& inputs) {
  if (Trains(training)) return training.lengths();
  const auto weights = std::ranges::find(inputs, "weights", &v1::Input::artifact);
  if (weights == inputs.end()) return std::nullopt;
  const v1::SweepSpec& from = weights->from();
  if (from.has_training()) return TrainedLengths(sweep, from.training(), from.inputs());
  return Trains(sweep.training()) ? sweep.training().lengths() : Lengths();  // A job that trains nothing lends no training.
}

// Of the jobs of a sweep that have this of their own.
std::string TestsWithinTraining(const v1::SweepSpec& sweep, const v1::SweepSpec& own) {
  v1::Training training = sweep.training();
  if (!own.training().lengths().empty()) training.clear_lengths();
  training.MergeFrom(own.training());
  const std::optional<Lengths> trained = TrainedLengths(sweep, training, own.inputs().empty() ? sweep.inputs() : own.inputs());
  return trained ? TestsWithinTraining(*trained, OwnOr(own.evaluation().lengths(), sweep.evaluation().lengths())) : "";
}

// Of the first of them of which there is something to say, with its name where it is not so of all: others may test beyond what they are trained at.
std::string TestsOfSystemsWithinTraining(const v1::SweepSpec& sweep) {
  std::optional<std::string> of_first;
  std::string said, name;
  bool alike = true;
  for (const v1::System& system : sweep.systems()) {
    const std::string one = TestsWithinTraining(sweep, system.with());
    if (!of_first) of_first = one;
    alike = alike && one == *of_first;
    if (said.empty() && !one.empty()) std::tie(said, name) = std::tie(one, system.name());
    if (!alike && !said.empty()) break;
  }
  return alike ? said : fmt::format("system '{}': {}", Printable(name), said);
}

// Dynamic NTK changes RoPE's base in sequences beyond the length of training. Nothing is said of tests that the sweep leaves to the defaults, which are
// long, or of a published model's own length.
bool DynamicNtkIsPlain(const v1::SweepSpec& sweep, const v1::SweepSpec& own) {
  const v1::Positions &positions = sweep.positions(), &own_positions = own.positions();
  const v1::Evaluation &tests = sweep.evaluation(), &own_tests = own.evaluation();
  if ((own_positions.has_rope_scaling() ? own_positions : positions).rope_scaling() != "dynamic") return false;
  const int32_t begins = (own_positions.has_original_length() ? own_positions : positions).original_length();
  const Lengths& lengths = OwnOr(own_tests.lengths(), tests.lengths());
  const auto is_beyond = [begins](int32_t length) { return length > begins; };
  return begins > 0 && !lengths.empty() && std::ranges::none_of(lengths, is_beyond) &&
         std::ranges::none_of(OwnOr(own_tests.passkey_lengths(), tests.passkey_lengths()), is_beyond) && tests.longbench().empty() && own_tests.longbench().empty();
}

void SayWhereDynamicNtkIsPlain(Session& session, const v1::SweepSpec& sweep) {
  constexpr std::string_view kPlain = "no test is longer than positions.original_length, so that 'dynamic' is rope without scaling in all of them";
  if (sweep.experiment() != "llama") return;
  if (sweep.systems().empty() && DynamicNtkIsPlain(sweep, {})) session.Say(std::string(kPlain));
  std::vector<std::string> systems;
  for (const v1::System& system : sweep.systems()) {
    if (DynamicNtkIsPlain(sweep, system.with())) systems.push_back(system.name());
  }
  if (systems.empty()) return;
  const std::string others = systems.size() == 1 ? "" : fmt::format(" and {}", Count(static_cast<int64_t>(systems.size()) - 1, "other system"));
  session.Say(fmt::format("system {}{}: {}", Printable(systems.front()), others, kPlain));
}

}  // namespace

absl::StatusOr<v1::Sweep> FindSweep(Connection& connection, const std::string& sweep) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  return connection.Call(&Connection::Stub::GetSweep, request);
}

absl::Status ForEachJobPage(Connection& connection, v1::ListJobsRequest question, const std::function<absl::Status(v1::ListJobsResponse&)>& use) {
  do {
    ASSIGN_OR_RETURN(v1::ListJobsResponse page, connection.Call(&Connection::Stub::ListJobs, question));
    RETURN_IF_ERROR(use(page));
    question.set_page_token(page.next_page_token());
  } while (!question.page_token().empty());
  return absl::OkStatus();
}

v1::SubmitSweepRequest SubmissionOf(const SweepFile& file) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = file.spec;
  if (file.has_table) *request.mutable_table() = file.table;
  return request;
}

int64_t OpenJobs(const v1::Sweep& sweep) { return int64_t{sweep.counts().waiting()} + sweep.counts().queued() + sweep.counts().leased(); }

absl::StatusOr<v1::SubmitSweepResponse> DryRun(Connection& connection, const SweepFile& file) {
  v1::SubmitSweepRequest request = SubmissionOf(file);
  request.set_dry_run(true);
  const absl::StatusOr<v1::SubmitSweepResponse> planned = connection.Call(&Connection::Stub::SubmitSweep, request, std::chrono::minutes(10));
  return planned.ok() ? planned : file.places.WithPlace(planned.status());
}

void SayIfNameIsTaken(Session& session, Connection& connection, const v1::SubmitSweepResponse& submitted) {
  if (session.settings().quiet || !submitted.created()) return;
  const v1::Sweep& sweep = submitted.sweep();
  const absl::StatusOr<v1::ListSweepsResponse> all = connection.Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest());
  if (!all.ok()) return;  // It is submitted all the same.
  const auto others = std::ranges::count_if(all->sweeps(), [&](const v1::Sweep& other) { return other.name() == sweep.name() && other.id() != sweep.id(); });
  if (others == 0) return;
  const std::string name = Printable(sweep.name());
  session.Say(fmt::format("{} called '{}' too, so other commands need an id in place of the name: this one is {}, or 'last'; the same command with "
                          "'--set name=OTHER' makes a sweep of that name of the same jobs, which are trained once",
                          others == 1 ? "another sweep is" : fmt::format("{} other sweeps are", others), name, ShortId(sweep.id())));
}

void SayOfTestLengths(Session& session, const v1::SweepSpec& sweep) {
  SayWhereDynamicNtkIsPlain(session, sweep);
  if (!catalog::IsOfSequences(sweep.experiment())) return;
  if (const std::string said = sweep.systems().empty() ? TestsWithinTraining(sweep, v1::SweepSpec()) : TestsOfSystemsWithinTraining(sweep); !said.empty()) session.Say(said);
}

void SayOfUnusedSettings(Session& session, const v1::Plan& plan) {
  if (plan.unused().empty()) return;
  const bool one = plan.unused_size() == 1;
  session.Say(fmt::format("no job here uses {}: {} no difference, and may be left out", Printable(JoinWords({plan.unused().begin(), plan.unused().end()}, "or")),
                          one ? "it makes" : "they make"));
}

absl::StatusOr<std::vector<v1::Plan>> CheckParts(Connection& connection, const std::vector<LoadedSweep>& sweeps) {
  std::vector<v1::Plan> plans;
  if (sweeps.size() < 2) return plans;
  for (const LoadedSweep& one : sweeps) {
    const absl::StatusOr<v1::SubmitSweepResponse> planned = DryRun(connection, one.file);
    if (!planned.ok()) return InPart(planned.status(), one);
    plans.push_back(planned->plan());
  }
  return plans;
}

absl::StatusOr<v1::Sweep> Steer(Connection& connection, const std::string& sweep, v1::SteerSweepRequest::Action action, int priority) {
  v1::SteerSweepRequest request;
  request.set_sweep(sweep);
  request.set_action(action);
  request.set_priority(priority);
  return connection.Call(&Connection::Stub::SteerSweep, request, std::chrono::minutes(10));
}

absl::StatusOr<v1::Sweep> SteerJobs(Connection& connection, const std::string& sweep, v1::SteerSweepRequest::Action action, const std::vector<std::string>& only) {
  v1::SteerSweepRequest request;
  request.set_sweep(sweep);
  request.set_action(action);
  for (const std::string& one : only) request.add_only(one);
  return connection.Call(&Connection::Stub::SteerSweep, request, std::chrono::minutes(10));
}

absl::StatusOr<int> SteerSweep(Session& session, const std::string& sweep,
                               v1::SteerSweepRequest::Action action, int priority) {
  ASSIGN_OR_RETURN(Connection * connection, session.Connect());
  ASSIGN_OR_RETURN(const v1::Sweep after, Steer(*connection, sweep, action, priority));
  PrintSweep(session, after);
  return kDone;
}

std::string OthersOpen(Session& session, Connection& connection, const v1::Sweep& newest) {
  constexpr size_t kNamed = 3;
  if (session.settings().quiet || session.json()) return "";
  constexpr std::chrono::seconds kLittle{5};  // It is said beside the answer, and must not be waited for.
  const absl::StatusOr<v1::ListSweepsResponse> all = connection.Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest(), kLittle);
  if (!all.ok()) return "";
  std::vector<const v1::Sweep*> open;
  for (const v1::Sweep& other : all->sweeps()) {
    // What is left of a cancelled one is other sweeps'.
    if (other.id() != newest.id() && other.state() != "cancelled" && OpenJobs(other) > 0) open.push_back(&other);
  }
  if (open.empty()) return "";
  const size_t count = open.size();
  if (count > kNamed) open.resize(kNamed);
  std::map<std::string, int> called = {{newest.name(), 1}};
  for (const v1::Sweep* other : open) ++called[other->name()];
  // The same preset with other settings has the same name.
  const auto name = [&called](const v1::Sweep& sweep) {
    return called.at(sweep.name()) == 1 ? Printable(sweep.name()) : fmt::format("{} ({})", Printable(sweep.name()), ShortId(sweep.id()));
  };
  std::vector<std::string> names;
  for (const v1::Sweep* other : open) names.push_back(name(*other));
  return fmt::format("sweep {} is the newest; {} {} open: {}{}; 'longreach sweeps{}' shows all of them", name(newest), count,
                     count == 1 ? "other is" : "others are", Join(names, ", "), count > kNamed ? ", ..." : "", WhereFlags(session));
}

absl::StatusOr<v1::SweepUpdate> SweepState(Connection& connection, const std::string& sweep) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  const auto reader = connection.stub().WatchSweep(&context, request);
  v1::SweepUpdate update;
  if (reader->Read(&update)) {
    context.TryCancel();
    reader->Finish();
    return update;
  }
  const grpc::Status status = reader->Finish();
  if (status.ok()) return absl::InternalError("the scheduler sent no state of the sweep");
  return connection.Translate(NotCalledOff(status));
}

}  // namespace longreach::client
