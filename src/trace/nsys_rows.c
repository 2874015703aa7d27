/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of devices and threads, and their slices, while a database of Nsight Systems is read. */
#include <stdio.h>

#include "trace/nsys.h"

pgy_status nsys_limit(const nsys_reader *n, size_t count, const char *table)
{
    return count < TRACE_MOST_EVENTS
               ? PGY_OK
               : pgy_error_set(n->err, PGY_E_FORMAT, "table %s: more than %d rows", table,
                               TRACE_MOST_EVENTS);
}

static pgy_status add_row(size_t *out, nsys_reader *n, const pgy_trace_row *row)
{
    if (n->r->trace->row_count >= TRACE_MOST_ROWS)
        return pgy_error_set(n->err, PGY_E_FORMAT, "more than %d threads and streams",
                             TRACE_MOST_ROWS);
    return pgy_trace_add_row(out, n->r->trace, row, n->err);
}

pgy_status nsys_device_row(size_t *out, nsys_reader *n, int64_t device, int64_t thread,
                           const char *name)
{
    char key[32], process[160];
    snprintf(key, sizeof key, "%lld", (long long)device);
    const char *model = strmap_get(&n->devices, key);
    const pgy_trace_row row = {100 + device, thread, process, name};
    snprintf(process, sizeof process, "device %lld: %.120s", (long long)device,
             model ? model : "unknown");
    return add_row(out, n, &row);
}

pgy_status nsys_host_row(size_t *out, nsys_reader *n, int64_t thread)
{
    const int64_t first_process = 1000000, mask = (INT64_C(1) << NSYS_PROCESS_BITS) - 1;
    const long long process = (thread >> NSYS_PROCESS_BITS) & mask, id = thread & mask;
    char title[48], name[48];
    const pgy_trace_row row = {first_process + process, id, title, name};
    snprintf(title, sizeof title, "host process %lld", process);
    snprintf(name, sizeof name, "thread %lld", id);
    return add_row(out, n, &row);
}

pgy_status nsys_add(nsys_reader *n, const pgy_trace_event *e, const char *args)
{
    const pgy_status st = nsys_limit(n, n->r->count++, "of all kinds together");
    if (st) return st;
    if (e->start_ns < n->r->first_ns) n->r->first_ns = e->start_ns;
    return pgy_trace_add(n->r->trace, e, args, n->err);
}
