/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates run in turn, round after round, so that other load on the machine affects all of
 * them. Noise only adds time, so the shortest run is the best figure. The measured time is the
 * thread's CPU time: one thread runs the parts of a step one after the other, and the longest part
 * counts, so other processes do not change the result. */
#include "engine/select/measure.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/tracer.h"
#include "engine/program/program.h"
#include "kernels/launch.h"
#include "kernels/packing.h"

enum {
    WARM_UPS = 2,
    FEWEST_ROUNDS = 5,
    CLOSE_ROUNDS = 12, /* rounds if two candidates are nearly equal */
    MOST_ROUNDS = 40,
    ROUNDS_NS = 4000000, /* short kernels run in more rounds, until each has run this long */
    SAMPLE_NS = 10000,   /* shorter runs are repeated within a round */
    MOST_REPEATS = 200,
    ROTATED_BYTES = 6 << 20, /* size of all copies of the tensors: exceeds a core's caches */
    MOST_SETS = 32,
    LARGE_BYTES = 64 << 20, /* constants of which no two forms are held at once */
    SLOTS = KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS
};
static const double LOST = 1.3, LOST_WHILE_WARM = 2, CLOSE = 1.1;

typedef struct trial {
    measure_candidate *c;
    kernel_plan plan;
    uint32_t parts;
    uint32_t repeats;
    bool prepared, lost;
    size_t rounds;
    uint32_t label; /* in a trace */
} trial;

typedef struct bench {
    size_t threads;
    trial *trials;
    size_t count;
    const kernel_problem *problem; /* problem of the first candidate: all have the same types and
                                      shapes */
    size_t offsets[SLOTS], stride, sets;
    void *constants[KERNEL_MAX_INPUTS]; /* indexed by input: its elements, if it is a constant that
                                           some candidate reads while it runs */
    char *memory, *workspace;
    size_t scratch_at, scratch_stride;
    size_t turn; /* index of the copy of the tensors that the next launch uses */
} bench;

static size_t round_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

static const kernel_tensor *slot_of(const kernel_problem *u, size_t slot)
{
    return slot < u->input_count ? &u->inputs[slot] : &u->outputs[slot - u->input_count];
}

