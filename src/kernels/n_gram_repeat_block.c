/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NGramRepeatBlock: copies the scores, then blocks the tokens that would repeat an
 * n-gram. A token that has no score is a fault. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

typedef struct params {
    uint64_t batch, count, vocabulary, size; /* count: tokens of a sequence */
} params;

static bool n_gram_repeat_block_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *tokens = &u->inputs[0], *scores = &u->inputs[1];
    const int64_t size = op_attr_int(u->node, "ngram_size", 1);
    if (u->input_count != 2 || tokens->dtype != PGY_I64 || scores->dtype != PGY_F32 ||
        tokens->rank != 2 || scores->rank != 2 || tokens->shape[0] != scores->shape[0] ||
        !kernel_count(scores) || size < 1)
        return false;
    *p = (params){.batch = (uint64_t)scores->shape[0],
                  .count = (uint64_t)tokens->shape[1],
                  .vocabulary = (uint64_t)scores->shape[1],
                  .size = (uint64_t)size};
    return true;
}

static bool n_gram_repeat_block_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!n_gram_repeat_block_describe(&p, u)) return false;
    u->inputs[0].layout = u->inputs[1].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.batch * ((double)p.vocabulary * 0.2 + (double)p.count * 2);
    return true;
}

static pgy_status n_gram_repeat_block_prepare(kernel_plan *out, const kernel_problem *u,
                                              pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)n_gram_repeat_block_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = 1};
    out->parts = (uint32_t)(p->batch < 256 ? p->batch : 256);
    return PGY_OK;
}

static bool n_gram_repeat_block_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (!p->batch || !p->vocabulary || !p->size || p->vocabulary > INT64_MAX ||
        p->size > INT64_MAX || p->count > INT64_MAX)
        return extent_refuse(e, "sizes");
    const uint64_t scores = extent_mul(p->batch, p->vocabulary);
    extent_tensor(e, 0, extent_mul(p->batch, p->count), sizeof(int64_t));
    extent_tensor(e, 1, scores, sizeof(float));
    extent_tensor(e, 2, scores, sizeof(float));
    e->indices = 1U << 0;
    return true;
}

static void block_row(const params *p, const kernel_run *r, float *scores, const int64_t *tokens)
{
    if (p->count + 1 < p->size) return;
    const uint64_t before = p->size - 1;
    const int64_t *last = tokens + p->count - before;
    for (uint64_t i = 0; i + p->size <= p->count; i++) {
        uint64_t k = 0;
        while (k < before && tokens[i + k] == last[k]) k++;
        if (k < before) continue;
        const int64_t token = tokens[i + before];
        if ((uint64_t)token >= p->vocabulary) {
            kernel_fault_index(r, token, p->vocabulary);
            return;
        }
        scores[token] = -INFINITY;
    }
}

static void n_gram_repeat_block_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->batch, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const float *x = (const float *)r->tensors[1] + i * p->vocabulary;
        float *y = (float *)r->tensors[2] + i * p->vocabulary;
        if (x != y) memcpy(y, x, p->vocabulary * sizeof *y);
        if (p->count) block_row(p, r, y, (const int64_t *)r->tensors[0] + i * p->count);
    }
}

const kernel KERNELS_n_gram_repeat_block[] = {
    {.name = "n_gram_repeat_block",
     .version = 1,
     .ops = "com.microsoft:NGramRepeatBlock",
     .accept = n_gram_repeat_block_accept,
     .prepare = n_gram_repeat_block_prepare,
     .run = n_gram_repeat_block_run,
     .extent = n_gram_repeat_block_extent},
    {0},
};
