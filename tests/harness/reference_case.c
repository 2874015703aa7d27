/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/reference_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/extent_check.h"
#include "tensor/convert.h"

enum { GUARD = 256, CANARY = 0x5a };

void reference_start(reference_case *c, const char *domain, const char *op, int64_t opset)
{
    *c = (reference_case){.seed = 42};
    c->node = (op_node){.def = op_find(domain, op, opset), .name = "n", .opset = opset};
    assert_non_null(c->node.def);
}

static op_attr *add_attr(reference_case *c, const char *name, op_attr_kind kind)
{
    op_attr *a = &c->attrs[c->node.attr_count++];
    *a = (op_attr){.name = name, .kind = kind};
    c->node.attrs = c->attrs;
    return a;
}

void reference_attr_int(reference_case *c, const char *name, int64_t value)
{
    add_attr(c, name, OP_ATTR_INT)->i = value;
}

void reference_attr_float(reference_case *c, const char *name, float value)
{
    add_attr(c, name, OP_ATTR_FLOAT)->f = value;
}

void reference_attr_ints(reference_case *c, const char *name, const int64_t *values, size_t count)
{
    op_attr *a = add_attr(c, name, OP_ATTR_INTS);
    a->ints = values;
    a->count = count;
}

void reference_attr_floats(reference_case *c, const char *name, const float *values, size_t count)
{
    op_attr *a = add_attr(c, name, OP_ATTR_FLOATS);
    a->floats = values;
    a->count = count;
}

void reference_attr_text(reference_case *c, const char *name, const char *text)
{
    add_attr(c, name, OP_ATTR_STRING)->s = span_of(text);
}

void reference_attr_tensor(reference_case *c, const char *name, pgy_dtype dtype,
                           const double *values, size_t count)
{
    op_attr *a = add_attr(c, name, OP_ATTR_TENSOR);
    const int64_t size = (int64_t)count;
    a->tensor_dtype = dtype;
    assert_int_equal(pgy_tensor_create(&a->tensor, op_storage(dtype), 1, &size, NULL), PGY_OK);
    for (size_t i = 0; i < count; i++) {
        if (pgy_tensor_dtype(a->tensor) == PGY_F64)
            op_f64(a->tensor)[i] = values[i];
        else
            op_i64(a->tensor)[i] = (int64_t)values[i];
    }
    op_conform(a->tensor, dtype, true);
}

static uint64_t next(reference_case *c)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return c->seed >> 40;
}

static void fill(reference_case *c, pgy_tensor *t)
{
    void *data = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const double unit = (double)next(c) / (double)(1 << 23) - 1;
        const int64_t whole = (int64_t)(next(c) % 19) - 9;
        switch (pgy_tensor_dtype(t)) {
        case PGY_F32: ((float *)data)[i] = (float)(4 * unit); break;
        case PGY_F64: ((double *)data)[i] = 4 * unit; break;
        case PGY_F16: ((uint16_t *)data)[i] = f16_from_f64(4 * unit); break;
        case PGY_BF16: ((uint16_t *)data)[i] = bf16_from_f64(4 * unit); break;
        case PGY_I64: ((int64_t *)data)[i] = whole; break;
        case PGY_I32: ((int32_t *)data)[i] = (int32_t)whole; break;
        case PGY_I8: ((int8_t *)data)[i] = (int8_t)whole; break;
        case PGY_I16: ((int16_t *)data)[i] = (int16_t)whole; break;
        case PGY_U8: ((uint8_t *)data)[i] = (uint8_t)llabs(whole); break;
        case PGY_U16: ((uint16_t *)data)[i] = (uint16_t)llabs(whole); break;
        case PGY_U32: ((uint32_t *)data)[i] = (uint32_t)llabs(whole); break;
        case PGY_U64: ((uint64_t *)data)[i] = (uint64_t)llabs(whole); break;
        case PGY_BOOL: ((uint8_t *)data)[i] = whole > 0; break;
        default: fail_msg("no values for %s", pgy_dtype_name(pgy_tensor_dtype(t)));
        }
    }
}

