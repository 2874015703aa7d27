/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of format choices. They come first from the kernels' estimates, then from the timing cache
 * or from measuring; the optimisation level decides which kernels are measured, and equal nodes
 * share times. The kernel with the best estimate is kept unless another one is clearly faster. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/system.h"
#include "base/tracer.h"
#include "base/tracer_text.h"
#include "engine/build/progress.h"
#include "engine/select/measure.h"
#include "engine/select/pbqp.h"
#include "engine/select/select.h"

static const char LOG_PATH[] = "engine/select/times.c";

enum { BEST_OF_LEVEL_2 = 3, MOST_CANDIDATES = 64 };
/* Level 3 measures estimates up to this multiple of the best. They are for one thread: many threads
 * may take much longer than their share, where a kernel has too little work to divide. */
static const double NEAR = 1.5, NEAR_OF_MANY = 4;
enum { MANY_THREADS = 4 };
static const double CLEARLY = 0.98; /* another kernel must take less than this part of the usual
                                       kernel's time */
static const double TO_BLOCKS_NS = 0.06, FROM_BLOCKS_NS = 0.07; /* per byte, by estimate */
/* Of tensors with more bytes, which leave the second-level cache: so many times that. */
static const double CACHED_BYTES = 1 << 20, UNCACHED = 1.5;
static const double ONE_BY_ONE_NS = 1;               /* per element of another size than 4 bytes */
enum { REORDER_NS = 300, DEVICE_REORDER_NS = 2500 }; /* least time of a reorder */
/* What a step costs many threads besides its share: they begin and end it together. */
enum { ROUND_NS = 3000 };
static const double ON_DEVICE_NS = 0.001; /* per byte */

/* ---- Estimates ------------------------------------------------------------------------------ */

static void estimate_node(select_node *n)
{
    n->usual = SELECT_NONE;
    for (size_t f = 0; f < n->choice_count && n->variant_count; f++)
        n->choices[f].variant = SELECT_NONE;
    for (size_t i = 0; i < n->variant_count; i++) {
        const select_variant *v = &n->variants[i];
        select_choice *f = &n->choices[v->choice];
        if (f->variant == SELECT_NONE || v->estimate_ns < n->variants[f->variant].estimate_ns)
            f->variant = i;
        if (n->usual == SELECT_NONE || v->estimate_ns < n->variants[n->usual].estimate_ns)
            n->usual = i;
    }
    for (size_t f = 0; f < n->choice_count && n->variant_count; f++)
        n->choices[f].cost_ns = n->variants[n->choices[f].variant].estimate_ns;
}

void select_estimate(selection *s)
{
    s->scale = 1;
    for (size_t i = 0; i < s->count; i++) estimate_node(&s->nodes[i]);
}

/* What a reorder that takes `alone` ns on one thread costs many threads besides its share of them:
 * short steps are for one thread, while the others wait. */
static double round_ns(const selection *s, double alone)
{
    if (!s->timing || s->timing->threads < MANY_THREADS) return 0;
    return alone < PROGRAM_SHORT_NS ? alone : ROUND_NS;
}

static double reorder_ns(const selection *s, uint32_t tensor, kernel_layout from, kernel_layout to)
{
    if (from == to) return 0;
    kernel_tensor t = build_describe(s->b, tensor);
    if (!select_can_reorder(&t)) return PBQP_NEVER;
    t.layout = from;
    const size_t from_bytes = kernel_size_bytes(&t);
    t.layout = to;
    const size_t to_bytes = kernel_size_bytes(&t);
    const double bytes = (double)(from_bytes > to_bytes ? from_bytes : to_bytes);
    double each = 0; /* estimated ns per byte; blocks change to other blocks by way of linear */
    if (from != KERNEL_LINEAR) each += FROM_BLOCKS_NS;
    if (to != KERNEL_LINEAR) each += TO_BLOCKS_NS;
    const unsigned item = pgy_dtype_describe(t.dtype)->bits / 8;
    if (bytes > CACHED_BYTES) each *= UNCACHED;
    if (item != 4) each = fmax(each, ONE_BY_ONE_NS / item);
    const double alone = REORDER_NS + bytes * each;
    const bool twice = from != KERNEL_LINEAR && to != KERNEL_LINEAR;
    return alone * s->scale + (1 + twice) * round_ns(s, alone / (1 + twice));
}

/* A device changes between linear and channels last: at one end of a copy from or to the host, or
 * within its memory. */
static double device_reorder_ns(const selection *s, uint32_t tensor)
{
    const kernel_tensor t = build_describe(s->b, tensor);
    if (!select_can_reorder(&t)) return PBQP_NEVER;
    return (DEVICE_REORDER_NS + (double)kernel_size_bytes(&t) * ON_DEVICE_NS) * s->scale;
}

