/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says of each step: source nodes, tensors, kernel, bytes, operations, memory. */
#include "engine/program/traced.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tracer.h"
#include "base/tracer_text.h"
#include "engine/program/flops.h"

/* ---- Memory --------------------------------------------------------------------------------- */

typedef struct lifetime {
    uint32_t tensor, first, last;
} lifetime;

static bool is_live(const program_tensor *t)
{
    return t->place == PROGRAM_ARENA && !t->space && t->size_bytes;
}

static lifetime *find_lifetimes(size_t *count, const program *p)
{
    lifetime *all = mem_calloc(p->tensor_count + 1, sizeof *all);
    for (size_t i = 0; all && i < p->tensor_count; i++)
        all[i] = (lifetime){(uint32_t)i, UINT32_MAX, 0};
    for (size_t i = 0; all && i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        const size_t n = (size_t)s->input_count + s->captured_count + s->output_count;
        for (size_t k = 0; k < n; k++) {
            if (s->tensors[k] == PROGRAM_NO_TENSOR || !is_live(&p->tensors[s->tensors[k]]))
                continue;
            lifetime *l = &all[s->tensors[k]];
            if (l->first == UINT32_MAX) l->first = (uint32_t)i;
            l->last = (uint32_t)i;
        }
    }
    *count = 0;
    for (size_t i = 0; all && i < p->tensor_count; i++)
        if (all[i].first != UINT32_MAX) all[(*count)++] = all[i];
    return all;
}

