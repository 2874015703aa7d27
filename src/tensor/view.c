/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and borrowed views: counting without overflow, compactness, comparison of shapes. The
 * getters assume a valid shape, as tensors have. Code that takes a shape from outside must call
 * pgy_shape_count first. */
#include "tensor/tensor.h"

#include "base/alloc.h"

pgy_status pgy_shape_count(size_t *out, size_t rank, const int64_t *shape, pgy_error *err)
{
    size_t count = 1;
    bool empty = false;
    if (rank > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE, "rank %zu is over the limit of %d", rank,
                             PGY_MAX_RANK);
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "dimension %zu is %lld; a dimension must not be negative", i,
                                 (long long)shape[i]);
        empty |= shape[i] == 0;
    }
    for (size_t i = 0; i < rank && !empty; i++)
        if (!size_mul(&count, count, (size_t)shape[i]) || count > PTRDIFF_MAX)
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "a shape of rank %zu with dimension %lld has too many elements",
                                 rank, (long long)shape[i]);
    *out = empty ? 0 : count;
    return PGY_OK;
}

pgy_view pgy_view_of(void *data, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    /* DLPack's shape is not const; views never write through it. */
    return (pgy_view){.data = data,
                      .device = {PGY_DEVICE_CPU, 0},
                      .rank = (int32_t)rank,
                      .dtype = dtype,
                      .shape = (int64_t *)(uintptr_t)shape};
}

pgy_status view_need_host(const pgy_view *v, pgy_error *err)
{
    if (!v->device.type || v->device.type == PGY_DEVICE_CPU) return PGY_OK;
    return pgy_error_set(err, PGY_E_DEVICE,
                         "the array lies in the memory of device %d:%d, which the host cannot "
                         "read: copy it to the host first",
                         (int)v->device.type, (int)v->device.id);
}

size_t pgy_view_count(pgy_view v)
{
    size_t count = 1;
    for (int32_t i = 0; i < v.rank; i++) {
        if (v.shape[i] <= 0) return 0;
        count *= (size_t)v.shape[i];
    }
    return count;
}

size_t pgy_view_size_bytes(pgy_view v)
{
    size_t bytes = 0;
    return pgy_dtype_size_bytes(&bytes, v.dtype, pgy_view_count(v), NULL) ? 0 : bytes;
}

bool pgy_view_is_compact(pgy_view v)
{
    int64_t expected = 1;
    if (!v.strides || pgy_view_count(v) == 0) return true;
    for (int32_t i = v.rank; i-- > 0;) {
        if (v.shape[i] != 1 && v.strides[i] != expected) return false;
        expected *= v.shape[i];
    }
    return true;
}

bool pgy_view_same_shape(pgy_view a, pgy_view b)
{
    if (a.rank != b.rank) return false;
    for (int32_t i = 0; i < a.rank; i++)
        if (a.shape[i] != b.shape[i]) return false;
    return true;
}

void *pgy_view_data(pgy_view v)
{
    return v.data ? (char *)v.data + v.byte_offset : NULL;
}
