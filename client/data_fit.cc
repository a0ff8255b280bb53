#include "client/data_fit.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/program_answer.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/usual_positions.h"
#include "proto/types/sweep_parts.h"

namespace longreach::client {
namespace {

// An argument of a command line each. What is beyond is told by the job itself.
constexpr size_t kMostNeeds = 200;

// The longest says it for all: what is read is too short for it, or for none.
template <typename Lengths>
void AddLongest(const Lengths& from, google::protobuf::RepeatedField<int32_t>& to) {
  if (!from.empty()) to.Add(*std::ranges::max_element(from));
}

// What short documents are to it depends on these.
void AddProtocol(const v1::Evaluation& from, v1::Evaluation& to) {
  if (!from.has_perplexity_protocol()) return;
  to.set_perplexity_protocol(from.perplexity_protocol());
  to.set_stride(from.stride());
  to.set_position_bins(from.position_bins());
}

// Of the lengths of images each is a size of its own, and of those of pairs each has pairs of its own. A job's ascend.
void AddAscending(const google::protobuf::RepeatedField<int32_t>& from, google::protobuf::RepeatedField<int32_t>& to) {
  for (const int32_t length : std::set<int32_t>(from.begin(), from.end())) to.Add(length);
}

// How long the tape of a pair is, the data alone says; the encoding, how many positions there are for it.
void AddPositionsOfPairs(const v1::SweepSpec& sweep, const catalog::EncodingName& encoding, v1::JobSpec& job) {
  job.set_encoding(encoding.name);
  job.set_randomized(encoding.randomized);
  int64_t longest = 0;
  for (const int32_t length : job.training().lengths()) longest = std::max<int64_t>(longest, length + 1);
  for (const int32_t length : job.evaluation().lengths()) longest = std::max<int64_t>(longest, length + 1);
  const int usual = catalog::PositionsFor(longest);
  const v1::Positions& positions = sweep.positions();
  v1::Positions& asked = *job.mutable_positions();
  asked.set_max_position(positions.has_max_position() ? positions.max_position() : usual);
  if (positions.has_shift_max()) asked.set_shift_max(positions.shift_max());
  if (positions.has_shift_at_test()) asked.set_shift_at_test(positions.shift_at_test());
  job.mutable_model()->set_learned_rows(sweep.model().has_learned_rows() ? sweep.model().learned_rows() : usual);
  // Whether pairs have positions of their own, and whether there are rows for all.
  if (positions.has_data_rows()) asked.set_data_rows(positions.data_rows());
  if (positions.has_data_shift()) asked.set_data_shift(positions.data_shift());
}

// Of jobs that train a model of their own; without data where those of the task read none. But of pairs all encodings ask the same, and so does any size of the
// model.
v1::JobSpec NeedOfOwnModel(const v1::SweepSpec& sweep, const std::string& task, const catalog::EncodingName& encoding) {
  v1::JobSpec job;
  const catalog::DataTask* const known = catalog::FindDataTask(task);
  if (known == nullptr || known->experiment != sweep.experiment()) return job;
  job.set_experiment(sweep.experiment());
  job.set_data(sweep.data().empty() ? task : sweep.data());
  job.set_task(task);
  job.set_encoding("none");
  v1::Model& asked = *job.mutable_model();
  const v1::Model& model = sweep.model();
  if (model.has_classes()) asked.set_classes(model.classes());
  if (model.has_row_delimiter()) asked.set_row_delimiter(model.row_delimiter());
  if (model.has_count_delimiters()) asked.set_count_delimiters(model.count_delimiters());
  const v1::Training& training = sweep.training();
  v1::Training& asked_training = *job.mutable_training();
  if (training.has_steps()) asked_training.set_steps(training.steps());
  if (!training.has_steps() || training.steps() > 0) {
    AddAscending(training.lengths(), *asked_training.mutable_lengths());
    *asked_training.mutable_mixture() = training.mixture();
    *asked_training.mutable_mixture_weights() = training.mixture_weights();
  }
  AddAscending(sweep.evaluation().lengths(), *job.mutable_evaluation()->mutable_lengths());
  if (sweep.experiment() == "sequences") AddPositionsOfPairs(sweep, encoding, job);
  AddProtocol(sweep.evaluation(), *job.mutable_evaluation());
  return job;
}

// `sweep` is without systems. What it leaves out is left out: the job itself looks at what is usual.
v1::JobSpec NeedOf(const v1::SweepSpec& sweep, const std::string& task, const std::string& encoding) {
  const catalog::EncodingName name = catalog::ParseEncodingName(encoding).value_or(catalog::EncodingName{.name = encoding});
  if (sweep.model().folder().empty()) return NeedOfOwnModel(sweep, task, name);
  v1::JobSpec job;
  job.set_experiment(sweep.experiment());
  job.set_data(sweep.data());
  job.set_task(task);
  job.set_encoding(name.name);
  const v1::Model& model = sweep.model();
  v1::Model& asked = *job.mutable_model();
  asked.set_folder(model.folder());
  if (model.has_layers()) asked.set_layers(model.layers());
  if (model.has_embedding_dim()) asked.set_embedding_dim(model.embedding_dim());
  if (model.has_heads()) asked.set_heads(model.heads());
  if (model.has_kv_heads()) asked.set_kv_heads(model.kv_heads());
  if (model.has_mlp_dim()) asked.set_mlp_dim(model.mlp_dim());
  if (sweep.positions().has_rope_scaling()) job.mutable_positions()->set_rope_scaling(sweep.positions().rope_scaling());
  const v1::Training& training = sweep.training();
  if (training.has_steps()) job.mutable_training()->set_steps(training.steps());
  if (!training.has_steps() || training.steps() > 0) {
    AddLongest(training.lengths(), *job.mutable_training()->mutable_lengths());
    *job.mutable_training()->mutable_mixture() = training.mixture();
  }
  const v1::Evaluation& tests = sweep.evaluation();
  v1::Evaluation& asked_tests = *job.mutable_evaluation();
  AddLongest(tests.lengths(), *asked_tests.mutable_lengths());
  AddProtocol(tests, asked_tests);
  if (!tests.longbench().empty()) {
    asked_tests.set_longbench(tests.longbench());
    *asked_tests.mutable_longbench_tasks() = tests.longbench_tasks();
  }
  if (!tests.passkey_lengths().empty()) asked_tests.add_passkey_lengths(tests.passkey_lengths(0));  // Any of them needs the tokenizer.
  return job;
}

std::string JsonOfNeed(const v1::JobSpec& job) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(job, &text, options);  // Only bytes that are no UTF-8 fail, which no sweep has.
  return text;
}

// As the scheduler says whose field it is. What is no field's is of data sets.
std::string WithOwner(const DataNeed& need, const std::string& words, bool begins_with_field) {
  constexpr std::string_view kEncoding = "encoding: ";
  std::string said = words.starts_with(kEncoding) ? "axes." + words : words;
  if (!need.input.empty()) said = fmt::format("{}{}{}", need.input, begins_with_field ? "." : ": ", said);
  return need.system.empty() ? said : fmt::format("systems.{}: {}", need.system, said);
}

absl::StatusCode CodeOf(int exit_code) {
  if (exit_code == kUsage) return absl::StatusCode::kInvalidArgument;
  return exit_code == kNotFound ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition;
}

// The kind of data set that a job's training and tests read, as 'longreach data import' takes it.
std::string CorpusOf(const v1::JobSpec& job) {
  if (job.experiment() == "images") return "images";
  if (job.experiment() == "sequences") return "pairs";
  return job.task() == "tokens" ? "tokens" : "text";
}

class Needs {
 public:
  explicit Needs(const v1::Plan& plan) : read_(plan.data_sets().begin(), plan.data_sets().end()) {}

