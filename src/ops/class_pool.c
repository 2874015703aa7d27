/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by MaxPool, AveragePool, LpPool and the global pools. */
#include "ops/class_pool.h"

#include "ops/class_rows.h"

pgy_status pool_infer(op_infer *c, pgy_error *err)
{
    window w;
    const op_value *x = &c->inputs[0];
    if (!rank_known(c, 0)) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, i ? PGY_I64 : x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = rank_check(c, 0, 3, WINDOW_MAX + 2, err);
    if (!st) st = window_read(&w, c->node, (size_t)x->rank - 2, err);
    if (st) return st;
    if (!w.kernel[0])
        return op_error(c->node, err, PGY_E_ARGUMENT, "attribute kernel_shape is empty");
    dim *dims = op_dims(c, (size_t)x->rank);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (size_t i = 0; !st && i < w.rank; i++)
        st = window_out(&dims[i + 2], &w, c, i, x->dims[i + 2], dim_const(w.kernel[i]), err);
    if (st) return st;
    for (size_t i = 0; i < c->node->output_count; i++)
        op_set_output(c, i, i ? PGY_I64 : x->dtype, x->rank, dims);
    return PGY_OK;
}

pgy_status pool_global_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    if (!rank_known(c, 0)) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)x->rank);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : dim_const(1);
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

double pool_flops(const op_infer *c)
{
    window w;
    if (c->inputs[0].rank < 3 || window_read(&w, c->node, (size_t)c->inputs[0].rank - 2, NULL))
        return 0;
    return dims_product(&c->outputs[0]) * (double)window_kernel_count(&w);
}

double pool_global_flops(const op_infer *c)
{
    return dims_product(&c->inputs[0]);
}

pgy_status pool_prepare(pool_problem *p, const op_eval *c, pgy_error *err)
{
    const int64_t *x = in_shape(c, 0);
    const pgy_tensor *y = c->outputs[0].value;
    *p = (pool_problem){.c = c, .planes = (size_t)x[0] * (size_t)x[1]};
    pgy_status st = window_read(&p->window, c->node, in_rank(c, 0) - 2, err);
    if (st) return st;
    if (!y) return op_error(c->node, err, PGY_E_INTERNAL, "the shape of output 0 is unknown");
    window_resolve(&p->window, x + 2, out_shape(c, 0) + 2);
    return PGY_OK;
}

typedef struct pool_rows {
    const pool_problem *p;
    pool_row row;
    size_t rows;
} pool_rows;

static void rows_task_pool(size_t begin, size_t end, void *user)
{
    const pool_rows *r = user;
    for (size_t i = begin; i < end; i++) r->row(r->p, i / r->rows, i % r->rows);
}

void pool_run(const pool_problem *p, pool_row row)
{
    if (!out_count(p->c, 0)) return;
    pool_rows r = {p, row, window_out_rows(&p->window)};
    size_t work = (size_t)p->window.out[p->window.rank - 1] * window_kernel_count(&p->window);
    rows_run(p->planes * r.rows, work, rows_task_pool, &r);
}

typedef struct global_job {
    const op_eval *c;
    pool_plane plane;
    size_t count;
} global_job;

static void global_task(size_t begin, size_t end, void *user)
{
    const global_job *j = user;
    for (size_t i = begin; i < end; i++)
        out_f64(j->c, 0)[i] = j->plane(j->c, in_f64(j->c, 0) + i * j->count, j->count);
}

pgy_status pool_global_run(op_eval *c, pool_plane plane, pgy_error *err)
{
    pgy_status st = inputs_check(c, "F", err);
    if (st) return st;
    axis_view v = axis_view_of(in_shape(c, 0), in_rank(c, 0), 2, in_rank(c, 0));
    global_job job = {c, plane, v.length};
    rows_run(v.outer, v.length, global_task, &job);
    return PGY_OK;
}
