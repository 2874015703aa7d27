/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of CUDA devices need beyond device.h. Handles are the driver's; no CUDA header is
 * included and no CUDA library is linked.
 *
 *     cuda_code *c = NULL;
 *     cuda_function *f = NULL;
 *     pgy_status st = cuda_code_create(&c, d, "relu", RELU_SOURCE, (const char *[]){NULL}, err);
 *     if (!st) st = cuda_code_function(&f, c, "relu_f32", err);
 *     const cuda_grid g = {.grid = {blocks, 1, 1}, .block = {256, 1, 1}};
 *     if (!st) st = cuda_launch(s, f, &g, (void *[]){&x, &y, &count}, err);
 *
 * Code with the same name, source and options is compiled and loaded once for each device; its
 * owners share it.
 */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

#include "device/device.h"

typedef struct cuda_code cuda_code;         /* a loaded module */
typedef struct cuda_function cuda_function; /* borrowed from its cuda_code */

typedef struct cuda_grid {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic shared memory of a block */
} cuda_grid;

/* Compiles CUDA C++ text with NVRTC for the device's architecture, or takes the machine code from
 * the cache on disk, and loads it. Messages use `name`: "elementwise". `options` ends with NULL:
 * "-DTYPE=float". PGY_E_BACKEND with the compiler's first line if it refuses the source. */
pgy_status cuda_code_create(cuda_code **out, device *d, const char *name, const char *source,
                            const char *const *options, pgy_error *err) PGY_MUST_CHECK;
void cuda_code_destroy(cuda_code *c);
/* `entry` is declared extern "C" in the source. */
pgy_status cuda_code_function(cuda_function **out, cuda_code *c, const char *entry,
                              pgy_error *err) PGY_MUST_CHECK;

/* Enqueues one launch. Entry i of `args` points to argument i, which is copied. */
pgy_status cuda_launch(device_stream *s, const cuda_function *f, const cuda_grid *g, void **args,
                       pgy_error *err) PGY_MUST_CHECK;

/* Can blocks of a launch read each other's shared memory, in clusters (__cluster_dims__)? */
bool cuda_has_clusters(device *d);

/* Is it a Hopper GPU, whose kernels can multiply by groups of warps and copy by tensor maps? */
bool cuda_is_hopper(device *d);
uint32_t cuda_multiprocessors(device *d);

typedef enum cuda_element { CUDA_F16, CUDA_BF16, CUDA_BYTE } cuda_element;

/* A matrix of 16-bit floats or bytes in device memory, for the copy engine of Hopper GPUs: it
 * copies boxes of box_rows x box_columns elements between there and shared memory, where the rows
 * of a box are 128 bytes whose 16-byte parts are permuted within 8 rows, or 64 bytes. What lies outside the
 * matrix is 0 when it is read, and not written. */
typedef struct cuda_matrix {
    uint64_t address, row_bytes; /* multiples of 16 */
    uint64_t rows, columns;      /* below 2^32 */
    uint32_t box_rows, box_columns;
    cuda_element type;
} cuda_matrix;
/* CUtensorMap: a member of a kernel's argument. */
typedef struct cuda_tensor_map {
    _Alignas(64) uint64_t at[16];
} cuda_tensor_map;
pgy_status cuda_tensor_map_encode(cuda_tensor_map *out, device_stream *s, const cuda_matrix *m,
                                  pgy_error *err) PGY_MUST_CHECK;

/* An image of 16-bit floats or bytes, [batch][height][width][channels], for windows of
 * convolutions: the copy engine brings box_channels channels from box_pixels places where windows
 * start, in their order over rows and images, moved by the place of a tap. What lies outside the
 * image is 0. */
typedef struct cuda_image {
    uint64_t address;                        /* a multiple of 16 */
    uint64_t batch, height, width, channels; /* of a pixel: whole 16 bytes */
    int32_t first[2], last[2];               /* y and x where the first and last windows start */
    uint32_t stride[2];                      /* from one window to the next: 1 to 8 */
    uint32_t box_pixels, box_channels;
    cuda_element type;
} cuda_image;
/* Can the copy engine count the places of these windows? farthest: of a tap from the start. */
bool cuda_image_fits(const cuda_image *m, const uint32_t farthest[2]);
pgy_status cuda_tensor_map_encode_image(cuda_tensor_map *out, device_stream *s, const cuda_image *m,
                                        pgy_error *err) PGY_MUST_CHECK;

void *cuda_stream_handle(device_stream *s); /* CUstream, for libraries */

#endif
