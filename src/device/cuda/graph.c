/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs: the driver captures what is enqueued on a stream, and launches all of it by one
 * call. */
#include "base/alloc.h"
#include "device/cuda/gpu.h"

static cu_stream stream_of(device_stream *s)
{
    return ((cuda_stream *)s)->handle;
}

pgy_status cuda_graph_begin(device_stream *s, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    st = gpu_check(g, g->driver->capture_begin(stream_of(s), CU_CAPTURE_THREAD_LOCAL),
                   "beginning to capture a graph", err);
    gpu_leave(g);
    ((cuda_stream *)s)->captured = !st;
    return st;
}

/* Ends the capture in any case. The captured graph is only needed to make the one that runs. */
static int end_capture(cu_graph_exec *out, const cuda_driver *d, cu_stream stream)
{
    cu_graph captured = NULL;
    int code = d->capture_end(stream, &captured);
    if (!code) code = d->graph_instantiate(out, captured, 0);
    if (captured) (void)d->graph_destroy(captured);
    return code;
}

pgy_status cuda_graph_end(device_graph **out, device_stream *s, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    cuda_graph *made = mem_calloc(1, sizeof *made);
    cu_graph_exec handle = NULL;
    pgy_status st = gpu_enter(g, err);
    ((cuda_stream *)s)->captured = false;
    if (!st) {
        st = gpu_check(g, end_capture(&handle, g->driver, stream_of(s)), "capturing a graph", err);
        if (!st && !made) {
            (void)g->driver->graph_exec_destroy(handle);
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        }
        gpu_leave(g);
    }
    if (st) {
        mem_free(made);
        return st;
    }
    *made = (cuda_graph){.graph = {s->device}, .handle = handle};
    *out = &made->graph;
    return PGY_OK;
}

pgy_status cuda_graph_launch(device_graph *graph, device_stream *s, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    st = gpu_check(g, g->driver->graph_launch(((cuda_graph *)graph)->handle, stream_of(s)),
                   "launching a graph", err);
    gpu_leave(g);
    return st;
}

void cuda_graph_destroy(device_graph *graph)
{
    cuda_gpu *g = gpu_of(graph->device);
    if (!gpu_enter(g, NULL)) {
        (void)g->driver->graph_exec_destroy(((cuda_graph *)graph)->handle);
        gpu_leave(g);
    }
    mem_free(graph);
}
