/* SPDX-License-Identifier: Apache-2.0 */
/* The folder for temporary files of a test program: gone when the program has ended, and after a
 * kill when the next one starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test_folder.h"

/* A child begins as a test program does, below `folder`, makes a file, and ends in some way. */
static int start_in(const char *folder, int signal)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        char path[TEST_PATH_SIZE];
        setenv("TMPDIR", folder, 1);
        test_folder_start();
        test_path(path, "file_XXXXXX");
        const int file = mkstemp(path);
        if (file < 0 || access(path, F_OK)) _exit(1);
        if (signal) raise(signal);
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_test_folder__is_removed_at_the_end(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE];
    test_path(folder, "end");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(start_in(folder, 0), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_test_folder__of_a_killed_program_is_removed_by_the_next(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE];
    test_path(folder, "kill");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_true(WIFSIGNALED(start_in(folder, SIGKILL)));
    assert_int_not_equal(rmdir(folder), 0);
    assert_int_equal(start_in(folder, 0), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_test_folder__of_a_running_program_stays(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE], own[TEST_PATH_SIZE];
    test_path(folder, "../..");
    test_path(own, "");
    assert_int_equal(start_in(folder, 0), 0);
    assert_int_equal(access(own, F_OK), 0);
}