  // `sweep` is without systems, `input` as in DataNeed.
  void Add(const std::string& system, const std::string& input, const v1::SweepSpec& sweep) {
    for (const std::string& task : sweep.axes().task()) {
      for (const std::string& encoding : sweep.axes().encoding()) {
        if (all_.size() >= kMostNeeds) return;
        AddOne({.system = system, .input = input, .job = NeedOf(sweep, task, encoding)});
        v1::Axes axes;
        axes.add_task(task);
        axes.add_encoding(encoding);
        for (const v1::Input& made : sweep.inputs()) {
          Add(system, fmt::format("{}{}inputs.{}.from", input, input.empty() ? "" : ".", made.name()), MakerSweep(made, axes, sweep));
        }
      }
    }
  }

  const std::vector<DataNeed>& all() const { return all_; }

 private:
  void AddOne(DataNeed need) {
    const auto is_read = [this](const std::string& name) { return read_.contains(name); };
    const std::vector<std::string> names = DataSetsOf(need.job);
    if (names.empty() || !std::ranges::all_of(names, is_read)) return;
    if (known_.insert(need.job.SerializeAsString()).second) all_.push_back(std::move(need));
  }

  std::set<std::string> read_;
  std::set<std::string> known_;
  std::vector<DataNeed> all_;
};

}  // namespace

