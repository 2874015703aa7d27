/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the code of CUDA kernels; helper functions for all of them. */
#include "kernels/cuda/code.h"

#include <string.h>

#include "base/alloc.h"
#include "tensor/convert.h"

/* ---- Loading -------------------------------------------------------------------------------- */

static pgy_status find_functions(cuda_loaded *l, const cuda_source *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && s->entries[i]; i++)
        st = cuda_code_function(&l->functions[i], l->code, s->entries[i], err);
    return st;
}

pgy_status cuda_load(void **out, device *d, const cuda_source *s, str *defines, pgy_error *err)
{
    static const char *const NO_OPTIONS[] = {NULL};
    static const char *const PRELUDE[] = {CUDA_SOURCE_prelude, CUDA_SOURCE_prelude_types,
                                          CUDA_SOURCE_prelude_functions, CUDA_SOURCE_prelude_block};
    cuda_loaded *l = mem_calloc(1, sizeof *l);
    for (size_t i = 0; i < sizeof PRELUDE / sizeof *PRELUDE; i++) str_append(defines, PRELUDE[i]);
    for (size_t i = 0; i < sizeof s->before / sizeof *s->before && s->before[i]; i++)
        str_append(defines, s->before[i]);
    str_append(defines, s->text);
    pgy_status st = PGY_OK;
    if (!l || defines->failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = cuda_code_create(&l->code, d, s->name, str_text(defines), NO_OPTIONS, err);
    if (!st) st = find_functions(l, s, err);
    str_deinit(defines);
    if (st)
        cuda_unload(l);
    else
        *out = l;
    return st;
}

void cuda_unload(void *loaded)
{
    cuda_loaded *l = loaded;
    if (!l) return;
    cuda_code_destroy(l->code);
    mem_free(l);
}

/* ---- Types ---------------------------------------------------------------------------------- */

const char *cuda_type(pgy_dtype dtype)
{
    static const struct {
        pgy_dtype dtype;
        const char *name;
    } TYPES[] = {{PGY_F32, "f32"}, {PGY_F16, "f16"}, {PGY_BF16, "bf16"}, {PGY_F64, "f64"},
                 {PGY_I64, "i64"}, {PGY_I32, "i32"}, {PGY_I8, "i8"},     {PGY_U8, "u8"},
                 {PGY_BOOL, "b8"}, {PGY_I16, "i16"}, {PGY_U16, "u16"}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].dtype == dtype) return TYPES[i].name;
    return NULL;
}

uint32_t cuda_item(pgy_dtype dtype)
{
    return pgy_dtype_describe(dtype)->bits / 8;
}

void cuda_define(str *out, const char *name, const char *text)
{
    str_printf(out, "#define %s %s\n", name, text);
}

void cuda_define_int(str *out, const char *name, int64_t value)
{
    str_printf(out, "#define %s %lld\n", name, (long long)value);
}

void cuda_define_type(str *out, const char *name, pgy_dtype dtype)
{
    const char *type = dtype == PGY_F8E4M3FN ? "e4m3"
                       : dtype == PGY_F8E5M2 ? "e5m2"
                                             : cuda_type(dtype);
    cuda_define(out, name, type ? type : "f32"); /* an omitted operand is not read */
}

/* ---- Launches ------------------------------------------------------------------------------- */

pgy_status cuda_launch_blocks(device_stream *s, const cuda_function *f, uint64_t blocks,
                              uint32_t threads, void *arguments, pgy_error *err)
{
    return cuda_launch_shared(s, f, blocks, threads, 0, arguments, err);
}

pgy_status cuda_launch_shared(device_stream *s, const cuda_function *f, uint64_t blocks,
                              uint32_t threads, uint32_t shared_bytes, void *arguments,
                              pgy_error *err)
{
    const cuda_grid g = {
        .grid = {(uint32_t)blocks, 1, 1}, .block = {threads, 1, 1}, .shared_bytes = shared_bytes};
    if (!blocks) return PGY_OK;
    if (blocks > INT32_MAX)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "%llu blocks of threads; a launch on a CUDA device has at most %d",
                             (unsigned long long)blocks, INT32_MAX);
    return cuda_launch(s, f, &g, (void *[]){arguments}, err);
}

pgy_status cuda_launch_for(device_stream *s, const cuda_function *f, uint64_t count,
                           uint32_t threads, void *arguments, pgy_error *err)
{
    const uint64_t most = 1 << 20, blocks = count / threads + (count % threads != 0);
    return cuda_launch_blocks(s, f, blocks < most ? blocks : most, threads, arguments, err);
}

/* ---- Problems ------------------------------------------------------------------------------- */

double cuda_cost(double bytes, double operations, bool tensor_cores)
{
    const double moved = bytes / 2000, computed = operations / (tensor_cores ? 150000 : 20000);
    return 2500 + (moved > computed ? moved : computed);
}

double cuda_bytes(const kernel_problem *u)
{
    double bytes = 0;
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype) bytes += (double)kernel_size_bytes(&u->inputs[i]);
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype) bytes += (double)kernel_size_bytes(&u->outputs[i]);
    return bytes;
}

void cuda_set_linear(kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
}

void cuda_widen(kernel_problem *wide, cuda_room room, const kernel_problem *u)
{
    *wide = *u;
    for (size_t i = 0; i < u->input_count; i++) {
        const kernel_tensor *t = &u->inputs[i];
        if (!cuda_is_half(t->dtype)) continue;
        wide->inputs[i].dtype = PGY_F32;
        if (!t->data || kernel_count(t) > CUDA_FEW) continue;
        for (size_t k = 0; k < kernel_count(t); k++)
            room[i][k] = (float)element_as_f64(t->dtype, t->data, k);
        wide->inputs[i].data = room[i];
    }
    for (size_t i = 0; i < u->output_count; i++)
        if (cuda_is_half(u->outputs[i].dtype)) wide->outputs[i].dtype = PGY_F32;
}
