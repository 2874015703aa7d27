/* SPDX-License-Identifier: Apache-2.0 */
/* Included before the source of a CUDA kernel, this makes a shared object whose kernels run on the
 * host: the threads of a block are fibers that switch at barriers and at exchanges within a warp.
 * So everything but tensor core instructions is tested without a GPU. Compiled as C by the stand-in
 * of the driver (libcuda.c). */
#define EMULATED
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { EMULATED_THREADS = 1024, EMULATED_STACK = 1 << 16, EMULATED_BYTES = 16 };

typedef struct emulated_fiber {
    ucontext_t context;
    void *stack; /* its saved stack pointer */
    char *memory;
    uint32_t index, done;
} emulated_fiber;

/* Threads that wait for each other: a block or a warp. */
typedef struct emulated_group {
    uint32_t live, arrived;
    uint64_t turn;
} emulated_group;

static emulated_fiber emulated_fibers[EMULATED_THREADS], *emulated_now;
static emulated_group emulated_block, emulated_warps[EMULATED_THREADS / 32];
static unsigned char emulated_room[EMULATED_THREADS][EMULATED_BYTES];
static uint32_t emulated_grid[3], emulated_at[3], emulated_threads;
static void (*emulated_kernel)(void *const *);
static void *const *emulated_arguments;
static emulated_fiber emulated_main;
static uint64_t emulated_steps;

#ifdef __x86_64__
/* Saves the registers that a call must keep, and takes over the other fiber's. */
__attribute__((naked, noinline)) static void emulated_swap(void **from, void *to)
{
    (void)from, (void)to;
    __asm__("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15;"
            "mov %rsp, (%rdi); mov %rsi, %rsp;"
            "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}

static void emulated_switch(emulated_fiber *from, emulated_fiber *to)
{
    emulated_swap(&from->stack, to->stack);
}

static void emulated_place(emulated_fiber *f, void (*start)(void))
{
    void **top = (void **)(f->memory + EMULATED_STACK) - 1;
    *--top = (void *)start; /* the first switch returns to `start`, with the stack pointer at 16 n +
                               8 as the ABI requires */
    f->stack = top - 6;
}
#else
static void emulated_switch(emulated_fiber *from, emulated_fiber *to)
{
    swapcontext(&from->context, &to->context);
}

static void emulated_place(emulated_fiber *f, void (*start)(void))
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->memory;
    f->context.uc_stack.ss_size = EMULATED_STACK;
    makecontext(&f->context, start, 0);
}
#endif

/* Switches to the next thread of the block that has not ended, or to the launching thread if all
 * have. */
static void emulated_yield(void)
{
    emulated_fiber *self = emulated_now, *next = NULL;
    for (uint32_t i = 1; i <= emulated_threads && !next; i++) {
        emulated_fiber *f = &emulated_fibers[(self->index + i) % emulated_threads];
        if (!f->done) next = f;
    }
    if (++emulated_steps > UINT64_C(1) << 32) {
        fprintf(stderr, "emulated kernel: its threads wait for each other\n");
        abort();
    }
    if (!next) next = &emulated_main;
    if (next == self) return;
    emulated_now = next;
    emulated_switch(self, next);
}

static void emulated_wait(emulated_group *g)
{
    const uint64_t turn = g->turn;
    if (++g->arrived >= g->live) {
        g->arrived = 0;
        g->turn++;
        return;
    }
    while (g->turn == turn) emulated_yield();
}

static void emulated_leave(emulated_group *g)
{
    g->live--;
    if (g->live && g->arrived >= g->live) {
        g->arrived = 0;
        g->turn++;
    }
}

static void emulated_start(void)
{
    emulated_kernel(emulated_arguments);
    emulated_now->done = 1;
    emulated_leave(&emulated_block);
    emulated_leave(&emulated_warps[emulated_now->index / 32]);
    emulated_yield();
    abort();
}

static void emulated_run_block(void)
{
    emulated_block = (emulated_group){.live = emulated_threads};
    for (uint32_t i = 0; i < emulated_threads; i++) {
        emulated_fiber *f = &emulated_fibers[i];
        if (i % 32 == 0)
            emulated_warps[i / 32] =
                (emulated_group){.live = emulated_threads - i < 32 ? emulated_threads - i : 32};
        if (!f->memory) f->memory = malloc(EMULATED_STACK);
        if (!f->memory) abort();
        f->index = i;
        f->done = 0;
        emulated_place(f, emulated_start);
    }
    emulated_steps = 0;
    emulated_now = &emulated_fibers[0];
    emulated_switch(&emulated_main, emulated_now);
}

/* Runs a kernel, block by block. */
__attribute__((visibility("default"))) void emulated_launch(void (*kernel)(void *const *),
                                                            void *const *arguments,
                                                            const unsigned *grid,
                                                            const unsigned *threads)
{
    emulated_kernel = kernel;
    emulated_arguments = arguments;
    emulated_threads = threads[0] * threads[1] * threads[2];
    memcpy(emulated_grid, grid, sizeof emulated_grid);
    for (emulated_at[2] = 0; emulated_at[2] < grid[2]; emulated_at[2]++)
        for (emulated_at[1] = 0; emulated_at[1] < grid[1]; emulated_at[1]++)
            for (emulated_at[0] = 0; emulated_at[0] < grid[0]; emulated_at[0]++)
                emulated_run_block();
}

/* A warp shuffle: stores this thread's value and reads that of `lane`. */
static void emulated_exchange(void *out, const void *in, size_t size, uint32_t lane)
{
    const uint32_t index = emulated_now->index;
    emulated_group *warp = &emulated_warps[index / 32];
    memcpy(emulated_room[index], in, size);
    emulated_wait(warp);
    memcpy(out, emulated_room[index / 32 * 32 + lane], size);
    emulated_wait(warp);
}

#define KERNEL(name, type, threads)                                                           \
    static void name##_body(const type a);                                                    \
    __attribute__((visibility("default"))) const size_t name##_argument_bytes = sizeof(type); \
    __attribute__((visibility("default"))) void name(void *const *args)                       \
    {                                                                                         \
        name##_body(*(const type *)args[0]);                                                  \
    }                                                                                         \
    static void name##_body(const type a)
#define KERNEL_OF(name, type, threads, blocks) KERNEL(name, type, threads)
#define KERNEL_CLUSTER(name, type, threads, blocks, size) KERNEL(name, type, threads)
#define WAIT_FOR_LAST() ((void)0)
#define CLUSTER_LEAVE() BARRIER()
#define DEVICE __attribute__((unused)) static inline
#define SHARED static
#define SHARED_ROOM(name) static char name[1 << 18] __attribute__((aligned(16)))
#define UNROLL
#define UNROLL_4
#define UNROLL_1
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define BARRIER() emulated_wait(&emulated_block)
#define THREAD (emulated_now->index)
#define BLOCK_X (emulated_at[0])
#define BLOCK_Y (emulated_at[1])
#define BLOCK_Z (emulated_at[2])
#define BLOCKS_X (emulated_grid[0])
#define BLOCKS_Y (emulated_grid[1])
#define BLOCKS_Z (emulated_grid[2])
#define SHUFFLE(x, lane_)                                            \
    ({                                                               \
        __typeof__(x) given_ = (x), taken_;                          \
        emulated_exchange(&taken_, &given_, sizeof given_, (lane_)); \
        taken_;                                                      \
    })
#define SHUFFLE_XOR(x, lanes_) SHUFFLE(x, THREAD % 32 ^ (uint32_t)(lanes_))
