/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing a large ONNX file against copying it: `bench.onnx_io [GB [repetitions]]`, 3
 * and 3 by default. `bench.onnx_io make FOLDER GB` writes inside.onnx and external.onnx for others
 * to measure with.
 *
 * The model is a chain of matrix products by weights of 64 MiB. Every repetition takes all rows in
 * turn: opening it (weights inside and
 * outside), opening and saving it unchanged, saving it with one name changed (everything encoded
 * but the weights), and cp of the same file; cp leaves the bytes in the page cache, saving makes
 * sure of them with fsync, so cp followed by `sync FILE` stands beside it. Files go to $TMPDIR and
 * are removed. */
#include <polygraphy/onnx.h>

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/system.h"
#include "base/wire.h"

extern char **environ;

enum { SIDE = 4096, BLOCK = SIDE * SIDE * 4, RUNS_MAX = 20 };

typedef struct bench {
    char folder[256], source[300], copy[300], external[300];
    size_t blocks;
    int runs;
    uint64_t size_bytes;
} bench;

typedef pgy_status (*bench_step)(bench *b, pgy_error *err);

/* ---- The model ------------------------------------------------------------------------------ */

static void put_text(str *out, uint32_t field, const char *text, size_t size)
{
    wire_put_tag(out, field, WIRE_LEN);
    wire_put_varint(out, size);
    str_append_n(out, text, size);
}

static void put_name(str *out, uint32_t field, const char *prefix, size_t index)
{
    char text[32];
    put_text(out, field, text, (size_t)snprintf(text, sizeof(text), "%s%zu", prefix, index));
}

/* An initializer up to its bytes: w<index>, float32[SIDE, SIDE]. */
static void initializer_head(str *out, size_t index)
{
    str head = {0};
    for (int axis = 0; axis < 2; axis++) {
        wire_put_tag(&head, 1, WIRE_VARINT);
        wire_put_varint(&head, SIDE);
    }
    wire_put_tag(&head, 2, WIRE_VARINT);
    wire_put_varint(&head, 1);
    put_name(&head, 8, "w", index);
    wire_put_tag(&head, 9, WIRE_LEN);
    wire_put_varint(&head, BLOCK);
    wire_put_tag(out, 5, WIRE_LEN);
    wire_put_varint(out, head.size + BLOCK);
    str_append_n(out, head.data, head.size);
    str_deinit(&head);
}

static void put_node(str *graph, size_t index)
{
    str node = {0};
    put_name(&node, 1, "x", index);
    put_name(&node, 1, "w", index);
    put_name(&node, 2, "x", index + 1);
    put_text(&node, 4, "MatMul", strlen("MatMul"));
    put_text(graph, 1, node.data, node.size);
    str_deinit(&node);
}

/* A graph input or output: float32[1, SIDE]. */
static void put_value(str *graph, uint32_t field, size_t index)
{
    static const char TYPE[] = "\x0a\x0d\x08\x01\x12\x09\x0a\x02\x08\x01\x0a\x03\x08\x80\x20";
    str value = {0};
    put_name(&value, 1, "x", index);
    put_text(&value, 2, TYPE, sizeof(TYPE) - 1);
    put_text(graph, field, value.data, value.size);
    str_deinit(&value);
}

static pgy_status write_weights(file_writer *w, size_t blocks, pgy_error *err)
{
    str head = {0};
    float *block = malloc(BLOCK);
    pgy_status st = block ? PGY_OK : PGY_E_MEMORY;
    for (size_t i = 0; i < blocks && !st; i++) {
        for (size_t k = 0; k < BLOCK / 4; k++) block[k] = (float)((k + i) % 1021);
        str_clear(&head);
        initializer_head(&head, i);
        st = file_writer_write(w, head.data, head.size, err);
        if (!st) st = file_writer_write(w, block, BLOCK, err);
    }
    str_deinit(&head);
    free(block);
    return st;
}

