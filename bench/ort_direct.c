/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime called as directly as C can: open the library, load a model, run it once on one
 * float32 input, read the result. `bench.ort_direct LIBRARY MODEL DIMENSION...`. The floor that
 * `polygraphy run MODEL --onnxrt` is measured against: same providers, threads and input shape. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANK_MAX = 8, FLOAT = 1, API_VERSION = 12 };

/* The functions by their index in the table. */
enum {
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    INPUT_NAME = 36,
    OUTPUT_NAME = 37,
    WRAP_TENSOR = 49,
    TENSOR_DATA = 51,
    CPU_MEMORY = 69,
    ALLOCATOR = 78,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_OPTIONS = 100
};

typedef struct base {
    const void *const *(*table)(uint32_t version);
} base;

typedef void *(*call)(); /* every function of the table gives NULL when all is well */

static call function(const void *const *table, int index)
{
    union {
        const void *address;
        call call;
    } entry = {table[index]};
    return entry.call;
}

static const void *const *open_table(const char *library)
{
    union {
        void *address;
        const base *(*call)(void);
    } entry = {NULL};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle) entry.address = dlsym(handle, "OrtGetApiBase");
    return entry.address ? entry.call()->table(API_VERSION) : NULL;
}

static void *load(const void *const *t, const char *model)
{
    void *env = NULL, *options = NULL, *session = NULL;
    const int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (function(t, CREATE_ENV)(2, "bench", &env)) return NULL;
    if (function(t, CREATE_OPTIONS)(&options)) return NULL;
    if (function(t, SET_INTRA_THREADS)(options, threads)) return NULL;
    if (function(t, SET_INTER_THREADS)(options, threads)) return NULL;
    if (function(t, CREATE_SESSION)(env, model, options, &session)) return NULL;
    function(t, RELEASE_OPTIONS)(options);
    return session;
}

static int infer(const void *const *t, void *session, const int64_t *dims, size_t rank)
{
    void *memory = NULL, *allocator = NULL, *in = NULL, *out = NULL;
    char *in_name = NULL, *out_name = NULL;
    float *result = NULL;
    size_t count = 1;
    for (size_t i = 0; i < rank; i++) count *= (size_t)dims[i];
    float *data = malloc(count * sizeof *data);
    if (!data) return 1;
    for (size_t i = 0; i < count; i++) data[i] = (float)(i % 251) / 251;
    int failed =
        function(t, ALLOCATOR)(&allocator) || function(t, CPU_MEMORY)(0, 0, &memory) ||
        function(t, INPUT_NAME)(session, (size_t)0, allocator, &in_name) ||
        function(t, OUTPUT_NAME)(session, (size_t)0, allocator, &out_name) ||
        function(t, WRAP_TENSOR)(memory, data, count * sizeof *data, dims, rank, FLOAT, &in) ||
        function(t, RUN)(session, NULL, &in_name, &in, (size_t)1, &out_name, (size_t)1, &out) ||
        function(t, TENSOR_DATA)(out, &result);
    if (!failed) printf("%s[0] = %g\n", out_name, (double)result[0]);
    if (out) function(t, RELEASE_VALUE)(out);
    if (in) function(t, RELEASE_VALUE)(in);
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    int64_t dims[RANK_MAX];
    size_t rank = 0;
    if (argc < 4 || argc > 3 + RANK_MAX) return 2;
    for (int i = 3; i < argc; i++) dims[rank++] = strtoll(argv[i], NULL, 10);
    const void *const *table = open_table(argv[1]);
    if (!table) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *session = load(table, argv[2]);
    if (!session) return 1;
    const int failed = infer(table, session, dims, rank);
    function(table, RELEASE_SESSION)(session);
    return failed;
}