static pgy_tensor *add_input(reference_case *c, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, rank, shape, NULL), PGY_OK);
    c->inputs[c->input_count++] = t;
    c->node.input_count++;
    return t;
}

void *reference_input(reference_case *c, pgy_dtype dtype, const char *shape)
{
    int64_t sizes[16];
    size_t rank = 0;
    if (!shape) {
        c->inputs[c->input_count++] = NULL;
        c->node.input_count++;
        return NULL;
    }
    for (char *end = NULL; *shape; shape = end) {
        sizes[rank] = strtoll(shape, &end, 10);
        if (end == shape) break;
        rank++;
    }
    pgy_tensor *t = add_input(c, dtype, rank, sizes);
    fill(c, t);
    return pgy_tensor_data(t);
}

void reference_ints(reference_case *c, const int64_t *values, size_t count)
{
    const int64_t size = (int64_t)count;
    pgy_tensor *t = add_input(c, PGY_I64, 1, &size);
    if (count) memcpy(pgy_tensor_data(t), values, count * sizeof *values);
    reference_constant(c);
}

void reference_constant(reference_case *c)
{
    c->constant[c->input_count - 1] = true;
}

/* ---- What is wanted ---------------------------------------------------------------------------
 */

void reference_wanted(reference_case *c, size_t outputs, pgy_tensor **wanted)
{
    op_tensor in[KERNEL_MAX_INPUTS] = {{0}}, out[KERNEL_MAX_OUTPUTS] = {{0}};
    bool named[KERNEL_MAX_OUTPUTS];
    for (size_t i = 0; i < KERNEL_MAX_OUTPUTS; i++) named[i] = true;
    const op_host host = {0};
    pgy_error err = {0};
    c->node.output_count = outputs;
    for (size_t i = 0; i < c->input_count; i++) {
        if (!c->inputs[i]) continue;
        in[i].dtype = pgy_tensor_dtype(c->inputs[i]);
        assert_int_equal(op_to_storage(&in[i].value, c->inputs[i], &err), PGY_OK);
    }
    if (op_run(&c->node, in, out, named, &host, &err)) fail_msg("reference: %s", err.text);
    for (size_t i = 0; i < outputs; i++) {
        assert_int_equal(op_from_storage(&wanted[i], out[i].value, out[i].dtype, &err), PGY_OK);
        op_tensor_release(&out[i]);
    }
    for (size_t i = 0; i < c->input_count; i++) op_tensor_release(&in[i]);
}

/* ---- Layouts ----------------------------------------------------------------------------------
 */

static size_t place_of(const kernel_tensor *t, size_t linear)
{
    const size_t b = kernel_block(t->layout);
    if (b == 1) return linear;
    size_t inner = 1;
    for (int32_t i = 2; i < t->rank; i++) inner *= (size_t)t->shape[i];
    const size_t channels = (size_t)t->shape[1], blocks = (channels + b - 1) / b;
    const size_t at = linear % inner, channel = linear / inner % channels;
    const size_t n = linear / inner / channels;
    return ((n * blocks + channel / b) * inner + at) * b + channel % b;
}

static void *guarded(size_t size)
{
    unsigned char *memory = mem_alloc_aligned(64, size + 2 * GUARD);
    assert_non_null(memory);
    memset(memory, CANARY, size + 2 * GUARD);
    return memory + GUARD;
}

static void release(void *data, size_t size, const char *what, const kernel *k)
{
    unsigned char *memory = (unsigned char *)data - GUARD;
    for (size_t i = 0; i < GUARD; i++)
        if (memory[i] != CANARY || memory[GUARD + size + i] != CANARY)
            fail_msg("%s writes outside of its %s", k->name, what);
    mem_free(memory);
}

static void arrange(void *to, const kernel_tensor *t, const pgy_tensor *linear)
{
    const size_t item = pgy_dtype_describe(t->dtype)->bits / 8, count = kernel_count(t);
    if (kernel_block(t->layout) == 1) {
        if (count) memcpy(to, pgy_tensor_data(linear), count * item);
        return;
    }
    memset(to, 0, kernel_size_bytes(t));
    for (size_t i = 0; i < count; i++)
        memcpy((char *)to + place_of(t, i) * item, (const char *)pgy_tensor_data(linear) + i * item,
               item);
}

