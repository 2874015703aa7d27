/* SPDX-License-Identifier: Apache-2.0 */
/* Opening checks everything that is used later: sections (sections.c), all offsets and counts, the
 * place of every tensor, and that no kernel can leave the tensors of its step (prove.c). After
 * that, programs consist of pointers into the mapped bytes. Hashes only detect accidents; no check
 * relies on them. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "engine/plan/file.h"
#include "engine/plan/prove.h"

enum { PREFETCH_BYTES = 1 << 30 }; /* a run of a larger plan may not need all its weights */

bool plan_is_plan(const void *data, size_t size_bytes)
{
    return size_bytes >= 8 && memcmp(data, PLAN_MAGIC, 8) == 0;
}

bool plan_is_plan_file(const char *path)
{
    file_map map = {0};
    if (!file_exists(path) || file_is_dir(path) || file_map_open(&map, path, NULL)) return false;
    const bool is = plan_is_plan(map.data, map.size_bytes);
    file_map_close(&map);
    return is;
}

void plan_close(plan_file *p)
{
    if (!p) return;
    for (size_t i = 0; i < PLAN_KIND_END; i++) mem_free(p->owned[i]);
    area_release(&p->host.at[PLAN_AREA_F16]);
    area_release(&p->host.at[PLAN_AREA_BF16]);
    mem_free(p->copy);
    file_map_close(&p->map);
    mem_free(p);
}

void plan_prefetch(const plan_file *p)
{
    const plan_section *s = p->sections[PLAN_CONSTANTS];
    if (s && p->map.data && s->size_bytes <= PREFETCH_BYTES)
        file_map_need(&p->map, s->offset, s->size_bytes);
}

/* ---- Values --------------------------------------------------------------------------------- */

static bool is_text(const plan_file *p, uint32_t text)
{
    return text < p->counts[PLAN_STRINGS];
}

static bool is_range(uint64_t offset, uint64_t count, uint64_t size)
{
    return offset <= size && count <= size - offset;
}

static bool is_type(int32_t number)
{
    return number && pgy_dtype_from_onnx(number);
}

static bool is_value(const plan_file *p, const plan_value *v)
{
    const plan_dim *dims = p->at[PLAN_DIMS];
    if (!is_text(p, v->name) || v->form > PGY_FORM_MAP || v->rank < -1 || v->rank > PGY_MAX_RANK ||
        (v->dtype && !is_type(v->dtype)))
        return false;
    if (v->rank < 0) return true;
    if (!is_range(v->dims, (uint64_t)v->rank, p->counts[PLAN_DIMS])) return false;
    for (int32_t i = 0; i < v->rank; i++) {
        const plan_dim *d = &dims[v->dims + (uint32_t)i];
        if (d->value < -1 || (d->name != PLAN_NO_TEXT && !is_text(p, d->name))) return false;
    }
    return true;
}

static pgy_status check_values(const plan_file *p, pgy_error *err)
{
    const plan_value *values = p->at[PLAN_VALUES];
    if ((uint64_t)p->info->input_count + p->info->output_count != p->counts[PLAN_VALUES])
        return plan_damaged(
            err, "its number of inputs and outputs differs from that of its description");
    for (size_t i = 0; i < p->counts[PLAN_VALUES]; i++)
        if (!is_value(p, &values[i])) return plan_damaged(err, "an input or output is not valid");
    return PGY_OK;
}

static pgy_status check_info(const plan_file *p, pgy_error *err)
{
    const plan_info_record *i = p->info;
    const bool stripped = i->flags & PLAN_STRIPPED;
    if (!is_text(p, i->name) || !is_text(p, i->library))
        return plan_damaged(err, "its description has an invalid name or version");
    if ((stripped || (i->flags & PLAN_REFITTABLE)) && !p->counts[PLAN_SOURCE])
        return plan_damaged(err, "it is refittable, but the model for refits is missing");
    const plan_setting *settings = p->at[PLAN_SETTINGS];
    for (size_t k = 0; k < p->counts[PLAN_SETTINGS]; k++)
        if (!is_text(p, settings[k].field) ||
            (settings[k].text != PLAN_NO_TEXT && !is_text(p, settings[k].text)))
            return plan_damaged(err, "its configuration has an invalid string");
    return PGY_OK;
}