static pgy_status write_model(bench *b, pgy_error *err)
{
    file_writer *w = NULL;
    str head = {0}, graph = {0}, opset = {0};
    for (size_t i = 0; i < b->blocks; i++) initializer_head(&graph, i);
    size_t graph_bytes = graph.size + b->blocks * BLOCK;
    str_clear(&graph);
    for (size_t i = 0; i < b->blocks; i++) put_node(&graph, i);
    put_text(&graph, 2, "chain", strlen("chain"));
    put_value(&graph, 11, 0);
    put_value(&graph, 12, b->blocks);
    wire_put_tag(&opset, 2, WIRE_VARINT);
    wire_put_varint(&opset, 17);
    wire_put_tag(&head, 1, WIRE_VARINT);
    wire_put_varint(&head, 8);
    put_text(&head, 8, opset.data, opset.size);
    wire_put_tag(&head, 7, WIRE_LEN);
    wire_put_varint(&head, graph_bytes + graph.size);
    pgy_status st = file_writer_create(&w, b->source, err);
    if (!st) st = file_writer_write(w, head.data, head.size, err);
    if (!st) st = file_writer_write(w, graph.data, graph.size, err);
    if (!st) st = write_weights(w, b->blocks, err);
    b->size_bytes = w ? file_writer_offset(w) : 0;
    if (!st) st = file_writer_commit(w, err);
    file_writer_destroy(w);
    str_deinit(&head);
    str_deinit(&graph);
    str_deinit(&opset);
    return st;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static pgy_status run(char *const *command, pgy_error *err)
{
    pid_t child;
    int status = -1;
    if (!posix_spawnp(&child, command[0], NULL, NULL, command, environ)) waitpid(child, &status, 0);
    return status ? pgy_error_set(err, PGY_E_IO, "%s failed", command[0]) : PGY_OK;
}

static pgy_status cp(bench *b, pgy_error *err)
{
    char *const command[] = {"cp", b->source, b->copy, NULL};
    return run(command, err);
}

static pgy_status cp_and_sync(bench *b, pgy_error *err)
{
    char *const command[] = {"sync", b->copy, NULL};
    pgy_status st = cp(b, err);
    return st ? st : run(command, err);
}

static pgy_status load_path(const char *path, pgy_error *err)
{
    pgy_model *m = NULL;
    pgy_status st = pgy_model_load(&m, path, NULL, err);
    pgy_model_destroy(m);
    return st;
}

static pgy_status load_inside(bench *b, pgy_error *err)
{
    return load_path(b->source, err);
}

static pgy_status load_outside(bench *b, pgy_error *err)
{
    return load_path(b->external, err);
}

static pgy_status load_and_save(bench *b, pgy_error *err)
{
    pgy_model *m = NULL;
    pgy_status st = pgy_model_load(&m, b->source, NULL, err);
    if (!st) st = pgy_model_save(m, b->copy, NULL, err);
    pgy_model_destroy(m);
    return st;
}

/* Renames the graph in a built model that borrows all else. */
static pgy_status load_edit_save(bench *b, pgy_error *err)
{
    pgy_model *source = NULL, *m = NULL;
    pgy_status st = pgy_model_load(&source, b->source, NULL, err);
    if (!st) st = pgy_model_create(&m, err);
    if (!st) st = pgy_model_keep(m, source, err);
    if (!st) {
        pgy_onnx_model *p = pgy_model_alloc(m, 1, sizeof(*p));
        pgy_onnx_graph *g = pgy_model_alloc(m, 1, sizeof(*g));
        *p = *pgy_model_proto(source);
        *g = *p->graph;
        p->message.raw = g->message.raw = (pgy_bytes){NULL, 0};
        g->name = "changed";
        p->graph = g;
        pgy_model_set_proto(m, p);
        st = pgy_model_save(m, b->copy, NULL, err);
    }
    pgy_model_destroy(m);
    pgy_model_destroy(source);
    return st;
}

static pgy_status save_external(bench *b, pgy_error *err)
{
    pgy_model *m = NULL;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    pgy_status st = pgy_model_load(&m, b->source, NULL, err);
    if (!st) st = pgy_model_save(m, b->external, &o, err);
    pgy_model_destroy(m);
    return st;
}

/* ---- Measuring ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const struct {
    const char *name;
    bench_step step;
} ROWS[] = {
    {"load, weights inside", load_inside},
    {"load, weights outside", load_outside},
    {"cp", cp},
    {"cp and sync", cp_and_sync},
    {"load and save", load_and_save},
    {"load, edit and save", load_edit_save},
};
enum { CP = 2, CP_SYNC, SAVE, EDIT_SAVE, ROW_COUNT = sizeof(ROWS) / sizeof(ROWS[0]) };

static pgy_status measure(double *seconds, bench *b, bench_step step, pgy_error *err)
{
    unlink(b->copy);
    sync(); /* what earlier runs left to be written must not slow this one */
    const int64_t start = clock_ns();
    const pgy_status st = step(b, err);
    *seconds = (double)(clock_ns() - start) * 1e-9;
    unlink(b->copy);
    return st;
}

