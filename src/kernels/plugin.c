/* SPDX-License-Identifier: Apache-2.0 */
/* Every tactic of a plug-in becomes a kernel when the table is first read after its library was
 * loaded. Tactics get problems and runs in the structs of polygraphy/operator.h. Parameters start
 * with a header that holds what a run must know about the node. */
#include "kernels/plugin.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/log.h"
#include "kernels/extent.h"
#include "ops/plugin.h"

static const char LOG_PATH[] = "kernels/plugin.c";

typedef struct tactic_kernel {
    kernel kernel; /* first, so that a kernel pointer converts to this struct */
    const op_def *row;
    const pgy_operator_tactic *tactic;
} tactic_kernel;

/* The header in front of the tactic's own parameters. */
typedef struct params {
    uint64_t size_bytes; /* of the tactic's parameters, which follow */
    uint32_t inputs, outputs;
    uint64_t reserved[6];
} params;

enum { MAX_KERNELS = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Memory of the kernels, never freed because they live as long as the process. */
static arena kept;
static const tactic_kernel *kernels[MAX_KERNELS];
static atomic_size_t count;
static size_t rows_seen;

/* ---- Problems ------------------------------------------------------------------------------- */

typedef struct described {
    pgy_operator_call call;
    pgy_tactic_tensor inputs[KERNEL_MAX_INPUTS], outputs[KERNEL_MAX_OUTPUTS];
    pgy_tactic_use use;
} described;

static void describe_tensors(pgy_tactic_tensor *out, const kernel_tensor *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (pgy_tactic_tensor){.dtype = t[i].dtype,
                                     .rank = t[i].rank,
                                     .shape = t[i].shape,
                                     .block = (int32_t)kernel_block(t[i].layout),
                                     .data = t[i].data};
}

static void plugin_describe(described *d, const kernel_problem *u)
{
    *d = (described){.call = {.node = u->node},
                     .use = {.input_count = u->input_count, .output_count = u->output_count}};
    describe_tensors(d->inputs, u->inputs, u->input_count);
    describe_tensors(d->outputs, u->outputs, u->output_count);
    d->use.call = &d->call;
    d->use.inputs = d->inputs;
    d->use.outputs = d->outputs;
}

static bool take_layouts(kernel_tensor *t, const pgy_tactic_tensor *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t block = from[i].block;
        if (block < 1 || (block > 1 && t[i].rank < 2)) return false;
        if (!kernel_layout_of_block(&t[i].layout, (uint64_t)block)) return false;
    }
    return true;
}

static bool plugin_accept(kernel_problem *u, double *cost_ns)
{
    const tactic_kernel *o = (const tactic_kernel *)u->self;
    described d;
    double cost = -1;
    if (!u->node || u->node->def != o->row) return false;
    plugin_describe(&d, u);
    if (!o->tactic->accept(&d.use, &cost)) return false;
    if (!(cost >= 0) || isinf(cost) || !take_layouts(u->inputs, d.inputs, u->input_count) ||
        !take_layouts(u->outputs, d.outputs, u->output_count)) {
        LOG_ONCE(
            WARNING,
            "Plug-in %s is not used: it accepted a problem, but gave an invalid cost or format",
            o->kernel.name);
        return false;
    }
    *cost_ns = cost;
    return true;
}

static pgy_status plugin_keep(kernel_plan *out, const kernel_problem *u,
                              const pgy_tactic_plan *plan, pgy_error *err)
{
    if (plan->params_bytes > SIZE_MAX / 2 || (plan->params_bytes && !plan->params) ||
        plan->workspace_bytes > SIZE_MAX / 2 || plan->in_place >= (int32_t)u->input_count)
        return pgy_error_set(
            err, PGY_E_BACKEND,
            "the plug-in gave an invalid plan (parameters, workspace or in-place input)");
    params *p = mem_calloc(1, sizeof *p + plan->params_bytes);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *p = (params){.size_bytes = plan->params_bytes,
                  .inputs = (uint32_t)u->input_count,
                  .outputs = (uint32_t)u->output_count};
    if (plan->params_bytes) memcpy(p + 1, plan->params, plan->params_bytes);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p + plan->params_bytes,
                         .workspace_bytes = plan->workspace_bytes,
                         .phases = 1,
                         .parts = plan->parts ? plan->parts : 1,
                         .in_place = (int8_t)(plan->in_place < 0 ? -1 : plan->in_place)};
    return PGY_OK;
}

