/* SPDX-License-Identifier: Apache-2.0 */
/* Generated inputs: chooses shape, type and range of each input; random_fill.c draws the numbers.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "base/str.h"
#include "data/loader.h"
#include "data/random_fill.h"
#include "data/random_names.h"

static const char LOG_PATH[] = "comparator/data_loader.py";

enum { DEFAULT_DIM = 1 };

typedef struct random_loader {
    uint32_t seed;
    size_t iterations, next;
    pgy_metadata *user; /* shapes and types from the user; NULL: none */
    pgy_value_range *ranges;
    size_t range_count;
    bool torch_floats, strict, checked_names;
    const pgy_metadata *inputs; /* inputs of the runner; borrowed */
} random_loader;

static const pgy_value_range DEFAULT_RANGE = {
    .name = "", .low = 0, .high = 1, .is_integer = true, .low_int = 0, .high_int = 1};

/* ---- Choices ---- */

/* An entry for the kind of type wins over one for all types, then an entry by name over one without
 * a name; among equals the last one wins. */
static const pgy_value_range *find_range(const random_loader *l, const char *name, pgy_dtype dtype)
{
    const pgy_value_range *best = &DEFAULT_RANGE;
    int best_score = -1;
    for (size_t i = 0; i < l->range_count; i++) {
        const pgy_value_range *r = &l->ranges[i];
        if (r->name[0] && strcmp(r->name, name)) continue;
        if (r->kind == PGY_RANGE_INTEGERS && !pgy_dtype_is_integer(dtype)) continue;
        if (r->kind == PGY_RANGE_FLOATS && !pgy_dtype_is_float(dtype)) continue;
        int score = (r->kind != PGY_RANGE_ALL) * 2 + (r->name[0] != 0);
        if (score >= best_score) best = r, best_score = score;
    }
    return best;
}

static bool is_static(const pgy_tensor_info *t)
{
    for (int32_t i = 0; i < t->rank; i++)
        if (t->shape[i] < 0) return false;
    return t->rank >= 0;
}

static bool is_valid_override(const pgy_tensor_info *wanted, const pgy_tensor_info *original)
{
    if (original->rank < 0) return true;
    if (wanted->rank != original->rank) return false;
    for (int32_t i = 0; i < wanted->rank; i++)
        if (original->shape[i] >= 0 && wanted->shape[i] >= 0 &&
            original->shape[i] != wanted->shape[i])
            return false;
    return true;
}

/* An integral static 1-D input whose length is the rank of the given shape is filled with that
 * shape, with 1 for open dimensions. */
static bool is_shape_tensor(const pgy_tensor_info *input, const pgy_tensor_info *user)
{
    return user && strcmp(user->name, input->name) == 0 &&
           (pgy_dtype_is_integer(input->dtype) || !input->dtype) && input->rank == 1 &&
           input->shape[0] >= 0 && user->rank >= 0 && user->rank == input->shape[0];
}

static void shape_text(str *out, const pgy_tensor_info *t)
{
    str_append_char(out, '[');
    for (int32_t i = 0; i < t->rank; i++) {
        if (i) str_append(out, ", ");
        if (t->shape[i] < 0 && t->dim_names && t->dim_names[i])
            str_append_py_repr(out, t->dim_names[i]);
        else if (t->shape[i] < 0)
            str_append(out, "None");
        else
            str_printf(out, "%lld", (long long)t->shape[i]);
    }
    str_append_char(out, ']');
}

/* Makes a static shape for an input without a given shape or with open dimensions: the input's own
 * dimension, else its lower bound, its upper bound, or 1. engine/profile.c closes a profile's open
 * dimensions by the same rule. */
static void default_shape(int64_t *shape, const pgy_tensor_info *input, const pgy_tensor_info *from)
{
    const int64_t *bound = input->min_shape ? input->min_shape : input->max_shape;
    for (int32_t i = 0; i < from->rank; i++) {
        const bool has_own = i < input->rank && input->shape[i] >= 0;
        const int64_t own = has_own                    ? input->shape[i]
                            : bound && i < input->rank ? bound[i]
                                                       : DEFAULT_DIM;
        shape[i] = from->shape[i] >= 0 ? from->shape[i] : own;
    }
    if (is_static(from)) return;
    str was = {0}, now = {0};
    shape_text(&was, from);
    str_append_py_ints(&now, shape, (size_t)from->rank);
    LOG_ONCE(WARNING,
             "Input tensor: %s [shape=BoundedShape(%s, min=None, max=None)] | Will generate data "
             "of shape: %s.\n"
             "If this is incorrect, please provide a custom data loader or use random.inputs.",
             input->name, str_text(&was), str_text(&now));
    str_deinit(&was);
    str_deinit(&now);
}

