/* SPDX-License-Identifier: Apache-2.0 */
/* The build configuration, field by field of build_config_fields.h, so that a new field does not
 * compile until it is written here. */
#include "cli/c_script/c_script.h"
#include "cli/groups/trt.h"

static const char *const CONSTRAINTS[] = {[PGY_CONSTRAINTS_NONE] = "PGY_CONSTRAINTS_NONE",
                                          [PGY_CONSTRAINTS_PREFER] = "PGY_CONSTRAINTS_PREFER",
                                          [PGY_CONSTRAINTS_OBEY] = "PGY_CONSTRAINTS_OBEY"};
static const char *const CPU_LEVELS[] = {[PGY_CPU_NATIVE] = "PGY_CPU_NATIVE",
                                         [PGY_CPU_PORTABLE] = "PGY_CPU_PORTABLE",
                                         [PGY_CPU_AVX2] = "PGY_CPU_AVX2",
                                         [PGY_CPU_AVX512] = "PGY_CPU_AVX512"};
static const char *const CAPABILITIES[] = {[PGY_CAPABILITY_STANDARD] = "PGY_CAPABILITY_STANDARD",
                                           [PGY_CAPABILITY_SAFETY] = "PGY_CAPABILITY_SAFETY",
                                           [PGY_CAPABILITY_DLA_STANDALONE] =
                                               "PGY_CAPABILITY_DLA_STANDALONE"};
static const char *const VERBOSITIES[] = {[PGY_VERBOSITY_DETAILED] = "PGY_VERBOSITY_DETAILED",
                                          [PGY_VERBOSITY_LAYER_NAMES_ONLY] =
                                              "PGY_VERBOSITY_LAYER_NAMES_ONLY",
                                          [PGY_VERBOSITY_NONE] = "PGY_VERBOSITY_NONE"};
static const char *const WEIGHT_BUDGETS[] = {
    [PGY_WEIGHT_BUDGET_ALL] = "PGY_WEIGHT_BUDGET_ALL",
    [PGY_WEIGHT_BUDGET_AUTOMATIC] = "PGY_WEIGHT_BUDGET_AUTOMATIC",
    [PGY_WEIGHT_BUDGET_BYTES] = "PGY_WEIGHT_BUDGET_BYTES",
    [PGY_WEIGHT_BUDGET_PERCENT] = "PGY_WEIGHT_BUDGET_PERCENT"};

/* ---- Lists ---------------------------------------------------------------------------------- */

static void put_names(const c_struct *s, const char *name, const pgy_name_list *list)
{
    if (!list->given && !list->count) return;
    str_printf(s->out, "%s%s = {.items = ", s->before, name);
    c_texts(s->out, list->items, list->count);
    str_printf(s->out, ", .count = %zu%s}%s", list->count, list->given ? ", .given = true" : "",
               s->after);
}

static void put_types(const c_struct *s, const char *name, const char *count_name,
                      const pgy_type_choice *items, size_t count)
{
    if (!count) return;
    str_printf(s->out, "%s%s = (const pgy_type_choice[]){", s->before, name);
    for (size_t i = 0; i < count; i++) {
        str_append(s->out, i ? ", {.name = " : "{.name = ");
        c_text(s->out, items[i].name);
        str_printf(s->out, ", .dtype = %s}", c_dtype(items[i].dtype));
    }
    str_printf(s->out, "}%s", s->after);
    c_number(s, count_name, count);
}

static void put_formats(const c_struct *s, const char *name, const char *count_name,
                        const pgy_format_choice *items, size_t count)
{
    const c_struct inner = {s->out, ", .", ""};
    if (!count) return;
    str_printf(s->out, "%s%s = (const pgy_format_choice[]){", s->before, name);
    for (size_t i = 0; i < count; i++) {
        str_append(s->out, i ? ", {.name = " : "{.name = ");
        c_text(s->out, items[i].name);
        put_names(&inner, "formats", &items[i].formats);
        str_append_char(s->out, '}');
    }
    str_printf(s->out, "}%s", s->after);
    c_number(s, count_name, count);
}

static void put_shape(str *out, const char *name, const int64_t *dims, size_t count)
{
    str_printf(out, ", .%s = ", name);
    c_integers(out, dims, count);
}

static void put_profile(str *out, const pgy_profile *p)
{
    str_append(out, "        {.ranges = ");
    str_append(out, p->range_count ? "(const pgy_profile_range[]){\n" : "NULL");
    for (size_t i = 0; i < p->range_count; i++) {
        const pgy_profile_range *r = &p->ranges[i];
        str_append(out, "             {.name = ");
        c_text(out, r->name);
        str_printf(out, ", .count = %zu", r->count);
        put_shape(out, "min", r->min, r->count);
        put_shape(out, "opt", r->opt, r->count);
        put_shape(out, "max", r->max, r->count);
        str_append(out, "},\n");
    }
    str_printf(out, "%s, .range_count = %zu},\n", p->range_count ? "         }" : "",
               p->range_count);
}

