#include "worker/trainer/problems/problem.h"

#include "worker/data/data_folder.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/problems/kinds.h"

namespace longreach::trainer {

namespace {

absl::StatusOr<std::unique_ptr<Problem>> Make(const PackSettings& settings, const DataSource* data) {
  const ExperimentKind* kind = FindExperimentKind(settings.experiment);
  if (kind == nullptr) return absl::InternalError("no experiment '" + settings.experiment + "': its settings were not validated");
  return kind->Make(settings, data);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeProblem(const PackSettings& settings, const DataSource& data) {
  DataSource source = data;
  if (source.folder.empty()) source.folder = data::DefaultDataFolder();
  return Make(settings, &source);
}

absl::Status CheckDataSets(const PackSettings& settings, const DataSource& data) {
  if (!settings.model.folder.empty()) return CheckPublished(settings, data, Known::kBytes);
  // What the settings by themselves are refused for may be this build's.
  if (settings.data.empty() || !Validate(settings).ok()) return absl::OkStatus();
  return Caught<std::unique_ptr<Problem>>([&] { return MakeProblem(settings, data); }).status();
}

std::unique_ptr<Problem> MakeStandIn(const PackSettings& settings) {
  absl::StatusOr<std::unique_ptr<Problem>> problem = Make(settings, nullptr);
  TORCH_CHECK(problem.ok(), std::string(problem.status().message()));
  return *std::move(problem);
}

}  // namespace longreach::trainer
