/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules and kernels agree: the valid operator cases of tests/ops get other shapes and other
 * attributes at random. What the rule of the operator lets pass, and a kernel accepts, its
 * definition must compute, to the same values; with tensors of exactly their size, so that the
 * address sanitizer sees each access beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/op_case.h"
#include "kernels/launch.h"

enum { MAX_ATTRS = 32, MAX_ELEMENTS = 1 << 14, USUAL_TRIES = 60 };

typedef struct shaker {
    uint64_t state; /* of the random numbers */
    const char *path;
    size_t tries; /* of each case; SHAPE_TRIES=2000 looks longer */
    size_t tried, passed, ran, disagreed;
} shaker;

static uint64_t draw(shaker *s, uint64_t below)
{
    s->state = s->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (s->state >> 33) % below;
}

/* ---- Another node --------------------------------------------------------------------------- */

typedef struct shaken {
    op_node node;
    op_attr attrs[MAX_ATTRS];
    int64_t ints[MAX_ATTRS][PGY_MAX_RANK * 2];
    op_tensor inputs[KERNEL_MAX_INPUTS]; /* owned */
} shaken;

/* Elements go round, so that indices stay indices. */
static pgy_tensor *reshaped(const pgy_tensor *from, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    const size_t had = pgy_tensor_count(from);
    if (pgy_tensor_create(&t, pgy_tensor_dtype(from), rank, shape, NULL)) return NULL;
    const size_t size = pgy_dtype_describe(pgy_tensor_dtype(from))->bits / 8;
    for (size_t i = 0; had && i < pgy_tensor_count(t); i++)
        memcpy((char *)pgy_tensor_data(t) + i * size,
               (const char *)pgy_tensor_data(from) + i % had * size, size);
    return t;
}

static void shake_shape(shaker *s, op_tensor *t)
{
    int64_t shape[PGY_MAX_RANK + 1];
    size_t rank = pgy_tensor_rank(t->value), count = 1;
    memcpy(shape, pgy_tensor_shape(t->value), rank * sizeof *shape);
    const size_t at = rank ? (size_t)draw(s, rank) : 0;
    const uint64_t kind = draw(s, 8);
    if (kind == 0 && rank) {
        memmove(shape + at, shape + at + 1, (--rank - at) * sizeof *shape);
    } else if ((kind == 1 || !rank) && rank < PGY_MAX_RANK) {
        memmove(shape + at + 1, shape + at, (rank++ - at) * sizeof *shape);
        shape[at] = 1 + (int64_t)draw(s, 2);
    } else if (kind == 2 && rank > 1) {
        const int64_t first = shape[0];
        shape[0] = shape[at];
        shape[at] = first;
    } else {
        const int64_t sizes[] = {0, 1, 2, 3, shape[at] + 1, shape[at] - 1, 2 * shape[at], 17};
        const int64_t size = sizes[draw(s, sizeof sizes / sizeof *sizes)];
        shape[at] = size < 0 ? 0 : size;
    }
    for (size_t i = 0; i < rank; i++) count *= (size_t)shape[i];
    pgy_tensor *made = count <= MAX_ELEMENTS ? reshaped(t->value, rank, shape) : NULL;
    if (!made) return;
    pgy_tensor_release(t->value);
    t->value = made;
}

static void shake_attribute(shaker *s, shaken *n)
{
    static const int64_t VALUES[] = {-3, -1, 0, 1, 2, 3, 5};
    const size_t i = (size_t)draw(s, n->node.attr_count);
    const int64_t value = VALUES[draw(s, sizeof VALUES / sizeof *VALUES)];
    op_attr *a = &n->attrs[i];
    if (a->kind == OP_ATTR_INT) a->i = value;
    if (a->kind != OP_ATTR_INTS || !a->count || a->count > PGY_MAX_RANK * 2) return;
    memcpy(n->ints[i], a->ints, a->count * sizeof *a->ints);
    a->ints = n->ints[i];
    n->ints[i][draw(s, a->count)] = value;
}

static void shake(shaker *s, shaken *n)
{
    for (uint64_t edits = draw(s, 3); edits + 1 > 0; edits--) {
        const size_t i = (size_t)draw(s, n->node.input_count);
        if (n->node.attr_count && draw(s, 4) == 0)
            shake_attribute(s, n);
        else if (n->inputs[i].value)
            shake_shape(s, &n->inputs[i]);
        if (!edits) break;
    }
}

/* ---- Kernels -------------------------------------------------------------------------------- */

/* A use with tensors in their declared types. */
typedef struct trial {
    kernel_problem problem;
    int64_t shapes[KERNEL_MAX_OUTPUTS][PGY_MAX_RANK];
    pgy_tensor *declared[KERNEL_MAX_INPUTS];
    void *memory[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS];
} trial;

