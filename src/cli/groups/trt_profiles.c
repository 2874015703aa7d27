/* SPDX-License-Identifier: Apache-2.0 */
/* Makes profiles from --input-shapes and the three lists of shapes by the original's rule: the
 * given shapes update one set of shapes in the order min, opt, max, profile after profile. Shapes
 * that are not given carry over from the step before, and the log says so. Steps of a decoder have
 * other sizes than its prompt, so there --input-shapes alone make no range. */
#include <string.h>

#include "base/log.h"
#include "cli/args/values.h"
#include "cli/groups/trt.h"

static const char LOG_PATH[] = "cli/groups/trt_profiles.c";

enum { KINDS = 3 };
static const char *const OPTION_NAMES[KINDS] = {"--trt-min-shapes", "--trt-opt-shapes",
                                                "--trt-max-shapes"};

/* The current shape of one input. */
typedef struct shape_entry {
    const char *name;
    size_t count;
    const int64_t *dims;
    bool is_range; /* it belongs into profiles */
} shape_entry;
typedef struct shape_set {
    shape_entry *items;
    size_t count;
} shape_set;

typedef struct resolver {
    shape_set current;
    bool warned;
    bool reads_ranges; /* the shapes are those of an option for profiles */
    args *line;
    pgy_error *err;
} resolver;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while reading profiles");
}

/* The words of the i-th use of an option. .given is false if there is no such use. */
static pgy_text_list use_of(const pgy_text_list *all, size_t i)
{
    pgy_text_list use = {0};
    size_t start = 0, index = 0;
    for (size_t k = 0; k < all->count; k++) {
        if (all->items[k]) continue;
        if (index++ == i) {
            use = (pgy_text_list){.items = all->items + start, .count = k - start, .given = true};
            break;
        }
        start = k + 1;
    }
    return use;
}

static size_t count_uses(const pgy_text_list *all)
{
    size_t count = 0;
    for (size_t k = 0; k < all->count; k++) count += all->items[k] == NULL;
    return count;
}

/* Sets the current shape of an input. Dynamic dimensions stay -1 until the model is known. */
static pgy_status put_shape(resolver *r, const pgy_tensor_info *info)
{
    int64_t *dims = arena_alloc_array(&r->line->memory, (size_t)info->rank + 1, sizeof *dims);
    const char *name = arena_strdup(&r->line->memory, info->name);
    if (!dims || !name) return no_memory(r->err);
    for (int32_t i = 0; i < info->rank; i++) {
        dims[i] = info->shape[i] < 0 ? -1 : info->shape[i];
        if (info->shape[i] >= 0 || r->warned || !r->reads_ranges) continue;
        r->warned = true;
        LOG(WARNING,
            "Input '%s': the profile has dimensions without a number; they become those of the "
            "model, or 1. Give a number for each dimension",
            info->name);
    }
    size_t k = 0;
    while (k < r->current.count && strcmp(r->current.items[k].name, name)) k++;
    const bool is_range = r->reads_ranges || (k < r->current.count && r->current.items[k].is_range);
    r->current.items[k] = (shape_entry){name, (size_t)info->rank, dims, is_range};
    if (k == r->current.count) r->current.count++;
    return PGY_OK;
}

static pgy_status update(resolver *r, const pgy_metadata *shapes)
{
    const size_t count = pgy_metadata_count(shapes);
    shape_entry *items =
        arena_alloc_array(&r->line->memory, r->current.count + count + 1, sizeof *items);
    if (!items) return no_memory(r->err);
    if (r->current.count) memcpy(items, r->current.items, r->current.count * sizeof *items);
    r->current.items = items;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) st = put_shape(r, pgy_metadata_at(shapes, i));
    return st;
}

static pgy_status update_from_words(resolver *r, const pgy_text_list *words, const char *option)
{
    pgy_metadata *shapes = NULL;
    pgy_status st = values_shapes(&shapes, words, option, r->line, r->err);
    if (!st) st = update(r, shapes);
    pgy_metadata_destroy(shapes);
    return st;
}

static const shape_entry *find(const shape_set *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, name)) return &s->items[i];
    return NULL;
}

static void list_names(str *out, const shape_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        str_printf(out, "%s'%s'", i ? ", " : "", s->items[i].name);
}

