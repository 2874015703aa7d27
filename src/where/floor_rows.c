/* SPDX-License-Identifier: Apache-2.0 */
/* The error of each tensor, over draws and samples. */
#include "where/floor_run.h"

#include <math.h>
#include <string.h>

#include "tensor/convert.h"

floor_row *floor_row_of(pgy_floor *f, const pgy_node *n, const pgy_value *v, pgy_dtype type)
{
    str path = {0};
    noise_walk_path(&path, &f->walk, v->name, false);
    floor_row *r = path.failed ? NULL : strmap_get(&f->rows, str_text(&path));
    if (!r && !path.failed && (r = arena_alloc(&f->memory, sizeof *r))) {
        r->shown = (pgy_floor_tensor){.name = arena_strdup(&f->memory, str_text(&path)),
                                      .node = node_label(n),
                                      .op_type = n->op_type,
                                      .dtype = noise_assumed(type, f->options.assume)};
        if (!r->shown.name || !strmap_put(&f->rows, r->shown.name, r)) r = NULL;
    }
    str_deinit(&path);
    return r;
}

void floor_row_add_values(floor_row *r, const pgy_tensor *exact)
{
    const pgy_dtype held = pgy_tensor_dtype(exact);
    for (size_t i = 0; i < pgy_tensor_count(exact); i++) {
        const double a = fabs(element_as_f64(held, pgy_tensor_data(exact), i));
        if (!isfinite(a)) continue;
        r->value_squares += a * a;
        r->values++;
        if (a > r->shown.value_max) r->shown.value_max = a;
    }
}

void floor_row_add_errors(floor_row *r, const pgy_tensor *exact, const pgy_tensor *drawn)
{
    const pgy_dtype held = pgy_tensor_dtype(exact);
    for (size_t i = 0; i < pgy_tensor_count(exact); i++) {
        const double x = element_as_f64(held, pgy_tensor_data(exact), i);
        const double y = element_as_f64(held, pgy_tensor_data(drawn), i);
        r->shown.count++;
        if (!isfinite(x)) continue;
        if (!isfinite(y)) {
            r->shown.overflows++;
            r->shown.max_abs = INFINITY;
            continue;
        }
        const double e = fabs(y - x);
        r->squares += e * e;
        r->finite++;
        if (e > r->shown.max_abs) r->shown.max_abs = e;
    }
}

bool floor_same_shape(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t rank = pgy_tensor_rank(a);
    return rank == pgy_tensor_rank(b) && pgy_tensor_dtype(a) == pgy_tensor_dtype(b) &&
           !memcmp(pgy_tensor_shape(a), pgy_tensor_shape(b), rank * sizeof(int64_t));
}
