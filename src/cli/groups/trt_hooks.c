/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects that change the network and its configuration, in place of the original's Python
 * scripts: "library.so" or "library.so:function". */
#include <string.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "base/file.h"
#include "cli/groups/trt.h"

static bool is_python(const char *path)
{
    const size_t size = strlen(path);
    return size > 3 && !strcmp(path + size - 3, ".py");
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* Splits a word. An existing file gets an absolute path, because the loader looks for names without
 * a slash elsewhere. */
static pgy_status parse(trt_hook *out, const char *word, const char *function, const char *option,
                        arena *a, pgy_error *err)
{
    const char *colon = strrchr(word, ':');
    const char *path = colon ? arena_strndup(a, word, (size_t)(colon - word)) : word;
    if (!path) return no_memory(err);
    if (is_python(path))
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "%s: '%s' is a Python script; expected a shared object with a function '%s'", option,
            path, function);
    char *absolute = file_exists(path) ? path_absolute(path) : NULL;
    *out = (trt_hook){.option = option,
                      .path = absolute ? arena_strdup(a, absolute) : path,
                      .function = colon ? colon + 1 : function};
    mem_free(absolute);
    return out->path ? PGY_OK : no_memory(err);
}

pgy_status trt_hooks_parse(const trt_hook **out, size_t *network_count, size_t *count,
                           const trt_config_args *s, const trt_network_args *n, arena *a,
                           pgy_error *err)
{
    const size_t networks = n ? n->postprocess.count : 0;
    trt_hook *hooks = arena_alloc_array(a, networks + 1, sizeof *hooks);
    size_t made = 0;
    pgy_status st = hooks ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < networks; i++) {
        if (!n->postprocess.items[i]) continue; /* NULL ends the words of one use of the option */
        st = parse(&hooks[made++], n->postprocess.items[i], "postprocess_network",
                   "--trt-network-postprocess-script", a, err);
    }
    *network_count = made;
    if (!st && s->config_postprocess)
        st = parse(&hooks[made++], s->config_postprocess, "postprocess_config",
                   "--trt-config-postprocess-script", a, err);
    *out = hooks;
    *count = made;
    return st;
}

/* Loads the function. Its library stays open for the life of the process. */
static pgy_status load(void **out, const trt_hook *hook, pgy_error *err)
{
    void *handle = NULL;
    const dl_symbol symbol = {hook->function, out, true};
    pgy_status st = dl_open(&handle, &hook->path, 1, NULL, err);
    if (!st) st = dl_resolve(handle, &symbol, 1, err);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", hook->option, hook->path) : PGY_OK;
}

pgy_status trt_hooks_load(pgy_build_config *c, const trt_config_args *s, const trt_network_args *n,
                          arena *a, pgy_error *err)
{
    union {
        void *address;
        pgy_status (*network)(pgy_network *network, pgy_error *err);
        pgy_status (*config)(pgy_build_config *config, pgy_network *network, pgy_error *err);
    } function;
    const trt_hook *words = NULL;
    size_t networks = 0, count = 0;
    pgy_status st = trt_hooks_parse(&words, &networks, &count, s, n, a, err);
    pgy_build_hook *hooks = st ? NULL : arena_alloc_array(a, count + 1, sizeof *hooks);
    if (!st && !hooks) st = no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        st = load(&function.address, &words[i], err);
        if (st) break;
        if (i < networks)
            hooks[i].network = function.network;
        else
            hooks[i].config = function.config;
    }
    if (st) return st;
    c->hooks = hooks;
    c->hook_count = count;
    return PGY_OK;
}
