/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the tables of kernels. Built-in kernels are found by an index, those that plug-ins
 * and devices added at run time one after the other. */
#include <pthread.h>
#include <string.h>

#include "kernels/kernel_index.h"
#include "kernels/plugin.h"

/* Is "domain:op" (or "op" for ONNX's domain) a word of `ops`? */
static bool lists(const char *ops, const char *domain, const char *op)
{
    if (!strstr(ops, op)) return false; /* rejects most lists without splitting them into words */
    const size_t domain_size = strlen(domain), op_size = strlen(op);
    for (const char *word = ops; *word;) {
        const size_t size = strcspn(word, " ");
        const char *name = word;
        size_t name_size = size;
        bool same = domain_size == 0;
        if (domain_size && size > domain_size && word[domain_size] == ':') {
            same = memcmp(word, domain, domain_size) == 0;
            name += domain_size + 1;
            name_size -= domain_size + 1;
        }
        if (same && name_size == op_size && memcmp(name, op, op_size) == 0) return true;
        word += size;
        word += strspn(word, " ");
    }
    return false;
}

/* ---- Kernels of devices --------------------------------------------------------------------- */

enum { MAX_OFFERED = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const kernel *offered[MAX_OFFERED];
static size_t offered_count;

pgy_status kernel_offer(const kernel *table, pgy_error *err)
{
    pthread_mutex_lock(&lock);
    const bool room = offered_count < MAX_OFFERED;
    if (room) offered[offered_count++] = table;
    pthread_mutex_unlock(&lock);
    return room
               ? PGY_OK
               : pgy_error_set(err, PGY_E_MEMORY,
                               "cannot register another table of kernels: a process has at most %d",
                               MAX_OFFERED);
}

void kernel_withdraw(const kernel *table)
{
    pthread_mutex_lock(&lock);
    size_t kept = 0;
    for (size_t i = 0; i < offered_count; i++)
        if (offered[i] != table) offered[kept++] = offered[i];
    offered_count = kept;
    pthread_mutex_unlock(&lock);
}

/* ---- Look-ups ------------------------------------------------------------------------------- */

/* Asks for the kernel that matches all members that are set, after `skip` other matches. */
typedef struct query {
    const char *domain, *op; /* NULL: of any operator */
    const char *name;        /* NULL: of any name and version */
    uint16_t version;
    size_t skip;
} query;

static bool is_found(query *q, const kernel *k)
{
    if (q->op && !lists(k->ops, q->domain, q->op)) return false;
    if (q->name && (k->version != q->version || strcmp(k->name, q->name))) return false;
    return q->skip-- == 0;
}

/* Searches the kernels added at run time: those of plug-ins, then those of devices. */
static const kernel *find_added(query *q)
{
    const kernel *k = NULL, *found = NULL;
    for (size_t i = 0; (k = plugin_kernel(i)); i++)
        if (is_found(q, k)) return k;
    pthread_mutex_lock(&lock);
    for (size_t t = 0; !found && t < offered_count; t++)
        for (k = offered[t]; !found && k->name; k++)
            if (is_found(q, k)) found = k;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Searches `kernels`, the built-in kernels that match, then those added at run time. */
static const kernel *find(kernel_span kernels, query *q)
{
    if (q->skip < kernels.count) return kernels.items[q->skip];
    q->skip -= kernels.count;
    return find_added(q);
}

const kernel *kernel_for(const char *domain, const char *op, size_t i)
{
    query q = {.domain = domain, .op = op, .skip = i};
    return find(kernel_index_of_operator(domain, op), &q);
}

const kernel *kernel_at(size_t i)
{
    query q = {.skip = i};
    return find(kernel_index_all(), &q);
}

const kernel *kernel_find(const char *name, uint16_t version)
{
    const kernel_span versions = kernel_index_of_name(name);
    for (size_t i = 0; i < versions.count; i++)
        if (versions.items[i]->version == version) return versions.items[i];
    query q = {.name = name, .version = version};
    return find_added(&q);
}
