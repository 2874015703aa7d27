/* SPDX-License-Identifier: Apache-2.0 */
/* Times kernels of a device by its events, on data in its memory. Two events enclose several runs,
 * as one graph if the device has graphs, so that the time to enqueue is negligible. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/system.h"
#include "engine/select/measure.h"
#include "kernels/launch.h"
#include "kernels/packing.h"

static const char LOG_PATH[] = "engine/select/measure_device.c";

enum {
    PIECE = 1 << 20,
    WARM_UPS = 2,
    ROUNDS = 5,
    REPEATS = 10,
    HELD_NS = 700, /* that the kernel behind one with KERNEL_HOLDS_NEXT takes longer; measured on
                      layer normalisations behind products of an H200 */
    SLOTS = KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS
};

typedef struct device_bench {
    const measure_candidate *c;
    device_stream *stream;
    device_event *start, *end;
    kernel_plan plan;
    void *loaded;
    void *tensors[SLOTS]; /* in the device's memory, or in shared memory for operands on the host */
    void *packed, *workspace;
    device_graph *graph; /* of all runs of a sample; NULL: they are enqueued one by one */
} device_bench;

static const kernel_tensor *slot_of(const kernel_problem *u, size_t slot)
{
    return slot < u->input_count ? &u->inputs[slot] : &u->outputs[slot - u->input_count];
}

static size_t slot_count(const kernel_problem *u)
{
    return u->input_count + u->output_count;
}

/* Allocates device memory and copies host bytes to it; `from` NULL: zeros. */
static pgy_status put(void **out, device_bench *b, const void *from, size_t size_bytes)
{
    pgy_status st = device_allocate(out, b->stream, size_bytes + 1, NULL);
    if (st) return st;
    st = from ? device_copy(b->stream, *out, from, size_bytes, DEVICE_FROM_HOST, NULL)
              : device_fill(b->stream, *out, 0, size_bytes, NULL);
    return st ? st : device_stream_synchronize(b->stream, NULL);
}

/* Random elements: a piece from the host, repeated within the device. */
static pgy_status put_random(void **out, device_bench *b, const kernel_tensor *t)
{
    const size_t size = kernel_size_bytes(t), piece = size < PIECE ? size : PIECE;
    void *data = mem_alloc_aligned(64, piece + 64);
    if (!data) return PGY_E_MEMORY;
    measure_fill(data, t->dtype, piece);
    pgy_status st = device_allocate(out, b->stream, size + 1, NULL);
    if (!st) st = device_copy(b->stream, *out, data, piece, DEVICE_FROM_HOST, NULL);
    for (size_t done = piece; !st && done < size; done *= 2)
        st = device_copy(b->stream, (char *)*out + done, *out,
                         done < size - done ? done : size - done, DEVICE_WITHIN, NULL);
    if (!st) st = device_stream_synchronize(b->stream, NULL);
    mem_free(data);
    return st;
}

static pgy_status put_tensor(device_bench *b, size_t slot)
{
    const kernel_problem *u = b->c->problem;
    const kernel_tensor *t = slot_of(u, slot);
    const bool input = slot < u->input_count;
    if (!t->dtype || (input && (b->plan.packed_inputs >> slot & 1))) return PGY_OK;
    const size_t size = kernel_size_bytes(t);
    if (t->space && input && (!t->data || t->elsewhere)) return put_random(&b->tensors[slot], b, t);
    if (t->space) return put(&b->tensors[slot], b, input ? t->data : NULL, size);
    const pgy_status st = device_allocate_shared(&b->tensors[slot], b->c->device, size + 1, NULL);
    if (st) return st;
    if (t->data) return kernel_read_constant(b->tensors[slot], u, t) ? PGY_OK : PGY_E_MEMORY;
    measure_fill(b->tensors[slot], t->dtype, size);
    return PGY_OK;
}