static size_t slot_count(const kernel_problem *u)
{
    return u->input_count + u->output_count;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* The largest size of this input or output over the layouts of all candidates; 0: omitted or
 * constant. */
static size_t slot_bytes(const bench *b, size_t slot)
{
    size_t most = 0;
    for (size_t i = 0; i < b->count; i++) {
        const kernel_tensor *t = slot_of(b->trials[i].c->problem, slot);
        const size_t bytes = t->dtype && !t->data ? kernel_size_bytes(t) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Drops candidates that cannot be prepared, or not in time. */
static bool prepare_all(bench *b, int64_t until)
{
    bool any = false;
    for (size_t i = 0; i < b->count; i++) {
        trial *t = &b->trials[i];
        t->prepared =
            clock_ns() < until && !kernel_prepare(&t->plan, t->c->kernel, t->c->problem, NULL);
        t->lost = !t->prepared;
        any |= t->prepared;
        t->parts = program_parts(t->c->kernel, t->c->estimate_ns, t->plan.parts, b->threads);
    }
    return any;
}

static bool need_constant(const bench *b, size_t input)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->trials[i].prepared && !(b->trials[i].plan.packed_inputs >> input & 1)) return true;
    return false;
}

static bool copy_constants(bench *b)
{
    for (size_t i = 0; i < b->problem->input_count; i++) {
        const kernel_tensor *t = &b->problem->inputs[i];
        if (!t->dtype || !t->data || !need_constant(b, i)) continue;
        const size_t bytes = kernel_size_bytes(t);
        b->constants[i] = mem_alloc_aligned(64, bytes + 64);
        if (!b->constants[i]) return false;
        if (!kernel_read_constant(b->constants[i], b->problem, t)) return false;
    }
    return true;
}

static bool allocate(bench *b)
{
    size_t workspace = 0, scratch = 0, total;
    for (size_t i = 0; i < slot_count(b->problem); i++) {
        b->offsets[i] = b->stride;
        b->stride += round_up(slot_bytes(b, i));
    }
    b->sets = b->stride ? ROTATED_BYTES / b->stride + 1 : 1;
    if (b->sets > MOST_SETS) b->sets = MOST_SETS;
    if (!size_mul(&total, b->stride + 64, b->sets) || total > memory_limit_bytes() / 4)
        return false;
    b->memory = mem_alloc_aligned(64, total);
    for (size_t i = 0; i < b->count; i++) {
        const kernel_plan *p = &b->trials[i].plan;
        if (p->workspace_bytes > workspace) workspace = p->workspace_bytes;
        if (p->scratch_bytes > scratch) scratch = p->scratch_bytes;
    }
    b->scratch_at = round_up(workspace);
    b->scratch_stride = round_up(scratch);
    b->workspace = mem_alloc_aligned(64, b->scratch_at + b->scratch_stride * b->threads + 64);
    return b->memory && b->workspace;
}

static void fill_all(bench *b)
{
    memset(b->memory, 0, b->stride * b->sets);
    for (size_t i = 0; i < b->problem->input_count; i++) {
        const size_t bytes = slot_bytes(b, i);
        if (bytes) measure_fill(b->memory + b->offsets[i], b->problem->inputs[i].dtype, bytes);
    }
    for (size_t s = 1; s < b->sets; s++) memcpy(b->memory + s * b->stride, b->memory, b->stride);
}

static void clean_up(bench *b)
{
    for (size_t i = 0; i < b->count && b->trials; i++)
        if (b->trials[i].prepared) kernel_plan_deinit(&b->trials[i].plan);
    for (size_t i = 0; i < KERNEL_MAX_INPUTS; i++) mem_free(b->constants[i]);
    mem_free(b->memory);
    mem_free(b->workspace);
    mem_free(b->trials);
}

/* ---- Running -------------------------------------------------------------------------------- */

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void find_tensors(void **tensors, bench *b, const trial *t)
{
    char *set = b->memory + b->turn * b->stride;
    b->turn = (b->turn + 1) % b->sets;
    for (size_t i = 0; i < slot_count(b->problem); i++) {
        const kernel_tensor *tensor = slot_of(t->c->problem, i);
        const bool packed = i < b->problem->input_count && (t->plan.packed_inputs >> i & 1);
        tensors[i] = !tensor->dtype || packed ? NULL
                     : tensor->data           ? b->constants[i]
                                              : set + b->offsets[i];
    }
}

/* Makes a launch on the next copy of the tensors. */
static launch next_launch(void **tensors, bench *b, const trial *t)
{
    launch l = launch_of(t->c->kernel, &t->plan, t->parts);
    find_tensors(tensors, b, t);
    l.run.tensors = tensors;
    l.run.workspace = b->workspace;
    l.scratch = b->workspace + b->scratch_at;
    l.scratch_stride = b->scratch_stride;
    return l;
}

/* Times one run of a step that threads share. A phase takes as long as its longest part, and no
 * less than each thread's share of all parts. */
static double sample_parts(bench *b, const trial *t)
{
    void *tensors[SLOTS];
    double total = 0;
    const launch l = next_launch(tensors, b, t);
    const uint32_t runs = t->parts / (uint32_t)b->threads; /* parts in a row on one thread */
    for (uint32_t phase = 0; phase < t->plan.phases; phase++) {
        const int64_t start = cpu_ns();
        int64_t longest = 0, last = start;
        for (uint32_t part = 0; part < t->parts; part++) {
            (void)launch_part(&l, phase, part, runs > 1 && part % runs);
            const int64_t now = cpu_ns();
            if (now - last > longest) longest = now - last;
            last = now;
        }
        const double share = (double)(last - start) / (double)b->threads;
        total += share > (double)longest ? share : (double)longest;
    }
    return total;
}

static double sample_quietly(bench *b, const trial *t)
{
    if (t->parts > 1) return sample_parts(b, t);
    const int64_t start = cpu_ns();
    for (uint32_t i = 0; i < t->repeats; i++) {
        void *tensors[SLOTS];
        const launch l = next_launch(tensors, b, t);
        (void)launch_alone(&l);
    }
    return (double)(cpu_ns() - start) / t->repeats;
}

static double sample(bench *b, const trial *t)
{
    if (!tracer_is_on()) return sample_quietly(b, t);
    const int64_t start = clock_ns();
    const double time = sample_quietly(b, t);
    tracer_span(TRACE_TIMING, t->label, tracer_phase_row(), start, clock_ns());
    return time;
}

static double best_of(const bench *b)
{
    double best = -1;
    for (size_t i = 0; i < b->count; i++) {
        const double time = b->trials[i].c->time_ns;
        if (time >= 0 && (best < 0 || time < best)) best = time;
    }
    return best;
}

/* Drops candidates whose time exceeds `factor` times the best: they cannot win any more. */
static void drop_lost(bench *b, double factor)
{
    const double best = best_of(b);
    for (size_t i = 0; i < b->count; i++)
        if (b->trials[i].c->time_ns > factor * best) b->trials[i].lost = true;
}

static bool warm_up(bench *b, int64_t until)
{
    for (size_t round = 0; round < WARM_UPS; round++)
        for (size_t i = 0; i < b->count; i++) {
            trial *t = &b->trials[i];
            if (t->lost) continue;
            t->repeats = 1;
            t->c->time_ns = sample(b, t);
            const double repeats = SAMPLE_NS / (t->c->time_ns + 1);
            t->repeats = repeats < 1              ? 1
                         : repeats > MOST_REPEATS ? MOST_REPEATS
                                                  : (uint32_t)repeats;
            if (cancel_requested() || clock_ns() > until) return false;
        }
    drop_lost(b, LOST_WHILE_WARM);
    return true;
}

static bool run_round(bench *b, int64_t until)
{
    for (size_t i = 0; i < b->count; i++) {
        trial *t = &b->trials[i];
        if (t->lost) continue;
        const double time = sample(b, t);
        if (!t->rounds++ || time < t->c->time_ns) t->c->time_ns = time;
        if (cancel_requested() || clock_ns() > until) return false;
    }
    return true;
}

static bool is_close(const bench *b)
{
    const double best = best_of(b);
    size_t near = 0;
    for (size_t i = 0; i < b->count; i++)
        near += !b->trials[i].lost && b->trials[i].c->time_ns <= CLOSE * best;
    return near > 1;
}

static void run_rounds(bench *b, int64_t until)
{
    const int64_t start = clock_ns();
    for (size_t round = 1; round <= MOST_ROUNDS; round++) {
        if (!run_round(b, until)) return;
        if (round > 1) drop_lost(b, LOST);
        const size_t fewest = is_close(b) ? CLOSE_ROUNDS : FEWEST_ROUNDS;
        if (round >= fewest && clock_ns() - start > (int64_t)(b->count * ROUNDS_NS)) return;
    }
}

/* Measures candidates in turns. */
static bool measure_together(measure_candidate *candidates, size_t count, size_t threads,
                             int64_t until)
{
    bench b = {.threads = threads};
    b.trials = mem_calloc(count, sizeof *b.trials);
    for (size_t i = 0; b.trials && i < count; i++)
        if (!candidates[i].device)
            b.trials[b.count++] =
                (trial){.c = &candidates[i], .label = tracer_name(candidates[i].kernel->name)};
    b.problem = b.count ? b.trials[0].c->problem : NULL;
    const bool ready = b.count && prepare_all(&b, until) && copy_constants(&b) && allocate(&b);
    if (ready) {
        fill_all(&b);
        if (warm_up(&b, until)) run_rounds(&b, until);
        for (size_t i = 0; i < b.count; i++)
            if (!b.trials[i].prepared || (!b.trials[i].rounds && !b.trials[i].lost))
                b.trials[i].c->time_ns = -1;
    }
    clean_up(&b);
    return ready;
}

static bool has_large_constants(const kernel_problem *u)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].data) bytes += kernel_size_bytes(&u->inputs[i]);
    return bytes > LARGE_BYTES;
}

/* Each candidate may read large constants in a form of its own, so only one of them has them at a
 * time. */
static bool measure_on_host(measure_candidate *candidates, size_t count, size_t threads,
                            int64_t until)
{
    bool any = false;
    if (!has_large_constants(candidates[0].problem))
        return measure_together(candidates, count, threads, until);
    for (size_t i = 0; i < count && !cancel_requested(); i++)
        if (!candidates[i].device) any |= measure_together(&candidates[i], 1, threads, until);
    return any;
}

bool measure_kernels(measure_candidate *candidates, size_t count, size_t threads, int64_t until)
{
    size_t on_host = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        candidates[i].time_ns = -1;
        on_host += !candidates[i].device;
    }
    if (on_host) any = measure_on_host(candidates, count, threads, until);
    for (size_t i = 0; i < count; i++) {
        measure_candidate *c = &candidates[i];
        if (!c->device || cancel_requested() || clock_ns() > until) continue;
        c->time_ns = measure_on_device(c, until);
        any |= c->time_ns >= 0;
    }
    return any;
}
