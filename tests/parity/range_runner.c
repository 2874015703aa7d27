/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models with random sizes by an engine with ranges of shapes and by one without:
 * range_runner DRAWS[:fp16|:bf16] MODEL...
 * The symbol d_N of an input has size N at first, others have 4; `height` and `width` are multiples
 * of 8, and `total` is `past` + 1. No input
 * has more than MOST_FLOATS elements, or MOST_IDS of int64, so that ranges are tested and not
 * patience. Prints for each model "same", "close D" where D is the largest relative difference of
 * floats, "differ WHY" or "skipped WHY", and how many runs succeeded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

enum { MAX_SYMBOLS = 64, MOST_FLOATS = 65536, MOST_IDS = 256 };

typedef struct symbol {
    char name[64];
    int64_t first, size;
} symbol;

typedef struct draw {
    symbol symbols[MAX_SYMBOLS];
    int count;
    int growing; /* in so many more draws, as caches do */
    int grows;   /* the symbol that grows */
    int64_t growth;
    uint32_t random;
} draw;

static uint32_t next(draw *d)
{
    d->random = d->random * 1664525u + 1013904223u;
    return d->random >> 8;
}

static bool is_image(const char *name)
{
    return strcmp(name, "height") == 0 || strcmp(name, "width") == 0;
}

static symbol *find_symbol(draw *d, const char *name)
{
    const char *number = strrchr(name, '_');
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->symbols[i].name, name) == 0) return &d->symbols[i];
    if (d->count == MAX_SYMBOLS) return &d->symbols[0];
    symbol *s = &d->symbols[d->count++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->first = s->size = number ? atoll(number + 1) : 4;
    if (s->size < 1) s->first = s->size = 4;
    if (is_image(name)) s->first = s->size = 32;
    return s;
}

static int64_t size_of(draw *d, const char *name)
{
    if (strcmp(name, "total") == 0) return find_symbol(d, "past")->size + 1;
    return find_symbol(d, name)->size;
}

/* Some draws are followed by a few in which one size grows steadily: ranges prepare such shapes
 * before they come. */
static void start_to_grow(draw *d)
{
    enum { DRAWS = 7 };
    if (!d->count || next(d) % 8 != 0) return;
    d->growing = DRAWS;
    d->grows = (int)(next(d) % (uint32_t)d->count);
    d->growth = (1 + next(d) % 2) * (is_image(d->symbols[d->grows].name) ? 8 : 1);
}

/* Changes all sizes, or one. */
static void draw_sizes(draw *d)
{
    if (d->growing > 0) {
        d->growing--;
        d->symbols[d->grows].size += d->growth;
        return;
    }
    const int only = d->count && next(d) % 3 == 0 ? (int)(next(d) % (uint32_t)d->count) : -1;
    for (int i = 0; i < d->count; i++) {
        symbol *s = &d->symbols[i];
        const uint32_t kind = next(d) % 8;
        s->size = kind == 0 ? 1 : kind == 1 ? s->first : 2 + next(d) % (kind < 6 ? 12 : 40);
        if (is_image(s->name) && kind != 1) s->size *= 8;
        if (only >= 0 && only != i) s->size = s->first;
    }
    start_to_grow(d);
}

static void fill(pgy_tensor *t, draw *d)
{
    unsigned char *data = pgy_tensor_data(t);
    const size_t count = pgy_tensor_count(t), bytes = pgy_tensor_size_bytes(t);
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    memset(data, 0, bytes);
    for (size_t i = 0; i < count; i++) {
        const uint32_t r = next(d);
        if (dtype == PGY_F32) ((float *)data)[i] = (float)(r & 4095) / 1024 - 2;
        if (dtype == PGY_F64) ((double *)data)[i] = (double)(r & 4095) / 1024 - 2;
        if (dtype == PGY_I64) ((int64_t *)data)[i] = r % 3;
        if (dtype == PGY_I32) ((int32_t *)data)[i] = (int32_t)(r % 3);
        if (bytes == count) data[i] = (unsigned char)(dtype == PGY_BOOL ? r & 1 : r % 100);
    }
}

static const char *name_of(const pgy_tensor_info *info, int32_t axis)
{
    const char *name = info->dim_names ? info->dim_names[axis] : NULL;
    return name ? name : "_4";
}

static int64_t count_of(const pgy_tensor_info *info, draw *d)
{
    int64_t count = 1;
    for (int32_t k = 0; k < info->rank; k++)
        count *= info->shape[k] >= 0 ? info->shape[k] : size_of(d, name_of(info, k));
    return count;
}

/* Halves the largest symbols of an input that is too large. */
static void shrink(const pgy_tensor_info *info, draw *d)
{
    const int64_t most = info->dtype == PGY_I64 ? MOST_IDS : MOST_FLOATS;
    while (count_of(info, d) > most) {
        symbol *largest = NULL;
        for (int32_t k = 0; k < info->rank; k++) {
            symbol *s = NULL;
            if (info->shape[k] >= 0) continue;
            s = find_symbol(d, strcmp(name_of(info, k), "total") ? name_of(info, k) : "past");
            if (!largest || s->size > largest->size) largest = s;
        }
        const int64_t unit = largest && is_image(largest->name) ? 8 : 1;
        if (!largest || largest->size / unit < 2) return;
        largest->size = largest->size / unit / 2 * unit;
    }
}

