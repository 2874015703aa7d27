/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of this layer share: cmocka's includes and a scratch folder. */
#ifndef TESTS_BASE_SUPPORT_H
#define TESTS_BASE_SUPPORT_H

#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/test_folder.h"

static char scratch_folder[TEST_PATH_SIZE];
static char scratch_paths[8][256];

/* scratch("x") is the path of x in a fresh folder; up to eight are valid at a time. */
__attribute__((unused)) static const char *scratch(const char *name)
{
    static unsigned next;
    char *path = scratch_paths[next++ % 8];
    if (!scratch_folder[0]) {
        test_path(scratch_folder, "scratch_XXXXXX");
        assert_non_null(mkdtemp(scratch_folder));
    }
    snprintf(path, sizeof scratch_paths[0], "%s/%s", scratch_folder, name);
    return path;
}

#endif
