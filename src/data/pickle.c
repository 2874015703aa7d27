/* SPDX-License-Identifier: Apache-2.0 */
/* A pickle is a program for a stack machine. This one knows only the instructions that torch.save
 * emits for a tensor, and its values are only descriptions: a name stays a name, a call of
 * _rebuild_tensor_v2 is recorded as a tensor, a persistent id as a storage. All values live in one
 * arena; the sizes of stack and memo are bounded, so a hostile program ends early. */
#include "data/pickle.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

enum { MAX_STACK = 256, MAX_MEMO = 256, MAX_STEPS = 4096 };

typedef enum value_kind {
    V_NONE,
    V_MARK,
    V_BOOL,
    V_INT,
    V_TEXT,
    V_NAME,
    V_TUPLE,
    V_DICT,
    V_STORAGE,
    V_TENSOR
} value_kind;

typedef struct value {
    value_kind kind;
    int64_t integer;     /* V_INT, V_BOOL: the value; V_STORAGE: number of elements */
    span text, name;     /* V_TEXT: the text; V_NAME: module and name; V_STORAGE: key and class */
    struct value *items; /* V_TUPLE: its items; V_TENSOR: the arguments of _rebuild_tensor_v2 */
    size_t count;
} value;

typedef struct machine {
    const uint8_t *at, *end;
    value stack[MAX_STACK], memo[MAX_MEMO];
    size_t depth;
    arena memory;
    bool stopped;
} machine;

/* ---- Types of elements ---- */

static const struct {
    const char *storage, *name;
    pgy_dtype dtype;
} TYPES[] = {
    {"FloatStorage", "float32", PGY_F32},
    {"DoubleStorage", "float64", PGY_F64},
    {"HalfStorage", "float16", PGY_F16},
    {"BFloat16Storage", "bfloat16", PGY_BF16},
    {"LongStorage", "int64", PGY_I64},
    {"IntStorage", "int32", PGY_I32},
    {"ShortStorage", "int16", PGY_I16},
    {"CharStorage", "int8", PGY_I8},
    {"ByteStorage", "uint8", PGY_U8},
    {"BoolStorage", "bool", PGY_BOOL},
    {"ComplexFloatStorage", "complex64", PGY_C64},
    {"ComplexDoubleStorage", "complex128", PGY_C128},
    {NULL, "uint16", PGY_U16},
    {NULL, "uint32", PGY_U32},
    {NULL, "uint64", PGY_U64},
    {NULL, "float8_e4m3fn", PGY_F8E4M3FN},
    {NULL, "float8_e4m3fnuz", PGY_F8E4M3FNUZ},
    {NULL, "float8_e5m2", PGY_F8E5M2},
    {NULL, "float8_e5m2fnuz", PGY_F8E5M2FNUZ},
    {NULL, "float8_e8m0fnu", PGY_F8E8M0},
};

static pgy_dtype dtype_of_storage(span name)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].storage && span_equals(name, TYPES[i].storage)) return TYPES[i].dtype;
    return PGY_DTYPE_NONE;
}

static pgy_dtype dtype_of_name(span name)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (span_equals(name, TYPES[i].name)) return TYPES[i].dtype;
    return PGY_DTYPE_NONE;
}

/* ---- Stack ---- */

/* An instruction returns NULL, or the reason why it failed. */
typedef const char *(*instruction)(machine *m);
static const char CUT_OFF[] = "the pickle is truncated",
                  TOO_SHALLOW[] = "the pickle takes a value from its empty stack",
                  NO_MEMORY[] = "out of memory";

static const char *push(machine *m, value v)
{
    if (m->depth == MAX_STACK) return "the pickle's stack grows too deep";
    m->stack[m->depth++] = v;
    return NULL;
}

static bool take_bytes(machine *m, void *out, size_t count)
{
    if ((size_t)(m->end - m->at) < count) return false;
    memcpy(out, m->at, count);
    m->at += count;
    return true;
}

/* Little-endian, unsigned. */
static bool take_uint(machine *m, uint64_t *out, size_t bytes)
{
    uint8_t b[8] = {0};
    if (!take_bytes(m, b, bytes)) return false;
    *out = 0;
    for (size_t i = 8; i-- > 0;) *out = *out << 8 | b[i];
    return true;
}

static const char *push_int(machine *m, size_t bytes)
{
    uint64_t v;
    if (!take_uint(m, &v, bytes)) return CUT_OFF;
    return push(m,
                (value){.kind = V_INT, .integer = bytes == 4 ? (int32_t)(uint32_t)v : (int64_t)v});
}

static const char *push_text(machine *m, size_t length_bytes)
{
    uint64_t size;
    if (!take_uint(m, &size, length_bytes) || (uint64_t)(m->end - m->at) < size) return CUT_OFF;
    span text = {(const char *)m->at, (size_t)size};
    m->at += size;
    return push(m, (value){.kind = V_TEXT, .text = text});
}

