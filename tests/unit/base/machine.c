/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of the machine's peaks, and its cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <polygraphy/machine.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/machine_loops.h"

static void test_machine__a_probe_without_time_is_refused(void **state)
{
    const pgy_machine_options o = {.size = sizeof o, .seconds = -1, .keeps_none = true};
    pgy_machine_peaks p;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_machine_peaks_get(&p, &o, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "a probe of -1 seconds"));
}

/* What other programs have disturbed is not kept, so it is tried again. @return the first result that was not */
static pgy_machine_peaks probe(const pgy_machine_options *o)
{
    pgy_machine_peaks p = {.is_disturbed = true};
    pgy_error err = {0};
    for (int i = 0; i < 200 && p.is_disturbed; i++)
        if (pgy_machine_peaks_get(&p, o, &err)) fail_msg("%s", err.text);
    assert_false(p.is_disturbed);
    return p;
}

/* The second call takes what the first has kept; a damaged file is measured again and replaced. */
static void test_machine__the_result_is_kept(void **state)
{
    pgy_machine_options o = {.size = sizeof o, .seconds = 0.001};
    pgy_machine_peaks first, second, third;
    strvec files = {0};
    char *folder = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(file_temp_path(&folder, "", &err), PGY_OK);
    char *root = path_join(folder, "");
    file_temp_release(folder);
    root[strlen(root) - 1] = 0;
    setenv("XDG_CACHE_HOME", root, 1);
    first = probe(&o);
    second = probe(&o);
    assert_true(first.gflops > 0.1 && first.gflops < 1e6);
    assert_true(first.gb_per_s > 0.1 && first.gb_per_s < 1e5);
    assert_int_equal(first.threads, cpu_count());
    assert_string_equal(first.cpu, cpu_level_name(cpu_features()));
    assert_false(first.is_cached);
    assert_true(second.is_cached);
    assert_true(first.gflops == second.gflops && first.gb_per_s == second.gb_per_s);
    char *below = path_join(root, "polygraphy/peaks");
    assert_int_equal(file_list_dir(&files, below, ".json", &err), PGY_OK);
    assert_int_equal(files.count, 1);
    char *path = path_join(below, files.items[0]);
    assert_int_equal(file_write_all(path, "{\"gflops\":-1", 12, &err), PGY_OK);
    third = probe(&o);
    assert_false(third.is_cached);
    third = probe(&o);
    assert_true(third.is_cached);
    o.seconds = 0.002; /* longer than what was kept */
    third = probe(&o);
    assert_false(third.is_cached);
    o.again = true;
    third = probe(&o);
    assert_false(third.is_cached);
    unsetenv("XDG_CACHE_HOME");
    strvec_deinit(&files);
    char *above = path_join(root, "polygraphy");
    const char *const made[] = {path, below, above, root};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) assert_int_equal(remove(made[i]), 0);
    mem_free(above);
    mem_free(path);
    mem_free(below);
    mem_free(root);
}

/* Every level computes the same: x = x / 2 + 1 tends to 2 in each of its lanes. */
static void test_machine__loops_compute_what_they_say(void **state)
{
    enum { COUNT = 512 };
    static _Alignas(64) float a[COUNT], b[COUNT], to[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        a[i] = 1;
        b[i] = 4;
    }
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const machine_loops *l = machine_loops_of(level);
        assert_true(l->multiply_add(64) == l->round_flops); /* two per lane, and each lane is 2 */
        assert_true(l->read(a, COUNT) == COUNT);
        memset(to, 0, sizeof to);
        l->triad(to, a, b, COUNT);
        for (int i = 0; i < COUNT; i++) assert_true(to[i] == 3);
    }
}