/* Other layouts change on the host, and data between two devices pass through the host. */
double select_reorder_ns(const selection *s, uint32_t tensor, unsigned from, unsigned to)
{
    const uint32_t source = select_space_of(from), target = select_space_of(to);
    if (from == to) return 0;
    kernel_tensor t = build_describe(s->b, tensor);
    kernel_layout given = select_layout_of(from), wanted = select_layout_of(to);
    const bool leaves = source && given == KERNEL_CHANNELS_LAST,
               arrives = target && wanted == KERNEL_CHANNELS_LAST;
    if (leaves) given = KERNEL_LINEAR;
    if (arrives) wanted = KERNEL_LINEAR;
    double cost = leaves || arrives ? (leaves + arrives) * device_reorder_ns(s, tensor) : 0;
    if (source && source == target && given == wanted) return cost;
    cost += reorder_ns(s, tensor, given, wanted);
    t.layout = given;
    if (source) cost += program_copy_ns(s->b->p, source, (double)kernel_size_bytes(&t));
    t.layout = wanted;
    if (target) cost += program_copy_ns(s->b->p, target, (double)kernel_size_bytes(&t));
    return cost;
}

/* ---- The cache ------------------------------------------------------------------------------ */

/* Takes the time of a choice from the cache. Tactics of other library versions or processors match
 * no variant and are ignored. */
static void look_up(const selection *s, select_node *n, select_choice *f)
{
    pgy_timing_entry entry;
    if (f->timed || !pgy_timing_cache_query(&entry, s->timing->cache, &f->key)) return;
    for (size_t i = 0; i < n->variant_count; i++) {
        select_variant *v = &n->variants[i];
        if (&n->choices[v->choice] != f || timing_tactic_of(v->kernel) != entry.tactic) continue;
        f->variant = i;
        f->cost_ns = v->time_ns = (double)entry.milliseconds * 1e6;
        f->timed = true;
        return;
    }
}

static void look_up_all(const selection *s, select_node *n)
{
    for (size_t f = 0; f < n->choice_count; f++) look_up(s, n, &n->choices[f]);
}

static void put_at(kernel_tensor *t, uint8_t place)
{
    t->layout = select_layout_of(place);
    t->space = select_space_of(place);
}

static pgy_status make_keys(selection *s, select_node *n, pgy_error *err)
{
    for (size_t f = 0; f < n->choice_count; f++) {
        kernel_problem problem = n->n->problem;
        const uint8_t *places = n->choices[f].places;
        for (size_t i = 0; i < problem.input_count; i++) put_at(&problem.inputs[i], places[i]);
        for (size_t i = 0; i < problem.output_count; i++)
            put_at(&problem.outputs[i], places[problem.input_count + i]);
        if (!timing_key(&n->choices[f].key, s->timing, &problem, select_domain(n->n),
                        n->n->node->op_type, n->kernels))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory while kernels are chosen");
    }
    return PGY_OK;
}

/* Stores the measured time, rounded as the cache does, so that a build from the cache decides the
 * same way. */
static pgy_status keep(selection *s, select_node *n, select_choice *f, pgy_error *err)
{
    const select_variant *v = &n->variants[f->variant];
    const pgy_timing_entry entry = {.tactic = timing_tactic_of(v->kernel),
                                    .milliseconds = (float)(v->time_ns * 1e-6)};
    f->cost_ns = (double)entry.milliseconds * 1e6;
    f->timed = true;
    s->timing->changed = true;
    return pgy_timing_cache_update(s->timing->cache, &f->key, &entry, err);
}

/* ---- Measuring ------------------------------------------------------------------------------ */

static int by_estimate(const void *a, const void *b)
{
    const select_variant *const *p = a, *const *q = b;
    return ((*p)->estimate_ns > (*q)->estimate_ns) - ((*p)->estimate_ns < (*q)->estimate_ns);
}

/* Lists the variants to measure at this optimisation level, of choices that the cache does not
 * know. */
static size_t candidates_of(select_variant **out, const selection *s, const select_node *n)
{
    const int64_t level = s->timing->level;
    select_variant *sorted[MOST_CANDIDATES];
    size_t count = n->variant_count < MOST_CANDIDATES ? n->variant_count : MOST_CANDIDATES;
    const double best = n->variants[n->usual].estimate_ns;
    const double near = s->timing->threads < MANY_THREADS ? NEAR : NEAR_OF_MANY;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) sorted[i] = &n->variants[i];
    qsort(sorted, count, sizeof(select_variant *), by_estimate);
    if (level == 2 && count > BEST_OF_LEVEL_2) count = BEST_OF_LEVEL_2;
    for (size_t i = 0; i < count; i++)
        if (!n->choices[sorted[i]->choice].timed &&
            (level != 3 || sorted[i]->estimate_ns <= near * best))
            out[kept++] = sorted[i];
    return kept;
}

