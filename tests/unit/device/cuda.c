/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA devices over the stand-in libraries: finding them, memory, streams, code, and what a failure
 * of each call looks like. */
#include "device/cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/fake_cuda.h"
#include "harness/test_folder.h"

static const char *const NO_OPTIONS[] = {NULL};
static const char TWICE[] =
    "extern \"C\" __global__ void twice(float *y, const float *x, int n) {}";

static void use(void)
{
    fake_cuda_use(TEST_BINARY_DIR);
}

static void plant(const char *rule)
{
    use();
    setenv("FAKE_CUDA_FAIL", rule, 1);
}

/* ---- Finding -------------------------------------------------------------------------------- */

static void open_first(str *out)
{
    device *d = NULL;
    device_properties p;
    device_stream *s = NULL;
    pgy_error err = {0};
    pgy_status st = device_open(&d, "cuda", &err);
    if (!st) st = device_describe(&p, d, &err);
    if (!st) st = device_stream_create(&s, d, &err);
    str_printf(out, "%s", st ? err.text : p.fingerprint);
    device_stream_destroy(s);
}

static void test_cuda__a_missing_driver_is_named(void **state)
{
    (void)state;
    use();
    setenv("POLYGRAPHY_CUDA_PATH", "/nonexistent:/nowhere", 1);
    assert_string_equal(fake_cuda_child(open_first),
                        "a CUDA device needs NVIDIA's driver: libcuda.so.1 was not found in "
                        "POLYGRAPHY_CUDA_PATH (/nonexistent:/nowhere)");
}

/* A folder with one file, which is given as libcuda.so.1. */
static void use_library(const char *content_of, char folder[TEST_PATH_SIZE])
{
    char from[4096], path[TEST_PATH_SIZE + 16], buffer[4096];
    test_path(folder, "cuda_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    snprintf(from, sizeof from, "%s/tests/cuda/%s", TEST_BINARY_DIR, content_of ? content_of : "");
    FILE *f = content_of ? fopen(from, "rb") : NULL;
    for (size_t n; f && (n = fread(buffer, 1, sizeof buffer, f));)
        assert_int_equal(fwrite(buffer, 1, n, to), n);
    if (!f) fputs("not a library", to);
    if (f) fclose(f);
    fclose(to);
    setenv("POLYGRAPHY_CUDA_PATH", folder, 1);
}

static void remove_library(const char *folder)
{
    char path[TEST_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    remove(path);
    rmdir(folder);
}

static void test_cuda__a_driver_that_does_not_open_tells_why(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE];
    use();
    use_library(NULL, folder);
    const char *text = fake_cuda_child(open_first);
    assert_non_null(strstr(text, "a CUDA device needs NVIDIA's driver: libcuda.so.1 cannot be "
                                 "opened ("));
    remove_library(folder);
}

static void test_cuda__all_missing_functions_are_named(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE];
    use();
    use_library("libnvrtc.so.13", folder);
    const char *text = fake_cuda_child(open_first);
    assert_non_null(strstr(text,
                           "the NVIDIA driver is too old; libcuda.so.1: the library lacks the "
                           "symbols: cuInit, cuDriverGetVersion, "));
    assert_non_null(strstr(text, ", cuLaunchKernel"));
    remove_library(folder);
}

static void test_cuda__a_machine_without_gpu_says_so(void **state)
{
    (void)state;
    plant("cuInit:1:100");
    assert_string_equal(fake_cuda_child(open_first),
                        "the NVIDIA driver finds no GPU (CUDA_ERROR_NO_DEVICE: no CUDA-capable "
                        "device is detected)");
    use();
    setenv("FAKE_CUDA_GPUS", "0", 1);
    assert_string_equal(fake_cuda_child(open_first), "the NVIDIA driver finds no GPU");
}

