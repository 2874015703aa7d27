/* SPDX-License-Identifier: Apache-2.0 */
/* The models of one operator are in a table of texts: operator, inputs, attributes. */
#include "harness/hostile_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "engine/context/context.h"
#include "engine/plan/plan.h"
#include "harness/model_builder.h"
#include "harness/plain_plan.h"

enum { OPSET = 23, MAX_TENSORS = 16, MAX_ATTRS = 8, MAX_LIST = 16, NETWORKS = 48 };

/* Inputs are separated by blanks. Each is a type letter, lower case for run-time data and upper
 * case for constants, then a shape ("f2,3") or a list of values ("I=0,1"); "fs" is a scalar, "-" an
 * omitted input. Types: f float32, h float16, i int64, n int32, u uint8, b int8, t bool. Attributes
 * are separated by blanks: "axis=1"; lists end in a comma ("pads=1,1,"), floats begin with ~, texts
 * with '. */
static const struct {
    const char *op, *domain, *inputs, *attrs;
    size_t outputs;
} NODES[] = {
    {"Conv", "", "f1,16,9,8 F33,16,3,3 F33", "pads=1,1,1,1,", 1},
    {"Conv", "", "f2,16,5,6 F16,1,3,3", "group=16 pads=1,1,1,1, strides=2,1,", 1},
    {"Conv", "", "f1,3,9,8 F8,3,3,3", "dilations=2,1,", 1},
    {"Conv", "", "f1,4,7 f6,2,3 f6", "group=2", 1},
    {"ExpandedConv", "pgy", "f2,5,9,8 F33,5,1,1 F33,1,3,3 F33",
     "group=33 pads=1,1,1,1, inner_activation='Silu", 1},
    {"ConvTranspose", "", "f1,6,5,4 F6,3,3,2 F3", "strides=2,1,", 1},
    {"MaxPool", "", "f1,16,7,7", "kernel_shape=3,2, strides=2,2, pads=1,0,1,0,", 1},
    {"MaxPool", "", "u1,5,7,7", "kernel_shape=3,2, pads=1,0,1,0,", 1},
    {"AveragePool", "", "f1,17,7,7", "kernel_shape=2,2, ceil_mode=1", 1},
    {"GlobalAveragePool", "", "f1,16,7,7", "", 1},
    {"MatMul", "", "f3,5,17 F17,40", "", 1},
    {"MatMul", "", "f2,3,5,7 f2,1,7,9", "", 1},
    {"MatMul", "", "h5,33 H33,17", "", 1},
    {"Gemm", "", "f9,5 F5,7 F7", "transA=0 alpha=~0.5", 1},
    {"Gemm", "", "f5,9 f7,5 f9,7", "transA=1 transB=1 beta=~2", 1},
    {"BatchNormalization", "", "f2,5,3,3 F5 F5 F5 F5", "", 1},
    {"LayerNormalization", "", "f3,5,17 F17 F17", "", 1},
    {"InstanceNormalization", "", "f2,5,3,3 F5 F5", "", 1},
    {"GroupNormalization", "", "f2,6,3,3 F6 F6", "num_groups=2", 1},
    {"Softmax", "", "f3,5,7", "axis=1", 1},
    {"LogSoftmax", "", "h3,50", "", 1},
    {"ReduceMean", "", "f3,5,7 I=0,2", "keepdims=0", 1},
    {"ReduceMax", "", "i3,5,7 I=1", "", 1},
    {"ArgMax", "", "f3,5,7", "axis=1", 1},
    {"TopK", "", "f3,50 I=5", "", 2},
    {"CumSum", "", "f3,50 I=1", "", 1},
    {"Gather", "", "f6,5 i3,2", "axis=0", 1},
    {"GatherElements", "", "f6,5 i3,5", "axis=0", 1},
    {"GatherMatMul", "pgy", "f7,1,5 F6,5,40 i7", "", 1},
    {"GatherMatMul", "pgy", "f7,5,1 F6,40,5 n7,1", "column=1", 1},
    {"GatherND", "", "f4,6,5 i3,2", "", 1},
    {"ScatterElements", "", "f6,5 i3,5 f3,5", "", 1},
    {"ScatterND", "", "f4,6,5 i3,2 f3,5", "", 1},
    {"GridSample", "", "f1,3,6,7 f1,4,5,2", "mode='cubic padding_mode='reflection", 1},
    {"Resize", "", "f1,3,6,7 - F=1,1,2,1.5", "mode='linear", 1},
    {"Resize", "", "f1,3,6,7 - - I=1,3,4,9", "mode='nearest", 1},
    {"LSTM", "", "f4,2,5 F1,24,5 F1,24,6 F1,48", "hidden_size=6", 3},
    {"GRU", "", "f4,2,5 F2,18,5 F2,18,6", "hidden_size=6 direction='bidirectional", 2},
    {"RNN", "", "f4,2,5 F1,6,5 F1,6,6 - n2", "hidden_size=6", 2},
    {"Attention", "", "f1,2,5,8 f1,2,7,8 f1,2,7,8 f5,7", "is_causal=1", 1},
    {"QuantizeLinear", "", "f3,5,7 F5 U5", "axis=1", 1},
    {"DequantizeLinear", "", "b3,5,7 F5 B5", "axis=1", 1},
    {"DynamicQuantizeLinear", "", "f3,50", "", 3},
    {"QLinearConv", "", "u1,8,6,7 F=0.1 U=3 B16,8,3,3 F=0.2 B=0 F=0.5 U=7", "pads=1,1,1,1,", 1},
    {"QLinearConv", "", "u1,16,6,7 F=0.1 U=3 B16,1,3,3 F=0.2 B=0 F=0.5 U=7", "group=16", 1},
    {"QLinearMatMul", "", "u5,33 F=0.1 U=3 B33,17 F=0.2 B=0 F=0.5 U=7", "", 1},
    {"MatMulInteger", "", "u5,33 B33,17", "", 1},
    {"ConvInteger", "", "u1,8,6,7 B16,8,3,3", "", 1},
    {"QLinearAdd", "com.microsoft", "u3,5 F=0.1 U=3 u3,5 F=0.2 U=5 F=0.5 U=7", "", 1},
    {"QLinearSigmoid", "com.microsoft", "u3,50 F=0.1 U=3 F=0.5 U=7", "", 1},
    {"QLinearConcat", "com.microsoft", "F=0.5 U=7 u3,5 F=0.1 U=3 u3,2 F=0.2 U=1", "axis=1", 1},
    {"QLinearAveragePool", "com.microsoft", "u1,5,7,7 F=0.1 U=3 F=0.5 U=7",
     "kernel_shape=3,2, pads=1,0,1,0,", 1},
    {"QLinearGlobalAveragePool", "com.microsoft", "u1,5,7,7 F=0.1 U=3 F=0.5 U=7", "", 1},
    {"Cast", "", "f3,50", "to=10", 1},
    {"Where", "", "t3,1 f3,5 f5", "", 1},
    {"Add", "", "f3,1,7 f5,1", "", 1},
    {"Mod", "", "i3,50 i50", "", 1},
    {"Clip", "", "f3,50 Fs Fs", "", 1},
    {"FastGelu", "com.microsoft", "f3,50 F50", "", 1},
    {"Sum", "", "f3,50 f50 f3,1", "", 1},
    {"Concat", "", "f3,5 f3,2 f3,1", "axis=1", 1},
    {"Split", "", "f3,7 I=2,5", "axis=1", 2},
    {"Transpose", "", "f3,5,7", "perm=2,0,1,", 1},
    {"Slice", "", "f9,8 I=1,7 I=9,0 I=0,1 I=2,-2", "", 1},
    {"Pad", "", "f3,5 I=1,0,2,3", "mode='reflect", 1},
    {"Tile", "", "u3,5 I=2,3", "", 1},
    {"Expand", "", "f3,1 I=4,3,5", "", 1},
    {"DepthToSpace", "", "f1,8,3,4", "blocksize=2", 1},
    {"Hardmax", "", "f3,5", "", 1},
    {"NonZero", "", "f3,5", "", 1},
    {"QLinearConv", "", "u1,3,4,5,6 F=0.1 U=3 B6,3,3,3,3 F=0.2 B=1 F=0.5 U=7", "strides=1,2,1,", 1},
    {"QLinearConv", "com.microsoft", "u1,6,7,8 F=0.1 U=3 B16,8,3,3 F=0.2 B=0 F=0.5 U=7",
     "channels_last=1 pads=1,1,1,1,", 1},
    {"QLinearConv", "com.microsoft", "u1,6,7,8 F=0.1 U=3 B9,8,1,1 F=0.2 B=1 F=0.5 U=7",
     "channels_last=1", 1},
    {"QLinearConv", "com.microsoft", "u1,6,7,70 F=0.1 U=3 B70,1,3,3 F=0.2 B=0 F=0.5 U=7",
     "channels_last=1 group=70 pads=1,0,1,0,", 1},
    {"ConvInteger", "", "u1,6,6,7 B6,1,3,3 U=3 B=1", "group=6", 1},
    {"NhwcMaxPool", "com.microsoft", "b1,7,7,5", "kernel_shape=3,2, pads=1,0,1,0,", 1},
    {"QLinearAveragePool", "com.microsoft", "u1,7,7,70 F=0.1 U=3 F=0.5 U=7",
     "kernel_shape=3,2, pads=1,0,1,0, channels_last=1", 1},
    {"QLinearGlobalAveragePool", "com.microsoft", "u1,7,7,5 F=0.1 U=3 F=0.5 U=7", "channels_last=1",
     1},
    {"MaxPool", "", "b1,5,4,7,7", "kernel_shape=2,3,2, strides=1,2,2,", 1},
    {"QLinearSoftmax", "com.microsoft", "u3,5,7 F=0.1 U=3 F=0.01 U=7", "axis=1 opset=13", 1},
    {"QLinearWhere", "com.microsoft", "t3,1 u3,5 F=0.1 U=3 u5 F=0.2 U=5 F=0.5 U=7", "", 1},
    {"Resize", "", "u1,3,6,7 - F=1,1,2,1.5", "mode='linear", 1},
    {"Resize", "", "b1,6,7,20 - F=1,2,1.5,1", "mode='linear", 1},
    {"Resize", "", "u1,3,6,20 - - I=1,3,9,40", "mode='nearest", 1},
    {"ArgMax", "", "u3,5,7", "axis=1", 1},
    {"ReduceMin", "", "b3,5,7 I=1,2", "", 1},
    {"Transpose", "", "u20,33,3", "perm=2,0,1,", 1},
    {"MatMul", "", "n2,3,5,7 n2,1,7,9", "", 1},
    {"MatMul", "", "f2,5,1 f1,9", "", 1},
    {"Hardmax", "", "f3,5,7", "axis=1", 1},
    {"Det", "", "f2,3,3", "", 1},
};
enum { NODE_COUNT = sizeof NODES / sizeof *NODES };

