/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ai.onnx.ml with attributes that nearly fit: lists of a few lengths, ids and counts
 * that are small, negative or huge, and inputs of every type, also maps. Running the node, and
 * preparing, proving and running the engine's kernels, must succeed or fail with a message. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "ops/op.h"

enum { MOST_ATTRS = 32, MOST_LENGTHS = 4, MOST_BYTES = 1 << 22 };

typedef struct source {
    const uint8_t *data;
    size_t size;
    arena memory;
    size_t lengths[MOST_LENGTHS]; /* of lists: most lists of a node have one of them */
} source;

static uint8_t byte(source *s)
{
    if (!s->size) return 0;
    s->size--;
    return *s->data++;
}

static int64_t number(source *s)
{
    static const int64_t ODD[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 62, UINT32_MAX, 1 << 20};
    const uint8_t kind = byte(s);
    if (kind > 250) return ODD[byte(s) % 6];
    return kind % 16;
}

static double real(source *s)
{
    static const double ODD[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e-30, 0.5};
    const uint8_t kind = byte(s);
    if (kind > 230) return ODD[kind % 8];
    return ((double)kind - 115) / 16;
}

static span text(source *s, const char *choices)
{
    static const char *const WORDS[] = {"", "a", "b", "1.5", "-7x"};
    if (!choices || byte(s) > 250) return span_of(WORDS[byte(s) % 5]);
    size_t skip = byte(s) % 8;
    const char *at = choices;
    for (; skip && strchr(at, ' '); skip--) at = strchr(at, ' ') + 1;
    return (span){at, strcspn(at, " ")};
}

static size_t length(source *s)
{
    const uint8_t kind = byte(s);
    return kind > 240 ? kind % 16 : s->lengths[kind % 2 ? 0 : kind / 2 % MOST_LENGTHS];
}

static void *room(source *s, size_t count, size_t size)
{
    return arena_alloc_array(&s->memory, count + 1, size);
}

static pgy_tensor *tensor_of(source *s, pgy_dtype declared, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    if (pgy_tensor_create(&t, op_storage(declared), rank, shape, NULL)) return NULL;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        if (pgy_tensor_dtype(t) == PGY_F64)
            op_f64(t)[i] = real(s);
        else if (pgy_tensor_dtype(t) == PGY_I64)
            op_i64(t)[i] = number(s);
        else if (pgy_tensor_dtype(t) == PGY_STRING) {
            const span word = text(s, NULL);
            if (pgy_tensor_set_string(t, i, word.data, word.size, NULL)) continue;
        }
    }
    op_conform(t, declared, true);
    return t;
}

static void fill_list(source *s, op_attr *a, const op_attr_def *d)
{
    a->count = length(s);
    float *floats = room(s, a->count, sizeof *floats);
    int64_t *ints = room(s, a->count, sizeof *ints);
    span *texts = room(s, a->count, sizeof *texts);
    if (!floats || !ints || !texts) a->count = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (d->kind == OP_ATTR_FLOATS) floats[i] = (float)real(s);
        if (d->kind == OP_ATTR_INTS) ints[i] = byte(s) % 4 ? (int64_t)i : number(s);
        if (d->kind == OP_ATTR_STRINGS) texts[i] = text(s, d->choices);
    }
    a->floats = floats;
    a->ints = ints;
    a->strings = texts;
}

static bool attribute(source *s, op_attr *a, const op_attr_def *d)
{
    *a = (op_attr){.name = d->name, .kind = d->kind};
    if (byte(s) % 8 == 0) return false;
    if (d->kind == OP_ATTR_INT) a->i = number(s);
    if (d->kind == OP_ATTR_FLOAT) a->f = (float)real(s);
    if (d->kind == OP_ATTR_STRING) a->s = text(s, d->choices);
    if (d->kind == OP_ATTR_TENSOR) {
        const int64_t shape[] = {(int64_t)length(s)};
        if (!d->required && byte(s) % 4) return false;
        a->tensor_dtype = strstr(d->name, "modes") ? PGY_U8 : byte(s) % 2 ? PGY_F32 : PGY_F64;
        a->tensor = tensor_of(s, a->tensor_dtype, 1, shape);
        return a->tensor != NULL;
    }
    if (d->kind == OP_ATTR_FLOATS || d->kind == OP_ATTR_INTS || d->kind == OP_ATTR_STRINGS)
        fill_list(s, a, d);
    return true;
}

static op_tensor map_of(source *s)
{
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_STRING, PGY_I64, PGY_F64};
    const int64_t count[] = {byte(s) % 8}, other[] = {byte(s) > 240 ? 3 : count[0]};
    const pgy_dtype key = byte(s) % 2 ? PGY_STRING : PGY_I64, value = TYPES[byte(s) % 4];
    op_sequence *m = op_sequence_create(2);
    if (!m) return (op_tensor){0};
    m->map = true;
    m->items[0] = (op_tensor){.dtype = key, .value = tensor_of(s, key, 1, count)};
    m->items[1] = (op_tensor){.dtype = value, .value = tensor_of(s, value, 1, other)};
    return (op_tensor){.sequence = m};
}