static int by_first(const void *a, const void *b)
{
    const lifetime *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

typedef struct extent {
    uint64_t from, to;
    uint32_t last;
} extent;

static int by_place(const void *a, const void *b)
{
    const extent *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Bytes of the arena that hold a tensor; views and tensors in place count once. */
static uint64_t covered(extent *live, size_t count)
{
    uint64_t sum = 0, end = 0;
    qsort(live, count, sizeof *live, by_place);
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = live[i].from > end ? live[i].from : end;
        if (live[i].to > from) sum += live[i].to - from;
        if (live[i].to > end) end = live[i].to;
    }
    return sum;
}

static uint64_t *live_bytes(const program *p)
{
    size_t count = 0, next = 0, n = 0;
    lifetime *lives = find_lifetimes(&count, p);
    extent *live = mem_calloc(count + 1, sizeof *live);
    uint64_t *out = mem_calloc(p->step_count + 1, sizeof *out);
    if (lives) qsort(lives, count, sizeof *lives, by_first);
    for (uint32_t i = 0; lives && live && out && i < p->step_count; i++) {
        size_t kept = 0;
        for (size_t k = 0; k < n; k++)
            if (live[k].last >= i) live[kept++] = live[k];
        n = kept;
        for (; next < count && lives[next].first == i; next++) {
            const program_tensor *t = &p->tensors[lives[next].tensor];
            live[n++] = (extent){t->offset, t->offset + t->size_bytes, lives[next].last};
        }
        out[i] = covered(live, n);
    }
    mem_free(lives);
    mem_free(live);
    return out;
}

/* ---- Texts ---------------------------------------------------------------------------------- */

/* The label of a fused node joins the names of its source nodes. */
static void put_nodes(str *out, const char *label)
{
    static const char JOINT[] = " + ";
    trace_put_key(out, "nodes");
    str_append_char(out, '[');
    for (const char *end; label; label = end ? end + sizeof JOINT - 1 : NULL) {
        str name = {0};
        end = strstr(label, JOINT);
        str_append_n(&name, label, end ? (size_t)(end - label) : strlen(label));
        trace_text(out, str_text(&name));
        str_append(out, end ? "," : "]");
        str_deinit(&name);
    }
}

static void put_tensors(str *out, const char *key, const program *p, const uint32_t *tensors,
                        size_t count)
{
    bool any = false;
    trace_put_key(out, key);
    str_append_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (tensors[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &p->tensors[tensors[i]];
        if (t->place == PROGRAM_CONSTANT) continue;
        str_append(out, any ? ",{" : "{");
        str_append(out, "\"name\":");
        trace_text(out, t->name);
        str_append(out, ",\"dtype\":");
        trace_text(out, pgy_dtype_name(t->dtype));
        str_append(out, ",\"shape\":[");
        for (int32_t d = 0; d < t->rank; d++)
            str_printf(out, "%s%lld", d ? "," : "", (long long)t->shape[d]);
        str_append(out, "]}");
        any = true;
    }
    str_append_char(out, ']');
}

static uint64_t sum_bytes(const program *p, const uint32_t *tensors, size_t count, bool constant)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (tensors[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &p->tensors[tensors[i]];
        if ((t->place == PROGRAM_CONSTANT) == constant) sum += t->size_bytes;
    }
    return sum;
}

static const program_tensor *tensor_of(const program *p, const program_step *s, size_t i)
{
    return s->tensors[i] == PROGRAM_NO_TENSOR ? NULL : &p->tensors[s->tensors[i]];
}

static flops_shape shape_of(const program_tensor *t)
{
    return t ? (flops_shape){t->rank, t->shape} : (flops_shape){-1, NULL};
}

/* The operations of a built program are known; those of a loaded plan follow from tensors, except
 * where the kernel has packed the weights of a convolution. */
static double flops_of(const program *p, const program_step *s)
{
    const size_t reads = (size_t)s->input_count + s->captured_count;
    if (s->flops > 0 || s->act != PROGRAM_RUN || s->input_count < 2 || !s->output_count)
        return s->flops;
    flops_shape inputs[FLOPS_INPUTS];
    for (size_t i = 0; i < FLOPS_INPUTS; i++)
        inputs[i] = shape_of(i < s->input_count ? tensor_of(p, s, i) : NULL);
    return program_flops(s->op_type, inputs, shape_of(tensor_of(p, s, reads)));
}

/* NULL: the step has no tensors */
static const uint32_t *outputs_of(const program_step *s, size_t reads)
{
    return s->tensors ? s->tensors + reads : NULL;
}

static void put_sizes(str *out, const program *p, const program_step *s, trace_label *l)
{
    const size_t reads = (size_t)s->input_count + s->captured_count;
    const uint64_t in = sum_bytes(p, s->tensors, reads, false);
    const uint64_t to = sum_bytes(p, outputs_of(s, reads), s->output_count, false);
    const uint64_t packed = s->plan.packed_bytes, stored = sum_bytes(p, s->tensors, reads, true);
    const uint64_t weights = packed > stored ? packed : stored;
    trace_put_number(out, "bytes_in", (double)in);
    trace_put_number(out, "bytes_out", (double)to);
    trace_put_number(out, "bytes_weights", (double)weights);
    l->bytes = in + to + weights;
    l->flops = flops_of(p, s);
    if (l->flops <= 0) return;
    trace_put_number(out, "flops", l->flops);
    if (l->bytes) trace_put_number(out, "intensity", l->flops / (double)l->bytes);
}

static const char *tactic_of(const program_step *s)
{
    static const char *const ACTS[] = {[PROGRAM_RUN] = "reference",
                                       [PROGRAM_COPY] = "copy",
                                       [PROGRAM_RECORD] = "record",
                                       [PROGRAM_WAIT] = "wait"};
    return s->kernel ? s->kernel->name : ACTS[s->act];
}

static void put_step(str *out, const program *p, size_t i, size_t threads, trace_label *l)
{
    const program_step *s = &p->steps[i];
    const size_t reads = (size_t)s->input_count + s->captured_count;
    const program_tensor *y = s->output_count ? tensor_of(p, s, reads) : NULL;
    const bool is_move = s->act != PROGRAM_RUN || !strcmp(s->op_type, "Reorder");
    trace_put_number(out, "layer_id", (double)i);
    trace_put_text(out, "op", s->op_type);
    if (!is_move) put_nodes(out, s->label);
    put_tensors(out, "inputs", p, s->tensors, reads);
    put_tensors(out, "outputs", p, outputs_of(s, reads), s->output_count);
    put_sizes(out, p, s, l);
    trace_put_text(out, "backend", "native");
    trace_put_text(out, "device", s->space ? p->spaces[s->space].name : "host");
    if (y) trace_put_text(out, "precision", pgy_dtype_name(y->dtype));
    trace_put_text(out, "kernel", tactic_of(s));
    trace_put_number(out, "threads", (double)threads);
}

uint32_t *traced_labels(const program *p, const launch *launches, size_t threads)
{
    uint32_t *labels = mem_calloc(p->step_count + 1, sizeof *labels);
    uint64_t *live = live_bytes(p), weights = 0;
    for (uint32_t i = 0; i < p->space_count; i++) weights += p->spaces[i].constant_bytes;
    for (size_t i = 0; labels && live && i < p->step_count; i++) {
        str args = {0};
        trace_label l = {.name = p->steps[i].label,
                         .live_bytes = live[i],
                         .weight_bytes = weights,
                         .workspace_bytes = p->steps[i].plan.workspace_bytes};
        const uint32_t parts = launches[i].run.parts;
        put_step(&args, p, i, parts < threads ? parts : threads, &l);
        l.args = str_text(&args);
        labels[i] = args.failed ? TRACE_NONE : tracer_label(&l);
        str_deinit(&args);
    }
    if (!live) {
        mem_free(labels);
        labels = NULL;
    }
    mem_free(live);
    return labels;
}
