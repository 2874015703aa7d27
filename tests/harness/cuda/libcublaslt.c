/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for cuBLASLt over memory of the host, beside the driver that runs kernels: it computes
 * products when they are enqueued, and offers two algorithms for each problem, none for products
 * with an odd k, and one that does not work in between. FAKE_CUBLASLT_VERSION=130200 makes it
 * another version; FAKE_CUDA_FAIL is in fault.h. Column-major, as the library is. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "device/cuda/cublaslt.h"
#include "fault.h"

#define EXPORT __attribute__((visibility("default")))
#define BEGIN(name)                      \
    do {                                 \
        const int code = fault_of(name); \
        if (code) return code;           \
    } while (0)

struct lt_desc_st {
    int32_t turn[2], bias_type;
    uint32_t epilogue;
    const void *bias;
};
struct lt_layout_st {
    int type;
    uint64_t rows, columns;
    int64_t stride, batch_stride;
    int32_t batch;
};
struct lt_preference_st {
    uint64_t workspace;
};
/* As in libcuda.c. */
struct CUstream_st {
    cu_context context;
    cu_graph captured;
};
enum { INVALID = 7, NOT_SUPPORTED = 15 };

EXPORT unsigned long fake_cublaslt_count(const char *name)
{
    return fault_counter_of(name)->count;
}

EXPORT size_t cublasLtGetVersion(void)
{
    const char *text = getenv("FAKE_CUBLASLT_VERSION");
    return text ? strtoul(text, NULL, 10) : 130100;
}

EXPORT int cublasLtCreate(lt_handle *out)
{
    static int handle;
    BEGIN("cublasLtCreate");
    *out = (lt_handle)(void *)&handle;
    return 0;
}

EXPORT int cublasLtMatmulDescCreate(lt_desc *out, int compute_type, int scale_type)
{
    BEGIN("cublasLtMatmulDescCreate");
    if (compute_type != LT_COMPUTE_32F || scale_type != LT_R_32F) return INVALID;
    *out = calloc(1, sizeof **out);
    return *out ? 0 : 3;
}

EXPORT int cublasLtMatmulDescDestroy(lt_desc desc)
{
    free(desc);
    return 0;
}

EXPORT int cublasLtMatmulDescSetAttribute(lt_desc d, int attribute, const void *value, size_t size)
{
    const struct {
        int attribute;
        void *to;
        size_t size;
    } PLACES[] = {{LT_DESC_TRANSPOSE_A, &d->turn[0], 4},
                  {LT_DESC_TRANSPOSE_B, &d->turn[1], 4},
                  {LT_DESC_EPILOGUE, &d->epilogue, 4},
                  {LT_DESC_BIAS_TYPE, &d->bias_type, 4},
                  {LT_DESC_BIAS_POINTER, &d->bias, 8}};
    BEGIN("cublasLtMatmulDescSetAttribute");
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
        if (PLACES[i].attribute == attribute && PLACES[i].size == size) {
            memcpy(PLACES[i].to, value, size);
            return 0;
        }
    return INVALID;
}

EXPORT int cublasLtMatrixLayoutCreate(lt_layout *out, int type, uint64_t rows, uint64_t columns,
                                      int64_t stride)
{
    BEGIN("cublasLtMatrixLayoutCreate");
    if (stride < (int64_t)rows) return INVALID;
    *out = calloc(1, sizeof **out);
    if (!*out) return 3;
    **out = (struct lt_layout_st){
        .type = type, .rows = rows, .columns = columns, .stride = stride, .batch = 1};
    return 0;
}

EXPORT int cublasLtMatrixLayoutDestroy(lt_layout layout)
{
    free(layout);
    return 0;
}

EXPORT int cublasLtMatrixLayoutSetAttribute(lt_layout l, int attribute, const void *value,
                                            size_t size)
{
    BEGIN("cublasLtMatrixLayoutSetAttribute");
    if (attribute == LT_LAYOUT_BATCH_COUNT && size == 4)
        memcpy(&l->batch, value, size);
    else if (attribute == LT_LAYOUT_BATCH_STRIDE && size == 8)
        memcpy(&l->batch_stride, value, size);
    else
        return INVALID;
    return 0;
}

EXPORT int cublasLtMatmulPreferenceCreate(lt_preference *out)
{
    BEGIN("cublasLtMatmulPreferenceCreate");
    *out = calloc(1, sizeof **out);
    return *out ? 0 : 3;
}

