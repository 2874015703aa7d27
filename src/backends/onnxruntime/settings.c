/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the ONNX Runtime backend: execution providers (matched as the original does, by part
 * of the name), graph optimization, threads, and libraries of custom operators. */
#include "backends/onnxruntime/settings.h"

#include <ctype.h>
#include <string.h>

#include "backends/onnxruntime/optimizers.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/str.h"
#include "base/system.h"

static const char LOG_PATH[] = "backends/onnxruntime/settings.c";
static const char ORIGINAL_PATH[] = "backend/onnxrt/loader.py";

const pgy_option ORT_OPTIONS[] = {
    PGY_OPT_LIST(
        "--providers --execution-providers", ort_settings, providers, .nargs = PGY_ONE_OR_MORE,
        .meta = "NAME",
        .help =
            "execution providers in order of preference; part of a name is enough; default cpu"),
    PGY_OPT_TEXT("--graph-optimization-level", ort_settings, graph_level, .meta = "NAME",
                 .help = "graph optimizations of the runtime: ORT_DISABLE_ALL, ORT_ENABLE_BASIC, "
                         "ORT_ENABLE_EXTENDED, ORT_ENABLE_LAYOUT or ORT_ENABLE_ALL; default: the "
                         "runtime's own choice"),
    PGY_OPT_INT("--onnxrt-threads", ort_settings, threads, .meta = "N",
                .help = "number of threads for one inference; default: all processors that this "
                        "process may use"),
    PGY_OPT_LIST("--disabled-optimizers", ort_settings, disabled_optimizers,
                 .nargs = PGY_ZERO_OR_MORE, .meta = "NAME",
                 .help = "graph optimizers of the runtime to switch off, for example "
                         "ConstantFolding; it ignores names that it does not know"),
    PGY_OPT_TEXT("--save-optimized-model", ort_settings, optimized_path, .meta = "PATH",
                 .help = "save the model as the runtime optimized it, for this machine"),
    PGY_OPT_APPEND("--custom-op-library", ort_settings, op_libraries, .meta = "PATH",
                   .help = "load this shared library of custom operators; may be repeated"),
    PGY_OPT_END,
};

static const struct {
    const char *name;
    int level;
} LEVELS[] = {{"ORT_DISABLE_ALL", 0},
              {"ORT_ENABLE_BASIC", 1},
              {"ORT_ENABLE_EXTENDED", 2},
              {"ORT_ENABLE_LAYOUT", 3},
              {"ORT_ENABLE_ALL", 99}};
enum { LEVEL_COUNT = sizeof LEVELS / sizeof *LEVELS };

pgy_status ort_graph_level_from_name(int *out, const char *name, pgy_error *err)
{
    const char *names[LEVEL_COUNT];
    str valid = {0};
    for (int i = 0; i < LEVEL_COUNT; i++) {
        names[i] = LEVELS[i].name;
        if (str_equal_nocase(name, names[i])) {
            *out = LEVELS[i].level;
            return PGY_OK;
        }
    }
    str_append_py_list(&valid, names, LEVEL_COUNT);
    pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT,
                      "onnxrt.graph_optimization_level: '%s' is not a level; the levels are: %s",
                      name, str_text(&valid));
    str_deinit(&valid);
    return st;
}

/* ---- Execution providers -------------------------------------------------------------------- */

typedef struct providers {
    char **items;
    int count;
} providers;

/* Matches the full name, else part of the name in either direction, ignoring case. */
static const char *match_provider(const providers *available, const char *wanted)
{
    for (int i = 0; i < available->count; i++)
        if (!strcmp(available->items[i], wanted)) return available->items[i];
    for (int i = 0; i < available->count; i++)
        if (str_contains_nocase(available->items[i], wanted) ||
            str_contains_nocase(wanted, available->items[i]))
            return available->items[i];
    return NULL;
}

