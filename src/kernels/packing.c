/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into the table of packed weights: pieces are found by the form of a packing, its
 * numbers, and what identifies the elements. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/str.h"
#include "kernels/packing_table.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed weights");
}

void kernel_plan_deinit(kernel_plan *p)
{
    mem_free(p->params);
    if (p->piece)
        packed_piece_release(p->piece);
    else
        mem_free(p->packed);
    *p = (kernel_plan){0};
}

bool kernel_read_part(void *to, const kernel_problem *u, const kernel_tensor *t, size_t offset,
                      size_t size_bytes)
{
    if (t->elsewhere) return u->load(to, offset, size_bytes, t->source, u->load_user);
    if (size_bytes) memcpy(to, (const char *)t->data + offset, size_bytes);
    return true;
}

bool kernel_read_constant(void *to, const kernel_problem *u, const kernel_tensor *t)
{
    return kernel_read_part(to, u, t, 0, kernel_size_bytes(t));
}

/* A problem whose constants are aligned. */
typedef struct aligned_problem {
    kernel_problem u;
    void *copies[KERNEL_MAX_INPUTS];
} aligned_problem;

static void aligned_deinit(aligned_problem *a)
{
    for (size_t i = 0; i < a->u.input_count; i++)
        mem_free_block(a->copies[i], a->copies[i] ? kernel_size_bytes(&a->u.inputs[i]) : 0);
}

/* Copies those of `inputs` that are not aligned. False: out of memory. */
static bool align(aligned_problem *a, const kernel_problem *u, uint32_t inputs)
{
    *a = (aligned_problem){.u = *u};
    for (size_t i = 0; i < u->input_count; i++) {
        kernel_tensor *t = &a->u.inputs[i];
        if (!(inputs >> i & 1) || !t->data) continue;
        const size_t item = (pgy_dtype_describe(t->dtype)->bits + 7) / 8;
        if (!t->elsewhere && (uintptr_t)t->data % (item > 8 ? 8 : item) == 0) continue;
        a->copies[i] = mem_alloc_block(kernel_size_bytes(t));
        if (!a->copies[i] || !kernel_read_constant(a->copies[i], u, t)) return false;
        t->data = a->copies[i];
        t->elsewhere = false;
    }
    return true;
}

static bool fill(void *to, const kernel_problem *u, const kernel_packing *how)
{
    aligned_problem a;
    const uint32_t inputs = how->any_address ? 0 : how->inputs;
    const bool filled = align(&a, u, inputs) && how->fill(to, &a.u, how->user);
    aligned_deinit(&a);
    return filled;
}

pgy_status kernel_prepare(kernel_plan *out, const kernel *k, const kernel_problem *u,
                          pgy_error *err)
{
    aligned_problem a;
    if (k->flags & KERNEL_SHARES_WEIGHTS) return k->prepare(out, u, err);
    const pgy_status st = align(&a, u, UINT32_MAX) ? k->prepare(out, &a.u, err) : no_memory(err);
    aligned_deinit(&a);
    return st;
}

/* The key of what a recipe makes. Constants without a source are small, or made by shape inference:
 * their elements are hashed into `rest`. */
static char *key_of(const packed_recipe *r, const char *rest)
{
    str key = {0};
    str_append(&key, r->form);
    for (size_t i = 0; i < PACKING_NUMBERS; i++)
        str_printf(&key, " %llu", (unsigned long long)r->numbers[i]);
    for (size_t i = 0; i < r->source_count; i++)
        str_printf(&key, " %u:%d@%p", r->sources[i].input, (int)r->sources[i].dtype,
                   r->sources[i].source);
    str_append(&key, rest);
    return str_take(&key);
}

/* Describes a packing; what has no source goes into `rest`. */
static packed_recipe recipe_of(const kernel_problem *u, const kernel_packing *how, str *rest)
{
    packed_recipe r = {.source_count = 0};
    snprintf(r.form, sizeof r.form, "%s", how->form);
    memcpy(r.numbers, how->numbers, sizeof r.numbers);
    for (uint32_t i = 0; i < u->input_count; i++) {
        const kernel_tensor *t = &u->inputs[i];
        if (!(how->inputs >> i & 1) || !t->data) continue;
        if (t->source && r.source_count < PACKING_SOURCES)
            r.sources[r.source_count++] = (packed_source){i, t->dtype, t->source};
        else if (t->source)
            str_printf(rest, " %u:%d@%p", i, (int)t->dtype, t->source);
        else
            str_printf(rest, " %u:%d#%016llx", i, (int)t->dtype,
                       (unsigned long long)hash_xxh64(t->data, kernel_size_bytes(t), 0));
    }
    return r;
}

pgy_dtype packed_recipe_narrow(const packed_recipe *r)
{
    const uint64_t type = r->numbers[PACKING_NARROW_TYPE];
    if (strcmp(r->form, PACKING_NARROW) != 0) return PGY_DTYPE_NONE;
    return type == PGY_F16 ? PGY_F16 : type == PGY_BF16 ? PGY_BF16 : PGY_DTYPE_NONE;
}