static pgy_status prepare(device_bench *b, pgy_error *err)
{
    const kernel *k = b->c->kernel;
    device *d = b->c->device;
    pgy_status st = kernel_prepare(&b->plan, k, b->c->problem, err);
    if (!st) st = device_stream_create(&b->stream, d, err);
    if (!st) st = device_event_create(&b->start, d, err);
    if (!st) st = device_event_create(&b->end, d, err);
    if (!st && k->load) st = k->load(&b->loaded, k, &b->plan, d, err);
    for (size_t i = 0; !st && i < slot_count(b->c->problem); i++) st = put_tensor(b, i);
    if (!st && b->plan.packed) st = put(&b->packed, b, b->plan.packed, b->plan.packed_bytes);
    if (!st && b->plan.workspace_bytes) st = put(&b->workspace, b, NULL, b->plan.workspace_bytes);
    return st;
}

static void clean_up(device_bench *b)
{
    const kernel_problem *u = b->c->problem;
    for (size_t i = 0; b->stream && i < slot_count(u); i++) {
        if (slot_of(u, i)->space)
            device_release(b->stream, b->tensors[i]);
        else
            device_release_shared(b->c->device, b->tensors[i]);
    }
    if (b->loaded && b->c->kernel->unload) b->c->kernel->unload(b->loaded);
    if (b->stream) {
        device_release(b->stream, b->packed);
        device_release(b->stream, b->workspace);
    }
    device_graph_destroy(b->graph);
    device_event_destroy(b->start);
    device_event_destroy(b->end);
    device_stream_destroy(b->stream);
    kernel_plan_deinit(&b->plan);
}

static pgy_status enqueue_all(const device_bench *b)
{
    launch l = launch_of(b->c->kernel, &b->plan, 1);
    pgy_status st = PGY_OK;
    l.run.tensors = b->tensors;
    l.run.packed = b->packed;
    l.run.workspace = b->workspace;
    l.run.loaded = b->loaded;
    for (int i = 0; !st && i < REPEATS; i++) st = launch_enqueue(&l, b->stream, NULL);
    return st;
}

/* Records the runs of a sample. A kernel that cannot be recorded is enqueued. */
static void capture(device_bench *b)
{
    if (!device_has_graphs(b->c->device) || device_graph_begin(b->stream, NULL)) return;
    pgy_status st = enqueue_all(b);
    const pgy_status end = device_graph_end(&b->graph, b->stream, NULL);
    if (!st) st = end;
    if (!st) return;
    device_graph_destroy(b->graph);
    b->graph = NULL;
}

/* Nanoseconds of one run; negative: it failed. */
static double sample(device_bench *b)
{
    double ns = -1;
    pgy_status st = device_event_record(b->start, b->stream, NULL);
    if (!st) st = b->graph ? device_graph_launch(b->graph, b->stream, NULL) : enqueue_all(b);
    if (!st) st = device_event_record(b->end, b->stream, NULL);
    if (!st) st = device_event_synchronize(b->end, NULL);
    if (!st) st = device_event_elapsed(&ns, b->start, b->end, NULL);
    return st ? -1 : ns / REPEATS;
}

double measure_on_device(const measure_candidate *c, int64_t until)
{
    device_bench b = {.c = c};
    pgy_error err = {0};
    double best = -1;
    const pgy_status st = prepare(&b, &err);
    if (st) best = MEASURE_FAILED;
    /* PGY_E_UNSUPPORTED: a library has fewer algorithms than rows. */
    if (st && st != PGY_E_UNSUPPORTED && !cancel_requested())
        LOG(WARNING, "Kernel '%s' is not used for %s '%s': %s", c->kernel->name,
            c->problem->node->def->name, c->problem->node->name, err.text);
    if (!st)
        for (int i = 0; i < WARM_UPS + ROUNDS; i++) {
            const double ns = sample(&b);
            if (ns < 0 || cancel_requested() || clock_ns() > until) break;
            if (i == 0) capture(&b);
            if (i >= WARM_UPS && (best < 0 || ns < best)) best = ns;
        }
    clean_up(&b);
    return best >= 0 && c->kernel->flags & KERNEL_HOLDS_NEXT ? best + HELD_NS : best;
}
