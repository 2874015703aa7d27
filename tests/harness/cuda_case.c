/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/cuda_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "tensor/convert.h"

enum { MAX_ELEMENTS = 1 << 22, MAX_ATTRS = 8, MAX_INTS = 16, POISON = 0x7d };

/* One node as a kernel problem, with its operands and the expected outputs. */
typedef struct trial {
    const op_node *node;
    kernel_problem use;
    int64_t shapes[KERNEL_MAX_OUTPUTS][PGY_MAX_RANK];
    pgy_tensor *declared[KERNEL_MAX_INPUTS]; /* input elements in their declared types; owned */
    op_tensor made[KERNEL_MAX_OUTPUTS];      /* outputs that the operator's definition gives */
    pgy_dtype type;
    bool refused;
} trial;

/* ---- Operands ------------------------------------------------------------------------------- */

static bool describe_inputs(trial *t, const op_tensor *inputs)
{
    for (size_t i = 0; i < t->node->input_count; i++) {
        const op_tensor *in = &inputs[i];
        if (!in->dtype) continue;
        if (!in->value || in->dtype == PGY_STRING ||
            op_from_storage(&t->declared[i], in->value, in->dtype, NULL))
            return false;
        t->use.inputs[i] = (kernel_tensor){.dtype = in->dtype,
                                           .rank = (int32_t)pgy_tensor_rank(in->value),
                                           .shape = pgy_tensor_shape(in->value)};
    }
    return true;
}

static bool describe_outputs(trial *t, const op_value *outputs, const bool *wanted)
{
    for (size_t i = 0; i < t->node->output_count; i++) {
        const op_value *v = &outputs[i];
        size_t count = 1;
        if (!wanted[i]) continue;
        if (v->sequence || !v->dtype || v->dtype == PGY_STRING || v->rank < 0) return false;
        for (int32_t d = 0; d < v->rank; d++) {
            if (!dim_is_const(v->dims[d])) return false;
            count *= (size_t)(t->shapes[i][d] = v->dims[d].value);
            if (count > MAX_ELEMENTS) return false;
        }
        t->use.outputs[i] =
            (kernel_tensor){.dtype = v->dtype, .rank = v->rank, .shape = t->shapes[i]};
    }
    return true;
}

/* Converts a float32 operand to `type`; others stay as they are. */
static void convert(op_tensor *to, const op_tensor *from, pgy_dtype type)
{
    *to = op_tensor_retain(from);
    if (type == PGY_F32 || from->dtype != PGY_F32 || !from->value) return;
    pgy_tensor *narrow = NULL, *wide = NULL;
    if (op_from_storage(&narrow, from->value, type, NULL) || op_to_storage(&wide, narrow, NULL))
        abort();
    pgy_tensor_release(narrow);
    op_tensor_release(to);
    *to = (op_tensor){.dtype = type, .value = wide};
}

/* ---- Judging -------------------------------------------------------------------------------- */

static void complain(cuda_checker *c, const trial *t, const kernel *k, const char *what)
{
    fprintf(stderr, "%s, %s %s:", k->name, t->node->def->name, pgy_dtype_name(t->type));
    for (size_t i = 0; i < t->use.input_count; i++) {
        fprintf(stderr, " %s[", pgy_dtype_name(t->use.inputs[i].dtype));
        for (int32_t d = 0; t->use.inputs[i].dtype && d < t->use.inputs[i].rank; d++)
            fprintf(stderr, " %lld", (long long)t->use.inputs[i].shape[d]);
        fprintf(stderr, " ]");
    }
    for (size_t i = 0; i < t->node->attr_count; i++) {
        const op_attr *a = &t->node->attrs[i];
        if (a->kind == OP_ATTR_INT) fprintf(stderr, " %s=%lld", a->name, (long long)a->i);
        if (a->kind == OP_ATTR_STRING)
            fprintf(stderr, " %s=%.*s", a->name, (int)a->s.size, a->s.data);
        for (size_t e = 0; a->kind == OP_ATTR_INTS && e < a->count; e++)
            fprintf(stderr, " %s[%zu]=%lld", a->name, e, (long long)a->ints[e]);
    }
    fprintf(stderr, ": %s\n", what);
    c->failed++;
}

static double tolerance_of(pgy_dtype type)
{
    return type == PGY_F16 ? 2e-3 : type == PGY_BF16 ? 1.6e-2 : type == PGY_F32 ? 2e-5 : 0;
}