/* Is measuring worth its time? For very short kernels of the host only at the highest optimisation
 * levels. */
static bool is_worth(const selection *s, const select_node *n)
{
    for (size_t i = 0; i < n->variant_count; i++)
        if (n->variants[i].kernel->flags & KERNEL_JOINS_RANKS) return false;
    return n->variant_count > 1 && (s->timing->level >= 4 || n->variants[n->usual].space ||
                                    n->variants[n->usual].estimate_ns >= PROGRAM_SHORT_NS);
}

/* Chooses the fastest of the choice's measured variants; the choice's usual one comes first. */
static void decide(select_node *n, select_choice *f, select_variant *const *measured, size_t count)
{
    const select_variant *usual = NULL, *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const select_variant *v = measured[i];
        if (&n->choices[v->choice] != f || v->time_ns < 0) continue;
        if (!usual) usual = v;
        if (!best || v->time_ns < best->time_ns) best = v;
    }
    if (!best) return;
    if (best->time_ns > CLEARLY * usual->time_ns) best = usual;
    f->variant = (size_t)(best - n->variants);
}

/* Excludes choices whose candidates all failed, if another choice has a time. */
static void exclude_failed(select_node *n, select_variant *const *measured, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < n->variant_count; i++) any |= n->variants[i].time_ns >= 0;
    for (size_t f = 0; any && f < n->choice_count; f++) {
        size_t tried = 0, failed = 0;
        for (size_t i = 0; i < count; i++) {
            if (measured[i]->choice != f) continue;
            tried++;
            failed += measured[i]->time_ns == MEASURE_FAILED;
        }
        if (tried && failed == tried) n->choices[f].cost_ns = PBQP_NEVER;
    }
}

/* The slice of a node in a trace: which kernels were timed, and how long they take. */
static void trace_node(const select_node *n, select_variant *const *v, size_t count, int64_t start)
{
    str args = {0};
    if (tracer_phase_row() == TRACE_NONE) return;
    trace_put_text(&args, "op", n->n->node->op_type);
    trace_put_key(&args, "candidates");
    for (size_t i = 0; i < count; i++) {
        str one = {0};
        trace_put_text(&one, "kernel", v[i]->kernel->name);
        trace_put_number(&one, "estimate_us", v[i]->estimate_ns / 1e3);
        if (v[i]->time_ns >= 0) trace_put_number(&one, "us", v[i]->time_ns / 1e3);
        str_printf(&args, "%c{%s}", i ? ',' : '[', str_text(&one));
        str_deinit(&one);
    }
    str_append(&args, count ? "]" : "[]");
    const trace_label label = {.name = node_label(n->n->node), .args = str_text(&args)};
    if (!args.failed)
        tracer_span(TRACE_TIMING, tracer_label(&label), tracer_phase_row(), start, clock_ns());
    str_deinit(&args);
    tracer_drain();
}

static void run_candidates(selection *s, const select_node *n, select_variant **v, size_t count)
{
    measure_candidate c[MOST_CANDIDATES];
    kernel_problem *uses = mem_alloc(count * sizeof *uses);
    const int64_t start = clock_ns();
    size_t ready = 0;
    for (size_t i = 0; uses && i < count; i++) {
        if (!select_problem(&uses[ready], n, v[i])) continue;
        c[ready] =
            (measure_candidate){.kernel = v[i]->kernel,
                                .problem = &uses[ready],
                                .device = v[i]->space ? s->b->p->spaces[v[i]->space].device : NULL,
                                .estimate_ns = v[i]->estimate_ns};
        v[ready++] = v[i];
    }
    const bool done =
        ready && measure_kernels(c, ready, s->timing->threads, start + s->timing->left_ns);
    for (size_t i = 0; i < ready; i++) {
        v[i]->time_ns = done || c[i].time_ns == MEASURE_FAILED ? c[i].time_ns : -1;
        if (done && c[i].time_ns >= 0)
            LOG(EXTRA_VERBOSE, "%s '%s': %s %.2f us (estimate %.2f us)", n->n->node->op_type,
                node_label(n->n->node), v[i]->kernel->name, c[i].time_ns / 1e3,
                c[i].estimate_ns / 1e3);
    }
    s->timing->left_ns -= clock_ns() - start;
    trace_node(n, v, ready, start);
    mem_free(uses);
}

