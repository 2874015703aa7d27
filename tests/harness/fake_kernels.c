/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/fake_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/fake_device.h"
#include "kernels/extent.h"
#include "kernels/launch.h"

#define FAKE_FAMILIES(X)   \
    X(blocked_concat)      \
    X(blocked_elementwise) \
    X(cached_attention)    \
    X(cast)                \
    X(chain)               \
    X(concat)              \
    X(conv_depthwise)      \
    X(conv_direct)         \
    X(conv_linear)         \
    X(elementwise)         \
    X(expand)              \
    X(gather)              \
    X(int_conv)            \
    X(int_matmul)          \
    X(matmul)              \
    X(norm)                \
    X(pool)                \
    X(quantize)            \
    X(reduce)              \
    X(slice)               \
    X(softmax)             \
    X(transpose)

#define DECLARE(family) extern const kernel KERNELS_##family[];
FAKE_FAMILIES(DECLARE)
#undef DECLARE

static const kernel *const FAMILIES[] = {
#define LIST(family) KERNELS_##family,
    FAKE_FAMILIES(LIST)
#undef LIST
};

enum { MAX_ROWS = 128, NAME_SIZE = 64, HOST_INTS = 16 };

static const kernel *inner[MAX_ROWS];
static size_t family_of[MAX_ROWS];
static kernel rows[MAX_ROWS + 1];
static char names[MAX_ROWS][NAME_SIZE];
static size_t row_count;
static fake_cost cost_of;
static void *cost_user;

/* Parameters of a fake kernel. Those of the host kernel that it runs follow at INNER_AT. */
typedef struct params {
    uint32_t inputs, outputs, phases, on_host;
    uint64_t workspace, scratch; /* bytes that the host kernel needs; both lie in one device
                                    workspace, in this order */
    uint64_t host_bytes[KERNEL_MAX_INPUTS];
} params;

enum { INNER_AT = (sizeof(params) + 63) / 64 * 64 };

static const kernel *inner_of(const kernel *self)
{
    return inner[self - rows];
}

/* ---- Preparing ------------------------------------------------------------------------------ */

static bool wants_on_host(const kernel_problem *u, size_t i)
{
    const kernel_tensor *t = &u->inputs[i];
    return i > 0 && t->dtype == PGY_I64 && t->rank <= 1 && kernel_count(t) <= HOST_INTS;
}

static bool accept(kernel_problem *u, double *cost_ns)
{
    kernel_problem own = *u;
    if (!kernel_accept(inner_of(u->self), &own, cost_ns)) return false;
    own.self = u->self;
    for (size_t i = 0; i < own.input_count; i++)
        if (wants_on_host(&own, i)) own.inputs[i].space = 0;
    *u = own;
    *cost_ns = cost_of ? cost_of(u, cost_user) : 0.001;
    return true;
}

static pgy_status prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    kernel_problem own = *u;
    kernel_plan plan = {0};
    own.self = inner_of(u->self);
    const pgy_status st = own.self->prepare(&plan, &own, err);
    if (st) return st;
    params *p = mem_calloc(1, INNER_AT + plan.params_bytes);
    if (!p) abort();
    *p = (params){.inputs = (uint32_t)u->input_count,
                  .outputs = (uint32_t)u->output_count,
                  .phases = plan.phases,
                  .workspace = (plan.workspace_bytes + 63) / 64 * 64,
                  .scratch = plan.scratch_bytes};
    for (size_t i = 0; i < u->input_count; i++) {
        if (!u->inputs[i].dtype || u->inputs[i].space || (plan.packed_inputs >> i & 1)) continue;
        p->on_host |= 1u << i;
        p->host_bytes[i] = kernel_size_bytes(&u->inputs[i]);
    }
    if (plan.params_bytes) memcpy((char *)p + INNER_AT, plan.params, plan.params_bytes);
    mem_free(plan.params);
    plan.params = p;
    plan.params_bytes += INNER_AT;
    plan.workspace_bytes = p->workspace + p->scratch;
    plan.scratch_bytes = 0;
    plan.phases = plan.parts = 1;
    if (plan.in_place >= 0 && (p->on_host >> plan.in_place & 1)) plan.in_place = -1;
    *out = plan;
    return PGY_OK;
}