/* Compares output i with the definition's. Differences count relative to its largest magnitude. */
static bool judge(const trial *t, size_t i, const void *got, char *why, size_t size)
{
    const kernel_tensor *k = &t->use.outputs[i];
    const pgy_tensor *wanted = t->made[i].value;
    const bool is_real = pgy_dtype_is_float(k->dtype);
    double most = 1e-3;
    pgy_tensor *declared = NULL;
    if (op_from_storage(&declared, (pgy_tensor *)wanted, k->dtype, NULL)) abort();
    const void *want = pgy_tensor_data(declared);
    bool same = true;
    for (size_t e = 0; is_real && e < kernel_count(k); e++) {
        const double x = fabs(element_as_f64(k->dtype, want, e));
        if (isfinite(x) && x > most) most = x;
    }
    const double limit = tolerance_of(k->dtype);
    const double loose = t->type == PGY_F32 ? limit : tolerance_of(t->type);
    for (size_t e = 0; same && e < kernel_count(k); e++) {
        double x, y;
        if (is_real) {
            x = element_as_f64(k->dtype, want, e);
            y = element_as_f64(k->dtype, got, e);
            same = isnan(x) ? isnan(y) : isinf(x) ? x == y : fabs(x - y) <= loose * most;
        } else {
            x = (double)element_as_i64(k->dtype, want, e);
            y = (double)element_as_i64(k->dtype, got, e);
            same = element_as_i64(k->dtype, want, e) == element_as_i64(k->dtype, got, e);
        }
        if (!same)
            snprintf(why, size,
                     "output %zu, element %zu is %.9g where %.9g is wanted (largest %.9g)", i, e, y,
                     x, most);
    }
    pgy_tensor_release(declared);
    return same;
}

/* ---- Running -------------------------------------------------------------------------------- */

typedef struct job {
    const kernel *k;
    kernel_plan plan;
    void *loaded, *workspace, *packed, *shared;
    void *tensors[KERNEL_TENSORS];
} job;

static void must(pgy_status st, const pgy_error *err, const job *j)
{
    if (!st) return;
    fprintf(stderr, "%s: %s\n", j->k->name, err->text);
    abort();
}

/* Exchanges the channels and the pixels of each image: from linear to channels last, or back. */
static void *turned(const kernel_tensor *k, const void *data, bool to_last)
{
    const size_t item = pgy_dtype_describe(k->dtype)->bits / 8, channels = (size_t)k->shape[1];
    const size_t images = (size_t)k->shape[0];
    const size_t pixels = channels && images ? kernel_count(k) / (images * channels) : 0;
    char *out = mem_alloc_aligned(64, kernel_size_bytes(k) + 1);
    if (!out) abort();
    for (size_t n = 0; n < images; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < pixels; i++) {
                const size_t row = ((n * channels + c) * pixels + i) * item,
                             last = ((n * pixels + i) * channels + c) * item;
                memcpy(out + (to_last ? last : row), (const char *)data + (to_last ? row : last),
                       item);
            }
    return out;
}

static void *upload(cuda_checker *c, const void *data, size_t bytes, const job *j)
{
    void *memory = NULL;
    pgy_error err = {0};
    if (!bytes) return NULL;
    must(device_allocate(&memory, c->stream, bytes, &err), &err, j);
    /* Outputs of a case are smaller; a workspace of megabytes would cost more than its case. */
    const size_t poisoned = bytes < 1 << 20 ? bytes : 1 << 20;
    if (data)
        must(device_copy(c->stream, memory, data, bytes, DEVICE_FROM_HOST, &err), &err, j);
    else
        must(device_fill(c->stream, memory, POISON, poisoned, &err), &err, j);
    must(device_stream_synchronize(c->stream, &err), &err, j);
    return memory;
}