static op_tensor input_of(source *s, const op_def *def)
{
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_F32, PGY_F32,   PGY_F64,
                                      PGY_I64, PGY_I32, PGY_STRING};
    if ((def->flags & OP_SEQUENCES) && byte(s) % 8) return map_of(s);
    const int64_t shape[] = {byte(s) % 12, (int64_t)length(s), 2};
    const pgy_dtype type = TYPES[byte(s) % 7];
    const uint8_t rank = byte(s);
    return (op_tensor){.dtype = type,
                       .value = tensor_of(s, type, rank > 240 ? rank % 4 : 2, shape)};
}

/* Runs a prepared kernel in memory of exactly the size that its extent states. */
static void run_kernel(const kernel *k, const kernel_problem *u, const kernel_plan *plan,
                       const float *x, size_t bytes)
{
    kernel_extent e;
    const uint64_t operands = (UINT64_C(1) << (u->input_count + u->output_count)) - 1;
    const kernel_claim claim = {k,
                                plan->params,
                                plan->params_bytes,
                                operands,
                                (uint32_t)u->input_count,
                                (uint32_t)u->output_count};
    void *tensors[KERNEL_TENSORS] = {0};
    if (!kernel_extent_of(&e, k, &claim)) __builtin_trap(); /* it made these parameters itself */
    if (e.tensors[0] > bytes) __builtin_trap();
    for (size_t i = 0; i < u->input_count + u->output_count; i++)
        tensors[i] = mem_alloc(e.tensors[i] + 1);
    if (tensors[0] && tensors[1] && (u->output_count < 2 || tensors[2])) {
        memcpy(tensors[0], x, e.tensors[0]);
        kernel_run_alone(k, plan, tensors, 1 + (uint32_t)(bytes % 3));
    }
    for (size_t i = 0; i < KERNEL_TENSORS; i++) mem_free(tensors[i]);
}

static void try_kernels(const op_node *n, const op_tensor *in, const op_tensor *out)
{
    pgy_tensor *x = NULL;
    kernel_problem u = {.node = n, .input_count = 1, .output_count = n->output_count};
    if (!in->value || in->dtype != PGY_F32 || !out[0].value ||
        op_from_storage(&x, in->value, in->dtype, NULL))
        return;
    u.inputs[0] = (kernel_tensor){
        .dtype = in->dtype, .rank = (int32_t)pgy_tensor_rank(x), .shape = pgy_tensor_shape(x)};
    for (size_t i = 0; i < n->output_count; i++)
        u.outputs[i] = (kernel_tensor){.dtype = out[i].dtype,
                                       .rank = (int32_t)pgy_tensor_rank(out[i].value),
                                       .shape = pgy_tensor_shape(out[i].value)};
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for("ai.onnx.ml", n->def->name, i);
        kernel_plan plan = {0};
        double cost;
        if (!k) break;
        if (!kernel_accept(k, &u, &cost) || k->prepare(&plan, &u, NULL)) continue;
        run_kernel(k, &u, &plan, pgy_tensor_data(x), pgy_tensor_size_bytes(x));
        kernel_plan_deinit(&plan);
    }
    pgy_tensor_release(x);
}

static const op_def *choose(source *s)
{
    static const char *const NAMES[] = {"TreeEnsembleClassifier",
                                        "TreeEnsembleRegressor",
                                        "LinearClassifier",
                                        "LinearRegressor",
                                        "SVMClassifier",
                                        "SVMRegressor",
                                        "Scaler",
                                        "Normalizer",
                                        "Imputer",
                                        "OneHotEncoder",
                                        "ZipMap",
                                        "FeatureVectorizer",
                                        "CategoryMapper",
                                        "DictVectorizer",
                                        "CastMap",
                                        "TreeEnsemble"};
    return op_find("ai.onnx.ml", NAMES[byte(s) % 16], 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {.data = data, .size = size};
    op_attr attrs[MOST_ATTRS];
    const bool wanted[] = {true, true};
    const op_host host = {.max_bytes = MOST_BYTES};
    op_tensor out[2] = {{0}};
    pgy_error err = {0};
    const op_def *def = choose(&s);
    for (size_t i = 0; i < MOST_LENGTHS; i++) s.lengths[i] = 1 + byte(&s) % 9;
    op_node n = {.def = def, .name = "fuzz", .opset = def->since, .attrs = attrs};
    for (const op_attr_def *d = def->attrs; d && d->name && n.attr_count < MOST_ATTRS; d++)
        n.attr_count += attribute(&s, &attrs[n.attr_count], d);
    op_tensor in = input_of(&s, def);
    n.input_count = 1;
    n.output_count = def->max_outputs;
    if (!op_check_node(&n, &err) && !op_run(&n, &in, out, wanted, &host, &err)) {
        try_kernels(&n, &in, out);
        for (size_t i = 0; i < 2; i++) op_tensor_release(&out[i]);
    }
    op_tensor_release(&in);
    for (size_t i = 0; i < n.attr_count; i++) pgy_tensor_release(attrs[i].tensor);
    arena_deinit(&s.memory);
    return 0;
}
