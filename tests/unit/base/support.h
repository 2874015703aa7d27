/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of this layer share: cmocka's includes and a scratch folder. */
#ifndef TESTS_BASE_SUPPORT_H
#define TESTS_BASE_SUPPORT_H

#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_folder[64];
static char scratch_paths[8][256];

/* scratch("x") is the path of x in a fresh folder; up to eight are valid at a time. */
__attribute__((unused)) static const char *scratch(const char *name)
{
    static unsigned next;
    char *path = scratch_paths[next++ % 8];
    if (!scratch_folder[0]) {
        strcpy(scratch_folder, P_tmpdir "/pgy-test-XXXXXX");
        assert_non_null(mkdtemp(scratch_folder));
    }
    snprintf(path, sizeof scratch_paths[0], "%s/%s", scratch_folder, name);
    return path;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

__attribute__((destructor)) static void remove_scratch(void)
{
    if (scratch_folder[0]) nftw(scratch_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
