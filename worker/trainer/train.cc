#include "worker/trainer/train.h"

#include "worker/data/data_folder.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/device_memory.h"
#include "worker/trainer/llama/published.h"
#include "worker/trainer/own_stream.h"
#include "worker/trainer/problems/sequences.h"
#include "worker/trainer/session.h"
#include "worker/trainer/validate.h"

namespace longreach::trainer {

absl::StatusOr<PackResult> Train(const PackRequest& request, Observer& observer) {
  RETURN_IF_ERROR(ValidateRequest(request));
  for (const std::string& stamp : request.data.verified_stamps) data::TakeAsVerified(stamp);
  PackRequest resolved = request;
  RETURN_IF_ERROR(ReadPublished(resolved));
  RETURN_IF_ERROR(ReadPairs(resolved.settings, resolved.data));
  absl::StatusOr<PackResult> result = Caught<PackResult>([&] {
    const OwnStream own(request.cuda);
    return Session(resolved, observer).Run();
  });
  ReleaseDeviceMemory(request.cuda);
  return result;
}

}  // namespace longreach::trainer
