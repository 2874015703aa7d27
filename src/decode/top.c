/* SPDX-License-Identifier: Apache-2.0 */
/* The largest logits of a row. */
#include <math.h>

#include "decode/decode.h"
#include "tensor/convert.h"

static int64_t row_size(const pgy_tensor *logits)
{
    const size_t rank = pgy_tensor_rank(logits);
    return rank ? pgy_tensor_shape(logits)[rank - 1] : 1;
}

size_t top_rows(const pgy_tensor *logits)
{
    const int64_t size = row_size(logits);
    return size > 0 ? pgy_tensor_count(logits) / (size_t)size : 0;
}

static double value_at(pgy_dtype dtype, const void *data, size_t i)
{
    return dtype == PGY_F32 ? (double)((const float *)data)[i] : element_as_f64(dtype, data, i);
}

void top_find(top_ids *out, const pgy_tensor *logits, size_t row)
{
    const pgy_dtype dtype = pgy_tensor_dtype(logits);
    const void *data = pgy_tensor_data(logits);
    const size_t size = (size_t)row_size(logits), first = row * size;
    double values[TOP_COUNT] = {0};
    *out = (top_ids){0};
    for (size_t i = 0; i < size; i++) {
        const double v = value_at(dtype, data, first + i);
        if (isnan(v)) {
            out->has_nan = true;
            continue;
        }
        if (out->count == TOP_COUNT && !(v > values[TOP_COUNT - 1])) continue;
        size_t at = out->count < TOP_COUNT ? out->count++ : TOP_COUNT - 1;
        for (; at && values[at - 1] < v; at--) {
            values[at] = values[at - 1];
            out->ids[at] = out->ids[at - 1];
        }
        values[at] = v;
        out->ids[at] = (int64_t)i;
    }
}
