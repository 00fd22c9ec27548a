#pragma once
// Marks what host and device code both call. C++17: device code includes it.

#if defined(__CUDACC__)
#define OFFSTAGE_HOST_DEVICE __host__ __device__
#else
#define OFFSTAGE_HOST_DEVICE
#endif