static void test_cuda__a_driver_that_does_not_start_says_why(void **state)
{
    (void)state;
    plant("cuInit:1:803");
    assert_string_equal(fake_cuda_child(open_first),
                        "libcuda.so.1 and the kernel's NVIDIA module are of different versions "
                        "(error 803)");
    plant("cuInit:1:34");
    assert_string_equal(fake_cuda_child(open_first),
                        "libcuda.so.1 is the toolkit's stub, not a driver (error 34)");
}

static void test_cuda__a_missing_compiler_is_named(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE];
    use();
    use_library("libcuda.so.1", folder);
    const char *text = fake_cuda_child(open_first);
    assert_non_null(strstr(text, "kernels for CUDA devices need NVRTC, the compiler of the CUDA "
                                 "toolkit: libnvrtc.so.13 was not found in POLYGRAPHY_CUDA_PATH"));
    remove_library(folder);
}

static void test_cuda__a_gpu_in_exclusive_use_says_so(void **state)
{
    (void)state;
    plant("cuDevicePrimaryCtxRetain:1:46");
    assert_string_equal(fake_cuda_child(open_first),
                        "device 'cuda:0' is used by another process, and its compute mode is "
                        "exclusive (CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are "
                        "busy or unavailable)");
}

static void test_cuda__the_fingerprint_names_gpu_driver_and_compiler(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(open_first),
                        "Stand-in GPU, sm_90, 4 multiprocessors, CUDA 13.0, NVRTC 13.0");
    setenv("FAKE_CUDA_NAME", "Another", 1);
    setenv("FAKE_CUDA_VERSION", "12080", 1);
    setenv("FAKE_NVRTC_VERSION", "12.9", 1);
    assert_string_equal(fake_cuda_child(open_first),
                        "Another, sm_90, 4 multiprocessors, CUDA 12.8, NVRTC 12.9");
}

static void list_devices(str *out)
{
    device *first = NULL, *second = NULL, *none = NULL, *d;
    pgy_error err = {0};
    str_printf(out, "%s", device_find("cuda:0") ? "found before it was opened" : "");
    const pgy_status st = device_open(&second, "cuda:1", &err);
    const pgy_status again = device_open(&first, "cuda", &err);
    str_printf(out, "%d %d %d", st, again, device_open(&none, "cuda:7", &err) == PGY_E_NOT_FOUND);
    for (size_t i = 0; (d = device_at(i)); i++) str_printf(out, " %s/%s", d->name, d->kind);
    str_printf(out, " %s %s; %s; contexts %lu", first->name, second->name, err.text,
               fake_cuda_calls("cuDevicePrimaryCtxRetain"));
}

static void test_cuda__gpus_are_found_when_one_is_named(void **state)
{
    (void)state;
    use();
    setenv("FAKE_CUDA_GPUS", "2", 1);
    assert_string_equal(
        fake_cuda_child(list_devices),
        "0 0 1 host/host cuda:0/cuda cuda:1/cuda cuda:0 cuda:1; device "
        "'cuda:7' does not exist; this process has: host, cuda:0, cuda:1; contexts 0");
}

static void open_twice(str *out)
{
    open_first(out);
    unsetenv("FAKE_CUDA_FAIL");
    str_append(out, "; ");
    open_first(out);
}

static void test_cuda__a_failure_is_not_remembered(void **state)
{
    (void)state;
    plant("cuDeviceGetCount:1:999");
    const char *text = fake_cuda_child(open_twice);
    assert_non_null(strstr(text, "the NVIDIA driver finds no GPU"));
    plant("cuDevicePrimaryCtxRetain:1:46");
    text = fake_cuda_child(open_twice);
    assert_non_null(strstr(text, "is exclusive"));
    assert_non_null(strstr(text, "; Stand-in GPU, sm_90"));
}

/* ---- Memory, streams, events ---------------------------------------------------------------- */

typedef struct rig {
    device *d;
    device_stream *s;
    void *memory, *shared;
    pgy_error err;
} rig;

static pgy_status open_rig(rig *r, size_t size_bytes)
{
    *r = (rig){0};
    pgy_status st = device_open(&r->d, "cuda", &r->err);
    if (!st) st = device_stream_create(&r->s, r->d, &r->err);
    if (!st) st = device_allocate(&r->memory, r->s, size_bytes, &r->err);
    if (!st) st = device_allocate_shared(&r->shared, r->d, size_bytes, &r->err);
    return st;
}

