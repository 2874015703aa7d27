/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of energy, as files in a folder like /sys/class/powercap. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/test_folder.h"
#include "perf/bench.h"

static char root[TEST_PATH_SIZE];

static void put(const char *folder, const char *file, const char *text)
{
    char path[TEST_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", root, folder);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_root(void)
{
    test_path(root, "bench_energy_XXXXXX");
    assert_non_null(mkdtemp(root));
}

static void remove_root(void)
{
    char command[TEST_PATH_SIZE + 16];
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void test_bench_energy__packages_are_summed_over_their_wrap(void **state)
{
    bench_energy *e = NULL;
    bench_joules before, after;
    pgy_error err = {0};
    (void)state;
    make_root();
    put("intel-rapl:0", "name", "package-0\n");
    put("intel-rapl:0", "max_energy_range_uj", "10000000\n");
    put("intel-rapl:0", "energy_uj", "9000000\n");
    put("intel-rapl:1", "name", "package-1\n");
    put("intel-rapl:1", "max_energy_range_uj", "10000000\n");
    put("intel-rapl:1", "energy_uj", "1000000\n");
    put("intel-rapl:0:0", "name", "core\n"); /* a part of package 0 */
    put("intel-rapl:0:0", "energy_uj", "5\n");
    assert_int_equal(bench_energy_open(&e, root, &err), PGY_OK);
    assert_non_null(strstr(bench_energy_text(e), "CPU from RAPL (2 packages), GPU "));
    bench_energy_read(&before, e);
    put("intel-rapl:0", "energy_uj", "500000\n"); /* 1.5 J later, beyond its range */
    put("intel-rapl:1", "energy_uj", "3000000\n");
    put("intel-rapl:0:0", "energy_uj", "50000000\n");
    bench_energy_read(&after, e);
    assert_true(fabs(bench_joules_between(&before, &after).cpu - 3.5) < 1e-9);
    put("intel-rapl:1", "energy_uj", "no number\n");
    bench_energy_read(&after, e);
    assert_true(bench_joules_between(&before, &after).cpu < 0);
    bench_energy_close(e);
    remove_root();
}

static void test_bench_energy__says_why_it_is_unknown(void **state)
{
    bench_energy *e = NULL;
    bench_joules before, after;
    pgy_error err = {0};
    char wanted[TEST_PATH_SIZE + 64];
    (void)state;
    make_root();
    assert_int_equal(bench_energy_open(&e, root, &err), PGY_OK);
    snprintf(wanted, sizeof wanted, "CPU unknown (no RAPL counters in %s)", root);
    assert_non_null(strstr(bench_energy_text(e), wanted));
    bench_energy_read(&before, e);
    bench_energy_read(&after, e);
    assert_true(bench_joules_between(&before, &after).cpu < 0);
    bench_energy_close(e);
    /* A package whose counter is missing makes the sum of the others wrong. */
    put("intel-rapl:0", "name", "package-0\n");
    put("intel-rapl:0", "energy_uj", "1\n");
    put("intel-rapl:1", "name", "package-1\n");
    assert_int_equal(bench_energy_open(&e, root, &err), PGY_OK);
    assert_non_null(strstr(bench_energy_text(e), "RAPL's counters cannot be read: No such file"));
    bench_energy_read(&before, e);
    assert_true(before.cpu < 0);
    bench_energy_close(e);
    remove_root();
}