static pgy_status plugin_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const tactic_kernel *o = (const tactic_kernel *)u->self;
    described d;
    pgy_tactic_plan plan = {.in_place = -1};
    plugin_describe(&d, u);
    pgy_status st = o->tactic->prepare ? o->tactic->prepare(&plan, &d.use, err) : PGY_OK;
    if (!st) st = plugin_keep(out, u, &plan, err);
    mem_free(plan.params);
    return st ? pgy_error_prefix(err, st, "plug-in %s: ", o->kernel.name) : PGY_OK;
}

/* Asks the tactic for its extent; if it has no such function, only the header can be checked. */
static bool plugin_extent(kernel_extent *e, const kernel_claim *q)
{
    const tactic_kernel *o = (const tactic_kernel *)q->self;
    const pgy_operator_tactic *t = o->tactic;
    const params *p = q->params;
    uint64_t *inputs = e->tensors, *outputs = e->tensors + q->input_count;
    if (q->params_bytes < sizeof *p || p->size_bytes != q->params_bytes - sizeof *p)
        return extent_refuse(e, "size of the parameters");
    if (p->inputs != q->input_count || p->outputs != q->output_count)
        return extent_refuse(e, "number of operands");
    if (!t->extent) return true;
    pgy_tactic_extent own = {.input_count = q->input_count,
                             .output_count = q->output_count,
                             .input_bytes = inputs,
                             .output_bytes = outputs};
    if (!t->extent(&own, p + 1, p->size_bytes)) return extent_refuse(e, "the plug-in refuses them");
    e->workspace = own.workspace_bytes;
    return true;
}

static void plugin_run(const kernel_run *r)
{
    const tactic_kernel *o = (const tactic_kernel *)r->self;
    const params *p = r->params;
    pgy_error err = {0};
    const pgy_tactic_run call = {.params = p + 1,
                                 .params_bytes = p->size_bytes,
                                 .inputs = (const void *const *)r->tensors,
                                 .outputs = r->tensors + p->inputs,
                                 .workspace = r->workspace,
                                 .part = r->part,
                                 .parts = r->parts};
    const pgy_status st = o->tactic->run(&call, &err);
    if (!st) return;
    LOG(ERROR, "Plug-in %s: %s", o->kernel.name, err.text[0] ? err.text : pgy_status_name(st));
    kernel_fail(r, KERNEL_FAULT_PLUGIN);
}

/* ---- The table ------------------------------------------------------------------------------ */

static bool plugin_add(const op_def *row, const pgy_operator_tactic *tactic)
{
    const size_t at = atomic_load_explicit(&count, memory_order_relaxed);
    tactic_kernel *o = arena_alloc_array(&kept, 1, sizeof *o);
    str name = {0}, ops = {0};
    str_printf(&name, "%s:%s/%s", row->domain, row->name, tactic->name);
    str_printf(&ops, "%s:%s", row->domain, row->name);
    const char *kept_name = arena_strdup(&kept, str_text(&name));
    const char *kept_ops = arena_strdup(&kept, str_text(&ops));
    const bool ok = o && kept_name && kept_ops && !name.failed && !ops.failed && at < MAX_KERNELS;
    str_deinit(&name);
    str_deinit(&ops);
    if (!ok) return false;
    *o = (tactic_kernel){.row = row,
                         .tactic = tactic,
                         .kernel = {.name = kept_name,
                                    .version = (uint16_t)tactic->version,
                                    .ops = kept_ops,
                                    .needs = CPU_PORTABLE,
                                    .accept = plugin_accept,
                                    .prepare = plugin_prepare,
                                    .run = plugin_run,
                                    .extent = plugin_extent}};
    kernels[at] = o;
    atomic_store_explicit(&count, at + 1, memory_order_release);
    return true;
}

/* Adds the tactics of operators that were loaded since the last call. */
static void add_new(void)
{
    const op_def *row;
    pthread_mutex_lock(&lock);
    for (; (row = op_added(rows_seen)); rows_seen++) {
        const pgy_operator_definition *d = plugin_is(row) ? row->user_data : NULL;
        const pgy_operator_tactic *const *tactics = d ? d->tactics : NULL;
        for (; tactics && *tactics; tactics++)
            if (!plugin_add(row, *tactics))
                LOG(ERROR, "Out of memory: tactic %s of %s is not registered", (*tactics)->name,
                    row->name);
    }
    pthread_mutex_unlock(&lock);
}

const kernel *plugin_kernel(size_t i)
{
    if (i == 0) add_new();
    return i < atomic_load_explicit(&count, memory_order_acquire) ? &kernels[i]->kernel : NULL;
}
