/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of GPUs over the stand-ins for the driver and NCCL: what every rank gets, and what
 * happens when a call fails in one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda_ranks.h"
#include "harness/fake_cuda.h"

enum { RANKS = 3, COUNT = 6, MOST = COUNT * RANKS };

typedef struct rank {
    pgy_communicator *c;
    size_t index;
    cuda_ranks_call call;
    float out[MOST];
    pgy_status st;
    pgy_error err;
    pthread_t thread;
} rank;

static size_t rank_count = RANKS;
static device *devices[RANKS];
static bool shared_gpu; /* all ranks on one GPU */
static bool last_fails; /* the last rank fails when the others begin */

static void connect(const void *const *data, size_t count, size_t self, void *user)
{
    device *all[RANKS];
    rank *r = user;
    for (size_t i = 0; i < count; i++) all[i] = (device *)data[i];
    if (!self) cuda_ranks_join(r->c, (UINT64_C(1) << rank_count) - 1, all, count);
}

static pgy_status run_on(rank *r, device_stream *s, void *in, void *out)
{
    const communicator_call call = {
        .members = (UINT64_C(1) << rank_count) - 1, .name = "test", .on_device = true};
    float x[COUNT];
    cuda_ranks *group = NULL;
    for (size_t i = 0; i < COUNT; i++) x[i] = (float)(10 * (r->index + 1) + i);
    memset(r->out, 0x7f, sizeof r->out);
    pgy_status st = device_copy(s, in, x, sizeof x, DEVICE_FROM_HOST, &r->err);
    if (!st) st = device_copy(s, out, r->out, sizeof r->out, DEVICE_FROM_HOST, &r->err);
    if (!st) st = communicator_meet(&call, s->device, connect, r, &r->err);
    if (!st) st = cuda_ranks_find(&group, r->c, call.members, &r->err);
    r->call.in = in;
    r->call.out = out;
    if (!st && last_fails && r->index + 1 == rank_count) {
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        return pgy_error_set(&r->err, PGY_E_MEMORY, "the last rank fails");
    }
    if (!st) st = cuda_ranks_enqueue(group, r->index, &r->call, s, &r->err);
    if (!st) st = device_copy(s, r->out, out, sizeof r->out, DEVICE_TO_HOST, &r->err);
    return st ? st : device_stream_synchronize(s, &r->err);
}

static void *run_rank(void *user)
{
    rank *r = user;
    device_stream *s = NULL;
    void *in = NULL, *out = NULL;
    r->st = pgy_communicator_enter(r->c, (int64_t)r->index, &r->err);
    if (!r->st) r->st = device_stream_create(&s, devices[shared_gpu ? 0 : r->index], &r->err);
    if (!r->st) r->st = device_allocate(&in, s, COUNT * sizeof(float), &r->err);
    if (!r->st) r->st = device_allocate(&out, s, MOST * sizeof(float), &r->err);
    if (!r->st) r->st = run_on(r, s, in, out);
    if (r->st) pgy_communicator_fail(r->c, r->err.text);
    if (s) device_release(s, in);
    if (s) device_release(s, out);
    device_stream_destroy(s);
    pgy_communicator_leave();
    return NULL;
}

static bool open_devices(str *out)
{
    pgy_error err = {0};
    for (size_t i = 0; i < rank_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "cuda:%zu", i);
        if (device_open(&devices[i], name, &err)) {
            str_append(out, err.text);
            return false;
        }
    }
    return true;
}

static void run_all(rank *all, pgy_communicator *c, const cuda_ranks_call *call)
{
    for (size_t i = 0; i < rank_count; i++) all[i] = (rank){.c = c, .index = i, .call = *call};
    for (size_t i = 0; i < rank_count; i++) pthread_create(&all[i].thread, NULL, run_rank, &all[i]);
    for (size_t i = 0; i < rank_count; i++) pthread_join(all[i].thread, NULL);
}

static cuda_ranks_call call_of(cuda_ranks_operation o)
{
    return (cuda_ranks_call){.operation = o,
                             .type = CUDA_RANKS_F32,
                             .reduction = CUDA_RANKS_SUM,
                             .count = COUNT,
                             .item = sizeof(float),
                             .root = 1};
}

static void append_outputs(str *out, const rank *all, size_t count)
{
    for (size_t r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < count; i++) str_printf(out, " %g", (double)all[r].out[i]);
        str_append(out, r + 1 < RANKS ? " |" : "\n");
    }
}

static void run_operations(str *out)
{
    static const size_t SIZES[] = {COUNT, MOST, COUNT / RANKS, COUNT,
                                   COUNT, MOST, COUNT / RANKS, COUNT};
    pgy_error err = {0};
    pgy_communicator *c = NULL;
    rank all[RANKS];
    if (!open_devices(out) || pgy_communicator_create(&c, (int64_t)rank_count, &err)) return;
    for (int o = 0; o <= CUDA_RANKS_ALL_TO_ALL; o++) {
        const cuda_ranks_call call = call_of((cuda_ranks_operation)o);
        run_all(all, c, &call);
        for (size_t i = 0; i < RANKS; i++)
            if (all[i].st) str_printf(out, "%s", all[i].err.text);
        append_outputs(out, all, SIZES[o]);
    }
    pgy_communicator_destroy(c);
}

