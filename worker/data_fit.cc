#include "worker/data_fit.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "worker/agent/spec_to_settings.h"
#include "worker/refused.h"
#include "worker/trainer/train.h"

namespace longreach {
namespace {

absl::Status CheckFits(const std::filesystem::path& folder, const std::string& job) {
  v1::JobSpec spec;
  if (!google::protobuf::util::JsonStringToMessage(job, &spec).ok()) return absl::InvalidArgumentError(fmt::format("'{}' is no job's specification", job));
  ASSIGN_OR_RETURN(const trainer::PackSettings settings, agent::SettingsOf(spec));
  return trainer::CheckPublished(settings, {.folder = folder, .sha256 = ""});
}

}  // namespace

int SayWhichFit(const std::filesystem::path& folder, const std::vector<std::string>& jobs, bool json) {
  for (const std::string& job : jobs) {
    if (const absl::Status fits = CheckFits(folder, job); !fits.ok()) return Refused(fits, json);
    fmt::print("fits\n");
  }
  return 0;
}

}  // namespace longreach