/* False: the shapes are not known before the data, or something is no tensor of numbers. */
static bool describe(trial *t, const shaken *n, const op_value *outputs, const bool *wanted)
{
    *t = (trial){.problem = {.node = &n->node,
                             .input_count = n->node.input_count,
                             .output_count = n->node.output_count}};
    for (size_t i = 0; i < n->node.input_count; i++) {
        const op_tensor *in = &n->inputs[i];
        if (!in->value) continue;
        if (in->dtype == PGY_STRING || op_from_storage(&t->declared[i], in->value, in->dtype, NULL))
            return false;
        t->problem.inputs[i] = (kernel_tensor){.dtype = in->dtype,
                                               .rank = (int32_t)pgy_tensor_rank(in->value),
                                               .shape = pgy_tensor_shape(in->value)};
    }
    for (size_t i = 0; i < n->node.output_count; i++) {
        const op_value *v = &outputs[i];
        size_t count = 1;
        if (!wanted[i]) continue;
        if (v->sequence || !v->dtype || v->dtype == PGY_STRING || v->rank < 0) return false;
        for (int32_t d = 0; d < v->rank; d++) {
            if (!dim_is_const(v->dims[d]) || v->dims[d].value > MAX_ELEMENTS) return false;
            count *= (size_t)(t->shapes[i][d] = v->dims[d].value);
            if (count > MAX_ELEMENTS * 16) return false;
        }
        t->problem.outputs[i] =
            (kernel_tensor){.dtype = v->dtype, .rank = v->rank, .shape = t->shapes[i]};
    }
    return true;
}

static void trial_deinit(trial *t)
{
    for (size_t i = 0; i < KERNEL_MAX_INPUTS; i++) pgy_tensor_release(t->declared[i]);
    for (size_t i = 0; i < KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS; i++) mem_free(t->memory[i]);
}

static void *exact(size_t size_bytes)
{
    void *p = mem_alloc_aligned(64, size_bytes ? size_bytes : 1);
    if (!p) fail_msg("out of memory");
    memset(p, 0, size_bytes);
    return p;
}

/* The status of a fault. */
static pgy_status run_phases(const kernel *k, const kernel_plan *p, void *const *tensors)
{
    void *workspace = exact(p->workspace_bytes), *scratch = exact(p->scratch_bytes);
    launch l = launch_of(k, p, 3);
    l.run.tensors = tensors;
    l.run.workspace = workspace;
    l.scratch = scratch;
    const pgy_status st = launch_alone(&l);
    mem_free(workspace);
    mem_free(scratch);
    return st;
}

static bool same_values(const trial *t, size_t i, const pgy_tensor *wanted)
{
    enum { LARGEST_INVERSE = 100 }; /* rounding moves those of nearly singular matrices far */
    const kernel_tensor *k = &t->problem.outputs[i];
    const void *got = t->memory[t->problem.input_count + i], *want = pgy_tensor_data(wanted);
    const pgy_dtype held = pgy_tensor_dtype(wanted);
    if (k->dtype != PGY_F32 || k->layout != KERNEL_LINEAR || held != PGY_F64) return true;
    double most = 1;
    for (size_t e = 0; e < pgy_tensor_count(wanted); e++) {
        const double x = ((const double *)want)[e];
        if (isfinite(x) && fabs(x) > most) most = fabs(x);
    }
    if (most > LARGEST_INVERSE && strcmp(t->problem.node->def->name, "Inverse") == 0) return true;
    for (size_t e = 0; e < pgy_tensor_count(wanted); e++) {
        const double x = ((const double *)want)[e], y = (double)((const float *)got)[e];
        if (isfinite(x) && fabs(x) < 1e30 && !(fabs(x - y) <= 1e-3 * most)) return false;
    }
    return true;
}

/* Without any, an index out of range is never read. */
static bool gives_elements(const trial *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->problem.output_count; i++)
        if (t->problem.outputs[i].dtype) count += kernel_count(&t->problem.outputs[i]);
    return count > 0;
}

static void complain(shaker *s, const shaken *n, const trial *t, const kernel *k, const char *what)
{
    str text = {0};
    str_printf(&text, "%s: %s, %s:", s->path, k->name, n->node.name);
    for (size_t i = 0; i < t->problem.input_count; i++) {
        str_printf(&text, " %s[", pgy_dtype_name(t->problem.inputs[i].dtype));
        for (int32_t d = 0; t->problem.inputs[i].dtype && d < t->problem.inputs[i].rank; d++)
            str_printf(&text, " %lld", (long long)t->problem.inputs[i].shape[d]);
        str_append(&text, " ]");
    }
    for (size_t i = 0; i < n->node.attr_count; i++) {
        const op_attr *a = &n->node.attrs[i];
        if (a->kind == OP_ATTR_INT) str_printf(&text, " %s=%lld", a->name, (long long)a->i);
        for (size_t e = 0; a->kind == OP_ATTR_INTS && e < a->count; e++)
            str_printf(&text, " %s[%zu]=%lld", a->name, e, (long long)a->ints[e]);
    }
    print_error("%s: %s\n", str_text(&text), what);
    str_deinit(&text);
    s->disagreed++;
}

