/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"

static void write_text(const char *path, const char *text)
{
    pgy_error err = {0};
    assert_non_null(path);
    if (file_write_all(path, text, strlen(text), &err)) fail_msg("%s", err.text);
}

static void expect_text(const char *path, const char *text)
{
    str s = {0};
    pgy_error err = {0};
    if (file_read(&s, path, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.size, strlen(text));
    assert_string_equal(str_text(&s), text);
    str_deinit(&s);
}

static size_t count_files(const char *folder)
{
    strvec names = {0};
    assert_int_equal(file_list_dir(&names, folder, NULL, NULL), PGY_OK);
    const size_t count = names.count;
    strvec_deinit(&names);
    return count;
}

/* Can files in the scratch folder do without a name until they are complete? */
static bool has_nameless(void)
{
    const int fd = open(scratch("."), O_WRONLY | O_TMPFILE, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0 && file_exists("/proc/self/fd");
}

/* ---- reading -------------------------------------------------------------------------------- */

static void test_file__map(void **state)
{
    (void)state;
    const char *path = scratch("map");
    write_text(path, "hello");
    file_map m;
    assert_int_equal(file_map_open(&m, path, NULL), PGY_OK);
    assert_int_equal(m.size_bytes, 5);
    assert_memory_equal(m.data, "hello", 5);
    assert_true(m.fd >= 0);
    file_map_forget(&m, 0, 5);
    file_map_forget(&m, 3, SIZE_MAX);
    assert_memory_equal(m.data, "hello", 5);
    file_map_drop_fd(&m);
    assert_true(m.fd < 0);
    assert_memory_equal(m.data, "hello", 5);
    file_map_close(&m);
    assert_null(m.data);
    file_map_close(&m);
}

static void test_file__map_of_nothing(void **state)
{
    (void)state;
    pgy_error err = {0};
    file_map m = {0};
    assert_int_equal(file_map_open(&m, scratch("absent"), &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/absent'"));
    assert_non_null(strstr(err.text, strerror(ENOENT)));
    assert_int_equal(file_map_open(&m, "/", &err), PGY_E_IO);
    assert_string_equal(err.text, "cannot read '/': Is a directory");
    assert_null(m.data);
    file_map_close(&m);
    const char *path = scratch("empty");
    write_text(path, "");
    assert_int_equal(file_map_open(&m, path, &err), PGY_OK);
    assert_non_null(m.data);
    assert_int_equal(m.size_bytes, 0);
    file_map_close(&m);
    assert_int_equal(file_map_open(&m, "/proc/self/status", &err), PGY_OK);
    assert_memory_equal(m.data, "Name:", 5);
    file_map_forget(&m, 0, m.size_bytes);
    assert_memory_equal(m.data, "Name:", 5);
    file_map_close(&m);
}

static void *feed_fifo(void *path)
{
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 100000; i++) fputs("0123456789", f);
    fclose(f);
    return NULL;
}

static void test_file__map_of_a_fifo(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", scratch("fifo"));
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t feeder;
    pthread_create(&feeder, NULL, feed_fifo, path);
    file_map m;
    assert_int_equal(file_map_open(&m, path, NULL), PGY_OK);
    pthread_join(feeder, NULL);
    assert_int_equal(m.size_bytes, 1000000);
    assert_memory_equal((const char *)m.data + 999990, "0123456789", 10);
    file_map_close(&m);
    unlink(path);
}

static void test_file__read_leaves_the_output_on_failure(void **state)
{
    (void)state;
    str s = {0};
    str_append(&s, "kept");
    assert_int_equal(file_read(&s, scratch("absent"), NULL), PGY_E_NOT_FOUND);
    assert_string_equal(str_text(&s), "kept");
    write_text(scratch("text"), "new");
    assert_int_equal(file_read(&s, scratch("text"), NULL), PGY_OK);
    assert_string_equal(str_text(&s), "new");
    str_deinit(&s);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void test_file__target_appears_at_commit(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", scratch("w/new/file"));
    file_writer *w = NULL;
    assert_int_equal(file_writer_create(&w, path, NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, "abc", 3, NULL), PGY_OK);
    assert_int_equal(file_writer_offset(w), 3);
    assert_false(file_exists(path));
    assert_int_equal(file_writer_commit(w, NULL), PGY_OK);
    file_writer_destroy(w);
    expect_text(path, "abc");
    assert_int_equal(count_files(scratch("w/new")), 1);
}

static void test_file__abort_keeps_the_old_file(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", scratch("a/file"));
    write_text(path, "old");
    file_writer *w = NULL;
    assert_int_equal(file_writer_create(&w, path, NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, "new", 3, NULL), PGY_OK);
    assert_int_equal(count_files(scratch("a")), has_nameless() ? 1 : 2);
    file_writer_destroy(w);
    file_writer_destroy(NULL);
    expect_text(path, "old");
    assert_int_equal(count_files(scratch("a")), 1);
}

static void test_file__mode_of_new_and_replaced_files(void **state)
{
    (void)state;
    struct stat info;
    const mode_t before = umask(027);
    write_text(scratch("mode"), "x");
    umask(before);
    assert_int_equal(stat(scratch("mode"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(chmod(scratch("mode"), 0604), 0);
    write_text(scratch("mode"), "y");
    assert_int_equal(stat(scratch("mode"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0604);
    expect_text(scratch("mode"), "y");
}

static void test_file__symlinks_are_written_through(void **state)
{
    (void)state;
    struct stat info;
    write_text(scratch("real"), "old");
    assert_int_equal(symlink("real", scratch("link")), 0);
    write_text(scratch("link"), "new");
    expect_text(scratch("real"), "new");
    assert_int_equal(lstat(scratch("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(symlink("not-yet", scratch("dangling")), 0);
    write_text(scratch("dangling"), "made");
    expect_text(scratch("not-yet"), "made");
}

/* Also what a link without a target leads to appears whole or not at all. */
static void test_file__dangling_links_are_not_half_written(void **state)
{
    (void)state;
    file_writer *w = NULL;
    assert_int_equal(symlink("later", scratch("first-link")), 0);
    assert_int_equal(symlink("first-link", scratch("second-link")), 0);
    assert_int_equal(file_writer_create(&w, scratch("second-link"), NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, "half", 4, NULL), PGY_OK);
    assert_false(file_exists(scratch("later")));
    file_writer_destroy(w);
    assert_false(file_exists(scratch("later")));
    write_text(scratch("second-link"), "whole");
    expect_text(scratch("later"), "whole");
    assert_int_equal(symlink("circle", scratch("circle")), 0);
    assert_int_equal(file_writer_create(&w, scratch("circle"), NULL), PGY_E_IO);
}

static void test_file__devices_are_written_in_place(void **state)
{
    (void)state;
    write_text("/dev/null", "gone");
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    pgy_error err = {0};
    assert_int_equal(file_write_all("/dev/full", "x", 1, &err), PGY_E_IO);
    assert_string_equal(err.text, "cannot write '/dev/full': No space left on device");
}

static void test_file__writing_fails_plainly(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(file_write_all("", "x", 1, &err), PGY_E_ARGUMENT);
    assert_int_equal(file_write_all("/", "x", 1, &err), PGY_E_IO);
    assert_string_equal(err.text, "cannot write '/': Is a directory");
    write_text(scratch("plain"), "x");
    assert_int_equal(file_write_all(scratch("plain/below"), "x", 1, &err), PGY_E_IO);
    assert_non_null(strstr(err.text, "/plain/below': cannot make folder"));
    assert_int_equal(file_write_all("/proc/nothing", "x", 1, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "cannot write '/proc/nothing'"));
}

static void test_file__name_as_long_as_allowed(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    char *path = path_join(scratch("."), name);
    assert_non_null(path);
    write_text(path, "x");
    expect_text(path, "x");
    mem_free(path);
}

/* What a killed process with our number has left, as it may in a container. */
static void test_file__leftovers_are_stepped_over(void **state)
{
    (void)state;
    char path[256], name[64];
    snprintf(path, sizeof path, "%s", scratch("again/file"));
    write_text(path, "old");
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "again/.file.%ld.%u.tmp", (long)getpid(), i);
        const int fd = open(scratch(name), O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    write_text(path, "new");
    expect_text(path, "new");
    assert_int_equal(count_files(scratch("again")), 201);
}

static void test_file__made_by_another_meanwhile(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", scratch("race/file"));
    file_writer *w = NULL;
    assert_int_equal(file_writer_create(&w, path, NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, "ours", 4, NULL), PGY_OK);
    write_text(path, "theirs");
    assert_int_equal(file_writer_commit(w, NULL), PGY_OK);
    file_writer_destroy(w);
    expect_text(path, "ours");
    assert_int_equal(count_files(scratch("race")), 1);
}

/* The calling process gets EPERM for linkat from now on. */
static bool forbid_links(void)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof lines / sizeof *lines, lines};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a child that may not link; 7: it cannot be told so here. */
static int without_links(const char *new, const char *old)
{
    enum { SIZE = 700000 };
    static char data[SIZE];
    memset(data, 'd', SIZE);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        struct stat info;
        str text = {0};
        if (!forbid_links()) _exit(7);
        if (file_write_all(new, data, SIZE, NULL) || file_write_all(old, data, SIZE, NULL))
            _exit(1);
        if (stat(old, &info) || (info.st_mode & 07777) != 0640) _exit(2);
        if (file_read(&text, new, NULL) || text.size != SIZE) _exit(3);
        if (memcmp(str_text(&text), data, SIZE) != 0) _exit(4);
        _exit(stat(new, &info) || info.st_size != SIZE ? 5 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_file__where_nothing_may_be_linked(void **state)
{
    (void)state;
    char new[256], old[256];
    snprintf(new, sizeof new, "%s", scratch("links/new"));
    snprintf(old, sizeof old, "%s", scratch("links/old"));
    write_text(old, "before");
    assert_int_equal(chmod(old, 0640), 0);
    const int ended = without_links(new, old);
    if (ended == 7) skip();
    assert_int_equal(ended, 0);
    assert_int_equal(count_files(scratch("links")), 2);
}

/* In a child that sees no /proc, so that a file cannot get its name later. 7: not allowed here. */
static int without_proc(const char *folder)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        file_writer *w = NULL;
        strvec names = {0};
        str text = {0};
        if (chroot(folder) && (unshare(CLONE_NEWUSER) || chroot(folder))) _exit(7);
        if (chdir("/") || file_write_all("/kept", "old", 3, NULL)) _exit(1);
        if (file_writer_create(&w, "/kept", NULL) || file_writer_write(w, "new", 3, NULL)) _exit(2);
        if (file_list_dir(&names, "/", NULL, NULL) || names.count != 2) _exit(3);
        if (file_read(&text, "/kept", NULL) || strcmp(str_text(&text), "old") != 0) _exit(4);
        if (file_writer_commit(w, NULL)) _exit(5);
        file_writer_destroy(w);
        if (file_writer_create(&w, "/never", NULL) || file_writer_write(w, "x", 1, NULL)) _exit(6);
        file_writer_destroy(w);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_file__where_files_need_a_name(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", scratch("root"));
    assert_int_equal(file_make_dirs(folder, NULL), PGY_OK);
    const int ended = without_proc(folder);
    if (ended == 7) skip();
    assert_int_equal(ended, 0);
    expect_text(scratch("root/kept"), "new");
    assert_int_equal(count_files(folder), 1);
}

static void test_file__large_and_small_writes_in_order(void **state)
{
    (void)state;
    enum { BIG = 600000 };
    const char *path = scratch("mixed");
    char *big = malloc(BIG);
    for (int i = 0; i < BIG; i++) big[i] = (char)(i * 7 + i / 1000);
    file_writer *w = NULL;
    assert_int_equal(file_writer_create(&w, path, NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, "head", 4, NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, big, BIG, NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, NULL, 0, NULL), PGY_OK);
    for (int i = 0; i < BIG; i += 1000)
        assert_int_equal(file_writer_write(w, big + i, 1000, NULL), PGY_OK);
    assert_int_equal(file_writer_offset(w), 4 + 2 * BIG);
    assert_int_equal(file_writer_commit(w, NULL), PGY_OK);
    file_writer_destroy(w);
    str s = {0};
    assert_int_equal(file_read(&s, path, NULL), PGY_OK);
    assert_int_equal(s.size, 4 + 2 * BIG);
    assert_memory_equal(s.data, "head", 4);
    assert_memory_equal(s.data + 4, big, BIG);
    assert_memory_equal(s.data + 4 + BIG, big, BIG);
    str_deinit(&s);
    free(big);
}

static void test_file__copies_ranges(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    char from[256];
    snprintf(from, sizeof from, "%s", scratch("copy-from"));
    char *data = malloc(SIZE);
    for (int i = 0; i < SIZE; i++) data[i] = (char)(i * 11 + i / 777);
    assert_int_equal(file_write_all(from, data, SIZE, NULL), PGY_OK);
    file_map m;
    file_writer *w = NULL;
    assert_int_equal(file_map_open(&m, from, NULL), PGY_OK);
    assert_int_equal(file_writer_create(&w, scratch("copy-to"), NULL), PGY_OK);
    assert_int_equal(file_writer_write(w, "ab", 2, NULL), PGY_OK);
    assert_int_equal(file_writer_copy(w, &m, 17, 200000, NULL), PGY_OK);
    assert_int_equal(file_writer_copy(w, &m, 5, 100, NULL), PGY_OK);
    assert_int_equal(file_writer_offset(w), 200102);
    file_map_drop_fd(&m);
    assert_int_equal(file_writer_copy(w, &m, 0, SIZE, NULL), PGY_OK);
    assert_int_equal(file_writer_commit(w, NULL), PGY_OK);
    file_writer_destroy(w);
    file_map_close(&m);
    str s = {0};
    assert_int_equal(file_read(&s, scratch("copy-to"), NULL), PGY_OK);
    assert_int_equal(s.size, 200102 + SIZE);
    assert_memory_equal(s.data, "ab", 2);
    assert_memory_equal(s.data + 2, data + 17, 200000);
    assert_memory_equal(s.data + 200002, data + 5, 100);
    assert_memory_equal(s.data + 200102, data, SIZE);
    str_deinit(&s);
    free(data);
}

static void test_file__refused_memory_leaves_no_trace(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", scratch("oom/file"));
    write_text(path, "old");
    bool complete = false;
    for (uint64_t n = 1; !complete && mem_fail_nth(n); n++) {
        const pgy_status st = file_write_all(path, "new", 3, NULL);
        complete = st == PGY_OK;
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        mem_fail_nth(0);
        expect_text(path, complete ? "new" : "old");
        assert_int_equal(count_files(scratch("oom")), 1);
        if (n > 3) break;
    }
}

/* ---- temporaries ---------------------------------------------------------------------------- */

static void test_file__temporary(void **state)
{
    (void)state;
    char *path = NULL;
    struct stat info;
    setenv("TMPDIR", scratch("."), 1);
    assert_int_equal(file_temp_path(&path, ".npy", NULL), PGY_OK);
    assert_true(str_starts_with(path, scratch(".")));
    assert_string_equal(path_extension(path), ".npy");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    char *copy = mem_strdup(path);
    assert_non_null(copy);
    file_temp_release(path);
    file_temp_release(NULL);
    assert_false(file_exists(copy));
    mem_free(copy);
    setenv("TMPDIR", scratch("no/such/folder"), 1);
    pgy_error err = {0};
    assert_int_equal(file_temp_path(&path, NULL, &err), PGY_E_IO);
    assert_non_null(strstr(err.text, "no/such/folder"));
    unsetenv("TMPDIR");
}

static void test_file__temporary_folder(void **state)
{
    (void)state;
    char *path = NULL, kept[512];
    struct stat info;
    setenv("TMPDIR", scratch("."), 1);
    assert_int_equal(file_temp_folder(&path, NULL), PGY_OK);
    unsetenv("TMPDIR");
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISDIR(info.st_mode) && (info.st_mode & 07777) == 0700);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "file%d", i);
        char *file = path_join(path, name);
        write_text(file, "x");
        mem_free(file);
    }
    snprintf(kept, sizeof kept, "%s", path);
    file_temp_release(path);
    assert_false(file_exists(kept));
}

/* A folder of others in place of a temporary file is not emptied. */
static void test_file__temporary_that_became_a_folder(void **state)
{
    (void)state;
    char *path = NULL, *inside = NULL;
    setenv("TMPDIR", scratch("."), 1);
    assert_int_equal(file_temp_path(&path, NULL, NULL), PGY_OK);
    unsetenv("TMPDIR");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    inside = path_join(path, "precious");
    write_text(inside, "precious");
    file_temp_release(path);
    expect_text(inside, "precious");
    mem_free(inside);
}

static void test_file__temporary_that_became_a_link(void **state)
{
    (void)state;
    char *path = NULL;
    file_writer *w = NULL;
    setenv("TMPDIR", scratch("."), 1);
    write_text(scratch("others"), "precious");
    assert_int_equal(file_temp_path(&path, NULL, NULL), PGY_OK);
    unsetenv("TMPDIR");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(scratch("others"), path), 0);
    assert_int_equal(file_writer_create_temp(&w, path, NULL), PGY_E_IO);
    expect_text(scratch("others"), "precious");
    file_temp_release(path);
}

typedef enum ending { ENDS_BY_EXIT, ENDS_BY_SIGNAL, ENDS_IN_A_GRANDCHILD } ending;

/* In a child: 600 temporaries and a half-written file, then the end. */
static int leave_behind(const char *folder, ending how, int number)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        static char *paths[600];
        static file_writer *w;
        setenv("TMPDIR", folder, 1);
        file_install_signal_cleanup();
        for (int i = 0; i < 600; i++)
            if (file_temp_path(&paths[i], NULL, NULL)) _exit(9);
        static char *made;
        if (file_temp_folder(&made, NULL)) _exit(9);
        char *inside = path_join(made, "inside");
        if (file_write_all(inside, "x", 1, NULL)) _exit(9);
        char *target = path_join(folder, "target");
        if (file_writer_create(&w, target, NULL) || file_writer_write(w, "half", 4, NULL)) _exit(9);
        scratch_folder[0] = '\0'; /* the test's own cleaning must not do the work */
        if (how == ENDS_BY_SIGNAL) raise(number);
        if (how == ENDS_BY_EXIT) exit(0);
        if (fork() == 0) exit(0); /* must leave its parent's files alone */
        wait(NULL);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void test_file__signals_and_exit_remove_temporaries(void **state)
{
    (void)state;
    static const int NUMBERS[] = {SIGINT, SIGTERM, SIGHUP};
    char folder[256];
    for (size_t i = 0; i < 3; i++) {
        snprintf(folder, sizeof folder, "%s", scratch("ended"));
        assert_int_equal(file_make_dirs(folder, NULL), PGY_OK);
        const int status = leave_behind(folder, ENDS_BY_SIGNAL, NUMBERS[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), NUMBERS[i]);
        assert_int_equal(count_files(folder), 0);
    }
}

/* No handler runs, so nothing may be there that one would have to remove. */
static void test_file__kill_leaves_nothing(void **state)
{
    (void)state;
    char target[256];
    if (!has_nameless()) skip();
    snprintf(target, sizeof target, "%s", scratch("killed/target"));
    for (int replaces = 0; replaces < 2; replaces++) {
        if (replaces)
            write_text(target, "old");
        else
            assert_int_equal(file_make_dirs(scratch("killed"), NULL), PGY_OK);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            file_writer *w = NULL;
            if (file_writer_create(&w, target, NULL) || file_writer_write(w, "half", 4, NULL))
                _exit(9);
            raise(SIGKILL);
        }
        int status = 0;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(count_files(scratch("killed")), replaces);
    }
    expect_text(target, "old");
}

static void test_file__exit_removes_temporaries(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", scratch("exited"));
    assert_int_equal(file_make_dirs(folder, NULL), PGY_OK);
    assert_int_equal(leave_behind(folder, ENDS_BY_EXIT, 0), 0);
    assert_int_equal(count_files(folder), 0);
}

static void test_file__a_child_leaves_temporaries_alone(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", scratch("parent"));
    assert_int_equal(file_make_dirs(folder, NULL), PGY_OK);
    assert_int_equal(leave_behind(folder, ENDS_IN_A_GRANDCHILD, 0), 0);
    assert_int_equal(count_files(folder), has_nameless() ? 601 : 602);
}

/* ---- folders and paths ---------------------------------------------------------------------- */

static void test_file__folders(void **state)
{
    (void)state;
    assert_int_equal(file_make_dirs(scratch("d/e/f/"), NULL), PGY_OK);
    assert_int_equal(file_make_dirs(scratch("d/e/f"), NULL), PGY_OK);
    assert_int_equal(file_make_dirs("", NULL), PGY_OK);
    assert_true(file_is_dir(scratch("d/e/f")));
    assert_false(file_is_dir(scratch("d/e/g")));
    write_text(scratch("d/b.json"), "12345");
    write_text(scratch("d/a.json"), "");
    strvec names = {0};
    assert_int_equal(file_list_dir(&names, scratch("d"), ".json", NULL), PGY_OK);
    assert_int_equal(names.count, 2);
    assert_string_equal(names.items[0], "a.json");
    assert_string_equal(names.items[1], "b.json");
    assert_int_equal(file_list_dir(&names, scratch("d"), NULL, NULL), PGY_OK);
    assert_int_equal(names.count, 3);
    pgy_error err = {0};
    assert_int_equal(file_list_dir(&names, scratch("nowhere"), NULL, &err), PGY_E_NOT_FOUND);
    assert_int_equal(names.count, 3);
    strvec_deinit(&names);
    uint64_t size = 0;
    assert_int_equal(file_size(&size, scratch("d/b.json"), NULL), PGY_OK);
    assert_int_equal(size, 5);
    assert_int_equal(file_size(&size, scratch("nowhere"), NULL), PGY_E_NOT_FOUND);
    assert_int_equal(file_make_dirs(scratch("d/a.json/x"), &err), PGY_E_IO);
    assert_non_null(strstr(err.text, strerror(ENOTDIR)));
}

static void expect_owned(char *text, const char *expected)
{
    assert_non_null(text);
    assert_string_equal(text, expected);
    mem_free(text);
}

static void test_file__paths(void **state)
{
    (void)state;
    expect_owned(path_join("a", "b"), "a/b");
    expect_owned(path_join("a/", "b"), "a/b");
    expect_owned(path_join("", "b"), "b");
    expect_owned(path_join("a", "/b"), "/b");
    expect_owned(path_dirname("a/b"), "a");
    expect_owned(path_dirname("b"), ".");
    expect_owned(path_dirname("/b"), "/");
    expect_owned(path_dirname("a//b"), "a");
    assert_string_equal(path_basename("a/b.onnx"), "b.onnx");
    assert_string_equal(path_basename("a/"), "");
    assert_string_equal(path_extension("a.b/c.tar.gz"), ".gz");
    assert_string_equal(path_extension("a.b/c"), "");
    assert_string_equal(path_extension("a/.bashrc"), "");
    assert_string_equal(path_extension("a/..x.y"), ".y");
    assert_string_equal(path_extension("a."), ".");
    expect_owned(path_absolute("/a/./b//../c/"), "/a/c");
    expect_owned(path_absolute("/../.."), "/");
    char here[4096], expected[4200];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "%s/x", here);
    expect_owned(path_absolute("y/../x"), expected);
}