static const pgy_tensor_info *choose_shape(const pgy_tensor_info *input,
                                           const pgy_tensor_info *user)
{
    if (!user || user->rank < 0) return input;
    str given = {0}, wanted = {0};
    shape_text(&given, user);
    shape_text(&wanted, input);
    const pgy_tensor_info *chosen = user;
    if (!is_valid_override(user, input)) {
        LOG_ONCE(WARNING,
                 "Input tensor: %s | Cannot use provided custom shape: %s, since this input has "
                 "shape: %s. The default shape is used instead.",
                 input->name, str_text(&given), str_text(&wanted));
        chosen = input;
    }
    str_deinit(&given);
    str_deinit(&wanted);
    return chosen;
}

static pgy_status refuse_shape(const pgy_tensor_info *input, const pgy_tensor_info *user,
                               pgy_error *err)
{
    str given = {0}, wanted = {0};
    shape_text(&given, user);
    shape_text(&wanted, input);
    const pgy_status st = pgy_error_set(
        err, PGY_E_SHAPE, "Input tensor: %s | random.inputs has the shape %s, but the input has %s",
        input->name, str_text(&given), str_text(&wanted));
    str_deinit(&given);
    str_deinit(&wanted);
    return st;
}

/* ---- One input ---- */

static pgy_status fill_with_shape(pgy_tensor **out, const pgy_tensor_info *input,
                                  const pgy_tensor_info *user, pgy_error *err)
{
    pgy_dtype dtype = input->dtype ? input->dtype : PGY_I64;
    int64_t elements[PGY_MAX_RANK];
    if (user->rank > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "Input tensor: %s | Rank %d is larger than the supported rank",
                             input->name, user->rank);
    for (int32_t i = 0; i < user->rank; i++)
        elements[i] = user->shape[i] < 0 ? DEFAULT_DIM : user->shape[i];
    pgy_view values = pgy_view_of(elements, PGY_I64, 1, input->shape);
    LOG_ONCE(INFO,
             "Input tensor: %s | Assuming this is a shape tensor; it is filled with the shape that "
             "was given for it",
             input->name);
    return pgy_tensor_cast(out, values, dtype, err);
}

static void announce(const char *name, pgy_dtype dtype, const pgy_value_range *r)
{
    if (!LOG_IS_ON(VERBOSE)) return;
    char low[40], high[40];
    if (pgy_dtype_is_integer(dtype)) {
        LOG_ONCE(VERBOSE, "Input tensor: %s | Generating input data in range: [%lld, %lld]", name,
                 (long long)(r->is_integer ? r->low_int : (int64_t)r->low),
                 (long long)(r->is_integer ? r->high_int : (int64_t)r->high));
        return;
    }
    if (dtype == PGY_BOOL) {
        LOG_ONCE(VERBOSE, "Input tensor: %s | Generating input data in range: [%s, %s]", name,
                 r->low != 0 ? "True" : "False", r->high != 0 ? "True" : "False");
        return;
    }
    py_double_repr(low, r->low);
    py_double_repr(high, r->high);
    LOG_ONCE(VERBOSE, "Input tensor: %s | Generating input data in range: [%s, %s]", name, low,
             high);
}

static pgy_status make_input(pgy_tensor **out, random_loader *l, mt19937 *g,
                             const pgy_tensor_info *input, pgy_error *err)
{
    const pgy_tensor_info *user = random_find_given(l->user, input->name);
    if (input->form == PGY_FORM_SEQUENCE || input->form == PGY_FORM_OPTIONAL_SEQUENCE)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "Input tensor: %s | data cannot be generated for a sequence; give its elements as "
            "'%s[0]', '%s[1]', ... with pgy_file_loader_create or pgy_script_loader_create",
            input->name, input->name, input->name);
    if (input->form == PGY_FORM_MAP)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "Input tensor: %s | data cannot be generated for a map; give its keys as '%s[keys]' "
            "and "
            "its values as '%s[values]' with pgy_file_loader_create or pgy_script_loader_create",
            input->name, input->name, input->name);
    if (input->form == PGY_FORM_OTHER)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "Input tensor: %s | expected a tensor, or a sequence or optional of "
                             "tensors: data of other types are not supported",
                             input->name);
    if (is_shape_tensor(input, user)) return fill_with_shape(out, input, user, err);
    pgy_dtype dtype = user && user->dtype ? user->dtype : input->dtype;
    if (!dtype) dtype = PGY_F64;
    bool bfloat16 = dtype == PGY_BF16 && l->torch_floats;
    if (!pgy_dtype_describe(dtype)->npy && dtype != PGY_STRING && !bfloat16)
        return pgy_error_set(
            err, PGY_E_TYPE,
            "Input tensor: %s | data of type %s cannot be generated, because NumPy lacks this "
            "type; give data with pgy_file_loader_create or pgy_script_loader_create",
            input->name, pgy_dtype_name(dtype));
    if (input->rank < 0 && (!user || user->rank < 0))
        return pgy_error_set(
            err, PGY_E_SHAPE,
            "Input tensor: %s | its rank is unknown; give a shape with random.inputs", input->name);
    if (l->strict && user && user->rank >= 0 && !is_valid_override(user, input))
        return refuse_shape(input, user, err);
    const pgy_tensor_info *from = choose_shape(input, user);
    int64_t shape[PGY_MAX_RANK];
    if (from->rank > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "Input tensor: %s | Rank %d is larger than the supported rank",
                             input->name, from->rank);
    default_shape(shape, input, from);
    const pgy_value_range *range = find_range(l, input->name, dtype);
    announce(input->name, dtype, range);
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, dtype, (size_t)from->rank, shape, err);
    if (!st) st = random_fill(t, g, range, l->torch_floats, err);
    if (st) {
        pgy_tensor_release(t);
        return pgy_error_prefix(err, st, "Input tensor: %s | ", input->name);
    }
    *out = t;
    return PGY_OK;
}

