/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one node on values: the shape rule gets the concrete inputs, outputs are allocated from its
 * result, the operator fills them, and they are brought into the range of their declared types. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "ops/op.h"
#include "tensor/convert.h"
#include "tensor/tensor.h"

/* ---- Storage -------------------------------------------------------------------------------- */

pgy_status op_to_storage(pgy_tensor **out, pgy_tensor *t, pgy_error *err)
{
    pgy_tensor *resident = NULL;
    pgy_status st = pgy_tensor_load(&resident, t, err);
    if (st) return st;
    const pgy_dtype storage = op_storage(pgy_tensor_dtype(resident));
    if (storage == pgy_tensor_dtype(resident)) {
        *out = resident;
        return PGY_OK;
    }
    st = pgy_tensor_cast(out, pgy_tensor_view(resident), storage, err);
    pgy_tensor_release(resident);
    return st;
}

/* Infinities are stored as they are: operators that saturate have replaced them already. */
pgy_status op_from_storage(pgy_tensor **out, pgy_tensor *value, pgy_dtype declared, pgy_error *err)
{
    if (declared == PGY_DTYPE_NONE || pgy_tensor_dtype(value) == declared) {
        *out = pgy_tensor_retain(value);
        return PGY_OK;
    }
    pgy_tensor *made = NULL;
    pgy_status st =
        pgy_tensor_create(&made, declared, pgy_tensor_rank(value), pgy_tensor_shape(value), err);
    if (!st) st = pgy_view_convert(pgy_tensor_view(made), pgy_tensor_view(value), false, err);
    if (st) {
        pgy_tensor_release(made);
        return st;
    }
    *out = made;
    return PGY_OK;
}

pgy_status op_tensor_settle(op_tensor *t, pgy_error *err)
{
    pgy_tensor *declared = NULL;
    if (!t->value) return PGY_OK;
    const pgy_status st = op_from_storage(&declared, t->value, t->dtype, err);
    if (st) return st;
    pgy_tensor_release(t->value);
    t->value = declared;
    return PGY_OK;
}

static void wrap_ints(int64_t *x, size_t count, unsigned bits, bool is_signed)
{
    const unsigned shift = 64 - bits;
    if (is_signed)
        for (size_t i = 0; i < count; i++) x[i] = (int64_t)((uint64_t)x[i] << shift) >> shift;
    else
        for (size_t i = 0; i < count; i++) x[i] = (int64_t)((uint64_t)x[i] << shift >> shift);
}

static void round_floats_to(double *x, size_t count, pgy_dtype declared)
{
    if (declared == PGY_F32)
        for (size_t i = 0; i < count; i++) x[i] = (double)(float)x[i];
    else
        for (size_t i = 0; i < count; i++) x[i] = float_round(declared, x[i], false);
}

void op_conform(pgy_tensor *value, pgy_dtype declared, bool round_floats)
{
    const pgy_dtype_info *info = pgy_dtype_describe(declared);
    const pgy_dtype held = pgy_tensor_dtype(value);
    const size_t count = pgy_tensor_count(value);
    const bool integer = info->kind == PGY_KIND_SIGNED || info->kind == PGY_KIND_UNSIGNED;
    if (held == declared || held != op_storage(declared) || count == 0) return;
    if (integer)
        wrap_ints(pgy_tensor_data(value), count, info->bits, info->kind == PGY_KIND_SIGNED);
    else if (info->kind == PGY_KIND_FLOAT && round_floats)
        round_floats_to(pgy_tensor_data(value), count, declared);
    else if (declared == PGY_C64 && round_floats)
        round_floats_to(pgy_tensor_data(value), 2 * count, PGY_F32);
}

/* ---- Values --------------------------------------------------------------------------------- */

op_sequence *op_sequence_create(size_t count)
{
    op_sequence *s = mem_calloc(1, sizeof *s);
    op_tensor *items = mem_calloc(count ? count : 1, sizeof *items);
    if (!s || !items) {
        mem_free(s);
        mem_free(items);
        return NULL;
    }
    *s = (op_sequence){.items = items, .count = count, .refs = 1};
    return s;
}

void op_sequence_release(op_sequence *s)
{
    if (!s || --s->refs > 0) return;
    for (size_t i = 0; i < s->count; i++) op_tensor_release(&s->items[i]);
    mem_free(s->items);
    mem_free(s);
}

