/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose results' sizes depend on data: the bytes choose one of them, its attributes,
 * inputs that mostly fit each other, and their contents. What the shape rule lets pass and a finder
 * accepts, the definition must compute, too, bit for bit. Finders run on memory of exactly its
 * size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "kernels/finder.h"
#include "tensor/tensor.h"

enum { MAX_INPUTS = 5, MAX_OUTPUTS = 4 };

typedef struct source {
    const uint8_t *data;
    size_t size;
} source;

typedef struct results {
    pgy_tensor *made[MAX_OUTPUTS];
    void *memory;
} results;

static uint8_t byte(source *s)
{
    if (!s->size) return 0;
    s->size--;
    return *s->data++;
}

static int64_t number(source *s)
{
    static const int64_t LIMITS[] = {INT64_MIN, INT64_MAX, INT32_MIN, UINT32_MAX,
                                     1 << 20,   -64,       100,       0};
    const uint8_t b = byte(s);
    return b >= 248 ? LIMITS[b - 248] : (int64_t)(b % 9) - 3;
}

static float real(source *s)
{
    static const float LIMITS[] = {3e38f, -3e38f, 1.0f / 0, -1.0f / 0, 0.0f / 0, 1e-40f, -0.0f, 0};
    const uint8_t b = byte(s);
    return b >= 240 ? LIMITS[b % 8] : ((float)b - 80) / 64;
}

static pgy_tensor *tensor(source *s, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    if (pgy_tensor_create(&t, dtype, rank, shape, NULL)) abort();
    const size_t bytes = pgy_dtype_describe(dtype)->bits / 8;
    char *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++, to += bytes) {
        const float f = dtype == PGY_F32 ? real(s) : 0;
        const double d = dtype == PGY_F64 ? (double)real(s) : 0;
        const int64_t whole = dtype == PGY_BOOL ? byte(s) & 1 : number(s);
        memcpy(to,
               dtype == PGY_F32   ? (const void *)&f
               : dtype == PGY_F64 ? (const void *)&d
                                  : &whole,
               bytes);
    }
    return t;
}

static pgy_status create(void **data, void *user, size_t i, pgy_dtype dtype, size_t rank,
                         const int64_t *shape, pgy_error *err)
{
    results *r = user;
    if (r->made[i]) abort();
    const pgy_status st = tensor_create_raw(&r->made[i], dtype, rank, shape, err);
    if (!st) *data = pgy_tensor_data(r->made[i]);
    return st;
}

static pgy_status lend(void **out, void *user, size_t size_bytes, pgy_error *err)
{
    results *r = user;
    if (r->memory || size_bytes > 1 << 26) return pgy_error_set(err, PGY_E_MEMORY, "too much");
    *out = r->memory = mem_alloc_aligned(64, size_bytes);
    return *out ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Problems ------------------------------------------------------------------------------- */

static pgy_dtype type(source *s)
{
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_U8, PGY_F16,
                                      PGY_I32, PGY_F64, PGY_I8,   PGY_U16};
    return TYPES[byte(s) % 9];
}

static size_t boxes(source *s, op_tensor *in)
{
    const int64_t batch = byte(s) % 3, classes = byte(s) % 3, count = byte(s) % 80;
    const int64_t wrong = byte(s) % 16 == 0;
    in[0].value = tensor(s, PGY_F32, 3, (int64_t[]){batch, count + wrong, 4});
    in[1].value = tensor(s, PGY_F32, 3, (int64_t[]){batch, classes, count});
    const size_t given = 2 + byte(s) % 4, rank = byte(s) % 2;
    const int64_t size = byte(s) % 32 ? 1 : byte(s) % 3;
    for (size_t i = 2; i < given; i++)
        if (byte(s) % 8) in[i].value = tensor(s, i == 2 ? PGY_I64 : PGY_F32, rank, &size);
    return given;
}

static size_t others(source *s, op_tensor *in, bool condition)
{
    int64_t shape[4];
    const size_t rank = byte(s) % 5;
    for (size_t d = 0; d < rank; d++) shape[d] = byte(s) % (d ? 5 : 40);
    in[0].value = tensor(s, type(s), rank, shape);
    if (!condition) return 1;
    in[1].value = tensor(s, PGY_BOOL, 1, (int64_t[]){byte(s) % 64});
    return 2;
}

