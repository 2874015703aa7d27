/* SPDX-License-Identifier: Apache-2.0 */
/* Any operator with any attributes and inputs: the bytes choose a row of the registry, attribute
 * values, and inputs of random type, shape and content, biased to small numbers and to the limits.
 * Running the node must succeed or fail with a message, in bounded memory.
 * OP_RUN_ONLY=Gelu,DFT takes these operators alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "ops/op.h"

enum {
    MAX_INPUTS = 6,
    MAX_OUTPUTS = 4,
    MAX_LIST = 8,
    MAX_ATTRS = 16,
    MAX_DIM = 4,
    MAX_FUZZ_RANK = 5
};

typedef struct source {
    const uint8_t *data;
    size_t size;
    arena memory;
} source;

static uint8_t byte(source *s)
{
    if (!s->size) return 0;
    s->size--;
    return *s->data++;
}

static int64_t number(source *s)
{
    static const int64_t LIMITS[] = {INT64_MIN,     INT64_MAX, INT32_MIN, INT32_MAX,
                                     INT64_MIN + 1, 1 << 20,   -64,       100};
    const uint8_t b = byte(s);
    return b >= 248 ? LIMITS[b - 248] : (int64_t)(b % 9) - 4;
}

static double real(source *s)
{
    static const double LIMITS[] = {1e308,     -1e308, 1.0 / 0.0, -1.0 / 0.0,
                                    0.0 / 0.0, 1e-310, -0.0,      1e20};
    const uint8_t b = byte(s);
    return b >= 248 ? LIMITS[b - 248] : ((double)b - 120) / 16;
}

static pgy_dtype type(source *s)
{
    static const pgy_dtype COMMON[] = {PGY_F32,    PGY_I64, PGY_BOOL, PGY_U8,
                                       PGY_STRING, PGY_U64, PGY_F16,  PGY_I32};
    const pgy_dtype_info *all;
    const size_t count = pgy_dtype_list(&all);
    const uint8_t b = byte(s);
    return b < 224 ? COMMON[b % 8] : all[b % count].dtype;
}

static void fill(source *s, pgy_tensor *t)
{
    static const char *const TEXTS[] = {"",     "1",    "a",   "abc",
                                        "-inf", "1e99", "x,y", "9223372036854775808"};
    void *data = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const char *text = TEXTS[i % 8];
        switch (pgy_tensor_dtype(t)) {
        case PGY_F64: ((double *)data)[i] = real(s); break;
        case PGY_BOOL: ((uint8_t *)data)[i] = byte(s) & 1; break;
        case PGY_C128: ((double *)data)[2 * i] = ((double *)data)[2 * i + 1] = real(s); break;
        case PGY_STRING:
            if (pgy_tensor_set_string(t, i, text, strlen(text), NULL)) return;
            break;
        default: ((int64_t *)data)[i] = number(s); break;
        }
    }
}

static pgy_tensor *tensor(source *s, pgy_dtype *declared)
{
    int64_t shape[MAX_FUZZ_RANK];
    const size_t rank = byte(s) % (MAX_FUZZ_RANK + 1);
    pgy_tensor *t = NULL;
    *declared = type(s);
    for (size_t d = 0; d < rank; d++) shape[d] = byte(s) % (MAX_DIM + 1);
    if (pgy_tensor_create(&t, op_storage(*declared), rank, shape, NULL)) return NULL;
    fill(s, t);
    op_conform(t, *declared, true);
    return t;
}

static span text(source *s)
{
    static const char *const WORDS[] = {
        "none", "add",  "mul",   "min",         "max",      "reflect", "edge",  "wrap",
        "LEFT", "CRD",  "tanh",  "SAME_UPPER",  "VALID",    "linear",  "cubic", "ij,jk->ik",
        "sum",  "mean", "delta", "gated_delta", "circular", "Relu",    "Clip",  "silu"};
    return span_of(WORDS[byte(s) % 24]);
}

static bool attribute(source *s, op_attr *a, const op_attr_def *def)
{
    int64_t *ints = arena_alloc_array(&s->memory, MAX_LIST, sizeof *ints);
    float *floats = arena_alloc_array(&s->memory, MAX_LIST, sizeof *floats);
    span *strings = arena_alloc_array(&s->memory, MAX_LIST, sizeof *strings);
    if (!ints || !floats || !strings) return false;
    *a = (op_attr){.name = def->name,
                   .kind = def->kind,
                   .i = number(s),
                   .f = (float)real(s),
                   .s = text(s),
                   .ints = ints,
                   .floats = floats,
                   .strings = strings};
    if (def->kind == OP_ATTR_INTS || def->kind == OP_ATTR_FLOATS || def->kind == OP_ATTR_STRINGS)
        a->count = byte(s) % (MAX_LIST + 1);
    for (size_t i = 0; i < a->count; i++) {
        ints[i] = number(s);
        floats[i] = (float)real(s);
        strings[i] = text(s);
    }
    if (def->kind == OP_ATTR_TENSOR) a->tensor = tensor(s, &a->tensor_dtype);
    return def->kind != OP_ATTR_TENSOR || a->tensor;
}

static size_t attributes(source *s, op_attr *attrs, const op_def *def)
{
    size_t count = 0;
    for (const op_attr_def *d = def->attrs; d && d->name && count < MAX_ATTRS; d++)
        if ((d->required || (byte(s) & 1)) && attribute(s, &attrs[count], d)) count++;
    return count;
}

/* Up to three tensors, or an optional without an element. */
static op_tensor sequence(source *s)
{
    op_sequence *made = op_sequence_create(byte(s) % 4);
    for (size_t i = 0; made && i < made->count; i++)
        made->items[i].value = tensor(s, &made->items[i].dtype);
    if (made && !made->count) made->none = byte(s) & 1;
    return (op_tensor){.sequence = made};
}