static void close_rig(rig *r)
{
    if (r->s) device_release(r->s, r->memory);
    if (r->d) device_release_shared(r->d, r->shared);
    device_stream_destroy(r->s);
}

static void copy_around(str *out)
{
    rig r;
    char from[64] = "to the device and back", to[64] = "";
    pgy_status st = open_rig(&r, 128);
    if (!st) st = device_fill(r.s, r.memory, 'x', 128, &r.err);
    if (!st) st = device_copy(r.s, r.memory, from, 23, DEVICE_FROM_HOST, &r.err);
    if (!st) st = device_copy(r.s, (char *)r.memory + 64, r.memory, 64, DEVICE_WITHIN, &r.err);
    if (!st) st = device_copy(r.s, to, (char *)r.memory + 64, 64, DEVICE_TO_HOST, &r.err);
    if (!st) st = device_copy(r.s, NULL, NULL, 0, DEVICE_TO_HOST, &r.err);
    if (!st) st = device_stream_synchronize(r.s, &r.err);
    if (!st) memcpy(r.shared, to, 64);
    str_printf(out, "%s %c", st ? r.err.text : (const char *)r.shared, to[40]);
    close_rig(&r);
    str_printf(out, " %zu", fake_cuda_live_bytes());
}

static void test_cuda__memory_is_copied_and_given_back(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(copy_around), "to the device and back x 0");
}

static void allocate_much(str *out)
{
    rig r;
    void *more = NULL;
    pgy_status st = open_rig(&r, 1 << 20);
    if (!st) st = device_allocate(&more, r.s, (size_t)5 << 20, &r.err);
    str_printf(out, "%d %s", st == PGY_E_MEMORY, r.err.text);
    close_rig(&r);
}

static void test_cuda__too_little_memory_is_told_with_figures(void **state)
{
    (void)state;
    use();
    setenv("FAKE_CUDA_MEMORY", "4194304", 1);
    assert_string_equal(fake_cuda_child(allocate_much),
                        "1 device 'cuda:0' is out of memory: 5.00 MiB were asked for, 3.00 MiB of "
                        "4.00 MiB are free");
}

static void measure(str *out)
{
    rig r;
    device_event *a = NULL, *b = NULL;
    double ns = -1, none = -1;
    pgy_status st = open_rig(&r, 64);
    if (!st) st = device_event_create(&a, r.d, &r.err);
    if (!st) st = device_event_create(&b, r.d, &r.err);
    if (!st) st = device_event_record(a, r.s, &r.err);
    const pgy_status early = st ? st : device_event_elapsed(&none, a, b, &r.err);
    if (!st) st = device_event_record(b, r.s, &r.err);
    if (!st) st = device_event_wait(r.s, b, &r.err);
    if (!st) st = device_event_synchronize(b, &r.err);
    if (!st) st = device_event_elapsed(&ns, a, b, &r.err);
    str_printf(out, "%d %d %.0f %.0f", st, early == PGY_E_DEVICE, ns, none);
    device_event_destroy(a);
    device_event_destroy(b);
    close_rig(&r);
}

static void test_cuda__events_tell_the_time_between_them(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(measure), "0 1 1000000 -1");
}

/* Copies of each size, several before each wait, more than the pinned memory of a stream holds. The
 * host may read what was copied when an event has passed, here or on another stream, and so may
 * later copies of the same stream. */