static pgy_status measure_node(selection *s, select_node *n, pgy_error *err)
{
    timing *t = s->timing;
    select_variant *wanted[MOST_CANDIDATES];
    pgy_status st = PGY_OK;
    look_up_all(s, n); /* an equal node may have been measured meanwhile */
    const size_t count = t->level >= 2 && is_worth(s, n) ? candidates_of(wanted, s, n) : 0;
    if (!count) return PGY_OK;
    if (t->config->error_on_timing_cache_miss)
        return node_error(n->n->node, err, PGY_E_NOT_FOUND,
                          "the timing cache has no time for this node, and "
                          "config.error_on_timing_cache_miss makes that an error");
    if (t->left_ns <= 0) {
        t->unmeasured++;
        return PGY_OK;
    }
    run_candidates(s, n, wanted, count);
    st = cancel_check(err); /* times of a cancelled measurement are not kept */
    if (st) return st;
    t->measured++;
    for (size_t f = 0; !st && f < n->choice_count; f++) {
        select_choice *choice = &n->choices[f];
        if (choice->timed) continue;
        decide(n, choice, wanted, count);
        if (n->variants[choice->variant].time_ns >= 0) st = keep(s, n, choice, err);
    }
    exclude_failed(n, wanted, count);
    return st;
}

/* ---- All nodes ------------------------------------------------------------------------------ */

static int by_work(const void *a, const void *b)
{
    const select_node *p = *(select_node *const *)a, *q = *(select_node *const *)b;
    const double x = p->variants[p->usual].estimate_ns, y = q->variants[q->usual].estimate_ns;
    return x == y ? (p > q) - (p < q) : x < y ? 1 : -1;
}

/* Ratio of measured times to their estimates, by which other estimates are scaled. Without measured
 * times it assumes that all threads share the work evenly. */
static void find_scale(selection *s)
{
    double times = 0, estimates = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t f = 0; f < s->nodes[i].choice_count; f++) {
            const select_choice *choice = &s->nodes[i].choices[f];
            if (!choice->timed) continue;
            times += choice->cost_ns;
            estimates += s->nodes[i].variants[choice->variant].estimate_ns;
        }
    s->scale = estimates > 0 && times > 0 ? times / estimates : 1.0 / (double)s->timing->threads;
}

/* Scales the estimates of choices without a time, so that they compare with the measured ones. */
static void scale_node(const selection *s, select_node *n)
{
    double ratio = 0;
    for (size_t f = 0; f < n->choice_count; f++) {
        const select_choice *choice = &n->choices[f];
        if (!choice->timed) continue;
        const double own = choice->cost_ns / n->variants[choice->variant].estimate_ns;
        if (ratio == 0 || own < ratio) ratio = own;
    }
    if (!(ratio > 0)) ratio = s->scale;
    for (size_t f = 0; f < n->choice_count; f++)
        if (!n->choices[f].timed) n->choices[f].cost_ns *= ratio;
}

static pgy_status measure_all(selection *s, select_node *const *order, size_t count, pgy_error *err)
{
    const pgy_build_config *config = s->b->options->config;
    pgy_status st = PGY_OK;
    const build_costs c = build_expect_costs(s->b->graph, s->timing->left_ns);
    progress_expect_costs(c.times, c.packing);
    progress_start(config, PROGRESS_TIMES, PROGRESS_PROGRAM, count);
    for (size_t i = 0; !st && i < count; i++) {
        st = measure_node(s, order[i], err);
        if (!st) st = progress_step(config, PROGRESS_TIMES, i, err);
    }
    progress_finish(config, PROGRESS_TIMES);
    return st;
}

pgy_status select_measure(selection *s, pgy_error *err)
{
    select_node **order = arena_alloc_array(s->memory, s->count + 1, sizeof *order);
    size_t count = 0;
    pgy_status st = order ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    s->timing->measured = s->timing->unmeasured = 0;
    for (size_t i = 0; !st && i < s->count; i++) {
        select_node *n = &s->nodes[i];
        if (n->variant_count < 2) continue;
        order[count++] = n;
        st = make_keys(s, n, err);
    }
    if (st) return st;
    qsort(order, count, sizeof(select_node *), by_work);
    st = measure_all(s, order, count, err);
    if (st) return st;
    find_scale(s);
    for (size_t i = 0; i < s->count; i++) scale_node(s, &s->nodes[i]);
    if (s->timing->measured) LOG(VERBOSE, "Measured kernels for %zu problems", s->timing->measured);
    if (s->timing->unmeasured)
        LOG(VERBOSE,
            "The time limit for measuring is reached: the kernels of %zu nodes are chosen by "
            "estimate",
            s->timing->unmeasured);
    return PGY_OK;
}