/* Replaces the top `count` values of the stack by a tuple. */
static const char *make_tuple(machine *m, size_t count)
{
    if (m->depth < count) return TOO_SHALLOW;
    value v = {.kind = V_TUPLE,
               .count = count,
               .items = arena_alloc_array(&m->memory, count + 1, sizeof(value))};
    if (!v.items) return NO_MEMORY;
    m->depth -= count;
    memcpy(v.items, m->stack + m->depth, count * sizeof(value));
    return push(m, v);
}

static const char *store(machine *m, size_t length_bytes)
{
    uint64_t i;
    if (!take_uint(m, &i, length_bytes)) return CUT_OFF;
    if (i >= MAX_MEMO || !m->depth) return "the pickle's memo is too large";
    m->memo[i] = m->stack[m->depth - 1];
    return NULL;
}

static const char *recall(machine *m, size_t length_bytes)
{
    uint64_t i;
    if (!take_uint(m, &i, length_bytes)) return CUT_OFF;
    return i < MAX_MEMO ? push(m, m->memo[i]) : "the pickle's memo is too large";
}

static bool take_line(machine *m, span *out)
{
    const uint8_t *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!newline) return false;
    *out = (span){(const char *)m->at, (size_t)(newline - m->at)};
    m->at = newline + 1;
    return true;
}

/* ---- Instructions ---- */

static const char *op_proto(machine *m)
{
    uint64_t version;
    if (!take_uint(m, &version, 1)) return CUT_OFF;
    return version <= 5 ? NULL : "the pickle has an unknown protocol version";
}

static const char *op_name(machine *m)
{
    value v = {.kind = V_NAME};
    return take_line(m, &v.text) && take_line(m, &v.name) ? push(m, v) : CUT_OFF;
}

static const char *op_tuple(machine *m)
{
    size_t mark = m->depth;
    while (mark && m->stack[mark - 1].kind != V_MARK) mark--;
    if (!mark) return TOO_SHALLOW;
    const char *problem = make_tuple(m, m->depth - mark);
    if (problem) return problem;
    m->stack[m->depth - 2] = m->stack[m->depth - 1];
    m->depth--;
    return NULL;
}

/* Turns the tuple ('storage', class, key, device, number of elements) into a storage. */
static const char *op_persistent_id(machine *m)
{
    static const value_kind KINDS[] = {V_TEXT, V_NAME, V_TEXT, V_TEXT, V_INT};
    enum { FIELDS = sizeof KINDS / sizeof *KINDS };
    if (!m->depth) return TOO_SHALLOW;
    value *top = &m->stack[m->depth - 1];
    bool good = top->kind == V_TUPLE && top->count == FIELDS;
    for (size_t i = 0; good && i < FIELDS; i++) good = top->items[i].kind == KINDS[i];
    if (!good || !span_equals(top->items[0].text, "storage") || top->items[4].integer < 0)
        return "the pickle refers to something other than a tensor's storage";
    *top = (value){.kind = V_STORAGE,
                   .text = top->items[2].text,
                   .name = top->items[1].name,
                   .integer = top->items[4].integer};
    return NULL;
}

/* Calls a function. Only those that rebuild a tensor or a parameter, and the one that makes a
 * tensor's empty table of hooks, are allowed. */
static const char *op_reduce(machine *m)
{
    if (m->depth < 2) return TOO_SHALLOW;
    value arguments = m->stack[--m->depth], *callee = &m->stack[m->depth - 1];
    if (callee->kind != V_NAME || arguments.kind != V_TUPLE)
        return "the pickle calls a value that is not a function";
    bool utils = span_equals(callee->text, "torch._utils");
    bool v2 = utils && span_equals(callee->name, "_rebuild_tensor_v2") && arguments.count == 6;
    bool v3 = utils && span_equals(callee->name, "_rebuild_tensor_v3") && arguments.count == 7;
    bool parameter =
        utils && span_equals(callee->name, "_rebuild_parameter") && arguments.count == 3;
    if (v2 || v3)
        *callee = (value){.kind = V_TENSOR, .items = arguments.items, .count = arguments.count};
    else if (parameter && arguments.items[0].kind == V_TENSOR)
        *callee = arguments.items[0];
    else if (span_equals(callee->text, "collections") && span_equals(callee->name, "OrderedDict") &&
             !arguments.count)
        *callee = (value){.kind = V_DICT};
    else
        return "the pickle calls another function than a tensor's constructor, which is refused";
    return NULL;
}

static const char *op_stop(machine *m)
{
    m->stopped = true;
    return NULL;
}
static const char *op_mark(machine *m)
{
    return push(m, (value){.kind = V_MARK});
}
static const char *op_none(machine *m)
{
    return push(m, (value){.kind = V_NONE});
}
static const char *op_true(machine *m)
{
    return push(m, (value){.kind = V_BOOL, .integer = 1});
}
static const char *op_false(machine *m)
{
    return push(m, (value){.kind = V_BOOL});
}
static const char *op_dict(machine *m)
{
    return push(m, (value){.kind = V_DICT});
}
static const char *op_int1(machine *m)
{
    return push_int(m, 1);
}
static const char *op_int2(machine *m)
{
    return push_int(m, 2);
}
static const char *op_int4(machine *m)
{
    return push_int(m, 4);
}
static const char *op_text1(machine *m)
{
    return push_text(m, 1);
}
static const char *op_text4(machine *m)
{
    return push_text(m, 4);
}
static const char *op_tuple0(machine *m)
{
    return make_tuple(m, 0);
}
static const char *op_tuple1(machine *m)
{
    return make_tuple(m, 1);
}
static const char *op_tuple2(machine *m)
{
    return make_tuple(m, 2);
}
static const char *op_tuple3(machine *m)
{
    return make_tuple(m, 3);
}
static const char *op_store1(machine *m)
{
    return store(m, 1);
}
static const char *op_store4(machine *m)
{
    return store(m, 4);
}
static const char *op_recall1(machine *m)
{
    return recall(m, 1);
}
static const char *op_recall4(machine *m)
{
    return recall(m, 4);
}

