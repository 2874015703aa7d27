/* SPDX-License-Identifier: Apache-2.0 */
/* What all kernels compiled for the host share: the fibers that run the threads of a block. */
#include "emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { EMULATED_THREADS = 1024, EMULATED_STACK = 1 << 16, EMULATED_BYTES = 16 };

emulated_fiber *emulated_now;
emulated_group emulated_block;
uint32_t emulated_grid[3], emulated_at[3];

static emulated_fiber fibers[EMULATED_THREADS], launching;
static emulated_group warps[EMULATED_THREADS / 32];
static unsigned char room[EMULATED_THREADS][EMULATED_BYTES];
static uint32_t thread_count;
static void (*running)(void *const *);
static void *const *given;
static uint64_t steps;

#ifdef __x86_64__
/* Saves the registers that a call must keep, and takes over the other fiber's. */
void emulated_swap(void **from, void *to);
__asm__(".text\n"
        ".type emulated_swap, @function\n"
        "emulated_swap:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret\n"
        ".size emulated_swap, . - emulated_swap\n");

static void switch_fiber(emulated_fiber *from, emulated_fiber *to)
{
    emulated_swap(&from->context, to->context);
}

static void place(emulated_fiber *f, void (*start)(void))
{
    void **top = (void **)(f->memory + EMULATED_STACK) - 1;
    *--top = (void *)start; /* the first switch returns to `start`, with the stack pointer at 16 n +
                               8 as the ABI requires */
    f->context = top - 6;
}
#else
static ucontext_t contexts[EMULATED_THREADS], launching_context;

static ucontext_t *context_of(const emulated_fiber *f)
{
    return f == &launching ? &launching_context : &contexts[f->index];
}

static void switch_fiber(emulated_fiber *from, emulated_fiber *to)
{
    swapcontext(context_of(from), context_of(to));
}

static void place(emulated_fiber *f, void (*start)(void))
{
    ucontext_t *c = context_of(f);
    getcontext(c);
    c->uc_stack.ss_sp = f->memory;
    c->uc_stack.ss_size = EMULATED_STACK;
    makecontext(c, start, 0);
}
#endif

/* Switches to the next thread of the block that has not ended, or to the launching thread if all
 * have. */
static void yield(void)
{
    emulated_fiber *self = emulated_now, *next = self;
    do {
        next = next + 1 == fibers + thread_count ? fibers : next + 1;
    } while (next->done && next != self);
    if (++steps > UINT64_C(1) << 32) {
        fprintf(stderr, "emulated kernel: its threads wait for each other\n");
        abort();
    }
    if (next->done) next = &launching;
    if (next == self) return;
    emulated_now = next;
    switch_fiber(self, next);
}

void emulated_wait(emulated_group *g)
{
    const uint64_t turn = g->turn;
    if (++g->arrived >= g->live) {
        g->arrived = 0;
        g->turn++;
        return;
    }
    while (g->turn == turn) yield();
}

static void leave(emulated_group *g)
{
    g->live--;
    if (g->live && g->arrived >= g->live) {
        g->arrived = 0;
        g->turn++;
    }
}

static void start_thread(void)
{
    running(given);
    emulated_now->done = 1;
    leave(&emulated_block);
    leave(&warps[emulated_now->index / 32]);
    yield();
    abort();
}

static void run_block(void)
{
    emulated_block = (emulated_group){.live = thread_count};
    for (uint32_t i = 0; i < thread_count; i++) {
        emulated_fiber *f = &fibers[i];
        const uint32_t left = thread_count - i;
        if (i % 32 == 0) warps[i / 32] = (emulated_group){.live = left < 32 ? left : 32};
        if (!f->memory) f->memory = malloc(EMULATED_STACK);
        if (!f->memory) abort();
        f->index = i;
        f->done = 0;
        place(f, start_thread);
    }
    steps = 0;
    emulated_now = &fibers[0];
    switch_fiber(&launching, emulated_now);
}

void emulated_launch(void (*kernel)(void *const *), void *const *arguments, const unsigned *grid,
                     const unsigned *threads)
{
    running = kernel;
    given = arguments;
    thread_count = threads[0] * threads[1] * threads[2];
    memcpy(emulated_grid, grid, sizeof emulated_grid);
    for (emulated_at[2] = 0; emulated_at[2] < grid[2]; emulated_at[2]++)
        for (emulated_at[1] = 0; emulated_at[1] < grid[1]; emulated_at[1]++)
            for (emulated_at[0] = 0; emulated_at[0] < grid[0]; emulated_at[0]++) run_block();
}

/* Sanitizers check each call of memcpy; most values have four bytes, which take none. */
static void copy(void *out, const void *in, size_t size)
{
    if (size == 4)
        memcpy(out, in, 4);
    else
        memcpy(out, in, size);
}

void emulated_exchange(void *out, const void *in, size_t size, uint32_t lane)
{
    const uint32_t index = emulated_now->index;
    emulated_group *warp = &warps[index / 32];
    copy(room[index], in, size);
    emulated_wait(warp);
    copy(out, room[index / 32 * 32 + lane], size);
    emulated_wait(warp);
}
