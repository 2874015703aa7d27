/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding and prefill with weights of 4 bits: nbits LIBRARY THREADS [ROUNDS [BLOCK]]
 *
 * For each size a chain of MatMulNBits whose weights do not fit the caches, with 1, 4 and 128 rows,
 * at accuracy levels 0 and 4: the engine and ONNX Runtime's LIBRARY in turn, and beside them the
 * copying of 256 MiB and, for 128 rows, the engine's float32 product. Prints the best times, since
 * other work on the machine only adds to them, and the ratio of the medians:
 *
 *     KxN level L rows M: ours MS GB/s  onnxruntime MS GB/s  ratio R (medians R)  copy GB/s share
 * S%  [float32 MS share S%]
 *
 * GB/s counts packed codes and scales as the model stores them; copying counts bytes read and bytes
 * written. The share is that of the copying's rate, or of the float32 product's speed. NBITS_ONLY
 * chooses one line, such as "4096x4096 level 4 rows 1".
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/runtime.h>

#include "base/alloc.h"
#include "base/system.h"

enum { FLOAT = 1, BYTE = 2, API_VERSION = 12, MAX_ROUNDS = 64, WEIGHT_MIB = 192, COPY_MIB = 256 };

typedef struct setting {
    size_t k, n, rows, block, level, layers, threads, rounds;
    const char *library;
    bool floats;
} setting;

/* ---- A model file --------------------------------------------------------------------------- */

static void put_varint(FILE *f, uint64_t v)
{
    for (; v > 127; v >>= 7) putc((int)(v & 127) | 128, f);
    putc((int)v, f);
}

static size_t varint_size(uint64_t v)
{
    size_t size = 1;
    while (v >>= 7) size++;
    return size;
}

static void put_number(FILE *f, uint64_t field, uint64_t v)
{
    put_varint(f, field << 3);
    put_varint(f, v);
}

static void put_bytes(FILE *f, uint64_t field, const void *data, size_t size)
{
    put_varint(f, field << 3 | 2);
    put_varint(f, size);
    fwrite(data, 1, size, f);
}

static void put_text(FILE *f, uint64_t field, const char *text)
{
    put_bytes(f, field, text, strlen(text));
}

/* A message in memory. */
typedef struct message {
    char *data;
    size_t size;
    FILE *file;
} message;

static void begin(message *m)
{
    *m = (message){0};
    m->file = open_memstream(&m->data, &m->size);
}

static void end(message *m, FILE *to, uint64_t field)
{
    fclose(m->file);
    put_bytes(to, field, m->data, m->size);
    free(m->data);
}

/* random: the bytes are, else they are floats of the value `scale`. */
static void put_tensor(FILE *graph, const char *name, const size_t *dims, size_t rank, int type,
                       float scale)
{
    static uint64_t state = 1;
    size_t count = 1, head = 0;
    message m;
    begin(&m);
    for (size_t i = 0; i < rank; i++) {
        put_number(m.file, 1, dims[i]);
        count *= dims[i];
    }
    put_number(m.file, 2, (uint64_t)type);
    put_text(m.file, 8, name);
    fclose(m.file);
    const size_t bytes = count * (type == FLOAT ? 4 : 1);
    head = m.size + 1 + varint_size(bytes) + bytes;
    put_varint(graph, 5 << 3 | 2);
    put_varint(graph, head);
    fwrite(m.data, 1, m.size, graph);
    free(m.data);
    put_varint(graph, 9 << 3 | 2);
    put_varint(graph, bytes);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const float noise = (float)((int32_t)(state >> 40) % 1000) / 1000;
        const float sign = state >> 32 & 1 ? 1 : -1; /* without signs, means would grow */
        const float v = scale < 0 ? -scale * (noise * 2 - 1) : scale * sign * (1 + noise / 8);
        if (type == FLOAT)
            fwrite(&v, 4, 1, graph);
        else
            putc((int)(state >> 56), graph);
    }
}

static void put_value(FILE *graph, uint64_t field, const char *name, size_t rows, size_t columns)
{
    message value, type, tensor, shape;
    const size_t dims[] = {rows, columns};
    begin(&value);
    put_text(value.file, 1, name);
    begin(&type);
    begin(&tensor);
    put_number(tensor.file, 1, FLOAT);
    begin(&shape);
    for (size_t i = 0; i < 2; i++) {
        message one;
        begin(&one);
        put_number(one.file, 1, dims[i]);
        end(&one, shape.file, 1);
    }
    end(&shape, tensor.file, 2);
    end(&tensor, type.file, 1);
    end(&type, value.file, 2);
    end(&value, graph, field);
}

