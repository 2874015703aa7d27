/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver and NVRTC as tables of functions, opened when they are first needed. The types
 * are those of cuda.h and nvrtc.h, which are not needed to build. */
#ifndef DEVICE_CUDA_DRIVER_H
#define DEVICE_CUDA_DRIVER_H

#include "base/str.h"

typedef struct CUctx_st *cu_context;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUmemPoolHandle_st *cu_pool;
typedef struct CUgraph_st *cu_graph;
typedef struct CUgraphExec_st *cu_graph_exec;
typedef unsigned long long cu_address;
typedef struct _nvrtcProgram *rtc_program;

/* CUmemPoolProps */
typedef struct cu_pool_properties {
    int allocation, handles;
    struct {
        int type, id;
    } location;
    void *security;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
} cu_pool_properties;

/* CUlaunchAttribute */
typedef struct cu_launch_attribute {
    int id, padding;
    union {
        int number;
        char room[64];
    } value;
} cu_launch_attribute;

/* CUlaunchConfig */
typedef struct cu_launch {
    unsigned grid[3], block[3], shared_bytes;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch;

enum {
    CU_CLOCK_RATE = 13, /* attributes of a device */
    CU_MULTIPROCESSOR_COUNT = 16,
    CU_CAPABILITY_MAJOR = 75,
    CU_CAPABILITY_MINOR = 76,
    CU_SHARED_MEMORY_OPTIN = 97,
    CU_MEMORY_POOLS_SUPPORTED = 115,
    CU_FUNCTION_SHARED_BYTES = 1, /* attributes of a function */
    CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8,
    CU_FUNCTION_SHARED_PART = 9, /* percent of the first-level cache that is shared memory */
    CU_POOL_PINNED = 1,          /* values of members of cu_pool_properties */
    CU_POOL_ON_DEVICE = 1,
    CU_POOL_RELEASE_THRESHOLD = 4, /* attribute of a pool */
    CU_LAUNCH_EARLY = 6,           /* launch attribute: programmatic stream serialisation */
    CU_STREAM_NON_BLOCKING = 1,
    CU_CAPTURE_THREAD_LOCAL =
        1,          /* capture mode: calls of other threads do not disturb the capture */
    CU_MAP_U8 = 0, /* types of a tensor map */
    CU_MAP_F16 = 6,
    CU_MAP_BF16 = 9,
    CU_MAP_SWIZZLE_64 = 2,
    CU_MAP_SWIZZLE_128 = 3,
    CU_MAP_PROMOTE_128 = 2, /* whole lines of 128 bytes come to the second-level cache */
    CU_HOST_PORTABLE = 1,   /* flags of cuMemHostAlloc */
    CU_HOST_DEVICE_MAP = 2,
};

/* the CUresult codes for which we have texts of our own */
enum {
    CU_OUT_OF_MEMORY = 2,
    CU_NOT_INITIALIZED = 3,
    CU_DEINITIALIZED = 4,
    CU_STUB_LIBRARY = 34,
    CU_DEVICE_UNAVAILABLE = 46,
    CU_NO_DEVICE = 100,
    CU_ECC_UNCORRECTABLE = 214,
    CU_NVLINK_UNCORRECTABLE = 220,
    CU_CONTAINED = 226,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_TIMEOUT = 702,
    CU_CONTEXT_IS_DESTROYED = 709,
    CU_ASSERT = 710,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_LAUNCH_FAILED = 719,
    CU_DRIVER_MISMATCH = 803,
    CU_UNKNOWN = 999,
};

typedef struct cuda_driver {
#define X(member, symbol, arguments) int(*member) arguments;
#include "device/cuda/driver.def"
#undef X
    int version; /* 13000: CUDA 13.0 */
} cuda_driver;

typedef struct cuda_nvrtc {
#define X(member, symbol, arguments) int(*member) arguments;
#include "device/cuda/nvrtc.def"
#undef X
    int major, minor;
} cuda_nvrtc;

/* Opens the driver and initialises it, once in the process. A failure is not remembered.
 * PGY_E_NOT_FOUND: there is no driver, or it lacks functions; PGY_E_DEVICE: it finds no GPU or does
 * not work. */
pgy_status cuda_driver_open(const cuda_driver **out, pgy_error *err) PGY_MUST_CHECK;
/* Opens NVRTC in the same way. */
pgy_status cuda_nvrtc_open(const cuda_nvrtc **out, pgy_error *err) PGY_MUST_CHECK;

/* Appends "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected". */

void cuda_append_error(str *out, const cuda_driver *d, int code);

#endif
