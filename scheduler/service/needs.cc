#include "scheduler/service/needs.h"

#include <iterator>
#include <utility>

#include <google/protobuf/util/json_util.h>

#include "proto/base/text.h"
#include "scheduler/experiments/registry.h"

namespace longreach::service {
namespace {

// Marks a name of a mixture. Data sets' names have none of it.
constexpr char kOfMixture = '+';

}  // namespace

DataSetNames DataSetNamesOf(const v1::JobSpec& spec) {
  const auto& mixture = spec.training().mixture();
  return {.corpus = spec.data(), .model = spec.model().folder(), .longbench = spec.evaluation().longbench(), .mixture = {mixture.begin(), mixture.end()}};
}

std::string JoinDataSets(const DataSetNames& names) {
  std::string data = names.corpus;
  for (const std::string& more : {names.model, names.longbench}) {
    if (more.empty()) break;
    data += " " + more;
  }
  for (const std::string& name : names.mixture) {
    data += " ";
    data += kOfMixture;
    data += name;
  }
  return data;
}

DataSetNames SplitDataSets(std::string_view data) {
  DataSetNames names;
  std::string* const places[] = {&names.corpus, &names.model, &names.longbench};
  size_t place = 0;
  for (const std::string& name : Split(data, ' ')) {
    if (name.starts_with(kOfMixture)) {
      names.mixture.push_back(name.substr(1));
    } else if (place < std::size(places)) {
      *places[place++] = name;
    }
  }
  return names;
}

std::vector<std::string> AllOf(const DataSetNames& names) {
  std::vector<std::string> all = {names.corpus, names.model, names.longbench};
  all.insert(all.end(), names.mixture.begin(), names.mixture.end());
  std::erase(all, "");
  return all;
}

int MostInPack(const v1::JobSpec& spec) {
  const experiments::Kind* kind = experiments::FindKind(spec.experiment());
  return kind == nullptr ? 1 : core::MembersOfMessage(spec.ByteSizeLong(), kind->MeasurementsOf(spec));
}

absl::StatusOr<core::Needs> NeedsOf(sql::Connection& db, const store::Requirement& requirement) {
  core::Needs needs{.experiment = requirement.experiment,
                    .task = requirement.task,
                    .task_revision = requirement.task_revision,
                    .encoding = requirement.encoding,
                    .encoding_revision = requirement.encoding_revision,
                    .model_revision = requirement.model_revision};
  for (std::string& name : AllOf(SplitDataSets(requirement.data))) {
    ASSIGN_OR_RETURN(std::optional<store::DataSetRow> bound, store::FindDataSet(db, name));
    needs.data_sets.push_back({.name = std::move(name), .sha256 = bound ? std::move(bound->sha256) : std::string()});
  }
  return needs;
}

bool SaysWhatItCanDo(const v1::Abilities& abilities) { return !abilities.name().empty() || !abilities.build().empty() || !abilities.experiments().empty(); }

std::optional<v1::Abilities> AbilitiesOf(const store::WorkerRow& worker) {
  v1::Abilities abilities;
  if (!google::protobuf::util::JsonStringToMessage(worker.abilities, &abilities).ok()) return std::nullopt;
  return abilities;
}

std::vector<v1::DamagedDataSet> DamagedDataSetsOf(const store::WorkerRow& worker) {
  // Hardly a worker has any, and a list may have thousands of workers, whose abilities take long to read.
  if (worker.abilities.find("damaged_data_sets") == std::string::npos) return {};
  const v1::Abilities abilities = AbilitiesOf(worker).value_or(v1::Abilities());
  return {abilities.damaged_data_sets().begin(), abilities.damaged_data_sets().end()};
}

std::string WhyUnable(const core::Needs& needs, const store::WorkerRow& worker) {
  const std::optional<v1::Abilities> abilities = AbilitiesOf(worker);
  if (!abilities) return "has told abilities that this program cannot read";
  return core::WhyUnable(needs, *abilities);
}

bool LacksOnlyData(const core::Needs& needs, const store::WorkerRow& worker) {
  const std::optional<v1::Abilities> abilities = AbilitiesOf(worker);
  return abilities && core::LacksOnlyData(needs, *abilities);
}

}  // namespace longreach::service