static void test_nccl__operations(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("FAKE_CUDA_GPUS", "3", 1);
    assert_string_equal(fake_cuda_child(run_operations),
                        " 60 63 66 69 72 75 | 60 63 66 69 72 75 | 60 63 66 69 72 75\n"
                        " 10 11 12 13 14 15 20 21 22 23 24 25 30 31 32 33 34 35 |"
                        " 10 11 12 13 14 15 20 21 22 23 24 25 30 31 32 33 34 35 |"
                        " 10 11 12 13 14 15 20 21 22 23 24 25 30 31 32 33 34 35\n"
                        " 60 63 | 66 69 | 72 75\n"
                        " 20 21 22 23 24 25 | 20 21 22 23 24 25 | 20 21 22 23 24 25\n"
                        " 0 0 0 0 0 0 | 60 63 66 69 72 75 | 0 0 0 0 0 0\n"
                        " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 |"
                        " 10 11 12 13 14 15 20 21 22 23 24 25 30 31 32 33 34 35 |"
                        " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                        " 20 21 | 22 23 | 24 25\n"
                        " 10 11 20 21 30 31 | 12 13 22 23 32 33 | 14 15 24 25 34 35\n");
}

/* The first failure, and that every rank has one or has ended before it. */
static void run_failing(str *out)
{
    pgy_error err = {0};
    pgy_communicator *c = NULL;
    rank all[RANKS];
    if (!open_devices(out) || pgy_communicator_create(&c, (int64_t)rank_count, &err)) return;
    const char *operation = getenv("TEST_OPERATION");
    const cuda_ranks_call call =
        call_of((cuda_ranks_operation)(operation ? atoi(operation) : CUDA_RANKS_ALL_REDUCE));
    run_all(all, c, &call);
    str_append(out, pgy_communicator_failure(c) ? pgy_communicator_failure(c) : "no failure");
    pgy_communicator_destroy(c);
}

static void test_nccl__each_call_fails(void **state)
{
    (void)state;
    static const struct {
        const char *call, *operation, *doing;
    } CASES[] = {{"ncclCommInitAll", "0", "connecting the GPUs of the ranks"},
                 {"ncclCommGetAsyncError", "0", "enqueueing a collective"},
                 {"ncclAllReduce", "0", "enqueueing a collective"},
                 {"ncclAllGather", "1", "enqueueing a collective"},
                 {"ncclReduceScatter", "2", "enqueueing a collective"},
                 {"ncclBroadcast", "3", "enqueueing a collective"},
                 {"ncclReduce", "4", "enqueueing a collective"},
                 {"ncclGroupStart", "5", "enqueueing a collective"},
                 {"ncclGroupEnd", "5", "enqueueing a collective"},
                 {"ncclSend", "6", "enqueueing a collective"},
                 {"ncclRecv", "7", "enqueueing a collective"}};
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("FAKE_CUDA_GPUS", "3", 1);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char rule[64], wanted[200];
        snprintf(rule, sizeof rule, "%s:1:3", CASES[i].call);
        snprintf(wanted, sizeof wanted,
                 "NCCL failed while %s: stand-in failure (code 3); NCCL_DEBUG=WARN makes it say "
                 "more",
                 CASES[i].doing);
        setenv("FAKE_CUDA_FAIL", rule, 1);
        setenv("TEST_OPERATION", CASES[i].operation, 1);
        const char *got = fake_cuda_child(run_failing);
        if (strcmp(got, wanted) != 0) fail_msg("%s: %s", CASES[i].call, got);
    }
    unsetenv("TEST_OPERATION");
}

static void run_on_one_gpu(str *out)
{
    shared_gpu = true;
    run_failing(out);
}

static void test_nccl__ranks_need_their_own_gpu(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("FAKE_CUDA_GPUS", "3", 1);
    assert_string_equal(fake_cuda_child(run_on_one_gpu),
                        "two ranks are on device 'cuda:0'; each needs a GPU of its own");
}

/* The others wait for the last rank: in NCCL's call, or in a kernel on the GPU. With CUDA_TEST_GPU
 * they are two GPUs. */
static void run_until_the_last_fails(str *out)
{
    last_fails = true;
    run_failing(out);
}

static void test_nccl__an_abort_ends_ranks_that_wait(void **state)
{
    (void)state;
    if (getenv("CUDA_TEST_GPU")) {
        rank_count = 2;
    } else {
        fake_cuda_use(TEST_BINARY_DIR);
        setenv("FAKE_CUDA_GPUS", "3", 1);
    }
    assert_string_equal(fake_cuda_child(run_until_the_last_fails), "the last rank fails");
    rank_count = RANKS;
}

static void open_nccl(str *out)
{
    pgy_error err = {0};
    if (cuda_ranks_open(&err)) str_append(out, err.text);
}

static void test_nccl__library_is_missing(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("POLYGRAPHY_CUDA_PATH", "/nowhere", 1);
    assert_string_equal(fake_cuda_child(open_nccl),
                        "ranks on GPUs need NCCL: libnccl.so.2 was not found in "
                        "POLYGRAPHY_CUDA_PATH (/nowhere)");
}