static pgy_status no_provider(const providers *available, const char *wanted, pgy_error *err)
{
    str list = {0};
    str_append_py_list(&list, (const char *const *)available->items, (size_t)available->count);
    pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND,
                      "Could not find specified ONNX-Runtime execution provider. "
                      "Note: Requested provider was: %s, but available providers are: %s",
                      wanted, str_text(&list));
    str_deinit(&list);
    return st;
}

static pgy_status append_cuda(ort_options *options, const ort_api *api, pgy_error *err)
{
    ort_cuda_options *cuda = NULL;
    pgy_status st = ort_check(api, api->create_cuda_options(&cuda), "making options for CUDA", err);
    if (st) return st;
    st = ort_check(api, api->append_cuda(options, cuda), "adding the CUDA provider", err);
    api->release_cuda_options(cuda);
    return st;
}

/* Adds a provider by the generic call, which takes short names. Most providers write theirs in
 * capitals, but not all. */
static pgy_status append_named(ort_options *options, const ort_api *api, const char *provider,
                               pgy_error *err)
{
    enum { SHORT, CAPITALS, FULL, SPELLINGS };
    char names[SPELLINGS][128];
    pgy_status st = PGY_OK;
    size_t size = strlen(provider);
    if (size >= sizeof names[0])
        return pgy_error_set(err, PGY_E_ARGUMENT, "onnxrt.providers: the name '%s' is too long",
                             provider);
    for (int i = 0; i < SPELLINGS; i++) memcpy(names[i], provider, size + 1);
    if (str_ends_with(provider, "ExecutionProvider"))
        names[SHORT][size - strlen("ExecutionProvider")] =
            names[CAPITALS][size - strlen("ExecutionProvider")] = '\0';
    for (char *c = names[CAPITALS]; *c; c++) *c = (char)toupper((unsigned char)*c);
    for (int i = 0; i < SPELLINGS; i++) {
        st = ort_check(api, api->append_provider(options, names[i], NULL, NULL, 0), provider, err);
        if (!st) return PGY_OK;
    }
    return st;
}

static pgy_status append_provider(ort_options *options, const ort_api *api, const char *provider,
                                  pgy_error *err)
{
    if (!strcmp(provider, "CPUExecutionProvider"))
        return PGY_OK; /* ONNX Runtime always adds the CPU provider last */
    if (api->minor < ORT_API_PROVIDERS)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "ONNX Runtime %s at %s is too old for the provider %s: 1.%d or newer is needed",
            api->version, api->path, provider, ORT_API_PROVIDERS);
    if (!strcmp(provider, "CUDAExecutionProvider")) return append_cuda(options, api, err);
    return append_named(options, api, provider, err);
}

static pgy_status resolve(const char **out, const providers *available, const char *const *wanted,
                          size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = match_provider(available, wanted[i]);
        if (!out[i]) return no_provider(available, wanted[i], err);
    }
    return PGY_OK;
}

static pgy_status set_providers(ort_options *options, const ort_api *api, const ort_settings *s,
                                pgy_error *err)
{
    enum { MAX = 32 };
    static const char *const CPU[] = {"cpu"};
    const char *found[MAX];
    bool given = s && s->providers.given;
    const char *const *wanted = given ? s->providers.items : CPU;
    size_t count = given ? s->providers.count : 1;
    providers available = {0};
    str line = {0};

    if (count > MAX)
        return pgy_error_set(err, PGY_E_ARGUMENT, "onnxrt.providers: %zu are too many", count);
    pgy_status st = ort_check(api, api->available_providers(&available.items, &available.count),
                              "listing providers", err);
    if (st) return st;
    st = resolve(found, &available, wanted, count, err);
    if (st) goto done;
    str_append_py_list(&line, found, count);
    LOG_ORIGINAL(START, "Creating ONNX-Runtime Inference Session with providers: %s",
                 str_text(&line));
    for (size_t i = 0; !st && i < count; i++) st = append_provider(options, api, found[i], err);
done:
    str_deinit(&line);
    if (ort_check(api, api->release_providers(available.items, available.count),
                  "releasing the list of providers", NULL))
        LOG(VERBOSE, "ONNX Runtime could not release its list of providers");
    return st;
}