static void put_profiles(const c_struct *s, const char *name, const char *count_name,
                         const pgy_profile *items, size_t count)
{
    if (!count) return;
    str_printf(s->out, "%s%s = (const pgy_profile[]){\n", s->before, name);
    for (size_t i = 0; i < count; i++) put_profile(s->out, &items[i]);
    str_printf(s->out, "    }%s", s->after);
    c_number(s, count_name, count);
}

/* ---- The struct ----------------------------------------------------------------------------- */

#define FIELD(kind, member, detail, place, option, help) FIELD_##kind(member, detail)
#define FIELD_FLAG(member, detail) c_flag(&o, #member, c->member);
#define FIELD_BOOL(member, detail) c_flag(&o, #member, c->member);
/* A number below zero means that the option was not given, and a flag beside it says so. */
#define FIELD_NUMBER(member, detail) \
    if ((int64_t)c->member > 0) c_number(&o, #member, (uint64_t)c->member);
#define FIELD_REAL(member, detail) c_real_member(&o, #member, c->member);
#define FIELD_ENUM(member, detail) c_enum_member(&o, #member, detail, (int)c->member);
#define FIELD_TEXT(member, detail) c_text_member(&o, #member, c->member);
#define FIELD_NAMES(member, detail) put_names(&o, #member, &c->member);
#define FIELD_TYPES(member, detail) put_types(&o, #member, #detail, c->member, c->detail);
#define FIELD_FORMATS(member, detail) put_formats(&o, #member, #detail, c->member, c->detail);
#define FIELD_PROFILES(member, detail) put_profiles(&o, #member, #detail, c->member, c->detail);
#define FIELD_CALIBRATION(member, detail) \
    if (c->member) c_member(&o, #member, "&calibration");
#define FIELD_MONITOR(member, detail) /* functions of the program's own, which a script has not */
#define FIELD_OBJECT(member, detail)
#define FIELD_HOOKS(member, detail)                 \
    if (hook_count) c_member(&o, #member, "hooks"); \
    c_number(&o, #detail, hook_count);

static void put_config(str *out, const pgy_build_config *c, size_t hook_count)
{
    const c_struct o = {out, "    .", ",\n"};
    str_append(out,
               "static const pgy_build_config CONFIG = {\n    .size = sizeof(pgy_build_config),\n");
    PGY_BUILD_CONFIG_FIELDS(FIELD)
    str_append(out, "};\n\n");
}

/* ---- Functions of shared objects ------------------------------------------------------------ */

static const char LOAD_HOOK[] =
    "/* The function of a shared object, which stays open. */\n"
    "static pgy_status load_hook(void **out, const char *path, const char *function, pgy_error "
    "*err)\n"
    "{\n"
    "    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);\n"
    "    *out = library ? dlsym(library, function) : NULL;\n"
    "    return *out ? PGY_OK : pgy_error_set(err, PGY_E_NOT_FOUND, \"%s\", dlerror());\n"
    "}\n\n";

static void put_hooks(c_script *s, const trt_hook *hooks, size_t network_count, size_t count)
{
    str *out = &s->functions;
    str_printf(out, "static pgy_build_hook hooks[%zu];\n\n%s", count, LOAD_HOOK);
    str_append(out, "static pgy_status load_hooks(pgy_error *err)\n{\n"
                    "    union {\n        void *address;\n"
                    "        pgy_status (*network)(pgy_network *network, pgy_error *err);\n"
                    "        pgy_status (*config)(pgy_build_config *config, pgy_network *network, "
                    "pgy_error *err);\n    } function = {NULL};\n    pgy_status st = PGY_OK;\n");
    for (size_t i = 0; i < count; i++) {
        const char *kind = i < network_count ? "network" : "config";
        str_append(out, "    if (!st) st = load_hook(&function.address, ");
        c_text(out, hooks[i].path);
        str_append(out, ", ");
        c_text(out, hooks[i].function);
        str_printf(out, ", err);\n    hooks[%zu].%s = function.%s;\n", i, kind, kind);
    }
    str_append(out, "    return st;\n}\n\n");
    str_append(&s->steps, "    if (!st) st = load_hooks(err);\n");
}

pgy_status c_config(c_script *s, pgy_error *err)
{
    const trt_hook *hooks = NULL;
    size_t network_count = 0, count = 0;
    if (!s->plan->config) return PGY_OK;
    const pgy_status st =
        trt_hooks_parse(&hooks, &network_count, &count, ARGS_OF(s->line, trt_config_args),
                        ARGS_OF(s->line, trt_network_args), &s->line->memory, err);
    if (st) return st;
    if (count) put_hooks(s, hooks, network_count, count);
    put_config(&s->functions, s->plan->config, count);
    return PGY_OK;
}