/* Bytes of a space's constants in memory. */
static uint64_t constants_in_memory(const plan_file *p, uint32_t space)
{
    uint64_t sum = 0;
    if (space) return p->constants[space]->size_bytes;
    for (size_t i = 0; i < PLAN_AREA_END; i++) sum += p->host.at[i].size;
    return sum;
}

/* The host must be the first space, and every space needs its constants section. */
static pgy_status check_spaces(const plan_file *p, pgy_error *err)
{
    const bool stripped = p->info->flags & PLAN_STRIPPED;
    const size_t count = p->counts[PLAN_SPACES];
    if (!count || count > PLAN_MAX_SPACES)
        return plan_damaged(err, "its number of devices is out of range");
    for (uint32_t i = 0; i < PLAN_MAX_SPACES; i++) {
        const bool has_constants = !i || p->constants[i]; /* the host's are checked */
        if (has_constants != (i < count))
            return plan_damaged(
                err, "a device has no section of constants, or such a section has no device");
        if (i >= count) continue;
        const plan_space *s = plan_space_at(p, i);
        if (!is_text(p, s->name) || (i == 0) != (s->fingerprint == PLAN_NO_TEXT) ||
            (i && !is_text(p, s->fingerprint)) || s->constant_bytes > INT64_MAX ||
            constants_in_memory(p, i) != (stripped ? 0 : s->constant_bytes))
            return plan_damaged(err, "the description of a device is invalid");
    }
    return PGY_OK;
}

static pgy_status check_profiles(const plan_file *p, pgy_error *err)
{
    const plan_profile *profiles = p->at[PLAN_PROFILES];
    const plan_range *ranges = p->at[PLAN_RANGES];
    size_t wanted;
    if (!p->counts[PLAN_PROFILES] ||
        !size_mul(&wanted, p->counts[PLAN_PROFILES], p->info->input_count) ||
        wanted != p->counts[PLAN_RANGES])
        return plan_damaged(err, "its number of profiles is zero, or differs from its ranges");
    for (size_t i = 0; i < p->counts[PLAN_PROFILES]; i++)
        if (profiles[i].program != PLAN_NO_PROGRAM &&
            profiles[i].program >= p->counts[PLAN_PROGRAMS])
            return plan_damaged(err, "a profile refers to a program that is missing");
    for (size_t i = 0; i < p->counts[PLAN_RANGES]; i++)
        if (ranges[i].kind > PGY_BOUND_ELEMENTS ||
            !is_range(ranges[i].entries, 3 * (uint64_t)ranges[i].count, p->counts[PLAN_SHAPES]))
            return plan_damaged(err, "a profile has an invalid range");
    return PGY_OK;
}

/* Is the range within the constants of a space? A stripped plan only tells their size. */
static bool is_constant(const plan_file *p, uint32_t space, uint64_t offset, uint64_t size)
{
    if (offset % PLAN_ALIGN) return false;
    if (!space && !(p->info->flags & PLAN_STRIPPED)) return area_bytes_hold(&p->host, offset, size);
    return is_range(offset, size, plan_space_at(p, space)->constant_bytes);
}

/* ---- Tensors -------------------------------------------------------------------------------- */

/* Computes the bytes of a tensor; false: invalid shape, type or layout. */
static bool tensor_bytes(uint64_t *out, const plan_file *p, const plan_tensor *t)
{
    const int64_t *shapes = p->at[PLAN_SHAPES];
    size_t count = 1, bits;
    if (!is_text(p, t->name) || !is_type(t->dtype) || t->rank < 0 || t->rank > PGY_MAX_RANK ||
        t->layout >= kernel_format_count() || t->place > PROGRAM_OUTPUT ||
        !is_range(t->shape, (uint64_t)t->rank, p->counts[PLAN_SHAPES]))
        return false;
    const pgy_dtype dtype = pgy_dtype_from_onnx(t->dtype);
    if (dtype == PGY_STRING) return false;
    const size_t block = kernel_block((kernel_layout)t->layout);
    for (int32_t i = 0; i < t->rank; i++) {
        const int64_t size = shapes[t->shape + (uint32_t)i];
        if (size < 0 || size > INT64_MAX / 2) return false;
        const size_t padded = ((size_t)size + block - 1) / block * block;
        if (!size_mul(&count, count, i == 1 ? padded : (size_t)size)) return false;
    }
    if (!size_mul(&bits, count, pgy_dtype_describe(dtype)->bits) || bits > SIZE_MAX - 7)
        return false;
    *out = (bits + 7) / 8;
    return true;
}