static void put_attribute(FILE *node, const char *name, uint64_t v)
{
    message m;
    begin(&m);
    put_text(m.file, 1, name);
    put_number(m.file, 3, v);
    put_number(m.file, 20, 2);
    end(&m, node, 5);
}

static void put_layer(FILE *graph, const setting *s, size_t layer)
{
    const size_t k = layer % 2 ? s->n : s->k, n = layer % 2 ? s->k : s->n, blocks = k / s->block;
    char name[64];
    message m;
    begin(&m);
    snprintf(name, sizeof name, layer ? "x%zu" : "x", layer);
    put_text(m.file, 1, name);
    snprintf(name, sizeof name, "w%zu", layer);
    put_text(m.file, 1, name);
    if (s->floats) {
        put_tensor(graph, name, (size_t[]){k, n}, 2, FLOAT, -1.7f / sqrtf((float)k));
    } else {
        put_tensor(graph, name, (size_t[]){n, blocks, s->block / 2}, 3, BYTE, 0);
        snprintf(name, sizeof name, "s%zu", layer);
        put_text(m.file, 1, name);
        put_tensor(graph, name, (size_t[]){n, blocks}, 2, FLOAT, 0.2f / sqrtf((float)k));
    }
    snprintf(name, sizeof name, layer + 1 < s->layers ? "x%zu" : "y", layer + 1);
    put_text(m.file, 2, name);
    put_text(m.file, 4, s->floats ? "MatMul" : "MatMulNBits");
    if (!s->floats) {
        put_attribute(m.file, "K", k);
        put_attribute(m.file, "N", n);
        put_attribute(m.file, "bits", 4);
        put_attribute(m.file, "block_size", s->block);
        put_attribute(m.file, "accuracy_level", s->level);
        put_text(m.file, 7, "com.microsoft");
    }
    end(&m, graph, 1);
}

static bool write_model(const char *path, const setting *s)
{
    message graph, opset;
    begin(&graph);
    for (size_t i = 0; i < s->layers; i++) put_layer(graph.file, s, i);
    put_text(graph.file, 2, "g");
    put_value(graph.file, 11, "x", s->rows, s->k);
    put_value(graph.file, 12, "y", s->rows, s->k);
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    put_number(f, 1, 9);
    end(&graph, f, 7);
    for (int i = 0; i < 2; i++) {
        begin(&opset);
        put_text(opset.file, 1, i ? "com.microsoft" : "");
        put_number(opset.file, 2, i ? 1 : 17);
        end(&opset, f, 8);
    }
    return fclose(f) == 0;
}

/* ---- The engine ----------------------------------------------------------------------------- */

typedef struct ours {
    pgy_engine *engine;
    pgy_context *context;
} ours;

static pgy_status open_ours(ours *o, const char *path, const setting *s, float *x, float *y,
                            pgy_error *err)
{
    pgy_model *model = NULL;
    const pgy_context_options options = {.size = sizeof options, .threads = (uint32_t)s->threads};
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = s->threads,
                                     .has_optimization_level = true,
                                     .optimization_level = 1};
    const size_t bytes = s->rows * s->k * sizeof(float);
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    if (!st) st = pgy_engine_build(&o->engine, model, &config, err);
    if (!st) st = pgy_context_create(&o->context, o->engine, &options, err);
    if (!st) st = pgy_context_set_input(o->context, "x", x, bytes, err);
    if (!st) st = pgy_context_set_output(o->context, "y", y, bytes, err);
    pgy_model_destroy(model);
    return st;
}

static void close_ours(ours *o)
{
    pgy_context_destroy(o->context);
    pgy_engine_release(o->engine);
}

/* ---- ONNX Runtime --------------------------------------------------------------------------- */

/* The functions of ONNX Runtime by their index in the table. */
enum {
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    WRAP_TENSOR = 49,
    CPU_MEMORY = 69,
    RELEASE_SESSION = 95
};

typedef void *(*call)(); /* every function of the table gives NULL when all is well */

typedef struct theirs {
    const void *const *table;
    void *session, *in, *out;
} theirs;

typedef struct base {
    const void *const *(*table)(uint32_t version);
} base;

static call function(const theirs *t, int index)
{
    union {
        const void *address;
        call call;
    } entry = {t->table[index]};
    return entry.call;
}

