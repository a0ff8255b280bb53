// Functions marked LONGREACH_HD are compiled for the CPU and, by nvcc, for the GPU too.
#pragma once

#if defined(__CUDACC__)
#define LONGREACH_HD __host__ __device__
#else
#define LONGREACH_HD
#endif
