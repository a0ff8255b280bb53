#include "worker/trainer/kernels/current_stream.h"

#include <c10/cuda/CUDAStream.h>

namespace longreach::trainer {

cudaStream_t CurrentStream() { return c10::cuda::getCurrentCUDAStream(); }

}  // namespace longreach::trainer
