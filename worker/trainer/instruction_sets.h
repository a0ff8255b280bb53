// Loops that the compiler makes vector code of are compiled once per instruction set and chosen when the
// program starts. Sums may differ in the last bit between instruction sets: they are part of what "device"
// means for a result's bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LONGREACH_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define LONGREACH_INLINE inline __attribute__((always_inline))
#else
#define LONGREACH_CLONES
#define LONGREACH_INLINE inline
#endif