static bool extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = q->params;
    kernel_claim own = *q;
    if (q->params_bytes < INNER_AT) return extent_refuse(e, "size of the parameters");
    if (p->inputs != q->input_count || p->outputs != q->output_count)
        return extent_refuse(e, "number of operands");
    own.params = (const char *)q->params + INNER_AT;
    own.params_bytes = q->params_bytes - INNER_AT;
    if (!kernel_extent_of(e, inner_of(q->self), &own)) return false;
    if (e->phases != p->phases) return extent_refuse(e, "phases");
    if (e->workspace > p->workspace || e->scratch > p->scratch)
        return extent_refuse(e, "workspace");
    for (uint32_t i = 0; i < p->inputs; i++)
        if (p->on_host >> i & 1) extent_tensor(e, i, p->host_bytes[i], 1);
    e->on_host = p->on_host;
    e->workspace = extent_add(p->workspace, p->scratch);
    e->scratch = 0;
    e->phases = e->parts = 1;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The arguments of an enqueued run, kept until its turn in the stream comes. */
typedef struct job {
    kernel_run run;
    void *tensors[KERNEL_TENSORS];
    char host[KERNEL_MAX_INPUTS][HOST_INTS * sizeof(int64_t)];
} job;

static void *reach(device *d, const void *address)
{
    return address ? fake_device_reach(d, address, 0) : NULL;
}

static void run_job(device *d, void *user)
{
    job *j = user;
    const params *p = j->run.params;
    const kernel_plan plan = {.params = (char *)p + INNER_AT, .phases = p->phases, .parts = 1};
    launch l = launch_of(inner_of(j->run.self), &plan, 1);
    void *tensors[KERNEL_TENSORS];
    for (uint32_t i = 0; i < p->inputs + p->outputs; i++)
        tensors[i] = i < p->inputs && (p->on_host >> i & 1) ? j->tensors[i] ? j->host[i] : NULL
                                                            : reach(d, j->tensors[i]);
    char *memory = p->workspace + p->scratch ? reach(d, j->run.workspace) : NULL;
    l.run.tensors = tensors;
    l.run.packed = reach(d, j->run.packed);
    l.run.workspace = memory;
    l.scratch = memory ? memory + p->workspace : NULL;
    const pgy_status st = launch_alone(&l);
    if (st) kernel_fail(&j->run, st == PGY_E_BACKEND ? KERNEL_FAULT_PLUGIN : KERNEL_FAULT_INDEX);
}

static pgy_status enqueue(const kernel_run *r, device_stream *s, pgy_error *err)
{
    const params *p = r->params;
    job *j = mem_calloc(1, sizeof *j);
    (void)err;
    if (!j) abort();
    j->run = *r;
    memcpy(j->tensors, r->tensors, (p->inputs + p->outputs) * sizeof *j->tensors);
    for (uint32_t i = 0; i < p->inputs; i++)
        if ((p->on_host >> i & 1) && r->tensors[i])
            memcpy(j->host[i], r->tensors[i], p->host_bytes[i]);
    fake_device_enqueue(s, (fake_work){.run = run_job, .drop = mem_free, .user = j});
    return PGY_OK;
}

/* ---- The table ------------------------------------------------------------------------------ */

static void add_row(const kernel *k, size_t family)
{
    if (k->needs > cpu_features()) return;
    if (row_count == MAX_ROWS || strlen(k->name) + sizeof "fake:" > NAME_SIZE) abort();
    snprintf(names[row_count], NAME_SIZE, "fake:%s", k->name);
    inner[row_count] = k;
    family_of[row_count] = family;
    rows[row_count] = (kernel){.name = names[row_count],
                               .version = k->version,
                               .ops = k->ops,
                               .needs = k->needs,
                               .accept = accept,
                               .prepare = prepare,
                               .extent = extent,
                               .device = FAKE_KIND,
                               .enqueue = enqueue};
    row_count++;
}

void fake_kernels_offer(fake_cost cost, void *user)
{
    cost_of = cost;
    cost_user = user;
    row_count = 0;
    for (size_t i = 0; i < fake_kernel_families(); i++)
        for (const kernel *k = FAMILIES[i]; k->name; k++) add_row(k, i);
    if (kernel_offer(rows, NULL)) abort();
}

void fake_kernels_withdraw(void)
{
    kernel_withdraw(rows);
}

const kernel *fake_kernel_of(const kernel *k)
{
    for (size_t i = 0; i < row_count; i++)
        if (inner[i] == k) return &rows[i];
    return NULL;
}

size_t fake_kernel_families(void)
{
    return sizeof FAMILIES / sizeof *FAMILIES;
}

size_t fake_kernel_family(const kernel *k)
{
    return family_of[k - rows];
}