/* `made`: what the definition gives; NULL with `why`: it refuses. */
static void ask(shaker *s, const shaken *n, const trial *of, const kernel *k, bool constant,
                const op_tensor *made, const char *why)
{
    trial t = *of;
    double cost;
    kernel_plan plan = {0};
    memset(t.declared, 0, sizeof t.declared);
    for (size_t i = constant ? 1 : SIZE_MAX; i < t.problem.input_count; i++)
        if (of->declared[i]) t.problem.inputs[i].data = pgy_tensor_data(of->declared[i]);
    if (!kernel_accept(k, &t.problem, &cost)) return;
    if (k->prepare(&plan, &t.problem, NULL)) return;
    s->ran++;
    void *tensors[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    for (size_t i = 0; i < t.problem.input_count; i++) {
        const kernel_tensor *in = &t.problem.inputs[i];
        if (!in->dtype || (plan.packed_inputs >> i & 1)) continue;
        tensors[i] = t.memory[i] = exact(kernel_size_bytes(in));
        if (in->layout == KERNEL_LINEAR)
            memcpy(tensors[i], pgy_tensor_data(of->declared[i]), kernel_size_bytes(in));
    }
    for (size_t i = 0; i < t.problem.output_count; i++)
        if (t.problem.outputs[i].dtype)
            tensors[t.problem.input_count + i] = t.memory[t.problem.input_count + i] =
                exact(kernel_size_bytes(&t.problem.outputs[i]));
    bool linear = true;
    for (size_t i = 0; i < t.problem.input_count; i++)
        linear &= t.problem.inputs[i].layout == KERNEL_LINEAR;
    const int fault = run_phases(k, &plan, tensors);
    if (!made && !fault && gives_elements(&t)) complain(s, n, &t, k, why);
    for (size_t i = 0; made && linear && i < t.problem.output_count; i++)
        if (t.problem.outputs[i].dtype && !fault && !same_values(&t, i, made[i].value))
            complain(s, n, &t, k, "other values than by definition");
    kernel_plan_deinit(&plan);
    trial_deinit(&t);
}

static void ask_all(shaker *s, const shaken *n, const trial *t, const op_tensor *made,
                    const char *why)
{
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(n->node.def->domain, n->node.def->name, i);
        if (!k) return;
        if (k->device) continue;
        ask(s, n, t, k, false, made, why);
        ask(s, n, t, k, true, made, why);
    }
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static void judge(shaker *s, shaken *n, const bool *wanted)
{
    const op_host host = {.max_bytes = 1 << 26};
    const op_value *foreseen = NULL;
    op_tensor made[KERNEL_MAX_OUTPUTS] = {{0}};
    pgy_error why = {0};
    arena memory = {0};
    trial t = {0};
    s->tried++;
    if (!op_check_node(&n->node, NULL) &&
        !op_foresee(&foreseen, &n->node, n->inputs, wanted, &host, &memory, NULL) &&
        describe(&t, n, foreseen, wanted)) {
        s->passed++;
        const bool refused = op_run(&n->node, n->inputs, made, wanted, &host, &why) != PGY_OK;
        ask_all(s, n, &t, refused ? NULL : made, why.text);
        for (size_t i = 0; i < n->node.output_count; i++) op_tensor_release(&made[i]);
    }
    trial_deinit(&t);
    arena_deinit(&memory);
}

static void visit(const op_node *node, const op_tensor *inputs, const bool *wanted, void *user)
{
    shaker *s = user;
    if (!node->input_count || node->input_count > KERNEL_MAX_INPUTS ||
        node->output_count > KERNEL_MAX_OUTPUTS || node->attr_count > MAX_ATTRS ||
        !kernel_for(node->def->domain, node->def->name, 0))
        return;
    for (size_t i = 0; i < node->input_count; i++)
        if (inputs[i].dtype == PGY_STRING) return;
    for (size_t round = 0; round < s->tries; round++) {
        shaken n = {.node = *node};
        if (node->attr_count) memcpy(n.attrs, node->attrs, node->attr_count * sizeof *n.attrs);
        n.node.attrs = n.attrs;
        for (size_t i = 0; i < node->input_count; i++) n.inputs[i] = op_tensor_retain(&inputs[i]);
        if (round) shake(s, &n);
        judge(s, &n, wanted);
        for (size_t i = 0; i < node->input_count; i++) op_tensor_release(&n.inputs[i]);
    }
}

static void test_shapes__rules_refuse_what_kernels_cannot_do(void **state)
{
    (void)state;
    const char *only = getenv("OP_CASES");
    char pattern[1024];
    glob_t files = {0};
    const char *tries = getenv("SHAPE_TRIES");
    shaker s = {.state = 1, .tries = tries ? strtoul(tries, NULL, 10) : USUAL_TRIES};
    op_case_report report = {.visit = visit, .user = &s};
    snprintf(pattern, sizeof pattern, "%s/ops/%s.txt", TEST_SOURCE_DIR "/tests", only ? only : "*");
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        s.path = strrchr(files.gl_pathv[i], '/') + 1;
        op_cases_run(&report, files.gl_pathv[i]);
    }
    globfree(&files);
    str_deinit(&report.text);
    print_message("%zu tried, %zu pass the rule, %zu runs of kernels\n", s.tried, s.passed, s.ran);
    assert_int_equal(s.disagreed, 0);
    assert_true(only || s.ran > 10000);
}