/* ---- The rest ------------------------------------------------------------------------------- */

static pgy_status set_threads(ort_options *options, const ort_api *api, const ort_settings *s,
                              pgy_error *err)
{
    int64_t threads = s ? s->threads : 0;
    if (threads < 0 || threads > 4096)
        return pgy_error_set(err, PGY_E_ARGUMENT, "onnxrt.onnxrt_threads: %lld is not in [0, 4096]",
                             (long long)threads);
    int count = threads ? (int)threads : (int)cpu_count();
    pgy_status st = ort_check(api, api->set_intra_threads(options, count), "setting threads", err);
    return st ? st : ort_check(api, api->set_inter_threads(options, count), "setting threads", err);
}

static pgy_status set_level(ort_options *options, const ort_api *api, const ort_settings *s,
                            pgy_error *err)
{
    int level;
    if (!s || !s->graph_level) return PGY_OK;
    pgy_status st = ort_graph_level_from_name(&level, s->graph_level, err);
    return st ? st
              : ort_check(api, api->set_graph_level(options, level),
                          "setting the optimization level", err);
}

static pgy_status disable_optimizers(ort_options *options, const ort_api *api,
                                     const ort_settings *s, pgy_error *err)
{
    str names = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; s && i < s->disabled_optimizers.count; i++) {
        const char *name = s->disabled_optimizers.items[i];
        if (!ort_optimizer_is_known(name))
            LOG(WARNING,
                "onnxrt.disabled_optimizers: '%s' is not among the optimizers of ONNX Runtime "
                "1.31; a release that lacks it ignores the name",
                name);
        str_printf(&names, "%s%s", i ? ";" : "", name);
    }
    if (names.size)
        st = ort_check(
            api,
            api->add_config(options, "optimization.disable_specified_optimizers", str_text(&names)),
            "switching optimizers off", err);
    if (names.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    str_deinit(&names);
    return st;
}

static pgy_status set_optimized_path(ort_options *options, const ort_api *api,
                                     const ort_settings *s, pgy_error *err)
{
    if (!s || !s->optimized_path) return PGY_OK;
    return ort_check(api, api->set_optimized_path(options, s->optimized_path),
                     "setting the path of the optimized model", err);
}

/* Loads a library of custom operators. For a path without a slash the loader searches its own
 * folders, not the current one. */
static pgy_status add_library(ort_options *options, const ort_api *api, const char *path,
                              pgy_error *err)
{
    void *handle; /* stays open for the process: sessions run its code */
    char *here = strchr(path, '/') || !file_exists(path) ? NULL : path_join(".", path);
    pgy_status st = ort_check(api, api->register_ops(options, here ? here : path, &handle),
                              "opening a library of custom operators", err);
    mem_free(here);
    return st ? pgy_error_prefix(err, st, "onnxrt.custom_op_library %s: ", path) : PGY_OK;
}

static pgy_status add_libraries(ort_options *options, const ort_api *api, const ort_settings *s,
                                pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; s && !st && i < s->op_libraries.count; i++) {
        const char *path = s->op_libraries.items[i];
        if (path)
            st = add_library(options, api, path, err); /* a NULL item separates two uses of the
                                                          option */
    }
    return st;
}

pgy_status ort_settings_apply(ort_options **out, const ort_api *api, const ort_settings *settings,
                              pgy_error *err)
{
    ort_options *options = NULL;
    pgy_status st = ort_check(api, api->create_options(&options), "making session options", err);
    if (st) return st;
    st = set_level(options, api, settings, err);
    if (!st) st = disable_optimizers(options, api, settings, err);
    if (!st) st = set_optimized_path(options, api, settings, err);
    if (!st) st = set_threads(options, api, settings, err);
    if (!st) st = add_libraries(options, api, settings, err);
    if (!st) st = set_providers(options, api, settings, err);
    if (!st)
        *out = options;
    else
        api->release_options(options);
    return st;
}