static void check_extent(cuda_checker *c, const trial *t, const job *j)
{
    kernel_extent e;
    kernel_claim claim = {.params = j->plan.params,
                          .params_bytes = j->plan.params_bytes,
                          .input_count = (uint32_t)t->use.input_count,
                          .output_count = (uint32_t)t->use.output_count};
    const kernel_problem *u = &t->use;
    for (size_t i = 0; i < u->input_count + u->output_count; i++)
        if ((i < u->input_count ? u->inputs[i] : u->outputs[i - u->input_count]).dtype)
            claim.present |= UINT64_C(1) << i;
    if (!kernel_extent_of(&e, j->k, &claim)) {
        complain(c, t, j->k, e.why);
        return;
    }
    for (size_t i = 0; i < u->input_count + u->output_count; i++) {
        const kernel_tensor *k =
            i < u->input_count ? &u->inputs[i] : &u->outputs[i - u->input_count];
        if (e.tensors[i] > (k->dtype ? kernel_size_bytes(k) : 0))
            complain(c, t, j->k, "extent states more bytes than an operand has");
    }
    if (e.workspace != j->plan.workspace_bytes || e.packed > j->plan.packed_bytes)
        complain(c, t, j->k, "extent states another workspace");
}

static void read_outputs(cuda_checker *c, const trial *t, const job *j)
{
    for (size_t i = 0; i < t->use.output_count; i++) {
        const kernel_tensor *k = &t->use.outputs[i];
        if (!k->dtype) continue;
        const size_t bytes = kernel_size_bytes(k);
        void *got = mem_alloc_aligned(64, bytes + 1);
        char why[256];
        pgy_error err = {0};
        if (!got) abort();
        if (bytes) {
            must(device_copy(c->stream, got, j->tensors[t->use.input_count + i], bytes,
                             DEVICE_TO_HOST, &err),
                 &err, j);
            must(device_stream_synchronize(c->stream, &err), &err, j);
        }
        if (k->layout == KERNEL_CHANNELS_LAST) {
            void *rows = turned(k, got, false);
            mem_free(got);
            got = rows;
        }
        if (!c->idle && !judge(t, i, got, why, sizeof why)) complain(c, t, j->k, why);
        mem_free(got);
    }
}

static void *upload_input(cuda_checker *c, const trial *t, size_t i, const job *j)
{
    const kernel_tensor *k = &t->use.inputs[i];
    const void *data = pgy_tensor_data(t->declared[i]);
    void *last = k->layout == KERNEL_CHANNELS_LAST ? turned(k, data, true) : NULL;
    void *memory = upload(c, last ? last : data, kernel_size_bytes(k), j);
    mem_free(last);
    return memory;
}

static void run_job(cuda_checker *c, const trial *t, job *j)
{
    const kernel_problem *u = &t->use;
    pgy_error err = {0};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype) j->tensors[i] = upload_input(c, t, i, j);
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype)
            j->tensors[u->input_count + i] = upload(c, NULL, kernel_size_bytes(&u->outputs[i]), j);
    j->workspace = upload(c, NULL, j->plan.workspace_bytes, j);
    j->packed = upload(c, j->plan.packed, j->plan.packed_bytes, j);
    must(device_allocate_shared(&j->shared, c->device, sizeof(atomic_int), &err), &err, j);
    atomic_int *fault = j->shared;
    atomic_init(fault, KERNEL_FAULT_NONE);
    if (j->k->load) {
        const pgy_status st = j->k->load(&j->loaded, j->k, &j->plan, c->device, &err);
        if (st == PGY_E_UNSUPPORTED) return; /* a library has no further algorithm */
        must(st, &err, j);
    }
    const kernel_run r = {.self = j->k,
                          .params = j->plan.params,
                          .packed = j->packed,
                          .tensors = j->tensors,
                          .workspace = j->workspace,
                          .parts = 1,
                          .fault = fault,
                          .loaded = j->loaded};
    must(j->k->enqueue(&r, c->stream, &err), &err, j);
    must(device_stream_synchronize(c->stream, &err), &err, j);
    c->ran++;
    c->accepted++;
    if (atomic_load(fault)) {
        if (!t->refused) complain(c, t, j->k, "a fault");
    } else if (!t->refused) {
        read_outputs(c, t, j);
    }
}

static void close_job(cuda_checker *c, job *j)
{
    for (size_t i = 0; i < KERNEL_TENSORS; i++) device_release(c->stream, j->tensors[i]);
    device_release(c->stream, j->workspace);
    device_release(c->stream, j->packed);
    device_release_shared(c->device, j->shared);
    if (j->k->unload) j->k->unload(j->loaded);
    kernel_plan_deinit(&j->plan);
}

/* Runs the node if the kernel accepts it. Bit i of `constants`: operand i is known when the kernel
 * is prepared. `offered`: the layout of the other operands; nothing runs twice. */