void op_tensor_release(op_tensor *t)
{
    pgy_tensor_release(t->value);
    op_sequence_release(t->sequence);
    *t = (op_tensor){0};
}

op_tensor op_tensor_retain(const op_tensor *t)
{
    if (t->value) pgy_tensor_retain(t->value);
    if (t->sequence) t->sequence->refs++;
    return *t;
}

bool op_has_value(const op_eval *c, size_t i)
{
    return i < c->node->input_count && (c->inputs[i].value || c->inputs[i].sequence);
}

void *op_find_kept(const op_eval *c)
{
    return c->host && c->host->kept ? c->host->kept->data : NULL;
}

void op_keep(const op_eval *c, void *data, void (*destroy)(void *data))
{
    if (c->host && c->host->kept)
        *c->host->kept = (op_kept){data, destroy};
    else
        destroy(data);
}

static pgy_status check_limit(const op_eval *c, size_t output, pgy_dtype dtype, size_t rank,
                              const int64_t *shape, pgy_error *err)
{
    size_t count, bytes;
    if (!c->host || !c->host->max_bytes) return PGY_OK;
    pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (!st) st = pgy_dtype_size_bytes(&bytes, op_storage(dtype), count, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->node->def->name, c->node->name);
    if (bytes > c->host->max_bytes)
        return op_error(c->node, err, PGY_E_MEMORY, "output %zu needs %zu bytes, which exceeds %s",
                        output, bytes, memory_limit_describe_other(c->host->max_bytes).text);
    return PGY_OK;
}

static pgy_status make_output(op_eval *c, size_t i, pgy_dtype dtype, size_t rank,
                              const int64_t *shape, bool clear, pgy_error *err)
{
    pgy_tensor *made = NULL;
    if (dtype == PGY_DTYPE_NONE) dtype = c->outputs[i].dtype;
    if (dtype == PGY_DTYPE_NONE)
        return op_error(c->node, err, PGY_E_TYPE, "the type of output %zu is unknown", i);
    pgy_status st = check_limit(c, i, dtype, rank, shape, err);
    if (st) return st;
    st = clear ? pgy_tensor_create(&made, op_storage(dtype), rank, shape, err)
               : tensor_create_raw(&made, op_storage(dtype), rank, shape, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->node->def->name, c->node->name);
    op_tensor_release(&c->outputs[i]);
    c->outputs[i] = (op_tensor){.dtype = dtype, .value = made};
    return PGY_OK;
}

pgy_status op_output(op_eval *c, size_t i, pgy_dtype dtype, size_t rank, const int64_t *shape,
                     pgy_error *err)
{
    return make_output(c, i, dtype, rank, shape, true, err);
}

pgy_status op_forward(op_eval *c, size_t output, size_t input, pgy_error *err)
{
    op_tensor *to = &c->outputs[output];
    const op_tensor *from = &c->inputs[input];
    pgy_tensor *shared = NULL;
    if (from->sequence) {
        const op_tensor kept = op_tensor_retain(from);
        op_tensor_release(to);
        *to = kept;
        return PGY_OK;
    }
    if (!from->value) return op_error(c->node, err, PGY_E_FORMAT, "input %zu is missing", input);
    const pgy_tensor *like = to->value ? to->value : from->value;
    pgy_status st = pgy_tensor_reshape(&shared, from->value, pgy_tensor_rank(like),
                                       pgy_tensor_shape(like), err);
    if (!st && to->dtype && to->dtype != from->dtype) {
        /* op_conform to another declared type may change elements, so they cannot be shared. */
        pgy_tensor *own = NULL;
        st = pgy_tensor_copy(&own, pgy_tensor_view(shared), err);
        pgy_tensor_release(shared);
        shared = own;
    }
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->node->def->name, c->node->name);
    pgy_tensor_release(to->value);
    to->value = shared;
    if (!to->dtype) to->dtype = from->dtype;
    return PGY_OK;
}

pgy_status op_eval_ints(const op_eval *c, size_t input, const int64_t **out, size_t *count,
                        pgy_error *err)
{
    const pgy_tensor *t = input < c->node->input_count ? c->inputs[input].value : NULL;
    if (!t) return op_error(c->node, err, PGY_E_FORMAT, "input %zu is missing", input);
    if (pgy_tensor_dtype(t) != PGY_I64)
        return op_error(c->node, err, PGY_E_TYPE, "input %zu has type %s, but must hold integers",
                        input, pgy_dtype_name(c->inputs[input].dtype));
    *out = pgy_tensor_data(t);
    *count = pgy_tensor_count(t);
    return PGY_OK;
}