/* The program's input or output that a tensor in the caller's memory stands for. */
static const plan_tensor *callers_tensor(const program_view *v, const plan_tensor *t)
{
    const bool input = t->place == PROGRAM_INPUT;
    if (t->offset >= (input ? v->p->info->input_count : v->p->info->output_count)) return NULL;
    return &v->tensors[input ? t->offset : v->refs[v->r->outputs + t->offset]];
}

static bool is_tensor(const program_view *v, const plan_tensor *t)
{
    uint64_t size;
    if (!tensor_bytes(&size, v->p, t) || size != t->size_bytes ||
        t->space >= v->p->counts[PLAN_SPACES])
        return false;
    if (t->place == PROGRAM_ARENA)
        return t->offset % PLAN_ALIGN == 0 &&
               is_range(t->offset, size, v->arenas[t->space].size_bytes);
    if (t->place == PROGRAM_CONSTANT) return is_constant(v->p, t->space, t->offset, size);
    const plan_tensor *callers = callers_tensor(v, t);
    return callers && !t->space && t->layout == KERNEL_LINEAR && callers->size_bytes == size;
}

/* Has an input the name, type and fixed sizes that the model declares? Programs are found by the
 * shapes of inputs in the model's order. */
static bool is_declared(const plan_file *p, const plan_tensor *t, const plan_value *value)
{
    const plan_dim *dims = (const plan_dim *)p->at[PLAN_DIMS] + value->dims;
    const int64_t *shape = (const int64_t *)p->at[PLAN_SHAPES] + t->shape;
    if (strcmp(plan_text(p, t->name), plan_text(p, value->name)) != 0 ||
        (value->dtype && value->dtype != t->dtype) || (value->rank >= 0 && value->rank != t->rank))
        return false;
    for (int32_t i = 0; i < value->rank; i++)
        if (dims[i].value >= 0 && dims[i].value != shape[i]) return false;
    return true;
}