static bool open_theirs(theirs *t, const char *path, const setting *s, float *x, float *y)
{
    static void *env;
    void *options = NULL, *memory = NULL, *handle = dlopen(s->library, RTLD_NOW | RTLD_LOCAL);
    const int64_t dims[] = {(int64_t)s->rows, (int64_t)s->k};
    const size_t bytes = s->rows * s->k * sizeof(float);
    union {
        void *address;
        const base *(*call)(void);
    } entry = {handle ? dlsym(handle, "OrtGetApiBase") : NULL};
    *t = (theirs){.table = entry.address ? entry.call()->table(API_VERSION) : NULL};
    return t->table && (env || !function(t, CREATE_ENV)(3, "bench", &env)) &&
           !function(t, CREATE_OPTIONS)(&options) &&
           !function(t, SET_INTRA_THREADS)(options, (int)s->threads) &&
           !function(t, SET_INTER_THREADS)(options, 1) &&
           !function(t, CREATE_SESSION)(env, path, options, &t->session) &&
           !function(t, CPU_MEMORY)(0, 0, &memory) &&
           !function(t, WRAP_TENSOR)(memory, x, bytes, dims, (size_t)2, FLOAT, &t->in) &&
           !function(t, WRAP_TENSOR)(memory, y, bytes, dims, (size_t)2, FLOAT, &t->out);
}

static bool run_theirs(const theirs *t)
{
    static const char *const IN = "x", *const OUT = "y";
    void *out = t->out;
    return !function(t, RUN)(t->session, NULL, &IN, &t->in, (size_t)1, &OUT, (size_t)1, &out);
}

/* ---- Copying -------------------------------------------------------------------------------- */

typedef struct copying {
    char *to, *from;
    size_t bytes;
} copying;

static void *copy(void *user)
{
    const copying *c = user;
    memcpy(c->to, c->from, c->bytes);
    return NULL;
}

static void copy_all(const copying *all, size_t threads)
{
    pthread_t ids[64];
    copying pieces[64] = {{0}};
    const size_t each = all->bytes / threads;
    for (size_t i = 0; i < threads; i++) {
        pieces[i] = (copying){all->to + i * each, all->from + i * each, each};
        if (i && pthread_create(&ids[i], NULL, copy, &pieces[i])) exit(1);
    }
    copy(&pieces[0]);
    for (size_t i = 1; i < threads; i++) pthread_join(ids[i], NULL);
}

/* ---- Turns ---------------------------------------------------------------------------------- */

enum { OURS, THEIRS, COPY, FLOATS, SIDES };

typedef struct race {
    const setting *s;
    ours own, floats;
    theirs other;
    copying memory;
    float *x, *y[2];
} race;

static bool turn(race *r, int side, pgy_error *err)
{
    if (side == COPY) copy_all(&r->memory, r->s->threads);
    if (side == OURS) return pgy_context_execute(r->own.context, err) == PGY_OK;
    if (side == THEIRS) return run_theirs(&r->other);
    if (side == FLOATS && r->floats.context)
        return pgy_context_execute(r->floats.context, err) == PGY_OK;
    return true;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Threads of the side before may spin for a while: each side waits, and runs once before it is
 * timed. */
static bool run_race(race *r, double best[SIDES], double medians[SIDES], pgy_error *err)
{
    static double took[SIDES][MAX_ROUNDS];
    for (size_t i = 0; i < r->s->rounds; i++)
        for (int side = 0; side < SIDES; side++) {
            usleep(10000);
            if (!turn(r, side, err)) return false;
            const int64_t start = clock_ns();
            if (!turn(r, side, err)) return false;
            took[side][i] = (double)(clock_ns() - start);
        }
    for (int side = 0; side < SIDES; side++) {
        qsort(took[side], r->s->rounds, sizeof(double), by_size);
        best[side] = took[side][0];
        medians[side] = took[side][r->s->rounds / 2];
    }
    return true;
}

static double difference(const race *r)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < r->s->rows * r->s->k; i++) {
        worst = fmax(worst, fabs((double)r->y[0][i] - (double)r->y[1][i]));
        largest = fmax(largest, fabs((double)r->y[1][i]));
    }
    return worst / largest;
}