static void ask(cuda_checker *c, const trial *of, const kernel *k, uint32_t constants,
                kernel_layout offered)
{
    trial t = *of;
    double cost;
    job j = {.k = k};
    pgy_error err = {0};
    for (size_t i = 0; i < t.use.input_count; i++)
        if (t.declared[i] && (constants >> i & 1))
            t.use.inputs[i].data = pgy_tensor_data(t.declared[i]);
    for (size_t i = 0; i < t.use.input_count; i++)
        if (t.declared[i] && !t.use.inputs[i].data && t.use.inputs[i].rank > 1)
            t.use.inputs[i].layout = offered;
    t.use.space = 1;
    if (!kernel_accept(k, &t.use, &cost)) return;
    if (offered != KERNEL_LINEAR && t.use.inputs[0].layout != offered) return;
    if (offered == KERNEL_LINEAR && t.use.inputs[0].layout == KERNEL_CHANNELS_LAST) return;
    must(k->prepare(&j.plan, &t.use, &err), &err, &j);
    check_extent(c, &t, &j);
    run_job(c, &t, &j);
    close_job(c, &j);
}

static void ask_all(cuda_checker *c, const trial *t)
{
    /* Of QLinearConcat, every third operand from the third on is a tensor, of QLinearConv also the
     * tenth. */
    static const uint32_t CONSTANTS[] = {UINT32_MAX - 1, 6, 0, ~UINT32_C(0x24924924),
                                         ~UINT32_C(0x201)};
    const op_def *def = t->node->def;
    const kernel *k;
    for (size_t n = 0; (k = kernel_for(def->domain, def->name, n)); n++) {
        const size_t before = c->accepted;
        if (!k->device || strcmp(k->device, c->device->kind) != 0) continue;
        for (size_t i = 0; i < sizeof CONSTANTS / sizeof *CONSTANTS && c->accepted == before; i++)
            for (kernel_layout l = KERNEL_LINEAR; l <= KERNEL_CHANNELS_LAST;
                 l += KERNEL_CHANNELS_LAST)
                ask(c, t, k, CONSTANTS[i], l);
    }
}

void cuda_case_check(cuda_checker *c, const op_node *node, const op_tensor *inputs,
                     const bool *wanted, pgy_dtype type)
{
    const op_host host = {.max_bytes = 1 << 28};
    const op_value *foreseen = NULL;
    op_tensor given[KERNEL_MAX_INPUTS] = {{0}};
    arena memory = {0};
    trial t = {.node = node, .type = type};
    t.use.node = node;
    t.use.input_count = node->input_count;
    t.use.output_count = node->output_count;
    c->accepted = 0;
    c->allowed = false;
    for (size_t i = 0; i < node->input_count; i++) convert(&given[i], &inputs[i], type);
    if (!op_check_node(node, NULL) &&
        !op_foresee(&foreseen, node, given, wanted, &host, &memory, NULL) &&
        describe_inputs(&t, given) && describe_outputs(&t, foreseen, wanted)) {
        c->allowed = true;
        t.refused = op_run(node, given, t.made, wanted, &host, NULL) != PGY_OK;
        ask_all(c, &t);
    }
    for (size_t i = 0; i < node->output_count; i++) op_tensor_release(&t.made[i]);
    for (size_t i = 0; i < node->input_count; i++) {
        op_tensor_release(&given[i]);
        pgy_tensor_release(t.declared[i]);
    }
    arena_deinit(&memory);
}

/* ---- Random nodes --------------------------------------------------------------------------- */

static uint64_t seed = 42;

static uint64_t draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 33;
}

static pgy_dtype type_of(char mark)
{
    static const struct {
        char mark;
        pgy_dtype type;
    } TYPES[] = {{'?', PGY_BOOL}, {'#', PGY_I64},      {'b', PGY_I8},    {'u', PGY_U8},
                 {'i', PGY_I32},  {'e', PGY_F8E4M3FN}, {'E', PGY_F8E5M2}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].mark == mark) return TYPES[i].type;
    return PGY_F32;
}