static pgy_status check_interface(const program_view *v, pgy_error *err)
{
    const plan_info_record *info = v->p->info;
    const uint32_t count = v->r->tensor_count;
    if (info->input_count > count ||
        !is_range(v->r->outputs, info->output_count, v->p->counts[PLAN_REFS]))
        return plan_damaged(err, "a program lacks inputs or outputs of the model");
    for (uint32_t i = 0; i < info->input_count; i++)
        if (v->tensors[i].place != PROGRAM_INPUT || v->tensors[i].offset != i)
            return plan_damaged(err, "an input of a program is not at its place");
    for (uint32_t i = 0; i < info->output_count; i++) {
        const uint32_t t = v->refs[v->r->outputs + i];
        if (t >= count || v->tensors[t].place != PROGRAM_OUTPUT || v->tensors[t].offset != i)
            return plan_damaged(err, "an output of a program is not at its place");
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_tensor(v, &v->tensors[i]))
            return plan_damaged(err, "a tensor of a program has an invalid type, shape or place");
    const plan_value *values = v->p->at[PLAN_VALUES];
    for (uint32_t i = 0; i < info->input_count; i++)
        if (!is_declared(v->p, &v->tensors[i], &values[i]))
            return plan_damaged(err, "an input of a program differs from the input of the model");
    return PGY_OK;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static bool is_kernel_step(const program_view *v, const plan_step *s)
{
    const plan_file *p = v->p;
    return is_text(p, s->kernel) && s->kernel_version <= UINT16_MAX && s->phases >= 1 &&
           s->phases <= UINT16_MAX && s->parts >= 1 && s->in_place >= -1 && s->in_place <= 127 &&
           s->params_offset % PLAN_ALIGN == 0 &&
           is_range(s->params_offset, s->params_bytes, p->counts[PLAN_PARAMS]) &&
           is_constant(p, s->space, s->packed_offset, s->packed_bytes) &&
           s->workspace_bytes <= v->r->workspace_bytes &&
           is_range((uint64_t)s->workspace_place * PLAN_ALIGN, s->workspace_bytes,
                    v->arenas[s->space].size_bytes) &&
           s->scratch_bytes <= v->r->scratch_bytes;
}

/* Does the copy move the same bytes between host and device? Its references are valid. */
static bool is_copy_step(const program_view *v, const plan_step *s)
{
    const uint32_t *refs = v->refs + s->refs;
    if (!s->space || s->input_count != 1 || s->captured_count || s->output_count != 1 ||
        s->kernel != PLAN_NO_TEXT || refs[0] == PROGRAM_NO_TENSOR || refs[1] == PROGRAM_NO_TENSOR)
        return false;
    const plan_tensor *x = &v->tensors[refs[0]], *y = &v->tensors[refs[1]];
    return x->size_bytes == y->size_bytes && x->space + y->space == s->space &&
           (!x->space || !y->space);
}

static bool is_event_step(const program_view *v, const plan_step *s)
{
    return s->event < v->r->event_count && s->kernel == PLAN_NO_TEXT && !s->input_count &&
           !s->captured_count && !s->output_count && (s->space || s->act == PROGRAM_WAIT);
}

/* Can the step run by its reference definition, on the host? Its references are valid. */
static bool is_reference_step(const program_view *v, const plan_step *s)
{
    const uint64_t count = (uint64_t)s->input_count + s->captured_count + s->output_count;
    if (s->node == PLAN_NO_NODE || s->space) return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t t = v->refs[s->refs + i];
        if (t != PROGRAM_NO_TENSOR && v->tensors[t].space) return false;
    }
    return true;
}

static bool is_step(const program_view *v, const plan_step *s)
{
    if (s->act >= PROGRAM_ACT_END || s->space >= v->p->counts[PLAN_SPACES]) return false;
    if (s->act == PROGRAM_COPY) return is_copy_step(v, s);
    if (s->act != PROGRAM_RUN) return is_event_step(v, s);
    return s->kernel == PLAN_NO_TEXT ? is_reference_step(v, s) : is_kernel_step(v, s);
}

/* Are the step's references to tensors valid? It may only write the program's own memory or an
 * output. */
static bool has_refs(const program_view *v, const plan_step *s)
{
    const uint64_t reads = (uint64_t)s->input_count + s->captured_count;
    if (!is_range(s->refs, reads + s->output_count, v->p->counts[PLAN_REFS])) return false;
    for (uint64_t i = 0; i < reads + s->output_count; i++) {
        const uint32_t t = v->refs[s->refs + i];
        if (t == PROGRAM_NO_TENSOR) continue;
        if (t >= v->r->tensor_count) return false;
        if (i >= reads && v->tensors[t].place != PROGRAM_ARENA &&
            v->tensors[t].place != PROGRAM_OUTPUT)
            return false;
    }
    return true;
}

/* Are the debug tensors' marks sorted by step, with tensors that are valid from the start first? */
static bool has_marks(const program_view *v)
{
    const plan_mark *marks = (const plan_mark *)v->p->at[PLAN_MARKS] + v->r->marks;
    for (uint32_t i = 0; i < v->r->mark_count; i++) {
        const bool start = marks[i].step == PROGRAM_NO_STEP;
        if (marks[i].tensor >= v->r->tensor_count ||
            (!start && marks[i].step >= v->r->step_count) ||
            (i &&
             (start ? marks[i - 1].step != PROGRAM_NO_STEP
                    : marks[i - 1].step != PROGRAM_NO_STEP && marks[i - 1].step > marks[i].step)))
            return false;
    }
    return true;
}