double op_eval_scalar(const op_eval *c, size_t input, double fallback)
{
    const pgy_tensor *t = input < c->node->input_count ? c->inputs[input].value : NULL;
    if (!t || pgy_tensor_count(t) == 0 || pgy_tensor_dtype(t) == PGY_STRING) return fallback;
    return pgy_tensor_dtype(t) == PGY_C128
               ? fallback
               : element_as_f64(pgy_tensor_dtype(t), pgy_tensor_data(t), 0);
}

/* ---- Running a node ------------------------------------------------------------------------- */

static bool describe(op_value *out, const op_tensor *t, arena *memory);

static bool describe_sequence(op_value *out, const op_sequence *s, arena *memory)
{
    *out = (op_value){.rank = -1};
    if (s->map) {
        out->map_key = s->items[0].dtype;
        out->map_value = s->items[1].dtype;
        return true;
    }
    op_value *element = arena_alloc(memory, sizeof *element);
    if (!element) return false;
    element->rank = -1;
    if (s->count) element->dtype = s->items[0].dtype;
    if (s->count && s->items[0].sequence && s->items[0].sequence->map)
        describe_sequence(element, s->items[0].sequence, memory);
    out->sequence = element;
    out->optional = s->none;
    return true;
}

/* Makes an op_value of a concrete value, so that infer knows its type, shape and elements. */
static bool describe(op_value *out, const op_tensor *t, arena *memory)
{
    *out = (op_value){.rank = -1};
    if (t->sequence) return describe_sequence(out, t->sequence, memory);
    if (!t->value) return true;
    const size_t rank = pgy_tensor_rank(t->value);
    const int64_t *shape = pgy_tensor_shape(t->value);
    dim *dims = arena_alloc_array(memory, rank, sizeof *dims);
    if (!dims) return false;
    for (size_t i = 0; i < rank; i++) dims[i] = dim_const(shape[i]);
    *out = (op_value){.dtype = t->dtype, .rank = (int32_t)rank, .dims = dims, .data = t->value};
    return true;
}

static pgy_status prepare_output(op_eval *c, size_t i, const op_value *known, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    c->outputs[i] = (op_tensor){.dtype = known->dtype};
    if (!known->dtype || known->rank < 0 || known->rank > PGY_MAX_RANK) return PGY_OK;
    for (int32_t d = 0; d < known->rank; d++) {
        if (!dim_is_const(known->dims[d])) return PGY_OK;
        shape[d] = known->dims[d].value;
    }
    const bool clear = !(c->node->def->flags & OP_FILLS);
    return make_output(c, i, PGY_DTYPE_NONE, (size_t)known->rank, shape, clear, err);
}

/* Checks that the operator's result has the storage type, then brings it into the range of the
 * declared type. */
static pgy_status finish_output(const op_eval *c, size_t i, pgy_error *err)
{
    op_tensor *t = &c->outputs[i];
    if (!c->wanted[i]) {
        op_tensor_release(t);
        return PGY_OK;
    }
    if (t->sequence) return PGY_OK;
    if (!t->value) return op_error(c->node, err, PGY_E_INTERNAL, "output %zu was not computed", i);
    if (pgy_tensor_dtype(t->value) != op_storage(t->dtype))
        return op_error(c->node, err, PGY_E_INTERNAL,
                        "output %zu was computed as %s, but is declared %s", i,
                        pgy_dtype_name(pgy_tensor_dtype(t->value)), pgy_dtype_name(t->dtype));
    op_conform(t->value, t->dtype, c->host && c->host->model_precision);
    return PGY_OK;
}

static pgy_status infer_and_eval(op_infer *infer, op_eval *eval, pgy_error *err)
{
    const op_node *n = infer->node;
    pgy_status st = op_check_inputs(infer, err);
    if (!st) st = n->def->infer(infer, err);
    for (size_t i = 0; !st && i < n->output_count; i++)
        st = prepare_output(eval, i, &infer->outputs[i], err);
    if (!st) st = cancel_check(err);
    if (!st) st = cancel_check_after(n->def->eval(eval, err), err);
    for (size_t i = 0; !st && i < n->output_count; i++) st = finish_output(eval, i, err);
    return st;
}