/* ---- The loader ---- */

static void check_names(random_loader *l)
{
    if (!l->checked_names) random_warn_unmatched(l->user, l->ranges, l->range_count, l->inputs);
    l->checked_names = true;
}

static pgy_status random_next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    random_loader *l = user;
    *out = NULL;
    if (l->next >= l->iterations) return PGY_OK;
    if (!l->inputs)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "the generator does not know the inputs: call pgy_data_loader_set_metadata first");
    uint64_t seed = (uint64_t)l->seed + l->next;
    if (seed > UINT32_MAX)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "seed %llu of iteration %zu is larger than 4294967295, the limit",
                             (unsigned long long)seed, l->next);
    check_names(l);
    LOG(VERBOSE, "Generating data using numpy seed: %llu", (unsigned long long)seed);
    mt19937 *g = mem_alloc(sizeof *g);
    pgy_tensor_map *m = NULL;
    pgy_status st =
        g ? pgy_tensor_map_create(&m, err) : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) mt19937_seed(g, (uint32_t)seed);
    for (size_t i = 0; !st && i < pgy_metadata_count(l->inputs); i++) {
        pgy_tensor *t = NULL;
        const pgy_tensor_info *info = pgy_metadata_at(l->inputs, i);
        st = make_input(&t, l, g, info, err);
        if (!st) st = pgy_tensor_map_adopt(m, info->name, t, err);
    }
    mem_free(g);
    if (st) {
        pgy_tensor_map_destroy(m);
        return st;
    }
    l->next++;
    *out = m;
    return PGY_OK;
}

static pgy_status random_rewind(void *user, pgy_error *err)
{
    (void)err;
    ((random_loader *)user)->next = 0;
    return PGY_OK;
}

static pgy_status random_set_metadata(void *user, const pgy_metadata *inputs, pgy_error *err)
{
    (void)err;
    ((random_loader *)user)->inputs = inputs;
    return PGY_OK;
}

static void random_destroy(void *user)
{
    random_loader *l = user;
    pgy_metadata_destroy(l->user);
    for (size_t i = 0; i < l->range_count; i++) mem_free((void *)l->ranges[i].name);
    mem_free(l->ranges);
    mem_free(l);
}

pgy_random_options pgy_random_options_default(void)
{
    return (pgy_random_options){.size = sizeof(pgy_random_options), .seed = 1, .iterations = 1};
}

static pgy_status copy_options(random_loader *l, const pgy_random_options *o, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (o->inputs) st = pgy_metadata_create(&l->user, err);
    for (size_t i = 0; !st && o->inputs && i < pgy_metadata_count(o->inputs); i++)
        st = pgy_metadata_set(l->user, pgy_metadata_at(o->inputs, i), err);
    if (st || !o->range_count) return st;
    l->ranges = mem_calloc(o->range_count, sizeof *l->ranges);
    for (size_t i = 0; l->ranges && i < o->range_count; i++) {
        l->ranges[i] = o->ranges[i];
        l->ranges[i].name = mem_strdup(o->ranges[i].name ? o->ranges[i].name : "");
        l->range_count++;
        if (!l->ranges[i].name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    return l->ranges ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static void announce_overrides(const random_loader *l)
{
    char *text = NULL;
    pgy_error ignored = {0};
    if (!l->user || !pgy_metadata_count(l->user) || pgy_metadata_text(&text, l->user, &ignored))
        return;
    LOG(INFO, "Will generate inference input data according to provided TensorMetadata: %s", text);
    pgy_text_free(text);
}

pgy_status pgy_random_loader_create(pgy_data_loader **out, const pgy_random_options *options,
                                    pgy_error *err)
{
    static const pgy_data_loader_functions FUNCTIONS = {
        sizeof FUNCTIONS, random_next, random_rewind, random_set_metadata, random_destroy};
    pgy_random_options o = pgy_random_options_default();
    pgy_status st = SIZED_TAKE(pgy_random_options, &o, options, err);
    if (st) return st;
    random_loader *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a data loader");
    l->seed = o.seed;
    l->iterations = o.iterations;
    l->torch_floats = o.torch_floats;
    l->strict = o.strict;
    st = copy_options(l, &o, err);
    if (!st) st = pgy_data_loader_create(out, &FUNCTIONS, l, err);
    if (st) {
        random_destroy(l);
        return st;
    }
    announce_overrides(l);
    loader_set_can_regenerate(*out);
    return PGY_OK;
}