static pgy_status make_feed(pgy_tensor_map **out, const pgy_metadata *inputs, draw *d,
                            pgy_error *err)
{
    pgy_status st = pgy_tensor_map_create(out, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        if (info->rank < 0 || info->form != PGY_FORM_TENSOR || info->dtype == PGY_STRING) {
            snprintf(err->text, sizeof err->text, "input '%s' is no tensor of numbers", info->name);
            return PGY_E_UNSUPPORTED;
        }
        (void)count_of(info, d); /* finds new symbols */
    }
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++)
        shrink(pgy_metadata_at(inputs, i), d);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        int64_t shape[PGY_MAX_RANK];
        pgy_tensor *t = NULL;
        for (int32_t k = 0; k < info->rank; k++)
            shape[k] = info->shape[k] >= 0 ? info->shape[k] : size_of(d, name_of(info, k));
        st = pgy_tensor_create(&t, info->dtype, (size_t)info->rank, shape, err);
        if (st) break;
        fill(t, d);
        st = pgy_tensor_map_adopt(*out, info->name, t, err);
    }
    return st;
}

/* Element i of floats. Models in float64 compute parts in float32, such as FlexAttention's softmax,
 * so both types may differ alike. */
static double element(const pgy_tensor *t, size_t i)
{
    const void *data = pgy_tensor_data((pgy_tensor *)t);
    return pgy_tensor_dtype(t) == PGY_F64 ? ((const double *)data)[i]
                                          : (double)((const float *)data)[i];
}

/* The largest relative difference of two outputs; 1e30: they have other shapes or bytes. */
static double compare(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t rank = pgy_tensor_rank(b);
    double worst = 0;
    if (!a || pgy_tensor_rank(a) != rank ||
        (rank && memcmp(pgy_tensor_shape(a), pgy_tensor_shape(b), rank * sizeof(int64_t)) != 0))
        return 1e30;
    if (pgy_tensor_dtype(b) == PGY_STRING ||
        memcmp(pgy_tensor_data((pgy_tensor *)a), pgy_tensor_data((pgy_tensor *)b),
               pgy_tensor_size_bytes(b)) == 0)
        return 0;
    if (pgy_tensor_dtype(b) != PGY_F64 && pgy_tensor_dtype(b) != PGY_F32) return 1e30;
    for (size_t i = 0; i < pgy_tensor_count(b); i++) {
        const double x = element(a, i), y = element(b, i), size = 1 + (y < 0 ? -y : y);
        const double difference = (x > y ? x - y : y - x) / size;
        if (x == y || (x != x && y != y)) continue;
        if (difference != difference) return 1e30;
        if (difference > worst) worst = difference;
    }
    return worst;
}

typedef struct sides {
    pgy_context *c[2]; /* with ranges, and without */
    int ran;
    double worst;
    char why[600];
} sides;

static void run_draw(sides *s, const pgy_tensor_map *feed, int index)
{
    pgy_tensor_map *out[2] = {NULL, NULL};
    pgy_status st[2];
    pgy_error err[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        st[i] = pgy_tensor_map_create(&out[i], &err[i]);
        if (!st[i]) st[i] = pgy_context_run(s->c[i], feed, out[i], &err[i]);
    }
    s->ran += !st[0];
    /* If both refuse the data, only their words differ: a kernel's, or a definition's. */
    if (!st[0] != !st[1])
        snprintf(s->why, sizeof s->why, "in draw %d: '%.200s' against '%.200s'", index, err[0].text,
                 err[1].text);
    for (size_t i = 0; !st[0] && !st[1] && i < pgy_tensor_map_count(out[1]); i++) {
        const double worst = compare(pgy_tensor_map_at(out[0], i), pgy_tensor_map_at(out[1], i));
        if (worst >= 1e30)
            snprintf(s->why, sizeof s->why, "in draw %d: output %zu", index, i);
        else if (worst > s->worst)
            s->worst = worst;
    }
    for (int i = 0; i < 2; i++) pgy_tensor_map_destroy(out[i]);
}

static void check(const char *path, int draws, const char *precision)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .fp16 = strcmp(precision, "fp16") == 0,
                                     .bf16 = strcmp(precision, "bf16") == 0};
    const pgy_context_options options = {.size = sizeof options, .threads = 1};
    pgy_model *model = NULL;
    pgy_engine *e[2] = {NULL, NULL};
    pgy_error err = {0};
    draw d = {.random = 1};
    sides s = {.worst = 0};
    pgy_status st = pgy_model_load(&model, path, NULL, &err);
    for (int i = 0; !st && i < 2; i++) {
        setenv("POLYGRAPHY_RANGES", i ? "0" : "1", 1);
        st = pgy_engine_build(&e[i], model, &config, &err);
        if (!st) st = pgy_context_create(&s.c[i], e[i], &options, &err);
    }
    for (int i = 0; !st && i < draws && !s.why[0]; i++) {
        pgy_tensor_map *feed = NULL;
        if (i) draw_sizes(&d);
        st = make_feed(&feed, pgy_engine_inputs(e[0]), &d, &err);
        if (!st) run_draw(&s, feed, i);
        pgy_tensor_map_destroy(feed);
    }
    const char *name = strrchr(path, '/');
    printf("%s: ", name ? name + 1 : path);
    if (st)
        printf("skipped %s\n", err.text);
    else if (s.why[0])
        printf("differ %s\n", s.why);
    else if (s.worst > 0)
        printf("close %.2g %d\n", s.worst, s.ran);
    else
        printf("same %d\n", s.ran);
    for (int i = 0; i < 2; i++) {
        pgy_context_destroy(s.c[i]);
        pgy_engine_release(e[i]);
    }
    pgy_model_destroy(model);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *precision = argc > 1 ? strchr(argv[1], ':') : NULL;
    for (int i = 2; i < argc; i++) check(argv[i], atoi(argv[1]), precision ? precision + 1 : "");
    return argc < 3;
}
