/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of Nsight Systems. SQLite reads only files, so the input becomes one, which the process
 * keeps. What is accepted can be summed up and printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

static void write_input(const uint8_t *data, size_t size)
{
    if (!*path) {
        snprintf(path, sizeof path, "/dev/shm/fuzz-nsys-%ld.sqlite", (long)getpid());
        atexit(remove_file);
    }
    FILE *f = fopen(path, "wb");
    if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_trace *t = NULL;
    pgy_trace_summary *s = NULL;
    char *text = NULL;
    write_input(data, size);
    if (pgy_trace_load(&t, path, NULL)) return 0;
    if (!pgy_trace_summary_create(&s, t, NULL, NULL) &&
        !pgy_trace_summary_text(&text, s, NULL, NULL))
        mem_free(text);
    pgy_trace_summary_destroy(s);
    pgy_trace_destroy(t);
    return 0;
}