static op_tensor make_operand(const char *text)
{
    int64_t shape[PGY_MAX_RANK];
    size_t rank = 0;
    op_tensor t = {.dtype = type_of(*text)};
    const char *about = strchr(text, '~');
    const bool exactly = about && about[1] == '=';
    const char *below = strchr(text, '<'), *only = about ? NULL : strchr(text, '=');
    const uint64_t limit = below ? strtoull(below + 1, NULL, 10) : 2;
    if (strcmp(text, "-") == 0) return (op_tensor){0};
    if (t.dtype != PGY_F32) text++;
    for (char *end; *text && !strchr("<=~", *text); text = *end == 'x' ? end + 1 : end)
        shape[rank++] = strtoll(text, &end, 10);
    const bool real = pgy_dtype_is_float(t.dtype);
    const pgy_dtype held = real ? PGY_F64 : t.dtype == PGY_BOOL ? PGY_BOOL : PGY_I64;
    if (pgy_tensor_create(&t.value, held, rank, shape, NULL)) abort();
    for (size_t i = 0; i < pgy_tensor_count(t.value); i++) {
        const uint64_t x = draw();
        if (exactly)
            ((double *)pgy_tensor_data(t.value))[i] = strtod(about + 2, NULL);
        else if (about)
            ((double *)pgy_tensor_data(t.value))[i] =
                (double)(float)(strtod(about + 1, NULL) * (0.5 + (double)(x % 65536) / 65536));
        else if (real)
            ((double *)pgy_tensor_data(t.value))[i] =
                float_round(t.dtype, (double)(float)((double)(x % 65536) / 32768 - 1), true);
        else if (t.dtype == PGY_I8 || t.dtype == PGY_U8 || t.dtype == PGY_I32)
            ((int64_t *)pgy_tensor_data(t.value))[i] =
                only ? strtoll(only + 1, NULL, 10)
                     : (int64_t)(x % 256) - (t.dtype == PGY_U8 ? 0 : 128);
        else if (t.dtype == PGY_I64)
            ((int64_t *)pgy_tensor_data(t.value))[i] =
                only ? strtoll(only + 1, NULL, 10) : (int64_t)(x % limit);
        else
            ((bool *)pgy_tensor_data(t.value))[i] = x & 1;
    }
    if (t.dtype == PGY_F32 && only)
        ((double *)pgy_tensor_data(t.value))[strtoull(only + 1, NULL, 10)] = INFINITY;
    return t;
}

typedef struct attributes {
    op_attr list[MAX_ATTRS];
    int64_t ints[MAX_ATTRS][MAX_INTS];
    char text[512];
    size_t count;
} attributes;

static void add_attribute(attributes *a, char *word)
{
    op_attr *to = &a->list[a->count];
    char *value = strchr(word, '='), *end;
    *value++ = '\0';
    *to = (op_attr){.name = word, .kind = OP_ATTR_INT};
    to->i = strtoll(value, &end, 10);
    if (*end == ',') {
        int64_t *ints = a->ints[a->count];
        to->kind = OP_ATTR_INTS;
        to->ints = ints;
        for (ints[to->count++] = to->i; *end == ','; ints[to->count++] = strtoll(end + 1, &end, 10))
            ;
    } else if (*end == '.') {
        to->kind = OP_ATTR_FLOAT;
        to->f = strtof(value, NULL);
    } else if (*end) {
        to->kind = OP_ATTR_STRING;
        for (char *at = value; *at; at++)
            if (*at == '_') *at = ' ';
        to->s = span_of(value);
    }
    a->count++;
}

void cuda_case_random(cuda_checker *c, const char *domain, const char *op, const char *given,
                      size_t inputs, const char *const *shapes, pgy_dtype type)
{
    attributes a = {0};
    op_tensor operands[KERNEL_MAX_INPUTS] = {{0}};
    const bool wanted[KERNEL_MAX_OUTPUTS] = {true};
    char *rest = NULL;
    snprintf(a.text, sizeof a.text, "%s", given);
    for (char *word = strtok_r(a.text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        add_attribute(&a, word);
    for (size_t i = 0; i < inputs; i++) operands[i] = make_operand(shapes[i]);
    const op_node node = {.def = op_find(domain, op, 24),
                          .name = "node",
                          .opset = 24,
                          .attrs = a.list,
                          .attr_count = a.count,
                          .input_count = inputs,
                          .output_count = 1};
    if (!node.def) abort();
    cuda_case_check(c, &node, operands, wanted, type);
    if (!c->accepted && (c->allowed || type == PGY_F32)) {
        fprintf(stderr, "%s %s: no kernel accepts it\n", op, given);
        c->failed++;
    }
    for (size_t i = 0; i < inputs; i++) op_tensor_release(&operands[i]);
}
