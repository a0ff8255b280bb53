#include "worker/trainer/train.h"

#include "worker/trainer/caught.h"
#include "worker/trainer/session.h"
#include "worker/trainer/validate.h"

namespace longreach::trainer {

absl::StatusOr<PackResult> Train(const PackRequest& request, Observer& observer) {
  RETURN_IF_ERROR(ValidateRequest(request));
  return Caught<PackResult>([&] { return Session(request, observer).Run(); });
}

}  // namespace longreach::trainer
