/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/child_start.h"
#include "base/file.h"

static void test_child_start__empty_entries(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        bool empty;
    } CASES[] = {{"", false},   {"/a", false},  {"/a:/b", false}, {":", true},  {"/a:", true},
                 {":/a", true}, {"/a::", true}, {"/a::/b", true}, {".", false}, {"/a;:/b", true}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        assert_int_equal(search_path_has_empty(CASES[i].list, ":;"), CASES[i].empty);
    const char *rest = "::/a;;b:";
    span s;
    assert_true(search_path_next(&s, &rest, ":;") && span_equals(s, "/a"));
    assert_true(search_path_next(&s, &rest, ":;") && span_equals(s, "b"));
    assert_false(search_path_next(&s, &rest, ":;"));
}

static void run(const char *text)
{
    pid_t pid = 0;
    int status = -1;
    char *const arguments[] = {"sh", "-c", (char *)text, NULL};
    assert_int_equal(child_start(&pid, arguments, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_child_start__inherits_no_empty_entries(void **state)
{
    (void)state;
    setenv("PATH", ":/usr/bin::/bin:.:", 1);
    setenv("PYTHONPATH", ":", 1);
    setenv("LD_LIBRARY_PATH", "/nowhere;:/elsewhere:", 1);
    setenv("PYTHONINSPECT", "1", 1);
    setenv("KEPT", "a::b", 1);
    run("test \"$PATH\" = /usr/bin:/bin:. && test \"$LD_LIBRARY_PATH\" = /nowhere:/elsewhere &&"
        " test \"$KEPT\" = a::b && test -z \"${PYTHONPATH+set}${PYTHONINSPECT+set}\"");
    unsetenv("PYTHONPATH");
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("PYTHONINSPECT");
}

static void test_child_start__is_not_found_here(void **state)
{
    (void)state;
    char here[512], *arguments[] = {"only-here", NULL};
    pid_t pid;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(file_write_all(scratch("only-here"), "#!/bin/sh\n", 10, NULL), PGY_OK);
    assert_int_equal(chmod(scratch("only-here"), 0700), 0);
    assert_int_equal(chdir(scratch(".")), 0);
    setenv("PATH", ":/usr/bin:/bin:", 1);
    assert_int_equal(child_start(&pid, arguments, NULL), ENOENT);
    setenv("PATH", ".", 1); /* named */
    assert_int_equal(child_start(&pid, arguments, NULL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    setenv("PATH", "/usr/bin:/bin", 1);
    assert_int_equal(chdir(here), 0);
}