/* ---- Running ----------------------------------------------------------------------------------
 */

static void check(const kernel *k, size_t output, const kernel_tensor *y, const void *got,
                  const pgy_tensor *wanted, double tolerance)
{
    const size_t item = pgy_dtype_describe(y->dtype)->bits / 8, count = kernel_count(y);
    const void *w = pgy_tensor_data(wanted);
    double scale = 0;
    if (!count || (kernel_block(y->layout) == 1 && !memcmp(got, w, count * item))) return;
    for (size_t i = 0; i < count && pgy_dtype_is_float(y->dtype); i++) {
        const double x = element_as_f64(y->dtype, w, i);
        if (isfinite(x)) scale = fmax(scale, fabs(x));
    }
    for (size_t i = 0; i < count; i++) {
        const char *at = (const char *)got + place_of(y, i) * item;
        if (!pgy_dtype_is_float(y->dtype)) {
            if (memcmp(at, (const char *)w + i * item, item))
                fail_msg("%s: element %zu of output %zu is %lld, not %lld", k->name, i, output,
                         (long long)element_as_i64(y->dtype, at, 0),
                         (long long)element_as_i64(y->dtype, w, i));
            continue;
        }
        const double x = element_as_f64(y->dtype, at, 0), v = element_as_f64(y->dtype, w, i);
        if (x == v || (isnan(x) && isnan(v))) continue;
        if (!(fabs(x - v) <= tolerance * scale))
            fail_msg("%s: element %zu of output %zu is %.9g, not %.9g", k->name, i, output, x, v);
    }
}

/* Runs of one kernel: the inputs as it reads them, NULL if absent or packed, and the outputs of the
 * first run. */
typedef struct variant {
    const kernel *k;
    const kernel_problem *problem;
    kernel_plan plan;
    void *given[KERNEL_MAX_INPUTS], *first[KERNEL_MAX_OUTPUTS];
} variant;

static void start(variant *v, const reference_case *c)
{
    for (size_t i = 0; i < v->problem->input_count; i++) {
        if (!c->inputs[i] || (v->plan.packed_inputs >> i & 1)) continue;
        v->given[i] = mem_alloc(kernel_size_bytes(&v->problem->inputs[i]) + 1);
        assert_non_null(v->given[i]);
        arrange(v->given[i], &v->problem->inputs[i], c->inputs[i]);
    }
}

/* The outputs of the first run are near the wanted ones, those of all others equal them. */
static void check_output(variant *v, size_t i, const void *out, const pgy_tensor *wanted,
                         double tolerance, uint32_t parts, bool in_place)
{
    const kernel_tensor *y = &v->problem->outputs[i];
    const size_t size = kernel_size_bytes(y);
    if (v->first[i] && !memcmp(v->first[i], out, size)) return;
    check(v->k, i, y, out, wanted, tolerance);
    if (v->first[i])
        fail_msg("%s: %u parts%s give other bits", v->k->name, parts, in_place ? " in place" : "");
    v->first[i] = mem_alloc(size + 1);
    assert_non_null(v->first[i]);
    memcpy(v->first[i], out, size);
}

static void check_input(const variant *v, size_t i, void *data, bool in_place)
{
    const size_t size = kernel_size_bytes(&v->problem->inputs[i]);
    const bool written = in_place && i == (size_t)v->plan.in_place;
    if (!written && memcmp(v->given[i], data, size))
        fail_msg("%s changes input %zu", v->k->name, i);
    release(data, size, "input", v->k);
}

