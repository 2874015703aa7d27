/* SPDX-License-Identifier: Apache-2.0 */
/* What all kernels compiled for the host share: the fibers that run the threads of a block. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "emulation.h" /* declares what these headers do when it is included alone */

/* COLOUR: stacks that lie at the same place of their pages would share a few lines of the cache. */
enum {
    EMULATED_THREADS = 1024,
    EMULATED_COLOUR = 5 * 64,
    EMULATED_STACK = (1 << 16) + EMULATED_COLOUR,
    EMULATED_BYTES = 16
};

emulated_fiber *emulated_now;
emulated_group emulated_block;
uint32_t emulated_grid[3], emulated_at[3];

static emulated_fiber fibers[EMULATED_THREADS], launching;
static emulated_group warps[EMULATED_THREADS / 32];
static unsigned char room[2][EMULATED_THREADS][EMULATED_BYTES];
static char *stacks;
static uint32_t thread_count;
static void (*running)(void *const *);
static void *const *given;

/* The threads that can run, in turns. */
static emulated_fiber *ready[EMULATED_THREADS];
static uint32_t ready_first, ready_count;

static char *stack_of(const emulated_fiber *f)
{
    return stacks + (size_t)f->index * EMULATED_STACK;
}

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
    void **top = (void **)(stack_of(f) + EMULATED_STACK) - 1;
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
    c->uc_stack.ss_sp = stack_of(f);
    c->uc_stack.ss_size = EMULATED_STACK;
    makecontext(c, start, 0);
}
#endif

static void make_ready(emulated_fiber *f)
{
    ready[(ready_first + ready_count++) % EMULATED_THREADS] = f;
}

/* Switches to the next thread that can run, or to the launching thread if all have ended. */
static void yield(void)
{
    emulated_fiber *self = emulated_now;
    if (ready_count) {
        emulated_now = ready[ready_first];
        ready_first = (ready_first + 1) % EMULATED_THREADS;
        ready_count--;
    } else if (!emulated_block.live) {
        emulated_now = &launching;
    } else {
        fprintf(stderr, "emulated kernel: its threads wait for each other\n");
        abort();
    }
    switch_fiber(self, emulated_now);
}

/* All threads of the group have arrived: those that wait can run. */
static void let_go(emulated_group *g)
{
    g->arrived = 0;
    for (emulated_fiber *f = g->first; f < g->first + g->size; f++) {
        if (f->waits != g) continue;
        f->waits = NULL;
        make_ready(f);
    }
}

void emulated_wait(emulated_group *g)
{
    if (++g->arrived >= g->live) {
        let_go(g);
        return;
    }
    emulated_now->waits = g;
    yield();
}

static void leave(emulated_group *g)
{
    g->live--;
    if (g->live && g->arrived >= g->live) let_go(g);
}

static void start_thread(void)
{
    running(given);
    leave(&emulated_block);
    leave(&warps[emulated_now->index / 32]);
    yield();
    abort();
}

static emulated_group group_of(uint32_t first, uint32_t size)
{
    return (emulated_group){.first = &fibers[first], .size = size, .live = size};
}

static void run_block(void)
{
    emulated_block = group_of(0, thread_count);
    for (uint32_t i = 0; i < thread_count; i++) {
        emulated_fiber *f = &fibers[i];
        const uint32_t left = thread_count - i;
        if (i % 32 == 0) warps[i / 32] = group_of(i, left < 32 ? left : 32);
        *f = (emulated_fiber){.index = i};
        place(f, start_thread);
        make_ready(f);
    }
    emulated_now = &launching;
    yield();
}

/* Not by malloc(): the leak checker would read all of them. Only what threads use takes memory. */
static void make_stacks(void)
{
    const size_t size = (size_t)EMULATED_THREADS * EMULATED_STACK;
    stacks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED) abort();
}

void emulated_launch(void (*kernel)(void *const *), void *const *arguments, const unsigned *grid,
                     const unsigned *threads)
{
    if (!stacks) make_stacks();
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

/* The next exchange uses the other room, and the one after that begins when all have read. */
void emulated_exchange(void *out, const void *in, size_t size, uint32_t lane)
{
    emulated_fiber *self = emulated_now;
    unsigned char(*values)[EMULATED_BYTES] = room[self->exchanges++ % 2];
    copy(values[self->index], in, size);
    emulated_wait(&warps[self->index / 32]);
    copy(out, values[self->index / 32 * 32 + lane], size);
}