/* ---- Models ---------------------------------------------------------------------------------- */

typedef struct number_list {
    double values[MAX_LIST];
    size_t count;
} number_list;

static number_list read_list(const char *text)
{
    number_list l = {.count = 0};
    for (char *end = NULL; l.count < MAX_LIST; text = end + (*end == ',')) {
        l.values[l.count] = strtod(text, &end);
        if (end == text) break;
        l.count++;
    }
    return l;
}

static pgy_dtype type_of(char letter)
{
    switch (letter | 32) {
    case 'h': return PGY_F16;
    case 'i': return PGY_I64;
    case 'n': return PGY_I32;
    case 'u': return PGY_U8;
    case 'b': return PGY_I8;
    case 't': return PGY_BOOL;
    default: return PGY_F32;
    }
}

/* Fills t with `values`, or if NULL with 0, 1, 2, 0, 1, 2, ..., which are often valid as indices.
 */
static pgy_status fill(pgy_tensor *t, const double *values)
{
    pgy_tensor *counted = NULL;
    const int64_t count = (int64_t)pgy_tensor_count(t);
    pgy_status st = pgy_tensor_create(&counted, PGY_F64, 1, &count, NULL);
    if (st) return st;
    double *to = pgy_tensor_data(counted);
    for (int64_t i = 0; i < count; i++) to[i] = values ? values[i] : (double)(i % 3);
    st = pgy_view_convert(pgy_view_of(pgy_tensor_data(t), pgy_tensor_dtype(t), 1, &count),
                          pgy_tensor_view(counted), true, NULL);
    pgy_tensor_release(counted);
    return st;
}