/* Runs a kernel once. `in_place`: output 0 uses the memory of input plan.in_place. */
static void run_once(variant *v, bool in_place, uint32_t parts, pgy_tensor *const *want,
                     double tolerance)
{
    const size_t inputs = v->problem->input_count;
    void *tensors[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    for (size_t i = 0; i < inputs; i++) {
        const size_t size = v->given[i] ? kernel_size_bytes(&v->problem->inputs[i]) : 0;
        if (v->given[i]) tensors[i] = memcpy(guarded(size), v->given[i], size);
    }
    for (size_t i = 0; i < v->problem->output_count; i++) {
        const size_t size = kernel_size_bytes(&v->problem->outputs[i]);
        if (i == 0 && in_place)
            tensors[inputs] = tensors[v->plan.in_place];
        else
            tensors[inputs + i] = memset(guarded(size), 0xff, size);
    }
    kernel_run_alone(v->k, &v->plan, tensors, parts);
    if (parts == 1) extent_check(v->k, &v->plan, v->problem, tensors);
    for (size_t i = 0; i < v->problem->output_count; i++) {
        check_output(v, i, tensors[inputs + i], want[i], tolerance, parts, in_place);
        if (i > 0 || !in_place)
            release(tensors[inputs + i], kernel_size_bytes(&v->problem->outputs[i]), "output",
                    v->k);
    }
    for (size_t i = 0; i < inputs; i++)
        if (tensors[i]) check_input(v, i, tensors[i], in_place);
}

static void run_variant(const kernel *k, const reference_case *c, const kernel_problem *problem,
                        pgy_tensor *const *wanted, double tolerance)
{
    static const uint32_t PARTS[] = {1, 2, 3, 7};
    variant v = {.k = k, .problem = problem};
    pgy_error err = {0};
    if (k->prepare(&v.plan, problem, &err)) fail_msg("%s: %s", k->name, err.text);
    start(&v, c);
    for (size_t p = 0; p < sizeof PARTS / sizeof *PARTS; p++)
        run_once(&v, false, PARTS[p], wanted, tolerance);
    if (v.plan.in_place >= 0) run_once(&v, true, 3, wanted, tolerance);
    for (size_t i = 0; i < problem->input_count; i++) mem_free(v.given[i]);
    for (size_t i = 0; i < problem->output_count; i++) mem_free(v.first[i]);
    kernel_plan_deinit(&v.plan);
}

static kernel_tensor describe(const pgy_tensor *t, bool constant, kernel_layout layout)
{
    if (!t) return (kernel_tensor){0};
    const bool blocked = !constant && pgy_tensor_rank(t) >= 3;
    return (kernel_tensor){.dtype = pgy_tensor_dtype(t),
                           .rank = (int32_t)pgy_tensor_rank(t),
                           .shape = pgy_tensor_shape(t),
                           .layout = blocked ? layout : KERNEL_LINEAR,
                           .data = constant ? pgy_tensor_data(t) : NULL};
}

size_t reference_run_layout(reference_case *c, size_t outputs, kernel_layout layout,
                            double tolerance)
{
    pgy_tensor *wanted[KERNEL_MAX_OUTPUTS] = {0};
    size_t ran = 0;
    reference_wanted(c, outputs, wanted);
    kernel_problem offered = {
        .node = &c->node, .input_count = c->input_count, .output_count = outputs};
    for (size_t i = 0; i < c->input_count; i++)
        offered.inputs[i] = describe(c->inputs[i], c->constant[i], layout);
    for (size_t i = 0; i < outputs; i++)
        offered.outputs[i] = describe(wanted[i], false, KERNEL_LINEAR);
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(c->node.def->domain, c->node.def->name, i);
        if (!k) break;
        if (k->device) continue;
        kernel_problem problem = offered;
        double cost = -1;
        if (!kernel_accept(k, &problem, &cost)) continue;
        if (!(cost >= 0)) fail_msg("%s accepts without a cost", k->name);
        run_variant(k, c, &problem, wanted, tolerance);
        ran++;
    }
    for (size_t i = 0; i < outputs; i++) pgy_tensor_release(wanted[i]);
    for (size_t i = 0; i < c->input_count; i++) pgy_tensor_release(c->inputs[i]);
    for (size_t i = 0; i < c->node.attr_count; i++) pgy_tensor_release(c->attrs[i].tensor);
    return ran;
}

size_t reference_run(reference_case *c, size_t outputs, double tolerance)
{
    return reference_run_layout(c, outputs, KERNEL_LINEAR, tolerance);
}