/* Inputs after the first often get its type, else hardly any node would pass the type checks. */
static size_t inputs(source *s, op_tensor *in, const op_def *def)
{
    size_t most = def->max_inputs < MAX_INPUTS ? def->max_inputs : MAX_INPUTS;
    if (most < def->min_inputs) most = def->min_inputs;
    const size_t count = def->min_inputs + byte(s) % (most - def->min_inputs + 1);
    for (size_t i = 0; i < count; i++) {
        if (i >= def->min_inputs && byte(s) % 8 == 0) continue;
        if (byte(s) % 16 == 0) {
            in[i] = sequence(s);
            continue;
        }
        pgy_dtype declared;
        pgy_tensor *t = tensor(s, &declared);
        if (t && i && in[0].value && byte(s) % 2) {
            pgy_tensor *same = NULL;
            declared = in[0].dtype;
            if (pgy_tensor_create(&same, op_storage(declared), pgy_tensor_rank(t),
                                  pgy_tensor_shape(t), NULL))
                same = NULL;
            pgy_tensor_release(t);
            t = same;
            if (t) fill(s, t);
            if (t) op_conform(t, declared, true);
        }
        in[i] = (op_tensor){.dtype = declared, .value = t};
    }
    return count;
}

static bool is_chosen(const op_def *def)
{
    const char *only = getenv("OP_RUN_ONLY");
    const size_t length = strlen(def->name);
    for (const char *at = only; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, def->name, length) && (!at[length] || at[length] == ',')) return true;
    }
    return !only;
}

/* The row that a number selects among those that are chosen. */
static const op_def *chosen(size_t row)
{
    size_t count = 0;
    for (size_t i = 0; i < op_table_count(); i++) count += is_chosen(op_table_at(i));
    row %= count ? count : 1;
    for (size_t i = 0; i < op_table_count(); i++)
        if (is_chosen(op_table_at(i)) && !row--) return op_table_at(i);
    return op_table_at(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {.data = data, .size = size};
    op_attr attrs[MAX_ATTRS];
    op_tensor in[256] = {{0}}, out[MAX_OUTPUTS] = {{0}};
    const bool wanted[MAX_OUTPUTS] = {true, true, true, true};
    const op_host host = {.max_bytes = 1 << 24};
    pgy_error err = {0};
    const size_t row = (size_t)byte(&s) | (size_t)byte(&s) << 8;
    const op_def *def = getenv("OP_RUN_ONLY") ? chosen(row) : op_table_at(row % op_table_count());
    op_node n = {.def = def, .name = "fuzz", .opset = def->since, .attrs = attrs};
    n.attr_count = attributes(&s, attrs, def);
    n.input_count = inputs(&s, in, def);
    n.output_count = def->max_outputs < MAX_OUTPUTS ? def->max_outputs : MAX_OUTPUTS;
    if (n.output_count >= def->min_outputs && !op_check_node(&n, &err)) {
        if (!op_run(&n, in, out, wanted, &host, &err))
            for (size_t i = 0; i < n.output_count; i++) op_tensor_release(&out[i]);
    }
    for (size_t i = 0; i < n.input_count; i++) op_tensor_release(&in[i]);
    for (size_t i = 0; i < n.attr_count; i++) pgy_tensor_release(attrs[i].tensor);
    arena_deinit(&s.memory);
    return 0;
}