static void add_constant(model_builder *b, const char *name, const char *text)
{
    pgy_tensor *t = NULL;
    const bool listed = text[1] == '=';
    const number_list l = read_list(text + 1 + listed);
    int64_t shape[MAX_LIST] = {(int64_t)l.count};
    const size_t rank = !listed ? l.count : l.count > 1 || *text == 'I' ? 1 : 0;
    for (size_t i = 0; !listed && i < l.count; i++) shape[i] = (int64_t)l.values[i];
    if (pgy_tensor_create(&t, type_of(*text), rank, shape, NULL) ||
        fill(t, listed ? l.values : NULL))
        abort();
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

/* Copies the next blank-separated word of *list into `word`. False: there is none. */
static bool next_word(char *word, size_t size, const char **list)
{
    *list += strspn(*list, " ");
    const size_t length = strcspn(*list, " ");
    if (!length || length >= size) return false;
    memcpy(word, *list, length);
    word[length] = 0;
    *list += length;
    return true;
}

static void add_attr(model_builder *b, pgy_onnx_node *n, char *word)
{
    int64_t ints[MAX_LIST];
    char *value = strchr(word, '=');
    *value++ = 0;
    const number_list l = read_list(value);
    for (size_t i = 0; i < l.count; i++) ints[i] = (int64_t)l.values[i];
    if (*value == '\'')
        builder_attr_string(b, n, word, value + 1);
    else if (*value == '~')
        builder_attr_float(b, n, word, strtof(value + 1, NULL));
    else if (strchr(value, ','))
        builder_attr_ints(b, n, word, l.count, ints);
    else
        builder_attr_int(b, n, word, ints[0]);
}

static pgy_model *node_model(size_t i)
{
    static const char *const OUTPUTS[] = {"y0", "y0 y1", "y0 y1 y2"};
    model_builder b = builder_start(OPSET);
    const char *list = NODES[i].inputs;
    char word[64], names[MAX_TENSORS * 4] = "";
    for (size_t count = 0; next_word(word, sizeof word, &list); count++) {
        char name[8] = "-";
        if (*word != '-') snprintf(name, sizeof name, "x%u", (unsigned)count % 100);
        if (*word >= 'a')
            builder_input(&b, name, type_of(*word), word[1] == 's' ? "" : word + 1);
        else if (*word != '-')
            add_constant(&b, name, word);
        strcat(strcat(names, name), " ");
    }
    if (*NODES[i].domain) builder_opset(&b, NODES[i].domain, 1);
    pgy_onnx_node *n = builder_node(&b, NODES[i].op, names, OUTPUTS[NODES[i].outputs - 1]);
    n->domain = NODES[i].domain;
    for (list = NODES[i].attrs; next_word(word, sizeof word, &list);) add_attr(&b, n, word);
    for (size_t k = 0; k < NODES[i].outputs; k++)
        builder_output(&b, k == 0 ? "y0" : k == 1 ? "y1" : "y2", PGY_DTYPE_NONE, NULL);
    return builder_finish_bytes(&b);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static struct {
    void *bytes;
    size_t size;
} kept[NODE_COUNT + NETWORKS];

size_t hostile_plan_count(void)
{
    return NODE_COUNT + NETWORKS;
}

const char *hostile_plan_name(size_t i)
{
    return i < NODE_COUNT ? NODES[i].op : "random network";
}

static void keep_plain(size_t i, const void *bytes)
{
    str plain = {0};
    plain_plan_append(&plain, bytes);
    kept[i].size = plain.size;
    kept[i].bytes = str_take(&plain);
}

static pgy_status build(size_t i, pgy_error *err)
{
    /* Builds for lower instruction sets, too, unless POLYGRAPHY_CPU already excludes AVX2. */
    const bool has_avx2 = cpu_features() >= CPU_AVX2;
    const pgy_cpu_level LEVELS[] = {PGY_CPU_NATIVE, has_avx2 ? PGY_CPU_AVX2 : PGY_CPU_NATIVE,
                                    PGY_CPU_PORTABLE};
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 2,
                                     .has_optimization_level = true,
                                     .fp16 = i >= NODE_COUNT && i % 4 == 0,
                                     .bf16 = i >= NODE_COUNT && i % 8 == 1,
                                     .cpu_level = LEVELS[i % 3]};
    const uint8_t choice = (uint8_t)i;
    byte_source source = {.data = &choice, .size = 1, .state = i};
    pgy_model *model = NULL;
    engine *e = NULL;
    pgy_status st = PGY_OK;
    model = i < NODE_COUNT ? node_model(i) : random_network(&source);
    if (!model) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a model");
    if (!st) st = engine_build(&e, model, &config, err);
    void *bytes = NULL;
    size_t size = 0;
    if (!st) st = engine_serialize(&bytes, &size, e, err);
    if (!st) keep_plain(i, bytes);
    mem_free(bytes);
    engine_release(e);
    pgy_model_destroy(model);
    return st;
}

bool hostile_plan_make(const void **bytes, size_t *size, size_t i, pgy_error *err)
{
    if (!kept[i].bytes && build(i, err)) return false;
    *bytes = kept[i].bytes;
    *size = kept[i].size;
    return true;
}

/* ---- Changing -------------------------------------------------------------------------------- */

void *hostile_plan_section(void *plan, plan_kind kind, size_t *size)
{
    unsigned char *bytes = plan;
    plan_header h;
    memcpy(&h, bytes, sizeof h);
    for (uint32_t i = 0; i < h.section_count; i++) {
        plan_section s;
        memcpy(&s, bytes + sizeof h + i * sizeof s, sizeof s);
        if (s.kind != (uint32_t)kind) continue;
        *size = s.size_bytes;
        return bytes + s.offset;
    }
    return NULL;
}

/* The sections to change, drawn with equal chance: sections that are listed more often are changed
 * more often. */
static const uint8_t CHANGED[] = {
    PLAN_PARAMS,  PLAN_PARAMS, PLAN_PARAMS,   PLAN_PARAMS,   PLAN_PARAMS,   PLAN_PARAMS,
    PLAN_STEPS,   PLAN_STEPS,  PLAN_STEPS,    PLAN_REFS,     PLAN_REFS,     PLAN_TENSORS,
    PLAN_TENSORS, PLAN_SHAPES, PLAN_PROGRAMS, PLAN_INFO,     PLAN_PROFILES, PLAN_RANGES,
    PLAN_VALUES,  PLAN_DIMS,   PLAN_MARKS,    PLAN_SETTINGS, PLAN_STRINGS,  PLAN_CONSTANTS,
    PLAN_ARENAS,  PLAN_SPACES,
};

static uint64_t changed(uint64_t old, const unsigned char *from, size_t size, byte_source *c)
{
    uint64_t other = 0;
    memcpy(&other, from + byte_source_below(c, 256) * 4 % (size - 3), 4);
    const uint64_t choices[] = {
        0,        1,          2,          old + 1,   old - 1,    old * 2,
        old / 2,  old + 64,   old - 64,   16,        other,      0 - old,
        1u << 31, UINT32_MAX, UINT64_MAX, INT64_MAX, 1ull << 32, byte_source_below(c, 256)};
    return choices[byte_source_below(c, sizeof choices / sizeof *choices)];
}

static void change_one(void *plan, byte_source *c)
{
    size_t size = 0;
    unsigned char *section =
        hostile_plan_section(plan, (plan_kind)CHANGED[byte_source_below(c, sizeof CHANGED)], &size);
    if (!section || size < 8) return;
    const size_t width = byte_source_below(c, 3) ? 4 : 8;
    const size_t place = byte_source_below(c, 256) + 256 * byte_source_below(c, 32);
    unsigned char *at = section + place % (size / width) * width;
    uint64_t number = 0;
    memcpy(&number, at, width);
    number = changed(number, section, size, c);
    memcpy(at, &number, width);
}

void hostile_plan_change(void *bytes, size_t size, byte_source *choices)
{
    if (size < sizeof(plan_header)) return;
    for (uint32_t n = 1 + byte_source_below(choices, 4); n > 0; n--) change_one(bytes, choices);
    plain_plan_sign(bytes);
}

/* ---- Running --------------------------------------------------------------------------------- */

enum { MAX_BYTES = 1 << 24, MAX_ELEMENTS = 1 << 16 };

static pgy_status feed_input(pgy_tensor_map *feed, const pgy_tensor_info *v, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t count = 0;
    pgy_tensor *t = NULL;
    if (v->rank < 0 || v->dtype == PGY_DTYPE_NONE || v->dtype == PGY_STRING ||
        v->form != PGY_FORM_TENSOR)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' cannot be made", v->name);
    for (int32_t d = 0; d < v->rank; d++) shape[d] = v->shape[d] < 0 ? 2 : v->shape[d];
    pgy_status st = pgy_shape_count(&count, (size_t)v->rank, shape, err);
    if (!st && count > MAX_ELEMENTS)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' is large", v->name);
    if (!st) st = pgy_tensor_create(&t, v->dtype, (size_t)v->rank, shape, err);
    if (!st) st = fill(t, NULL);
    if (!st) st = pgy_tensor_map_set(feed, v->name, t, err);
    pgy_tensor_release(t);
    return st;
}

/* One plan in four, chosen by its checksum, runs on two threads; not all do, because starting a
 * thread takes longer than most runs. */
static size_t threads_for(const void *bytes, size_t size)
{
    plan_header h;
    if (size < sizeof h) return 1;
    memcpy(&h, bytes, sizeof h);
    return h.hash % 4 == 0 ? 2 : 1;
}

pgy_status hostile_plan_run(const void *bytes, size_t size, pgy_error *err)
{
    engine *e = NULL;
    context *c = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_set_max_memory(MAX_BYTES);
    pgy_status st = engine_load(&e, bytes, size, false, err);
    if (!st) st = context_create(&c, e, threads_for(bytes, size), err);
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&out, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(engine_inputs(e)); i++)
        st = feed_input(feed, pgy_metadata_at(engine_inputs(e), i), err);
    if (!st) st = context_run(c, feed, out, NULL, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    context_destroy(c);
    engine_release(e);
    pgy_set_max_memory(0);
    if (st && !err->text[0]) __builtin_trap();
    return st;
}
