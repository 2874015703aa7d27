/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU as a device: its state, which the files of this folder share. */
#ifndef DEVICE_CUDA_GPU_H
#define DEVICE_CUDA_GPU_H

#include <pthread.h>

#include "device/cuda.h"
#include "device/cuda/driver.h"

enum { CUDA_MAX_GPUS = 32 };

typedef struct cuda_gpu {
    device device; /* must come first: a `device *` is cast to cuda_gpu */
    char name[20]; /* "cuda:0" */
    const cuda_driver *driver;
    int handle; /* CUdevice */
    int major, minor, multiprocessors, shared_optin;
    pthread_mutex_t lock; /* guards the members below */
    cu_context
        context; /* the GPU's primary context, kept until the process ends; NULL: not created yet */
    cu_pool pool;
    struct cublasLtContext *blas; /* handle of cuBLASLt; NULL: not used so far */
    pthread_mutex_t code_lock;    /* guards `codes`; held while code is compiled */
    cuda_code *codes;             /* list of the loaded code */
} cuda_gpu;

typedef struct cuda_staging cuda_staging;

typedef struct cuda_stream {
    device_stream stream;
    cu_stream handle;
    cuda_staging *staging;
    bool captured;              /* between graph_begin and graph_end */
    cuda_code *carry;           /* the kernel of carry.c; NULL: not loaded so far */
    cuda_function *carry_entry; /* of `carry` */
} cuda_stream;

typedef struct cuda_graph {
    device_graph graph;
    cu_graph_exec handle;
} cuda_graph;

typedef struct cuda_event {
    device_event event;
    cu_event handle;
    cuda_staging *staging; /* of the stream that recorded it; NULL: not recorded */
    uint64_t mark;         /* the copies of `staging` before it */
} cuda_event;

static inline cuda_gpu *gpu_of(device *d)
{
    return (cuda_gpu *)d;
}

extern const device_functions DEVICE_CUDA_FUNCTIONS;

/* Registers the GPUs of the machine as "cuda:0", "cuda:1" ... once; after a failure the next call
 * tries again. */
pgy_status cuda_register_gpus(pgy_error *err) PGY_MUST_CHECK;

/* Makes the GPU's context current in this thread until gpu_leave; the first call creates the
 * context. */
pgy_status gpu_enter(cuda_gpu *g, pgy_error *err) PGY_MUST_CHECK;
void gpu_leave(cuda_gpu *g);
/* Turns a CUresult into a status. `doing` follows "while" in the error: "copying 64 bytes to the
 * host". */
pgy_status gpu_check(cuda_gpu *g, int code, const char *doing, pgy_error *err) PGY_MUST_CHECK;

/* ---- memory.c ---- */
pgy_status cuda_allocate(void **out, device_stream *s, size_t size_bytes, pgy_error *err);
void cuda_release(device_stream *s, void *memory);
pgy_status cuda_allocate_shared(void **out, device *d, size_t size_bytes, pgy_error *err);
void cuda_release_shared(device *d, void *memory);
pgy_status cuda_copy(device_stream *s, void *to, const void *from, size_t size_bytes,
                     device_direction direction, pgy_error *err);
pgy_status cuda_fill(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err);

/* ---- stream.c ---- */
pgy_status cuda_stream_create(device_stream **out, device *d, pgy_error *err);
void cuda_stream_destroy(device_stream *s);
pgy_status cuda_stream_synchronize(device_stream *s, pgy_error *err);
pgy_status cuda_event_create(device_event **out, device *d, pgy_error *err);
void cuda_event_destroy(device_event *e);
pgy_status cuda_event_record(device_event *e, device_stream *s, pgy_error *err);
pgy_status cuda_event_wait(device_stream *s, device_event *e, pgy_error *err);
pgy_status cuda_event_synchronize(device_event *e, pgy_error *err);
pgy_status cuda_event_elapsed(double *out_ns, device_event *from, device_event *to, pgy_error *err);

/* ---- carry.c ---- */
pgy_status cuda_carry(device_stream *s, void *to, const void *from, size_t size_bytes,
                      pgy_error *err);

/* ---- graph.c ---- */
pgy_status cuda_graph_begin(device_stream *s, pgy_error *err);
pgy_status cuda_graph_end(device_graph **out, device_stream *s, pgy_error *err);
pgy_status cuda_graph_launch(device_graph *g, device_stream *s, pgy_error *err);
void cuda_graph_destroy(device_graph *g);

#endif