static void stage(str *out)
{
    enum { BYTES = 400000, TIMES = 5 };
    rig r;
    device_stream *second = NULL;
    device_event *a = NULL, *b = NULL;
    unsigned char *x = calloc(TIMES + 2, BYTES);
    pgy_status st = open_rig(&r, 2 * BYTES);
    void *const back = (char *)r.memory + BYTES;
    if (!st) st = device_stream_create(&second, r.d, &r.err);
    if (!st) st = device_event_create(&a, r.d, &r.err);
    if (!st) st = device_event_create(&b, r.d, &r.err);
    for (size_t i = 0; i < BYTES; i++) x[i] = (unsigned char)(i % 251);
    if (!st) st = device_copy(r.s, r.memory, x, BYTES, DEVICE_FROM_HOST, &r.err);
    for (size_t i = 1; !st && i <= TIMES; i++)
        st = device_copy(r.s, x + i * BYTES, r.memory, BYTES, DEVICE_TO_HOST, &r.err);
    if (!st) st = device_event_record(a, r.s, &r.err);
    if (!st) st = device_event_wait(second, a, &r.err);
    if (!st) st = device_event_record(b, second, &r.err);
    if (!st) st = device_event_synchronize(b, &r.err);
    for (size_t i = 1; !st && i <= TIMES; i++)
        str_printf(out, "%d", memcmp(x, x + i * BYTES, BYTES));
    memset(x + BYTES, 0, BYTES);
    if (!st) st = device_copy(r.s, x + BYTES, r.memory, BYTES, DEVICE_TO_HOST, &r.err);
    if (!st) st = device_copy(r.s, back, x + BYTES + 100, BYTES - 100, DEVICE_FROM_HOST, &r.err);
    if (!st) st = device_copy(r.s, x + (TIMES + 1) * BYTES, back, 9, DEVICE_TO_HOST, &r.err);
    if (!st) st = device_stream_synchronize(r.s, &r.err);
    str_printf(out, " %s %d", st ? r.err.text : "again",
               memcmp(x + 100, x + (TIMES + 1) * BYTES, 9));
    device_event_destroy(a);
    device_event_destroy(b);
    device_stream_destroy(second);
    close_rig(&r);
    free(x);
}

static void test_cuda__copies_are_on_the_host_when_an_event_has_passed(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(stage), "00000 again 0");
}

/* What a failed wait leaves behind does not come to the host later. */
static void drop(str *out)
{
    rig r;
    char x[8] = "before";
    pgy_status st = open_rig(&r, 64);
    if (!st) st = device_fill(r.s, r.memory, 'x', 8, &r.err);
    if (!st) st = device_copy(r.s, x, r.memory, 4, DEVICE_TO_HOST, &r.err);
    const pgy_status waited = st ? st : device_stream_synchronize(r.s, &r.err);
    close_rig(&r);
    str_printf(out, "%d %s", waited == PGY_OK, x);
}

static void test_cuda__copies_of_a_failed_wait_do_not_arrive(void **state)
{
    (void)state;
    plant("cuStreamSynchronize:1:700");
    assert_string_equal(fake_cuda_child(drop), "0 before");
}

static void lose_device(str *out)
{
    rig r;
    char x = 0;
    pgy_status st = open_rig(&r, 64);
    if (st) goto done;
    st = device_stream_synchronize(r.s, &r.err);
    str_printf(out, "%d %s; ", st == PGY_E_DEVICE, r.err.text);
    st = device_copy(r.s, r.memory, &x, 1, DEVICE_FROM_HOST, &r.err);
    str_printf(out, "%d", st == PGY_E_DEVICE);
done:
    close_rig(&r);
}

static void test_cuda__a_lost_device_stays_lost(void **state)
{
    (void)state;
    plant("cuStreamSynchronize:1:700");
    assert_string_equal(fake_cuda_child(lose_device),
                        "1 device 'cuda:0' was lost while waiting for its stream "
                        "(CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered); "
                        "this process cannot use it any more; 1");
}

/* ---- Code ----------------------------------------------------------------------------------- */

static void run_twice(void **arguments, const unsigned grid[3], const unsigned block[3])
{
    float *y = fake_cuda_reach(*(void **)arguments[0]);
    const float *x = fake_cuda_reach(*(void **)arguments[1]);
    const int n = *(int *)arguments[2];
    for (int i = 0; i < n && i < (int)(grid[0] * block[0]); i++) y[i] = 2 * x[i];
}

