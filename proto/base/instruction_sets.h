// The processor's matrix unit (Intel AMX).
#pragma once

namespace longreach {

// Whether it multiplies bfloat16, and the operating system lets this process use it: asked for at the first call, for all threads.
bool MayUseMatrixUnit();

}  // namespace longreach