EXPORT int cublasLtMatmulPreferenceDestroy(lt_preference preference)
{
    free(preference);
    return 0;
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(lt_preference p, int attribute, const void *value,
                                                size_t size)
{
    BEGIN("cublasLtMatmulPreferenceSetAttribute");
    if (attribute == LT_PREFERENCE_WORKSPACE && size == 8) memcpy(&p->workspace, value, size);
    return size == (attribute == LT_PREFERENCE_WORKSPACE ? 8 : 4) ? 0 : INVALID;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_desc desc, lt_layout a, lt_layout b,
                                          lt_layout c, lt_layout d, lt_preference preference,
                                          int wanted, lt_found *found, int *count)
{
    BEGIN("cublasLtMatmulAlgoGetHeuristic");
    (void)handle, (void)b, (void)c, (void)d, (void)preference;
    const uint64_t k = desc->turn[0] ? a->rows : a->columns;
    *count = k % 2 || wanted < 3 ? 0 : 3;
    for (int i = 0; i < *count; i++) {
        found[i].algorithm.data[0] = 77 + (uint64_t)i;
        found[i].workspace_bytes = (size_t)i * 64;
        found[i].state = i == 1 ? NOT_SUPPORTED : 0;
    }
    return *count ? 0 : NOT_SUPPORTED;
}

/* ---- Arithmetic ----------------------------------------------------------------------------- */

static float half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, rest = bits & 1023;
    const float sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return rest ? NAN : sign * INFINITY;
    return sign *
           (exponent ? ldexpf((float)(1024 + rest), exponent - 25) : ldexpf((float)rest, -24));
}

static float read_at(const void *data, int type, int64_t i)
{
    const uint16_t bits = type == LT_R_32F ? 0 : ((const uint16_t *)data)[i];
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    if (type == LT_R_32F) return ((const float *)data)[i];
    if (type == LT_R_16F) return half_value(bits);
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* The 16-bit float whose value is nearest: tries the two around the truncated one. */
static uint16_t narrow(float x, int type)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (type == LT_R_16BF)
        return isnan(x) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const float size = fabsf(x);
    if (isnan(x)) return 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    uint16_t low = 0, high = 0x7c00;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if (half_value(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const float down = size - half_value(low),
                up = (high == 0x7c00 ? 65536 : half_value(high)) - size;
    return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

static void write_at(void *data, int type, int64_t i, float x)
{
    if (type == LT_R_32F)
        ((float *)data)[i] = x;
    else
        ((uint16_t *)data)[i] = narrow(x, type);
}

/* A matrix of a batch as floats, [lines][k]: rows of A or columns of B. `along`: elements of a line
 * are neighbours in memory. */
static float *lines_of(const void *data, lt_layout l, int64_t batch, bool along, int64_t lines,
                       int64_t k)
{
    float *to = malloc(sizeof *to * (size_t)(lines * k + 1));
    if (!to) abort();
    for (int64_t line = 0; line < lines; line++)
        for (int64_t i = 0; i < k; i++) {
            const int64_t at = along ? i + line * l->stride : line + i * l->stride;
            to[line * k + i] = read_at(data, l->type, batch * l->batch_stride + at);
        }
    return to;
}

static float sum_of(const float *a, const float *b, int64_t k)
{
    float sum = 0;
    for (int64_t i = 0; i < k; i++) sum += a[i] * b[i];
    return sum;
}

EXPORT int cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a,
                          lt_layout al, const void *b, lt_layout bl, const void *beta,
                          const void *c, lt_layout cl, void *d, lt_layout dl,
                          const lt_algorithm *algorithm, void *workspace, size_t workspace_bytes,
                          cu_stream stream)
{
    BEGIN("cublasLtMatmul");
    if (stream->captured) return NOT_SUPPORTED; /* then steps are enqueued one by one */
    if (!handle || (algorithm->data[0] != 77 && algorithm->data[0] != 79)) return INVALID;
    if (workspace_bytes) ((char *)workspace)[0] = ((char *)workspace)[workspace_bytes - 1] = 0x5a;
    const int64_t k = (int64_t)(desc->turn[0] ? al->rows : al->columns);
    const int64_t rows = (int64_t)dl->rows, columns = (int64_t)dl->columns;
    for (int64_t batch = 0; batch < dl->batch; batch++) {
        float *left = lines_of(a, al, batch, desc->turn[0], rows, k);
        float *right = lines_of(b, bl, batch, !desc->turn[1], columns, k);
        for (int64_t column = 0; column < columns; column++)
            for (int64_t row = 0; row < rows; row++) {
                const int64_t at = batch * dl->batch_stride + row + column * dl->stride;
                float v = *(const float *)alpha * sum_of(left + row * k, right + column * k, k);
                if (*(const float *)beta != 0) v += *(const float *)beta * read_at(c, cl->type, at);
                if (desc->epilogue & LT_EPILOGUE_BIAS)
                    v += read_at(desc->bias, desc->bias_type, row);
                write_at(d, dl->type, at, v);
            }
        free(left);
        free(right);
    }
    return 0;
}