static const int SIZES[] = {8, 8, 4, 0}; /* of its arguments */

static pgy_status launch_twice(rig *r, cuda_code *c, float x[8])
{
    cuda_function *f = NULL;
    void *to = (char *)r->memory + 32;
    int n = 8;
    const cuda_grid g = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    void *arguments[] = {&to, &r->memory, &n};
    pgy_status st = cuda_code_function(&f, c, "twice", &r->err);
    fake_cuda_set_kernel("twice", SIZES, run_twice);
    if (!st) st = device_copy(r->s, r->memory, x, 32, DEVICE_FROM_HOST, &r->err);
    if (!st) st = cuda_launch(r->s, f, &g, arguments, &r->err);
    if (!st) st = device_copy(r->s, x, to, 32, DEVICE_TO_HOST, &r->err);
    return st ? st : device_stream_synchronize(r->s, &r->err);
}

static void run_code(str *out)
{
    rig r;
    cuda_code *c = NULL;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    pgy_status st = open_rig(&r, 64);
    if (!st) st = cuda_code_create(&c, r.d, "twice", TWICE, NO_OPTIONS, &r.err);
    if (!st) st = launch_twice(&r, c, x);
    str_printf(out, "%s %.0f %.0f", st ? r.err.text : "twice", (double)x[0], (double)x[7]);
    if (r.s) str_printf(out, " %d", cuda_stream_handle(r.s) != NULL);
    cuda_code_destroy(c);
    close_rig(&r);
    str_printf(out, " loaded %lu unloaded %lu left %zu", fake_cuda_calls("cuModuleLoadData"),
               fake_cuda_calls("cuModuleUnload"), fake_cuda_live_bytes());
}

static void test_cuda__code_is_compiled_loaded_and_launched(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(run_code), "twice 2 16 1 loaded 1 unloaded 1 left 0");
}

/* The graph keeps the arguments of the launch that it recorded. */
static pgy_status repeat_twice(rig *r, cuda_code *c, float x[8])
{
    cuda_function *f = NULL;
    device_graph *graph = NULL;
    void *to = (char *)r->memory + 32;
    int n = 8;
    const cuda_grid g = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    void *arguments[] = {&to, &r->memory, &n};
    pgy_status st = cuda_code_function(&f, c, "twice", &r->err);
    if (!st) st = device_graph_begin(r->s, &r->err);
    if (!st) st = cuda_launch(r->s, f, &g, arguments, &r->err);
    if (!st) st = device_graph_end(&graph, r->s, &r->err);
    n = 0;
    if (!st) st = device_copy(r->s, r->memory, x, 32, DEVICE_FROM_HOST, &r->err);
    if (!st) st = device_graph_launch(graph, r->s, &r->err);
    if (!st) st = device_copy(r->s, x, to, 32, DEVICE_TO_HOST, &r->err);
    if (!st) st = device_stream_synchronize(r->s, &r->err);
    device_graph_destroy(graph);
    return st;
}

static void run_graph(str *out)
{
    rig r;
    cuda_code *c = NULL;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    pgy_status st = open_rig(&r, 64);
    if (!st) st = cuda_code_create(&c, r.d, "twice", TWICE, NO_OPTIONS, &r.err);
    if (!st) st = launch_twice(&r, c, x);
    if (!st) st = repeat_twice(&r, c, x);
    str_printf(out, "%s %.0f %.0f", st ? r.err.text : "four times", (double)x[0], (double)x[7]);
    cuda_code_destroy(c);
    close_rig(&r);
    str_printf(out, "; %lu launched", fake_cuda_calls("cuGraphLaunch"));
}

static void test_cuda__a_graph_repeats_what_it_recorded(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(run_graph), "four times 4 32; 1 launched");
    plant("cuStreamEndCapture:1:901");
    assert_string_equal(fake_cuda_child(run_graph),
                        "device 'cuda:0': the driver failed while capturing a graph (error 901) 2 "
                        "16; 0 launched");
}