static void compare(const op_node *n, pgy_tensor **made, const op_tensor *wanted)
{
    for (size_t i = 0; i < n->output_count; i++) {
        pgy_tensor *y = NULL;
        if (op_from_storage(&y, wanted[i].value, wanted[i].dtype, NULL)) continue;
        const size_t bytes = pgy_tensor_size_bytes(y);
        if (!made[i] || pgy_tensor_size_bytes(made[i]) != bytes ||
            pgy_tensor_rank(made[i]) != pgy_tensor_rank(y) ||
            memcmp(pgy_tensor_shape(made[i]), pgy_tensor_shape(y),
                   pgy_tensor_rank(y) * sizeof(int64_t)))
            abort();
        /* NaN passes the storage type with other bits. */
        const bool floats = pgy_dtype_is_float(pgy_tensor_dtype(y));
        if (!floats && bytes && memcmp(pgy_tensor_data(made[i]), pgy_tensor_data(y), bytes))
            abort();
        pgy_tensor_release(y);
    }
}

static void try(const op_node *n, const op_tensor *in)
{
    static const bool wanted[MAX_OUTPUTS] = {true, true, true, true};
    const op_host host = {.max_bytes = 1 << 26};
    const op_value *foreseen = NULL;
    op_tensor stored[MAX_INPUTS] = {{0}}, out[MAX_OUTPUTS] = {{0}};
    results r = {0};
    arena memory = {0};
    pgy_error err = {0};
    finder_call c = {.node = n, .wanted = wanted, .create = create, .memory = lend, .user = &r};
    if (op_check_node(n, &err) || op_foresee(&foreseen, n, in, wanted, &host, &memory, &err))
        goto done;
    for (size_t i = 0; i < n->input_count; i++) {
        stored[i].dtype = in[i].dtype;
        if (!in[i].value) continue;
        if (op_to_storage(&stored[i].value, in[i].value, &err)) goto done;
        c.inputs[i] = (kernel_tensor){.dtype = in[i].dtype,
                                      .rank = (int32_t)pgy_tensor_rank(in[i].value),
                                      .shape = pgy_tensor_shape(in[i].value),
                                      .data = pgy_tensor_data(in[i].value)};
    }
    const finder *f = finder_for("", n->def->name);
    if (!f->accept(&c) || f->run(&c, &err)) goto done;
    if (op_run(n, stored, out, wanted, &host, &err)) abort();
    compare(n, r.made, out);
done:
    for (size_t i = 0; i < MAX_OUTPUTS; i++) {
        pgy_tensor_release(r.made[i]);
        op_tensor_release(&out[i]);
    }
    for (size_t i = 0; i < MAX_INPUTS; i++) op_tensor_release(&stored[i]);
    mem_free(r.memory);
    arena_deinit(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const OPS[] = {"NonZero", "Compress", "Unique", "NonMaxSuppression"};
    static const char *const NAMES[] = {"axis", "axis", "sorted", "center_point_box"};
    static const int64_t OPSETS[] = {13, 11, 11, 11};
    source s = {.data = data, .size = size};
    op_tensor in[MAX_INPUTS] = {{0}};
    op_attr attrs[2];
    const size_t op = byte(&s) % 4;
    op_node n = {.def = op_find("", OPS[op], OPSETS[op]),
                 .name = "fuzz",
                 .opset = OPSETS[op],
                 .attrs = attrs};
    n.output_count = op == 2 ? 1 + byte(&s) % 4 : 1;
    for (size_t i = 0; op && i < 2; i++) {
        if (byte(&s) % 3 == 0) continue;
        attrs[n.attr_count++] = (op_attr){
            .name = i && op == 2 ? "axis" : NAMES[op], .kind = OP_ATTR_INT, .i = number(&s)};
        if (op != 2) break;
    }
    n.input_count = op == 3 ? boxes(&s, in) : others(&s, in, op == 1);
    for (size_t i = 0; i < n.input_count; i++)
        if (in[i].value) in[i].dtype = pgy_tensor_dtype(in[i].value);
    try(&n, in);
    for (size_t i = 0; i < n.input_count; i++) op_tensor_release(&in[i]);
    return 0;
}
