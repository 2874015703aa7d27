/* SPDX-License-Identifier: Apache-2.0 */
/* Finds how many channels a block of com.microsoft.nchwc has: 8 or 16, depending on the machine on
 * which ONNX Runtime saved the model. No attribute states it, so it is deduced from channel counts
 * that are possible with only one of the two block sizes. */
#include <string.h>

#include "base/log.h"
#include "graph/graph.h"

static const char LOG_PATH[] = "graph/block.c";

enum { SMALL = 8, LARGE = 16 };

static bool is_blocked(const pgy_node *n, const char *op_type)
{
    return n && !strcmp(n->domain, "com.microsoft.nchwc") &&
           (!op_type || !strcmp(n->op_type, op_type));
}

/* Dimension `axis` of the weights of n; -1: they are no initializer or have no such axis. */
static int64_t weight_size(const pgy_node *n, size_t axis)
{
    const pgy_value *w = n->input_count > 1 ? n->inputs[1] : NULL;
    return w && w->initializer && axis < w->initializer->dim_count ? w->initializer->dims[axis]
                                                                   : -1;
}

static int64_t attribute_of(const pgy_node *n, const char *name, int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    return a ? a->i : fallback;
}

/* The block size with which padding to whole blocks turns `channels` into `padded`; 0: both sizes
 * do. */
static int64_t block_of_padding(int64_t channels, int64_t padded)
{
    if (channels < 1 || padded < channels) return 0;
    return padded - channels >= SMALL ? LARGE : padded % LARGE ? SMALL : 0;
}

/* Deduces the block size from a Conv with 8 input channels. With blocks of 8 its image is blocked;
 * with blocks of 16 the image has fewer channels than a block and stays NCHW. */
static int64_t block_of_eight(const pgy_value *image)
{
    const pgy_node *n = image ? image->producer : NULL;
    if (!n || is_blocked(n, "ReorderOutput")) return LARGE;
    return is_blocked(n, NULL) ? SMALL : 0;
}

static int64_t block_of_conv(const pgy_node *n)
{
    const int64_t out = weight_size(n, 0), in = weight_size(n, 1);
    const int64_t group = attribute_of(n, "group", 1);
    if (out < 1 || in < 1) return 0;
    if (out % LARGE) return SMALL;
    if ((in == 1 && group == out) || in < SMALL)
        return 0; /* depthwise, or an image in NCHW: both sizes allow it */
    if (in % SMALL) return LARGE;
    if (in == SMALL) return group == 1 ? block_of_eight(n->inputs[0]) : 0;
    return in % LARGE ? SMALL : 0;
}

static int64_t block_of_output(const pgy_node *n)
{
    const pgy_value *v = n->input_count ? n->inputs[0] : NULL;
    if (!v || !is_blocked(v->producer, "Conv")) return 0;
    return block_of_padding(attribute_of(n, "channels", 0), weight_size(v->producer, 0));
}

static int64_t block_of_input(const pgy_node *n)
{
    const pgy_value *x = n->input_count ? n->inputs[0] : NULL;
    const pgy_value *y = n->output_count ? n->outputs[0] : NULL;
    if (!x || !y || x->rank < 3) return 0;
    const int64_t channels = x->dims[attribute_of(n, "channels_last", 0) ? x->rank - 1 : 1].value;
    for (size_t i = 0; i < y->consumer_count; i++) {
        const pgy_node *user = y->consumers[i];
        if (!is_blocked(user, "Conv") || user->inputs[0] != y) continue;
        const int64_t group = attribute_of(user, "group", 1), in = weight_size(user, 1);
        const int64_t block = in < 1 ? 0 : block_of_padding(channels, in * group);
        if (block) return block;
    }
    return 0;
}

static int64_t block_of_node(const pgy_node *n)
{
    if (is_blocked(n, "Conv")) return block_of_conv(n);
    if (is_blocked(n, "ReorderOutput")) return block_of_output(n);
    return is_blocked(n, "ReorderInput") ? block_of_input(n) : 0;
}

/* The block size that ONNX Runtime uses on this machine, for models that allow both. */
static int64_t block_of_machine(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") ? LARGE : SMALL;
#else
    return LARGE;
#endif
}

int64_t graph_channel_block(graph_state *s)
{
    for (size_t i = 0; !s->channel_block && i < s->level_count; i++)
        for (size_t k = 0; !s->channel_block && k < s->levels[i]->node_count; k++)
            s->channel_block = block_of_node(s->levels[i]->nodes[k]);
    if (!s->channel_block) {
        s->channel_block = block_of_machine();
        LOG(WARNING,
            "ONNX Runtime's optimizer saved this model for one kind of machine: its images are in "
            "blocks of 8 or 16 channels, and no shape in the model tells which. Assuming blocks of "
            "%lld, as ONNX Runtime does on this machine",
            (long long)s->channel_block);
    }
    return s->channel_block;
}