pgy_status op_run(const op_node *n, const op_tensor *inputs, op_tensor *outputs, const bool *wanted,
                  const op_host *host, pgy_error *err)
{
    arena memory = {0};
    dim_table dims = {0};
    pgy_status st = PGY_E_MEMORY;
    op_tensor *results = arena_alloc_array(&memory, n->output_count, sizeof *results);
    op_value *known = arena_alloc_array(&memory, n->input_count, sizeof *known);
    op_value *inferred = arena_alloc_array(&memory, n->output_count, sizeof *inferred);
    bool *present = arena_alloc_array(&memory, n->input_count, sizeof *present);
    bool described = results && known && inferred && present;
    for (size_t i = 0; described && i < n->input_count; i++) {
        present[i] = inputs[i].value || inputs[i].sequence;
        described = describe(&known[i], &inputs[i], &memory);
    }
    if (!described) {
        op_error(n, err, PGY_E_MEMORY, "out of memory");
        goto done;
    }
    for (size_t i = 0; i < n->output_count; i++) inferred[i].rank = -1;
    op_infer infer = {.node = n,
                      .inputs = known,
                      .present = present,
                      .outputs = inferred,
                      .wanted = wanted,
                      .dims = &dims,
                      .memory = &memory,
                      .host = host};
    op_eval eval = {
        .node = n, .inputs = inputs, .outputs = results, .wanted = wanted, .host = host};
    st = infer_and_eval(&infer, &eval, err);
    if (st) {
        for (size_t i = 0; i < n->output_count; i++) op_tensor_release(&results[i]);
        goto done;
    }
    memcpy(outputs, results, n->output_count * sizeof *results);
done:
    dim_table_deinit(&dims);
    arena_deinit(&memory);
    return st;
}

/* ---- Looking ahead -------------------------------------------------------------------------- */

enum { FEW_ELEMENTS = 256 };

/* Makes an op_value of a tensor in its declared type. Only small tensors are converted for infer:
 * inputs that decide shapes are small. */
static pgy_status describe_held(op_value *out, pgy_tensor **widened, const op_tensor *t,
                                arena *memory, pgy_error *err)
{
    if (!describe(out, t, memory)) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!out->data || pgy_tensor_dtype(out->data) == op_storage(out->dtype)) return PGY_OK;
    out->data = NULL;
    if (pgy_tensor_count(t->value) > FEW_ELEMENTS) return PGY_OK;
    pgy_tensor *aligned = NULL; /* a weight's data may be unaligned */
    pgy_status st = tensor_create_raw(&aligned, pgy_tensor_dtype(t->value),
                                      pgy_tensor_rank(t->value), pgy_tensor_shape(t->value), err);
    if (st) return st;
    memcpy(pgy_tensor_data(aligned), pgy_tensor_data(t->value), pgy_tensor_size_bytes(t->value));
    st = op_to_storage(widened, aligned, err);
    pgy_tensor_release(aligned);
    out->data = *widened;
    return st;
}

pgy_status op_foresee(const op_value **outputs, const op_node *n, const op_tensor *inputs,
                      const bool *wanted, const op_host *host, arena *memory, pgy_error *err)
{
    dim_table dims = {.numbers_only = true}; /* the results outlive expressions */
    pgy_status st = PGY_OK;
    op_value *known = arena_alloc_array(memory, n->input_count, sizeof *known);
    op_value *inferred = arena_alloc_array(memory, n->output_count, sizeof *inferred);
    pgy_tensor **widened = arena_alloc_array(memory, n->input_count, sizeof *widened);
    bool *present = arena_alloc_array(memory, n->input_count, sizeof *present);
    if (!known || !inferred || !widened || !present)
        return op_error(n, err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < n->input_count; i++) {
        present[i] = inputs[i].value || inputs[i].sequence;
        st = describe_held(&known[i], &widened[i], &inputs[i], memory, err);
    }
    for (size_t i = 0; i < n->output_count; i++) inferred[i].rank = -1;
    op_infer infer = {.node = n,
                      .inputs = known,
                      .present = present,
                      .outputs = inferred,
                      .wanted = wanted,
                      .dims = &dims,
                      .memory = memory,
                      .host = host};
    if (!st) st = op_check_inputs(&infer, err);
    if (!st) st = n->def->infer(&infer, err);
    for (size_t i = 0; i < n->input_count; i++) pgy_tensor_release(widened[i]);
    for (size_t i = 0; i < n->output_count; i++) inferred[i].data = NULL;
    dim_table_deinit(&dims);
    *outputs = inferred;
    return st;
}
