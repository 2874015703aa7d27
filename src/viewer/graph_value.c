/* SPDX-License-Identifier: Apache-2.0 */
/* Values of stored tensors as text. */
#include "viewer/graph_value.h"

#include <string.h>

#include "base/alloc.h"
#include "viewer/graph_text.h"

/* Gives the number of elements; -1: the tensor is outside the file, or its shape is invalid. */
static int64_t count_elements(const pgy_onnx_tensor *t)
{
    int64_t count = 1;
    if (t->data_location != 0) return -1;
    for (size_t i = 0; i < t->dim_count; i++)
        if (t->dims[i] < 0 || !i64_mul(&count, count, t->dims[i])) return -1;
    return count;
}

static pgy_status append(str *s, const pgy_tensor *loaded, int64_t count)
{
    pgy_error err = {0};
    char *text = NULL;
    pgy_view v = pgy_tensor_view(loaded);
    v.rank = count == 1 ? 0 : 1;
    v.shape = &count;
    v.strides = NULL;
    const pgy_text_options options = {.size = sizeof options, .line_width = -1};
    const pgy_status st = pgy_view_text(&text, v, &options, &err);
    if (!st) graph_append_valid(s, text, strlen(text));
    pgy_text_free(text);
    return st;
}

bool graph_append_values(str *s, pgy_model *model, const pgy_onnx_tensor *t, int64_t limit)
{
    const int64_t count = count_elements(t);
    pgy_error err = {0};
    pgy_tensor *loaded = NULL;
    if (count < 1 || count > limit) return true;
    pgy_status st = pgy_onnx_tensor_load(&loaded, model, t, &err);
    if (!st) st = append(s, loaded, count);
    pgy_tensor_release(loaded);
    return st != PGY_E_MEMORY && !s->failed;
}