pgy_status packed_table_offer(packed_table *t, const packed_recipe *r, const void *data,
                              uint64_t size_bytes, pgy_error *err)
{
    char *key = key_of(r, "");
    if (r->sources[0].dtype == PGY_F32)
        packed_table_note_narrow(t, r->sources[0].source, packed_recipe_narrow(r));
    return key && packed_table_pin(t, key, r, data, size_bytes) ? PGY_OK : no_memory(err);
}

static pgy_status pack_alone(kernel_plan *out, const kernel_problem *u, const kernel_packing *how,
                             pgy_error *err)
{
    void *to = mem_alloc_aligned(64, how->size_bytes);
    if (!to || !fill(to, u, how)) {
        mem_free(to);
        return no_memory(err);
    }
    out->packed = to;
    out->packed_bytes = how->size_bytes;
    return PGY_OK;
}

static uint64_t form_of(const kernel_packing *how)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < PACKING_NUMBERS; i++)
        hash = (hash ^ how->numbers[i]) * UINT64_C(1099511628211);
    return hash;
}

pgy_status kernel_pack(kernel_plan *out, const kernel_problem *u, const kernel_packing *how,
                       pgy_error *err)
{
    out->packed_form = form_of(how);
    if (u->keeps_packed) {
        out->packed_bytes = how->size_bytes;
        return PGY_OK;
    }
    bool made;
    str rest = {0};
    if (!u->packed) return pack_alone(out, u, how, err);
    const packed_recipe recipe = recipe_of(u, how, &rest);
    char *key = rest.failed ? NULL : key_of(&recipe, str_text(&rest));
    packed_piece *p =
        key ? packed_table_find_or_add(u->packed, key, NULL, how->size_bytes, &made) : NULL;
    const bool named = !rest.size;
    str_deinit(&rest);
    if (!p) return no_memory(err);
    if (made) {
        if (named) p->recipe = recipe;
        const bool filled = fill(p->data, u, how);
        packed_piece_finish(p, filled);
        if (!filled) {
            packed_piece_release(p);
            return no_memory(err);
        }
    }
    out->packed = p->data;
    out->packed_bytes = how->size_bytes;
    out->piece = p;
    return PGY_OK;
}

/* Finds or makes the piece with these bytes. Other bytes may have the same hash, so keys are
 * numbered. */
static packed_piece *intern(packed_table *t, const void *data, size_t size_bytes)
{
    for (size_t turn = 0;; turn++) {
        str key = {0};
        bool made;
        str_printf(&key, "bytes %zu %016llx", turn,
                   (unsigned long long)hash_xxh64(data, size_bytes, 0));
        char *text = str_take(&key);
        packed_piece *p = text ? packed_table_find_or_add(t, text, NULL, size_bytes, &made) : NULL;
        if (!p) return NULL;
        if (made) {
            if (size_bytes) memcpy(p->data, data, size_bytes);
            packed_piece_finish(p, true);
            return p;
        }
        if (!size_bytes || memcmp(p->data, data, size_bytes) == 0) return p;
        packed_piece_release(p);
    }
}

pgy_status packed_table_adopt(packed_table *t, kernel_plan *plan, pgy_error *err)
{
    if (!plan->packed || plan->piece) return PGY_OK;
    packed_piece *p = intern(t, plan->packed, plan->packed_bytes);
    if (!p) return no_memory(err);
    mem_free(plan->packed);
    plan->packed = p->data;
    plan->piece = p;
    return PGY_OK;
}

typedef struct copying {
    void (*copied)(void *user);
    void *user;
} copying;

static bool copy_elements(void *to, const kernel_problem *u, const void *user)
{
    enum { TURN_BYTES = 16 << 20 };
    const copying *c = user;
    const char *from = u->inputs[0].data;
    const size_t size_bytes = kernel_size_bytes(&u->inputs[0]);
    if (u->inputs[0].elsewhere) return kernel_read_constant(to, u, &u->inputs[0]);
    for (size_t at = 0; at < size_bytes; at += TURN_BYTES) {
        const size_t left = size_bytes - at;
        memcpy((char *)to + at, from + at, left < TURN_BYTES ? left : TURN_BYTES);
        if (c->copied && left >= TURN_BYTES) c->copied(c->user);
    }
    return true;
}

/* A piece of elements that are not copied. */
static packed_piece *borrow(packed_table *t, const void *data, size_t size_bytes)
{
    str key = {0};
    bool made;
    str_printf(&key, "elements at %p", data);
    char *text = str_take(&key);
    return text ? packed_table_find_or_add(t, text, data, size_bytes, &made) : NULL;
}

pgy_status packed_table_keep(packed_piece **out, const kernel_problem *u, bool stays,
                             void (*copied)(void *user), void *user, pgy_error *err)
{
    const copying c = {copied, user};
    const kernel_tensor *t = &u->inputs[0];
    const kernel_packing how = {.form = "elements",
                                .inputs = 1,
                                .size_bytes = kernel_size_bytes(t),
                                .fill = copy_elements,
                                .user = &c,
                                .any_address = true};
    kernel_plan plan = {0};
    if (!t->source || (u->packed->lasts && stays && (uintptr_t)t->data % 64 == 0)) {
        *out = t->source ? borrow(u->packed, t->data, how.size_bytes)
                         : intern(u->packed, t->data, how.size_bytes);
        return *out ? PGY_OK : no_memory(err);
    }
    const pgy_status st = kernel_pack(&plan, u, &how, err);
    *out = plan.piece;
    return st;
}
