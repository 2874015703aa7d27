/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing a large ONNX file against copying it: `bench.onnx_io [GB [repetitions]]`, 3
 * and 3 by default.
 *
 * The model has one 64 MiB initializer after the other. Rows: opening it (weights inside and
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

enum { BLOCK = 64 << 20, RUNS_MAX = 20 };

typedef struct bench {
    char folder[256], source[300], copy[300], external[300];
    size_t blocks;
    int runs;
    uint64_t size_bytes;
} bench;

typedef pgy_status (*bench_step)(bench *b, pgy_error *err);

/* ---- The model ---------------------------------------------------------------------------------
 */

static void tensor_head(str *out, size_t index)
{
    str name = {0};
    str_printf(&name, "w%zu", index);
    wire_put_tag(out, 1, WIRE_VARINT);
    wire_put_varint(out, BLOCK / 4);
    wire_put_tag(out, 2, WIRE_VARINT);
    wire_put_varint(out, 1);
    wire_put_tag(out, 8, WIRE_LEN);
    wire_put_varint(out, name.size);
    str_append_n(out, name.data, name.size);
    wire_put_tag(out, 9, WIRE_LEN);
    wire_put_varint(out, BLOCK);
    str_deinit(&name);
}

static void initializer_head(str *out, size_t index)
{
    str head = {0};
    tensor_head(&head, index);
    wire_put_tag(out, 5, WIRE_LEN);
    wire_put_varint(out, head.size + BLOCK);
    str_append_n(out, head.data, head.size);
    str_deinit(&head);
}

static pgy_status write_model(bench *b, pgy_error *err)
{
    file_writer *w = NULL;
    str head = {0};
    size_t graph = 0;
    char *block = malloc(BLOCK);
    pgy_status st = block ? file_writer_create(&w, b->source, err) : PGY_E_MEMORY;
    for (size_t i = 0; i < b->blocks; i++) {
        str_clear(&head);
        initializer_head(&head, i);
        graph += head.size + BLOCK;
    }
    str_clear(&head);
    wire_put_tag(&head, 1, WIRE_VARINT);
    wire_put_varint(&head, 8);
    wire_put_tag(&head, 7, WIRE_LEN);
    wire_put_varint(&head, graph);
    if (!st) st = file_writer_write(w, head.data, head.size, err);
    for (size_t i = 0; i < b->blocks && !st; i++) {
        memset(block, (int)i + 1, BLOCK);
        str_clear(&head);
        initializer_head(&head, i);
        st = file_writer_write(w, head.data, head.size, err);
        if (!st) st = file_writer_write(w, block, BLOCK, err);
    }
    b->size_bytes = w ? file_writer_offset(w) : 0;
    if (!st) st = file_writer_commit(w, err);
    file_writer_destroy(w);
    str_deinit(&head);
    free(block);
    return st;
}

/* ---- Steps -------------------------------------------------------------------------------------
 */

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

/* ---- Measuring ---------------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pgy_status measure(bench *b, const char *name, bench_step step, double *median,
                          pgy_error *err)
{
    double seconds[RUNS_MAX];
    const uint64_t resident = memory_resident_bytes();
    for (int i = 0; i < b->runs; i++) {
        unlink(b->copy);
        sync(); /* what earlier runs left to be written must not slow this one */
        const int64_t start = clock_ns();
        pgy_status st = step(b, err);
        if (st) return st;
        seconds[i] = (double)(clock_ns() - start) * 1e-9;
    }
    unlink(b->copy);
    qsort(seconds, (size_t)b->runs, sizeof(seconds[0]), by_value);
    *median = seconds[b->runs / 2];
    printf("%-34s median %9.3f ms  (%9.3f to %9.3f)  %8.2f GB/s  %+.1f MiB resident\n", name,
           *median * 1e3, seconds[0] * 1e3, seconds[b->runs - 1] * 1e3,
           (double)b->size_bytes / *median * 1e-9,
           ((double)memory_resident_bytes() - (double)resident) / (1 << 20));
    fflush(stdout);
    return PGY_OK;
}

static pgy_status bench_all(bench *b, pgy_error *err)
{
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
    double t[sizeof(ROWS) / sizeof(ROWS[0])];
    pgy_status st = write_model(b, err);
    if (!st) st = save_external(b, err);
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]) && !st; i++)
        st = measure(b, ROWS[i].name, ROWS[i].step, &t[i], err);
    if (st) return st;
    printf("%.2f GB: load and save has %.0f %% of the speed of cp, %.0f %% of cp and sync\n",
           (double)b->size_bytes * 1e-9, 100 * t[2] / t[4], 100 * t[3] / t[4]);
    printf("%.2f GB: load, edit and save has %.0f %% of the speed of cp, %.0f %% of cp and sync\n",
           (double)b->size_bytes * 1e-9, 100 * t[2] / t[5], 100 * t[3] / t[5]);
    return PGY_OK;
}

int main(int argc, char **argv)
{
    bench b = {.runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3};
    pgy_error err = {0};
    const double gigabytes = argc > 1 ? strtod(argv[1], NULL) : 3.0;
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    b.blocks = (size_t)(gigabytes * 1e9 / BLOCK) + 1;
    if (b.runs < 1 || b.runs > RUNS_MAX) b.runs = 3;
    snprintf(b.folder, sizeof(b.folder), "%s/bench_onnx_XXXXXX", folder);
    if (!mkdtemp(b.folder)) return 1;
    snprintf(b.source, sizeof(b.source), "%s/net.onnx", b.folder);
    snprintf(b.copy, sizeof(b.copy), "%s/copy.onnx", b.folder);
    snprintf(b.external, sizeof(b.external), "%s/external.onnx", b.folder);
    const pgy_status st = bench_all(&b, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    char *const command[] = {"rm", "-rf", b.folder, NULL};
    const pgy_status removed = run(command, &err);
    return st || removed;
}