static pgy_status names_differ(const shape_set *a, const char *what_a, const shape_set *b,
                               const char *what_b, pgy_error *err)
{
    str left = {0}, right = {0};
    list_names(&left, a);
    list_names(&right, b);
    const pgy_status st = pgy_error_set(
        err, PGY_E_ARGUMENT,
        "the shapes of a profile must name the same inputs, but %s has [%s] and %s has [%s]",
        what_a, str_text(&left), what_b, str_text(&right));
    str_deinit(&left);
    str_deinit(&right);
    return st;
}

static pgy_status make_profile(pgy_profile *out, const shape_set *sets, size_t index,
                               const resolver *r)
{
    pgy_profile_range *ranges =
        arena_alloc_array(&r->line->memory, sets[0].count + 1, sizeof *ranges);
    if (!ranges) return no_memory(r->err);
    size_t count = 0;
    for (size_t k = 1; k < KINDS; k++)
        if (sets[k].count != sets[0].count)
            return names_differ(&sets[0], OPTION_NAMES[0], &sets[k], OPTION_NAMES[k], r->err);
    for (size_t i = 0; i < sets[0].count; i++) {
        const shape_entry *e[KINDS] = {&sets[0].items[i]};
        for (size_t k = 1; k < KINDS; k++) {
            e[k] = find(&sets[k], e[0]->name);
            if (!e[k])
                return names_differ(&sets[0], OPTION_NAMES[0], &sets[k], OPTION_NAMES[k], r->err);
            if (e[k]->count != e[0]->count)
                return pgy_error_set(
                    r->err, PGY_E_ARGUMENT,
                    "profile %zu, input '%s': %s has %zu dimensions, but %s has %zu", index,
                    e[0]->name, OPTION_NAMES[0], e[0]->count, OPTION_NAMES[k], e[k]->count);
        }
        if (!e[KINDS - 1]->is_range) continue;
        ranges[count++] = (pgy_profile_range){.name = e[0]->name,
                                              .count = e[0]->count,
                                              .min = e[0]->dims,
                                              .opt = e[1]->dims,
                                              .max = e[2]->dims};
    }
    *out = (pgy_profile){ranges, count};
    return PGY_OK;
}

static void warn_of_carrying(const pgy_text_list *uses, size_t profile)
{
    size_t given = 0;
    for (size_t k = 0; k < KINDS; k++) given += uses[k].given;
    for (size_t k = 0; given && k < KINDS; k++)
        if (!uses[k].given)
            LOG(WARNING,
                "Profile %zu has no %s: it takes the shapes given last before it, in the order "
                "--input-shapes, min, opt, max",
                profile, OPTION_NAMES[k]);
}

pgy_status trt_profiles_resolve(const pgy_profile **out, size_t *count, const trt_config_args *s,
                                const pgy_metadata *first, args *line, pgy_error *err)
{
    const pgy_text_list *const all[KINDS] = {&s->min_words, &s->opt_words, &s->max_words};
    resolver r = {.line = line, .err = err, .reads_ranges = !s->inputs_vary};
    size_t n = 0;
    pgy_status st = first ? update(&r, first) : PGY_OK;
    r.reads_ranges = true;
    for (size_t k = 0; k < KINDS; k++) n = count_uses(all[k]) > n ? count_uses(all[k]) : n;
    if (!n && r.current.count && !s->inputs_vary) n = 1;
    pgy_profile *profiles = arena_alloc_array(&line->memory, n + 1, sizeof *profiles);
    if (!st && !profiles) st = no_memory(err);
    for (size_t i = 0; !st && i < n; i++) {
        shape_set sets[KINDS] = {{0}};
        pgy_text_list uses[KINDS];
        for (size_t k = 0; k < KINDS; k++) uses[k] = use_of(all[k], i);
        warn_of_carrying(uses, i);
        for (size_t k = 0; !st && k < KINDS; k++) {
            if (uses[k].given) st = update_from_words(&r, &uses[k], OPTION_NAMES[k]);
            sets[k] = r.current;
        }
        if (!st) st = make_profile(&profiles[i], sets, i, &r);
    }
    if (st) return st;
    *out = profiles;
    *count = n;
    return PGY_OK;
}