static void share_code(str *out)
{
    rig r;
    cuda_code *a = NULL, *b = NULL, *other = NULL;
    cuda_function *f = NULL, *same = NULL;
    pgy_status st = open_rig(&r, 64);
    if (!st) st = cuda_code_create(&a, r.d, "twice", TWICE, NO_OPTIONS, &r.err);
    if (!st) st = cuda_code_create(&b, r.d, "twice", TWICE, NO_OPTIONS, &r.err);
    if (!st)
        st = cuda_code_create(&other, r.d, "twice", TWICE, (const char *[]){"-DN=1", NULL}, &r.err);
    if (!st) st = cuda_code_function(&f, a, "twice", &r.err);
    if (!st) st = cuda_code_function(&same, b, "twice", &r.err);
    str_printf(out, "%d %d %d %d compiled %lu", st, a == b, a == other, f == same,
               fake_cuda_calls("nvrtcCompileProgram"));
    cuda_code_destroy(a);
    str_printf(out, " unloaded %lu", fake_cuda_calls("cuModuleUnload"));
    cuda_code_destroy(b);
    cuda_code_destroy(other);
    cuda_code_destroy(NULL);
    str_printf(out, " %lu", fake_cuda_calls("cuModuleUnload"));
    close_rig(&r);
}

static void test_cuda__equal_code_is_loaded_once(void **state)
{
    (void)state;
    use();
    assert_string_equal(fake_cuda_child(share_code), "0 1 0 1 compiled 2 unloaded 0 2");
}

static void load_wrong_code(str *out)
{
    rig r;
    cuda_code *c = NULL;
    cuda_function *f = NULL;
    pgy_status st = open_rig(&r, 64);
    if (st) goto done;
    st = cuda_code_create(&c, r.d, "wrong", "int x;\n#error no such type\n", NO_OPTIONS, &r.err);
    str_printf(out, "%d %s; ", st == PGY_E_BACKEND, r.err.text);
    st = cuda_code_create(&c, r.d, "twice", TWICE, NO_OPTIONS, &r.err);
    if (!st) st = cuda_code_function(&f, c, "thrice", &r.err);
    str_printf(out, "%d %s", st == PGY_E_DEVICE, r.err.text);
done:
    cuda_code_destroy(c);
    close_rig(&r);
}

static void test_cuda__code_that_does_not_compile_shows_the_first_error(void **state)
{
    (void)state;
    use();
    assert_string_equal(
        fake_cuda_child(load_wrong_code),
        "1 kernel source 'wrong.cu' does not compile for sm_90a: wrong.cu(2): error: "
        "#error no such type; 1 device 'cuda:0': the driver failed while looking "
        "for 'thrice' in 'twice.cu' (CUDA_ERROR_NOT_FOUND: named symbol not found)");
}

/* ---- Faults --------------------------------------------------------------------------------- */

/* Every call that can fail does, once, at its first and second use: an error comes back in one
 * line, nothing crashes, and memory is given back where the driver still takes it. */
static void test_cuda__each_call_may_fail(void **state)
{
    static const char *const CALLS[] = {
#define X(member, symbol, arguments) symbol,
#include "device/cuda/driver.def"
#include "device/cuda/nvrtc.def"
#undef X
    };
    (void)state;
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        for (int nth = 1; nth <= 2; nth++)
            for (int lost = 0; lost <= 1; lost++) {
                char rule[96];
                snprintf(rule, sizeof rule, "%s:%d:%d", CALLS[i], nth, lost ? 719 : 1);
                plant(rule);
                const char *text = fake_cuda_child(run_graph);
                if (strstr(text, "killed") || strchr(text, '\n')) fail_msg("%s: %s", rule, text);
            }
}

static void test_cuda__a_failed_launch_is_an_error(void **state)
{
    (void)state;
    plant("cuLaunchKernel:1:719");
    const char *text = fake_cuda_child(run_code);
    assert_non_null(strstr(text, "device 'cuda:0' was lost while launching kernel 'twice' "
                                 "(CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure); this "
                                 "process cannot use it any more"));
}
