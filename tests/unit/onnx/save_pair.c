/* SPDX-License-Identifier: Apache-2.0 */
/* A model and its data files are replaced by a process that ends behind each operation on names in
 * turn. What is left must load, and be the old model with the old data or the new with the new. */
#include "onnx_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ENDED_EARLY = 77 };

/* ---- The file system, which ends the process ------------------------------------------------ */

static int operations_left = -1; /* negative: no limit */
static bool has_links = true;

static int count(int result)
{
    if (operations_left > 0 && --operations_left == 0) _exit(ENDED_EARLY);
    return result;
}

int rename(const char *from, const char *to)
{
    return count((int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char *path)
{
    return count((int)syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int link(const char *from, const char *to)
{
    if (has_links) return count((int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
    errno = EPERM;
    return -1;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return count((int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

/* ---- Models --------------------------------------------------------------------------------- */

/* Two weights of `value`, which is also the version of the model: what is read can be recognised.
 */
static pgy_model *make_model(int value)
{
    enum { ELEMENTS = 600 };
    static float elements[2][ELEMENTS];
    static pgy_onnx_tensor tensors[2];
    static pgy_onnx_tensor *initializers[2];
    static pgy_onnx_graph graph;
    static pgy_onnx_model proto;
    static int64_t dims[1] = {ELEMENTS};
    pgy_model *m = NULL;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < ELEMENTS; i++) elements[t][i] = (float)value;
        tensors[t] = (pgy_onnx_tensor){.dims = dims,
                                       .dim_count = 1,
                                       .data_type = 1,
                                       .name = t ? "v" : "w",
                                       .raw_data = {elements[t], sizeof elements[t]}};
        initializers[t] = &tensors[t];
    }
    graph = (pgy_onnx_graph){.name = "g", .initializers = initializers, .initializer_count = 2};
    proto = (pgy_onnx_model){.ir_version = 8, .model_version = value, .graph = &graph};
    OK(pgy_model_create(&m, &test_err));
    pgy_model_set_proto(m, &proto);
    return m;
}

static pgy_status save(int value, bool one_file_per_tensor)
{
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.one_file_per_tensor = one_file_per_tensor;
    pgy_model *m = make_model(value);
    const pgy_status st = pgy_model_save(m, scratch("net.onnx"), &o, &test_err);
    pgy_model_destroy(m);
    return st;
}

/* The version of the model, which its weights must have as well; 0: it cannot be loaded. */
static int loaded_version(void)
{
    pgy_model *m = NULL;
    OK(pgy_model_load(&m, scratch("net.onnx"), NULL, &test_err));
    const pgy_onnx_model *proto = pgy_model_proto(m);
    int version = (int)proto->model_version;
    for (size_t t = 0; version && t < 2; t++) {
        pgy_tensor *w = NULL;
        if (pgy_onnx_tensor_load(&w, m, proto->graph->initializers[t], &test_err)) {
            version = 0;
            break;
        }
        const float *values = pgy_tensor_data(w);
        for (size_t i = 0; i < pgy_tensor_count(w); i++) assert_int_equal((int)values[i], version);
        pgy_tensor_release(w);
    }
    pgy_model_destroy(m);
    return version;
}

/* False: the save needed fewer operations than this. */
static bool save_and_end_after(int operations, bool one_file_per_tensor)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        operations_left = operations;
        _exit(save(2, one_file_per_tensor) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == ENDED_EARLY) return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

static size_t file_count(void)
{
    strvec names = {0};
    OK(file_list_dir(&names, scratch("."), NULL, &test_err));
    const size_t count_of_files = names.count;
    strvec_deinit(&names);
    return count_of_files;
}

static void replace_step_by_step(bool one_file_per_tensor)
{
    bool ended = true, old_seen = false, new_seen = false;
    int operations = 1;
    for (; ended; operations++) {
        OK(save(1, one_file_per_tensor));
        const size_t before = file_count();
        assert_int_equal(loaded_version(), 1);
        ended = save_and_end_after(operations, one_file_per_tensor);
        const int version = loaded_version();
        if (version == 0 && has_links) fail_msg("after %d: %s", operations, test_err.text);
        old_seen |= version == 1;
        new_seen |= version == 2;
        if (!ended) {
            assert_int_equal(version, 2);
            assert_int_equal(file_count(), before);
        }
        OK(save(3, one_file_per_tensor)); /* nothing that is left is in the way */
        assert_int_equal(loaded_version(), 3);
        scratch_remove();
    }
    assert_true(old_seen && new_seen);
    assert_true(operations > 5);
}

static void test_save_pair__one_data_file(void **state)
{
    (void)state;
    replace_step_by_step(false);
}

static void test_save_pair__a_file_for_each_tensor(void **state)
{
    (void)state;
    replace_step_by_step(true);
}

/* Where files cannot have two names there is a moment in which the data are not found, but none in
 * which a model finds those of another. */
static void test_save_pair__without_hard_links(void **state)
{
    (void)state;
    has_links = false;
    replace_step_by_step(false);
    replace_step_by_step(true);
    has_links = true;
}

/* Neither a model nor data change when the new ones cannot be written. */
static void test_save_pair__failure_changes_nothing(void **state)
{
    (void)state;
    OK(save(1, false));
    const size_t before = file_count();
    pgy_cancel();
    const pgy_status st = save(2, false);
    pgy_cancel_reset();
    assert_int_equal(st, PGY_E_CANCELLED);
    assert_int_equal(loaded_version(), 1);
    assert_int_equal(file_count(), before);
    scratch_remove();
}

static void test_save_pair__mode_of_old_data_stays(void **state)
{
    (void)state;
    struct stat info;
    OK(save(1, false));
    assert_int_equal(chmod(scratch("net.onnx.data"), 0640), 0);
    OK(save(2, false));
    assert_int_equal(stat(scratch("net.onnx.data"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(info.st_nlink, 1);
    scratch_remove();
}
