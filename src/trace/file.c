/* SPDX-License-Identifier: Apache-2.0 */
/* Files of traces: the name decides the form. */
#include <string.h>

#include "base/alloc.h"
#include "trace/trace.h"

struct pgy_trace_file {
    file_writer *file;
    trace_form write;
    bool compresses;
};

static const struct {
    const char *ending;
    trace_form write;
    bool compresses;
} FORMS[] = {
    {".pftrace", trace_write_perfetto, false},
    {".pftrace.gz", trace_write_perfetto, true},
    {".perfetto-trace", trace_write_perfetto, false},
    {".perfetto-trace.gz", trace_write_perfetto, true},
    {".gz", trace_write_json, true},
    {"", trace_write_json, false},
};

pgy_status pgy_trace_file_open(pgy_trace_file **out, const char *path, pgy_error *err)
{
    pgy_trace_file *f = mem_calloc(1, sizeof *f);
    size_t i = 0;
    if (!f) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (!str_ends_with(path, FORMS[i].ending)) i++;
    f->write = FORMS[i].write;
    f->compresses = FORMS[i].compresses;
    const pgy_status st = file_writer_create(&f->file, path, err);
    if (st)
        mem_free(f);
    else
        *out = f;
    return st;
}

pgy_status pgy_trace_file_write(pgy_trace_file *f, const pgy_trace *t, pgy_error *err)
{
    trace_sink *s = NULL;
    if (t->sum_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a timeline that was read from sums, such as trtexec's "
                             "--exportProfile, has no slices that a file of a timeline could hold");
    pgy_status st = sink_create(&s, f->file, f->compresses, err);
    if (st) return st;
    f->write(s, t);
    st = sink_finish(s, err);
    if (!st) st = file_writer_commit(f->file, err);
    sink_destroy(s);
    return st;
}

void pgy_trace_file_close(pgy_trace_file *f)
{
    if (!f) return;
    file_writer_destroy(f->file);
    mem_free(f);
}

pgy_status pgy_trace_save(const char *path, const pgy_trace *t, pgy_error *err)
{
    pgy_trace_file *f = NULL;
    pgy_status st = pgy_trace_file_open(&f, path, err);
    if (!st) st = pgy_trace_file_write(f, t, err);
    pgy_trace_file_close(f);
    return st;
}