static double report(const bench *b, const char *name, double *seconds)
{
    qsort(seconds, (size_t)b->runs, sizeof(seconds[0]), by_value);
    const double median = seconds[b->runs / 2];
    printf("%-24s median %9.3f ms  (%9.3f to %9.3f)  %8.2f GB/s\n", name, median * 1e3,
           seconds[0] * 1e3, seconds[b->runs - 1] * 1e3, (double)b->size_bytes / median * 1e-9);
    return median;
}

static pgy_status bench_all(bench *b, pgy_error *err)
{
    double seconds[ROW_COUNT][RUNS_MAX], t[ROW_COUNT];
    pgy_status st = write_model(b, err);
    if (!st) st = save_external(b, err);
    for (int run = 0; run < b->runs; run++)
        for (size_t i = 0; i < ROW_COUNT && !st; i++)
            st = measure(&seconds[i][run], b, ROWS[i].step, err);
    if (st) return st;
    for (size_t i = 0; i < ROW_COUNT; i++) t[i] = report(b, ROWS[i].name, seconds[i]);
    printf("%.2f GB: load and save has %.0f %% of the speed of cp, %.0f %% of cp and sync\n",
           (double)b->size_bytes * 1e-9, 100 * t[CP] / t[SAVE], 100 * t[CP_SYNC] / t[SAVE]);
    printf("%.2f GB: load, edit and save has %.0f %% of the speed of cp, %.0f %% of cp and sync\n",
           (double)b->size_bytes * 1e-9, 100 * t[CP] / t[EDIT_SAVE],
           100 * t[CP_SYNC] / t[EDIT_SAVE]);
    return PGY_OK;
}

static void set_up(bench *b, const char *gigabytes)
{
    b->blocks = (size_t)(strtod(gigabytes, NULL) * 1e9 / BLOCK) + 1;
    snprintf(b->copy, sizeof(b->copy), "%s/copy.onnx", b->folder);
    snprintf(b->source, sizeof(b->source), "%s/inside.onnx", b->folder);
    snprintf(b->external, sizeof(b->external), "%s/external.onnx", b->folder);
}

static pgy_status make(const char *folder, const char *gigabytes, pgy_error *err)
{
    bench b = {0};
    snprintf(b.folder, sizeof(b.folder), "%s", folder);
    set_up(&b, gigabytes);
    const pgy_status st = write_model(&b, err);
    return st ? st : save_external(&b, err);
}

static pgy_status bench_in_folder(int argc, char **argv, pgy_error *err)
{
    bench b = {.runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3};
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (b.runs < 1 || b.runs > RUNS_MAX) b.runs = 3;
    snprintf(b.folder, sizeof(b.folder), "%s/bench_onnx_XXXXXX", folder);
    if (!mkdtemp(b.folder)) return pgy_error_set(err, PGY_E_IO, "no folder in '%s'", folder);
    set_up(&b, argc > 1 ? argv[1] : "3");
    const pgy_status st = bench_all(&b, err);
    char *const command[] = {"rm", "-rf", b.folder, NULL};
    const pgy_status removed = run(command, st ? NULL : err);
    return st ? st : removed;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    const bool only_make = argc == 4 && strcmp(argv[1], "make") == 0;
    const pgy_status st =
        only_make ? make(argv[2], argv[3], &err) : bench_in_folder(argc, argv, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    return st != PGY_OK;
}
