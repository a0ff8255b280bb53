#include "worker/trainer/kernels/train_members.cuh"

namespace longreach::trainer::resident {

template cudaError_t LaunchTrainMembers<kOperands, Positional::kNone>(const StepArguments&, cudaStream_t);

}  // namespace longreach::trainer::resident
