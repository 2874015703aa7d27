/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels on operands that lie between inaccessible pages, so that an access outside them is a
 * signal. */
#include "harness/extent_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "kernels/extent.h"

enum {
    PAGE = 4096,
    ROOM = 4 << 20,          /* bytes of each memory area: the largest operand that is checked */
    CHANGED_TOTAL = 1 << 18, /* most bytes of all areas together for a run with changed parameters,
                                to keep it quick */
    CHANGES = 24,
    SECONDS = 10, /* time limit of one run */
    PACKED = KERNEL_TENSORS,
    PARAMS,
    WORKSPACE,
    SCRATCH,
    AREAS,
    CANARY = 0x5a,
};

static unsigned char *areas[AREAS]; /* each: ROOM bytes between two inaccessible pages */
static uint64_t seed = 1;

static uint64_t next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static unsigned char *area(size_t i)
{
    if (areas[i]) return areas[i];
    unsigned char *memory =
        mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + PAGE, ROOM, PROT_READ | PROT_WRITE), 0);
    return areas[i] = memory + PAGE;
}

/* ---- A run that may fail -------------------------------------------------------------------- */

static sigjmp_buf back;

static void on_signal(int number)
{
    siglongjmp(back, number);
}

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
enum { SIGNAL_COUNT = sizeof SIGNALS / sizeof *SIGNALS };

