/* SPDX-License-Identifier: Apache-2.0 */
/* Two functions of NVIDIA's libnvToolsExt. */
#include "base/ranges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "base/tracer.h"

static int (*push)(const char *name);
static int (*pop)(void);
static _Thread_local unsigned depth; /* ranges of this thread that are open */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    const char *wanted = getenv("POLYGRAPHY_NVTX"), *watched = getenv("NVTX_INJECTION64_PATH");
    const char *const names[] = {wanted && strchr(wanted, '/') ? wanted : "libnvToolsExt.so.1",
                                 "libnvToolsExt.so"};
    void *library = NULL;
    const dl_symbol symbols[] = {{"nvtxRangePushA", (void **)&push, true},
                                 {"nvtxRangePop", (void **)&pop, true}};
    if (wanted ? !*wanted || !strcmp(wanted, "0") : !watched || !*watched) return;
    if (dl_open(&library, names, sizeof names / sizeof *names, NULL, NULL) ||
        dl_resolve(library, symbols, sizeof symbols / sizeof *symbols, NULL)) {
        push = NULL;
        return;
    }
    atomic_fetch_or(&tracer_state, TRACER_RANGES);
}

void ranges_detect(void)
{
    pthread_once(&once, open_library);
}

bool ranges_are_on(void)
{
    return (atomic_load_explicit(&tracer_state, memory_order_relaxed) & TRACER_RANGES) != 0;
}

void ranges_push(const char *name)
{
    if (!ranges_are_on()) return;
    (void)push(name);
    depth++;
}

void ranges_pop(void)
{
    if (!depth) return; /* it was opened before the library */
    (void)pop();
    depth--;
}