static pgy_status check_program(const plan_file *p, const plan_program *r, pgy_error *err)
{
    if (!is_range(r->tensors, r->tensor_count, p->counts[PLAN_TENSORS]) ||
        !is_range(r->steps, r->step_count, p->counts[PLAN_STEPS]) ||
        !is_range(r->marks, r->mark_count, p->counts[PLAN_MARKS]) ||
        !is_range(r->arenas, p->counts[PLAN_SPACES], p->counts[PLAN_ARENAS]) ||
        r->event_count > r->step_count)
        return plan_damaged(err, "a program exceeds the tables of the plan");
    const program_view v = plan_view(p, r);
    const pgy_status st = check_interface(&v, err);
    if (st) return st;
    for (uint32_t i = 0; i < r->step_count; i++) {
        const plan_step *s = &v.steps[i];
        if (!is_text(p, s->label) || !is_text(p, s->op_type) || !has_refs(&v, s) || !is_step(&v, s))
            return plan_damaged(err, "a step has an invalid name, tensor or parameter");
    }
    return has_marks(&v) ? PGY_OK : plan_damaged(err, "a debug tensor of a program is invalid");
}

static pgy_status check_programs(const plan_file *p, pgy_error *err)
{
    const plan_program *programs = p->at[PLAN_PROGRAMS];
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->counts[PLAN_PROGRAMS]; i++)
        st = check_program(p, &programs[i], err);
    for (size_t i = 0; !st && i < p->counts[PLAN_PROGRAMS]; i++) st = plan_prove_program(p, i, err);
    return st;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static pgy_status check_all(plan_file *p, pgy_error *err)
{
    if (!plan_is_plan(p->data, p->size) || p->size < sizeof *p->header)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the file is not a plan of the built-in engine; engines of other "
                             "runtimes such as TensorRT cannot be read");
    p->header = (const plan_header *)p->data;
    pgy_status st = plan_take_sections(p, err);
    if (st) return st;
    p->info = p->at[PLAN_INFO];
    st = check_info(p, err);
    if (!st) st = check_spaces(p, err);
    if (!st) st = check_values(p, err);
    if (!st) st = check_profiles(p, err);
    return st ? st : check_programs(p, err);
}

static uint64_t all_constants(const plan_file *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->counts[PLAN_SPACES]; i++)
        sum += plan_space_at(p, i)->constant_bytes;
    return sum;
}

static void describe(plan_file *p)
{
    p->public = (plan_info){
        .name = plan_text(p, p->info->name),
        .library = plan_text(p, p->info->library),
        .model_hash = p->info->model_hash,
        .file_bytes = p->size,
        .needs = p->header->cpu_level,
        .flags = p->info->flags,
        .profile_count = p->counts[PLAN_PROFILES],
        .program_count = p->counts[PLAN_PROGRAMS],
        .constant_bytes = all_constants(p),
    };
}

/* Parses into p, which already holds the file map, if any. */
static pgy_status parse(plan_file *p, const void *data, size_t size, bool trusted, pgy_error *err)
{
    p->data = data;
    p->size = size;
    p->trusted = trusted;
    if ((uintptr_t)data % PLAN_ALIGN) {
        p->copy = mem_alloc_aligned(PLAN_ALIGN, size ? size : 1);
        if (!p->copy) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a plan");
        memcpy(p->copy, data, size);
        p->data = p->copy;
    }
    const pgy_status st = check_all(p, err);
    if (!st) describe(p);
    return st;
}

pgy_status plan_parse(plan_file **out, const void *data, size_t size_bytes, bool trusted,
                      pgy_error *err)
{
    plan_file *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = parse(p, data, size_bytes, trusted, err);
    if (st)
        plan_close(p);
    else
        *out = p;
    return st;
}

pgy_status plan_open(plan_file **out, const char *path, pgy_error *err)
{
    plan_file *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = file_map_open(&p->map, path, err);
    if (!st) {
        st = parse(p, p->map.data, p->map.size_bytes, false, err);
        if (st) pgy_error_prefix(err, st, "'%s': ", path);
    }
    if (st)
        plan_close(p);
    else
        *out = p;
    return st;
}

const plan_info *plan_describe(const plan_file *p)
{
    return &p->public;
}
