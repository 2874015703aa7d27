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

/* Loads the function that a word names. Its library stays open for the life of the process. */
static pgy_status find(void **out, const char *word, const char *function, const char *option,
                       arena *a, pgy_error *err)
{
    const char *colon = strrchr(word, ':');
    const char *path = colon ? arena_strndup(a, word, (size_t)(colon - word)) : word;
    void *handle = NULL;
    const dl_symbol symbol = {colon ? colon + 1 : function, out, true};
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (is_python(path))
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "%s: '%s' is a Python script; expected a shared object with a function '%s'", option,
            path, function);
    char *absolute = file_exists(path) ? path_absolute(path) : NULL;
    const char *const names[] = {absolute ? absolute : path};
    pgy_status st = dl_open(&handle, names, 1, NULL, err);
    if (!st) st = dl_resolve(handle, &symbol, 1, err);
    mem_free(absolute);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", option, path) : PGY_OK;
}

pgy_status trt_hooks_load(pgy_build_config *c, const trt_config_args *s, const trt_network_args *n,
                          arena *a, pgy_error *err)
{
    union {
        void *address;
        pgy_status (*network)(pgy_network *network, pgy_error *err);
        pgy_status (*config)(pgy_build_config *config, pgy_network *network, pgy_error *err);
    } function;
    const size_t networks = n ? n->postprocess.count : 0;
    pgy_build_hook *hooks = arena_alloc_array(a, networks + 1, sizeof *hooks);
    size_t count = 0;
    pgy_status st = hooks ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < networks; i++) {
        if (!n->postprocess.items[i]) continue; /* NULL ends the words of one use of the option */
        st = find(&function.address, n->postprocess.items[i], "postprocess_network",
                  "--trt-network-postprocess-script", a, err);
        if (!st) hooks[count++] = (pgy_build_hook){.network = function.network};
    }
    if (!st && s->config_postprocess) {
        st = find(&function.address, s->config_postprocess, "postprocess_config",
                  "--trt-config-postprocess-script", a, err);
        if (!st) hooks[count++] = (pgy_build_hook){.config = function.config};
    }
    if (st) return st;
    c->hooks = hooks;
    c->hook_count = count;
    return PGY_OK;
}
