/* SPDX-License-Identifier: Apache-2.0 */
/* Describes matrices and images for the copy engine of a GPU. */
#include <string.h>

#include "device/cuda/gpu.h"

static int code_of(cuda_element type)
{
    return type == CUDA_BF16 ? CU_MAP_BF16 : type == CUDA_F16 ? CU_MAP_F16 : CU_MAP_U8;
}

static uint32_t item_of(cuda_element type)
{
    return type == CUDA_BYTE ? 1 : 2;
}

/* How the 16-byte parts of rows of `bytes` bytes are permuted. */
static int swizzle_of(uint32_t bytes)
{
    return bytes <= 64 ? CU_MAP_SWIZZLE_64 : CU_MAP_SWIZZLE_128;
}

pgy_status cuda_tensor_map_encode(cuda_tensor_map *out, device_stream *s, const cuda_matrix *m,
                                  pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    const uint64_t sizes[] = {m->columns, m->rows}, strides[] = {m->row_bytes};
    const unsigned box[] = {m->box_columns, m->box_rows}, steps[] = {1, 1};
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    memset(out, 0, sizeof *out);
    const int code =
        g->driver->tensor_map(out, code_of(m->type), 2, m->address, sizes, strides, box, steps, 0,
                              swizzle_of(m->box_columns * item_of(m->type)), CU_MAP_PROMOTE_128, 0);
    st = gpu_check(g, code, "describing a matrix to the copy engine", err);
    gpu_leave(g);
    return st;
}

/* Where the last windows start, from the last pixel. */
static int64_t corner_of(const cuda_image *m, int axis)
{
    return m->last[axis] - (int64_t)(axis ? m->width : m->height) + 1;
}

bool cuda_image_fits(const cuda_image *m, const uint32_t farthest[2])
{
    for (int i = 0; i < 2; i++)
        if (m->first[i] < -128 || m->first[i] > 127 || corner_of(m, i) < -128 ||
            corner_of(m, i) > 127 || farthest[i] > 255 || !m->stride[i] || m->stride[i] > 8)
            return false;
    return m->channels * item_of(m->type) % 16 == 0;
}

pgy_status cuda_tensor_map_encode_image(cuda_tensor_map *out, device_stream *s, const cuda_image *m,
                                        pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    const uint64_t sizes[] = {m->channels, m->width, m->height, m->batch},
                   pixel = m->channels * item_of(m->type), row = pixel * m->width,
                   strides[] = {pixel, row, row * m->height};
    const int first[] = {m->first[1], m->first[0]},
              corner[] = {(int)corner_of(m, 1), (int)corner_of(m, 0)};
    const unsigned steps[] = {1, m->stride[1], m->stride[0], 1};
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    memset(out, 0, sizeof *out);
    const int code = g->driver->tensor_map_windows(
        out, code_of(m->type), 4, m->address, sizes, strides, first, corner, m->box_channels,
        m->box_pixels, steps, 0, swizzle_of(m->box_channels * item_of(m->type)), CU_MAP_PROMOTE_128,
        0);
    st = gpu_check(g, code, "describing an image to the copy engine", err);
    gpu_leave(g);
    return st;
}
