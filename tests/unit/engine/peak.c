/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a build takes at most: large weights in a model's file are held once, although
 * they are packed, measured in several forms, and lie at an address that is not aligned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <polygraphy/engine.h>
#include <polygraphy/graph.h>

#include "engine/build/engine.h"
#include "harness/model_builder.h"
#include "harness/test_folder.h"

enum { LARGE_MIB = 128, MOST_MIB = 40, PATH_SIZE = TEST_PATH_SIZE + 16 };

/* A Gemm of [1, 4096] with a weight in a file of holes, from byte 3 on. */
static pgy_model *large_model(const char *folder, bool turned)
{
    static pgy_onnx_string_entry entries[] = {{.key = "location", .value = "w"},
                                              {.key = "offset", .value = "3"},
                                              {.key = "length", .value = "134217728"}};
    static pgy_onnx_string_entry *list[] = {&entries[0], &entries[1], &entries[2]};
    static const int64_t dims[][2] = {{4096, LARGE_MIB * 64}, {LARGE_MIB * 64, 4096}};
    static pgy_onnx_tensor weight = {.name = "w",
                                     .doc_string = "",
                                     .dim_count = 2,
                                     .data_type = 1,
                                     .external_data = list,
                                     .external_data_count = 3,
                                     .data_location = 1};
    char path[PATH_SIZE];
    pgy_error err = {0};
    pgy_model *m = NULL;
    weight.dims = dims[turned];
    snprintf(path, sizeof path, "%s/w", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), 3 + ((off_t)LARGE_MIB << 20)), 0);
    fclose(f);
    /* What is built has the folder of a model that it keeps. */
    model_builder empty = builder_start(17), b = builder_start(17);
    pgy_model *built = builder_finish(&empty);
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    if (pgy_model_save(built, path, NULL, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(built);
    if (pgy_model_load(&m, path, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_model_keep(b.model, m, &err), PGY_OK);
    pgy_model_destroy(m);
    builder_input(&b, "x", PGY_F32, "1, 4096");
    builder_floats(&b, "w", "1", NULL);
    builder_attr_int(&b, builder_node(&b, "Gemm", "x w", "y"), "transB", turned);
    builder_output(&b, "y", PGY_F32, NULL);
    ((pgy_onnx_tensor **)b.graph->initializers)[0] = &weight;
    return builder_finish(&b);
}

static long peak_mib(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) ? 0 : used.ru_maxrss >> 10;
}

/* In a process of its own, as a peak never falls. */
static int build(pgy_model *m, bool half, bool measured, long most_mib)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .fp16 = half,
                                     .has_optimization_level = !measured,
                                     .optimization_level = 1};
    const long before = peak_mib();
    pgy_error err = {0};
    pgy_engine *e = NULL;
    program *p = NULL;
    pgy_status st = engine_build(&e, m, &config, &err);
    if (!st) st = engine_program_for(&p, e, 0, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    const long spare = peak_mib() - before - LARGE_MIB;
    if (spare > most_mib) fprintf(stderr, "%ld MiB beside the weights\n", spare);
    return st ? 1 : spare > most_mib ? 2 : 0;
}

static void expect_peak(bool half, bool measured, long most_mib)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* its own memory grows with what is touched */
#endif
    for (int turned = 0; turned < 2; turned++) {
        char folder[TEST_PATH_SIZE], path[PATH_SIZE];
        int status = -1;
        test_path(folder, "peak_XXXXXX");
        assert_non_null(mkdtemp(folder));
        pgy_model *m = large_model(folder, turned);
        const pid_t child = fork();
        if (child == 0) _exit(build(m, half, measured, most_mib));
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        pgy_model_destroy(m);
        snprintf(path, sizeof path, "%s/w", folder);
        remove(path);
        snprintf(path, sizeof path, "%s/m.onnx", folder);
        remove(path);
        rmdir(folder);
        if (status) fail_msg("transB %d: the build ends with %d", turned, WEXITSTATUS(status));
    }
}

static void test_peak__large_weights_are_held_once(void **state)
{
    (void)state;
    expect_peak(false, true, MOST_MIB);
}

/* A build in 16 bits takes no more than one in float32. */
static void test_peak__weights_in_16_bits(void **state)
{
    (void)state;
    expect_peak(true, false, MOST_MIB);
    /* A kernel that widens a weight is measured, too, and packs it in float32. */
    expect_peak(true, true, MOST_MIB + 2 * LARGE_MIB);
}
