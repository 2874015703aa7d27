/* SPDX-License-Identifier: Apache-2.0 */
/* All operator cases of tests/ops. OP_CASES=softmax runs one file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/op_case.h"

static void test_cases__all_files(void **state)
{
    (void)state;
    const char *only = getenv("OP_CASES");
    char pattern[1024];
    glob_t files = {0};
    op_case_report report = {0};
    snprintf(pattern, sizeof pattern, "%s/ops/%s.txt", TEST_SOURCE_DIR "/tests", only ? only : "*");
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) op_cases_run(&report, files.gl_pathv[i]);
    globfree(&files);
    if (report.failed)
        print_error("%s%zu of %zu cases failed\n", str_text(&report.text), report.failed,
                    report.run);
    const size_t run = report.run, failed = report.failed;
    str_deinit(&report.text);
    assert_int_equal(failed, 0);
    assert_true(run > 0);
}