std::vector<DataNeed> DataNeedsOf(const v1::SweepSpec& sweep, const v1::Plan& plan) {
  Needs needs(plan);
  v1::SweepSpec plain = sweep;
  plain.clear_systems();
  if (sweep.systems().empty()) needs.Add("", "", plain);
  for (const v1::System& system : sweep.systems()) needs.Add(system.name(), "", WithSystem(plain, system));
  return needs.all();
}

std::vector<std::string> DataSetsOf(const v1::JobSpec& job) {
  std::vector<std::string> names = {job.model().folder(), job.data(), job.evaluation().longbench()};
  names.insert(names.end(), job.training().mixture().begin(), job.training().mixture().end());
  std::erase(names, "");
  return names;
}

std::map<std::string, std::string> DataSetsOf(const v1::SweepSpec& sweep, const v1::Plan& plan) {
  std::map<std::string, std::string> sets;
  for (const std::string& name : plan.data_sets()) sets.emplace(name, "");
  for (const DataNeed& need : DataNeedsOf(sweep, plan)) {
    const v1::JobSpec& job = need.job;
    const std::string corpus = CorpusOf(job);
    for (const std::string& name : DataSetsOf(job)) {
      sets[name] = name == job.model().folder() ? "model" : name == job.evaluation().longbench() ? "longbench" : corpus;
    }
  }
  return sets;
}

absl::StatusOr<std::optional<int>> CheckDataFits(Session& session, const v1::SweepSpec& sweep, const v1::Plan& plan, const WorkerOptions& options,
                                                 const InterruptScope& interrupt, std::chrono::milliseconds patience) {
  const std::vector<DataNeed> needs = DataNeedsOf(sweep, plan);
  if (needs.empty()) return std::optional<int>();
  std::vector<std::string> arguments = {"data", "fit"};
  if (!options.data_folder.empty()) arguments.insert(arguments.end(), {"--data-folder", options.data_folder});
  for (const DataNeed& need : needs) arguments.push_back(JsonOfNeed(need.job));
  ASSIGN_OR_RETURN(Process process, StartWorkerProgram(session.environment().binaries, arguments));
  const ProgramAnswer answer = AnswerOf(process, patience, interrupt);
  if (answer.end == ProgramAnswer::End::kInterrupted) return std::optional<int>(interrupt.exit_code());
  if (answer.end == ProgramAnswer::End::kGaveUp) {  // One that is slow is not unfit.
    session.Say(fmt::format("longreach-worker has not said within {} whether the data sets are what the sweep asks of them; each job looks when it begins",
                            HumanDuration(std::chrono::duration<double>(patience).count())));
    return std::optional<int>();
  }
  if (answer.exit_code == kDone) return std::optional<int>();
  const auto fitting = static_cast<size_t>(std::ranges::count(answer.out, '\n'));
  const std::string words = LastWords(process, "longreach-worker");
  return Error(CodeOf(answer.exit_code), Printable(WithOwner(needs[std::min(fitting, needs.size() - 1)], words, answer.exit_code == kUsage)), "nothing was submitted");
}

}  // namespace longreach::client