/* An integer of up to 8 bytes, two's complement. */
static const char *op_long1(machine *m)
{
    uint64_t bytes, v = 0;
    if (!take_uint(m, &bytes, 1)) return CUT_OFF;
    if (bytes > 8) return "the pickle holds an integer that is too large";
    if (!take_uint(m, &v, (size_t)bytes)) return CUT_OFF;
    if (bytes && bytes < 8 && v >> (8 * bytes - 1)) v |= UINT64_MAX << (8 * bytes);
    return push(m, (value){.kind = V_INT, .integer = (int64_t)v});
}

static const instruction INSTRUCTIONS[256] = {
    [0x80] = op_proto,  ['c'] = op_name,    ['q'] = op_store1,        ['r'] = op_store4,
    ['h'] = op_recall1, ['j'] = op_recall4, ['('] = op_mark,          ['X'] = op_text4,
    [0x8c] = op_text1,  ['K'] = op_int1,    ['M'] = op_int2,          ['J'] = op_int4,
    [0x8a] = op_long1,  ['N'] = op_none,    [0x88] = op_true,         [0x89] = op_false,
    [')'] = op_tuple0,  [0x85] = op_tuple1, [0x86] = op_tuple2,       [0x87] = op_tuple3,
    ['t'] = op_tuple,   ['}'] = op_dict,    ['Q'] = op_persistent_id, ['R'] = op_reduce,
    ['.'] = op_stop,
};

/* ---- The tensor ---- */

static const char *take_dims(int64_t *out, const value *v)
{
    for (size_t i = 0; i < v->count; i++) {
        if (v->items[i].kind != V_INT || v->items[i].integer < 0)
            return "the tensor's shape or strides are not lists of sizes";
        out[i] = v->items[i].integer;
    }
    return NULL;
}

static const char *describe(pickle_tensor *out, const value *v)
{
    if (v->kind != V_TENSOR) return "the pickle holds a value other than a tensor";
    const value *storage = &v->items[0], *offset = &v->items[1], *shape = &v->items[2],
                *strides = &v->items[3];
    if (storage->kind != V_STORAGE || offset->kind != V_INT || offset->integer < 0 ||
        shape->kind != V_TUPLE || strides->kind != V_TUPLE || shape->count != strides->count ||
        shape->count > PGY_MAX_RANK)
        return "the tensor's constructor has other arguments than that of a plain tensor";
    bool untyped = v->count == 7;
    *out = (pickle_tensor){
        .key = storage->text, .offset = (size_t)offset->integer, .rank = shape->count};
    if (!untyped)
        out->dtype = dtype_of_storage(storage->name);
    else if (v->items[6].kind == V_NAME && span_equals(v->items[6].text, "torch"))
        out->dtype = dtype_of_name(v->items[6].name);
    if (!out->dtype) return "the tensor's element type is unknown";
    size_t item = untyped ? 1 : pgy_dtype_describe(out->dtype)->bits / 8;
    if (!size_mul(&out->storage_bytes, (size_t)storage->integer, item))
        return "the tensor's storage is too large";
    const char *problem = take_dims(out->shape, shape);
    return problem ? problem : take_dims(out->strides, strides);
}

static const char *execute(pickle_tensor *out, machine *m)
{
    for (size_t steps = 0; !m->stopped; steps++) {
        if (m->at == m->end) return CUT_OFF;
        instruction run = INSTRUCTIONS[*m->at++];
        const char *problem = !run ? "the pickle has an instruction that a plain tensor does not "
                                     "need, which is refused"
                              : steps > MAX_STEPS ? "the pickle is too long"
                                                  : run(m);
        if (problem) return problem;
    }
    return m->depth == 1 ? describe(out, &m->stack[0]) : "the pickle holds more than one object";
}

pgy_status pickle_tensor_read(pickle_tensor *out, const void *data, size_t size_bytes,
                              pgy_error *err)
{
    machine *m = mem_calloc(1, sizeof *m);
    if (!m) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a pickle");
    m->at = data;
    m->end = m->at + size_bytes;
    const char *problem = execute(out, m);
    arena_deinit(&m->memory);
    mem_free(m);
    return problem ? pgy_error_set(err, problem == NO_MEMORY ? PGY_E_MEMORY : PGY_E_FORMAT, "%s",
                                   problem)
                   : PGY_OK;
}