/* Runs the kernel. @return 0, or the signal that ended it */
static int run_guarded(const kernel_run *r, const kernel_extent *e, uint32_t parts)
{
    struct sigaction old[SIGNAL_COUNT];
    const struct sigaction mine = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    const struct itimerval limit = {.it_value.tv_sec = SECONDS}, none = {0};
    for (size_t i = 0; i < SIGNAL_COUNT; i++) sigaction(SIGNALS[i], &mine, &old[i]);
    const int signal = sigsetjmp(back, 1);
    if (!signal) {
        setitimer(ITIMER_REAL, &limit, NULL);
        kernel_run one = *r;
        for (one.parts = parts, one.phase = 0; one.phase < e->phases; one.phase++)
            for (one.part = 0; one.part < parts; one.part++) one.self->run(&one);
    }
    setitimer(ITIMER_REAL, &none, NULL);
    for (size_t i = 0; i < SIGNAL_COUNT; i++) sigaction(SIGNALS[i], &old[i], NULL);
    return signal;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Places an operand of `bytes` bytes at the start of area i, or at its end, as far as `align`
 * allows. */
static void *place(size_t i, uint64_t bytes, size_t align, bool at_end)
{
    unsigned char *memory = area(i);
    if (!at_end) return memory;
    unsigned char *at = memory + (ROOM - bytes) / align * align;
    memset(at + bytes, CANARY, (size_t)(memory + ROOM - at) - bytes);
    return at;
}

static bool is_clean(size_t i, const void *at, uint64_t bytes, bool at_end)
{
    const unsigned char *end = areas[i] + ROOM, *p = (const unsigned char *)at + bytes;
    for (; at_end && p < end; p++)
        if (*p != CANARY) return false;
    return true;
}

enum { NOISE = 1 << 16 };

/* A piece of noise drawn once, because drawing each byte anew would be most of the test's time. */
static const unsigned char *noise(bool wild)
{
    static const unsigned char COMMON[] = {0, 0, 0, 1, 0xff, 0x7f, 0x80, 2};
    static unsigned char drawn[2][NOISE];
    static bool is_drawn[2];
    for (size_t i = 0; i < NOISE && !is_drawn[wild]; i++)
        drawn[wild][i] = wild ? (unsigned char)next() : COMMON[next() % sizeof COMMON];
    is_drawn[wild] = true;
    return drawn[wild];
}

static void fill_random(void *at, uint64_t bytes)
{
    const unsigned char *from = noise(next() % 2);
    for (uint64_t done = 0, size; done < bytes; done += size) {
        const uint64_t start = next() % NOISE;
        size = NOISE - start < bytes - done ? NOISE - start : bytes - done;
        memcpy((unsigned char *)at + done, from + start, size);
    }
}

typedef struct check {
    const kernel *k;
    const kernel_plan *plan;
    const kernel_problem *problem;
    void *const *tensors;
    bool changed; /* the parameters differ from those that `prepare` made */
} check;

static size_t operand_count(const check *c)
{
    return c->problem->input_count + c->problem->output_count;
}

static bool fits_areas(const kernel_extent *e, size_t operands, uint64_t params, uint64_t most)
{
    uint64_t total =
        extent_add(extent_add(e->packed, params), extent_add(e->workspace, e->scratch));
    for (size_t i = 0; i < operands; i++) total = extent_add(total, e->tensors[i]);
    return total <= most;
}

static void run_once(const check *c, const void *params, const kernel_extent *e, bool at_end,
                     const char *what)
{
    void *tensors[KERNEL_TENSORS] = {0};
    atomic_int fault = 0;
    for (size_t i = 0; i < operand_count(c); i++) {
        if (!c->tensors[i]) continue;
        /* With changed parameters a kernel may read a byte operand as floats. That is no fault: in
         * a plan all operands lie at multiples of 64. */
        const bool is_bytes = e->tensors[i] % 8 != 0 && !c->changed;
        tensors[i] = place(i, e->tensors[i], is_bytes ? 1 : 8, at_end);
        if (c->changed || i >= c->problem->input_count)
            fill_random(tensors[i], e->tensors[i]);
        else
            memcpy(tensors[i], c->tensors[i], e->tensors[i]);
    }
    kernel_run r = {.self = c->k, .tensors = tensors, .fault = &fault};
    r.params = place(PARAMS, c->plan->params_bytes, 64, at_end);
    memcpy((void *)r.params, params, c->plan->params_bytes);
    void *packed = place(PACKED, e->packed, 64, at_end);
    r.workspace = place(WORKSPACE, e->workspace, 64, at_end);
    r.scratch = place(SCRATCH, e->scratch, 64, at_end);
    if (c->changed)
        fill_random(packed, e->packed);
    else if (e->packed)
        memcpy(packed, c->plan->packed, e->packed);
    if (e->packed) r.packed = packed;
    fill_random(r.workspace, e->workspace);
    fill_random(r.scratch, e->scratch);
    const uint32_t wanted = 1 + (uint32_t)(next() % 4);
    const uint32_t most = c->changed || e->parts < c->plan->parts ? e->parts : c->plan->parts;
    const int signal = run_guarded(&r, e, wanted < most ? wanted : most);
    if (signal == SIGALRM) fail_msg("%s runs for ever (%s)", c->k->name, what);
    if (signal) fail_msg("%s leaves its operands: signal %d (%s)", c->k->name, signal, what);
    if (!is_clean(WORKSPACE, r.workspace, e->workspace, at_end) ||
        !is_clean(SCRATCH, r.scratch, e->scratch, at_end))
        fail_msg("%s writes behind its workspace (%s)", c->k->name, what);
}

/* ---- What prepare made ---------------------------------------------------------------------- */

static kernel_claim claim_of(const check *c, const void *params)
{
    kernel_claim claim = {.params = params,
                          .params_bytes = c->plan->params_bytes,
                          .input_count = (uint32_t)c->problem->input_count,
                          .output_count = (uint32_t)c->problem->output_count};
    for (size_t i = 0; i < operand_count(c); i++)
        if (c->tensors[i]) claim.present |= 1ull << i;
    return claim;
}

static void check_figures(const check *c, const kernel_extent *e)
{
    const char *name = c->k->name;
    for (size_t i = 0; i < operand_count(c); i++) {
        const size_t outputs = i - c->problem->input_count;
        const kernel_tensor *t =
            i < c->problem->input_count ? &c->problem->inputs[i] : &c->problem->outputs[outputs];
        const uint64_t has = c->tensors[i] ? kernel_size_bytes(t) : 0;
        if (e->tensors[i] > has)
            fail_msg("%s: operand %zu has %llu bytes, extent states %llu", name, i,
                     (unsigned long long)has, (unsigned long long)e->tensors[i]);
    }
    if (e->packed > c->plan->packed_bytes || e->workspace > c->plan->workspace_bytes ||
        e->scratch > c->plan->scratch_bytes)
        fail_msg("%s: extent states more packed bytes (%llu of %zu), workspace (%llu of %zu) or "
                 "scratch memory (%llu of %zu) than there are",
                 name, (unsigned long long)e->packed, c->plan->packed_bytes,
                 (unsigned long long)e->workspace, c->plan->workspace_bytes,
                 (unsigned long long)e->scratch, c->plan->scratch_bytes);
    if (e->phases != c->plan->phases || e->parts < c->plan->parts)
        fail_msg("%s: extent states %u phases (not %u) or too few parts (%u of %u)", name,
                 e->phases, c->plan->phases, e->parts, c->plan->parts);
    if (c->plan->in_place >= 0 && (e->indices >> c->plan->in_place & 1))
        fail_msg("%s may work in the place of its indices", name);
}

/* ---- Changed parameters --------------------------------------------------------------------- */

static uint64_t changed_number(uint64_t old, const unsigned char *params, size_t size)
{
    uint64_t other = 0;
    if (size >= 4) memcpy(&other, params + next() % (size / 4) * 4, 4);
    const uint64_t choices[] = {
        0,       1,       2,     old + 1,  old - 1, old * 2,      old / 2,    16,
        0 - old, old + 8, other, 1u << 31, next(),  next() << 33, UINT64_MAX, INT64_MAX};
    return choices[next() % (sizeof choices / sizeof *choices)];
}

static void change(unsigned char *params, size_t size, char *what, size_t what_size)
{
    size_t length = 0;
    for (uint64_t n = 1 + next() % 3; n > 0 && size >= 8; n--) {
        const size_t width = next() % 2 ? 8 : 4;
        const size_t at = next() % (size / width) * width;
        uint64_t old = 0, new;
        memcpy(&old, params + at, width);
        new = changed_number(old, params, size);
        memcpy(params + at, &new, width);
        length += (size_t)snprintf(what + length, what_size - length, "byte %zu: %llx to %llx; ",
                                   at, (unsigned long long)old, (unsigned long long)new);
    }
}

static void run_changed(check *c)
{
    char what[256];
    const size_t size = c->plan->params_bytes;
    void *const *all = c->tensors;
    void *params = NULL;
    kernel_extent e;
    c->changed = true;
    assert_int_equal(posix_memalign(&params, 64, size + 64), 0);
    const char *more = getenv("EXTENT_CHANGES"); /* number of changes, for a longer search */
    for (long i = more ? strtol(more, NULL, 10) : CHANGES; i > 0; i--) {
        memcpy(params, c->plan->params, size);
        what[0] = 0;
        change(params, size, what, sizeof what);
        void *tensors[KERNEL_TENSORS];
        memcpy(tensors, all, operand_count(c) * sizeof *tensors);
        /* sometimes one operand is missing, as if the plan omitted it */
        if (next() % 4 == 0) tensors[next() % operand_count(c)] = NULL;
        c->tensors = tensors;
        const kernel_claim claim = claim_of(c, params);
        if (!kernel_extent_of(&e, c->k, &claim)) {
            if (!e.why) fail_msg("%s refuses without a reason", c->k->name);
            continue;
        }
        bool runs = fits_areas(&e, operand_count(c), size, CHANGED_TOTAL);
        for (size_t k = 0; k < operand_count(c); k++) runs &= c->tensors[k] || !e.tensors[k];
        if (runs) run_once(c, params, &e, next() % 2, what);
    }
    free(params);
}

void extent_check(const kernel *k, const kernel_plan *plan, const kernel_problem *problem,
                  void *const *tensors)
{
    check c = {.k = k, .plan = plan, .problem = problem, .tensors = tensors};
    kernel_extent e;
    const kernel_claim claim = claim_of(&c, plan->params);
    if (!kernel_extent_of(&e, k, &claim))
        fail_msg("%s: extent refuses what prepare made: %s", k->name, e.why);
    check_figures(&c, &e);
    if (fits_areas(&e, operand_count(&c), plan->params_bytes, ROOM))
        for (int at_end = 0; at_end < 2; at_end++)
            run_once(&c, plan->params, &e, at_end, "as prepared");
    run_changed(&c);
}