static void print(const race *r, const double t[SIDES], const double medians[SIDES],
                  size_t float_layers)
{
    const setting *s = r->s;
    const double bytes =
        (double)s->layers * ((double)(s->k * s->n) / 2 + (double)(s->k * s->n / s->block) * 4);
    const double rate = 2 * (double)r->memory.bytes / t[COPY];
    printf("%5zux%-5zu level %zu rows %3zu: ours %8.3f ms %6.1f GB/s  onnxruntime %8.3f ms %6.1f "
           "GB/s  ratio %.2f (medians %.2f)  copy %.1f GB/s share %.0f%%",
           s->k, s->n, s->level, s->rows, t[OURS] / 1e6, bytes / t[OURS], t[THEIRS] / 1e6,
           bytes / t[THEIRS], t[OURS] / t[THEIRS], medians[OURS] / medians[THEIRS], rate,
           100 * bytes / t[OURS] / rate);
    if (r->floats.context)
        printf("  float32 %.0f GFLOP/s share %.0f%%",
               2 * (double)(s->rows * s->k * s->n * float_layers) / t[FLOATS],
               100 * t[FLOATS] / (double)float_layers / (t[OURS] / (double)s->layers));
    printf("  difference %.1e\n", difference(r));
    fflush(stdout);
}

static bool measure(setting s, const copying *memory, pgy_error *err)
{
    char path[] = "/tmp/bench_nbits_XXXXXX";
    const int file = mkstemp(path);
    double best[SIDES] = {0}, medians[SIDES] = {0};
    race r = {.s = &s, .memory = *memory};
    setting f = s;
    f.floats = true;
    f.layers = 2;
    s.layers = ((size_t)WEIGHT_MIB << 20) / (s.k * s.n * 5 / 8) / 2 * 2 + 2;
    for (size_t i = 0; i < 2; i++) r.y[i] = mem_alloc_aligned(64, s.rows * s.k * sizeof(float));
    r.x = mem_alloc_aligned(64, s.rows * s.k * sizeof(float));
    bool good = file >= 0 && r.x && r.y[0] && r.y[1] && write_model(path, &s);
    for (size_t i = 0; good && i < s.rows * s.k; i++) r.x[i] = (float)((int)(i % 251) - 125) / 125;
    good = good && !open_ours(&r.own, path, &s, r.x, r.y[0], err) &&
           open_theirs(&r.other, path, &s, r.x, r.y[1]);
    if (good && s.rows >= 128)
        good = write_model(path, &f) && !open_ours(&r.floats, path, &f, r.x, r.y[0], err);
    good = good && run_race(&r, best, medians, err) && turn(&r, OURS, err);
    if (good) print(&r, best, medians, f.layers);
    if (r.other.session) function(&r.other, RELEASE_SESSION)(r.other.session);
    close_ours(&r.own);
    close_ours(&r.floats);
    unlink(path);
    if (file >= 0) close(file);
    for (size_t i = 0; i < 2; i++) mem_free(r.y[i]);
    mem_free(r.x);
    return good;
}

int main(int argc, char **argv)
{
    static const size_t SIZES[][2] = {{2048, 2048}, {4096, 4096}, {4096, 11008}};
    static const size_t ROWS[] = {1, 4, 128};
    const char *only = getenv("NBITS_ONLY");
    pgy_error err = {0};
    if (argc < 3) return 2;
    setting s = {.library = argv[1],
                 .threads = (size_t)atol(argv[2]),
                 .rounds = argc > 3 ? (size_t)atol(argv[3]) : 11,
                 .block = argc > 4 ? (size_t)atol(argv[4]) : 32};
    if (!s.threads || s.threads > 64 || !s.rounds || s.rounds > MAX_ROUNDS || !s.block) return 2;
    copying memory = {.bytes = (size_t)COPY_MIB << 20};
    memory.to = mem_alloc_aligned(64, memory.bytes);
    memory.from = mem_alloc_aligned(64, memory.bytes);
    if (!memory.to || !memory.from) return 1;
    memset(memory.from, 1, memory.bytes);
    printf("%s, %zu threads, blocks of %zu\n", cpu_level_name(cpu_features()), s.threads, s.block);
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (s.level = 0; s.level <= 4; s.level += 4)
            for (size_t m = 0; m < sizeof ROWS / sizeof *ROWS; m++) {
                char name[64];
                s.k = SIZES[i][0], s.n = SIZES[i][1], s.rows = ROWS[m];
                snprintf(name, sizeof name, "%zux%zu level %zu rows %zu", s.k, s.n, s.level,
                         s.rows);
                if (only && strcmp(only, name)) continue;
                if (!measure(s, &memory, &err)) {
                    fprintf(stderr, "%s\n", err.text);
                    return 1;
                }
            }
    mem_free(memory.to);
    mem_free(memory.from);
    return 0;
}
