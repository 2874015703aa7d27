// SPDX-License-Identifier: Apache-2.0
// Find: the box in the bar, the list of what was found, and the hits that the picture marks.

import {NODE, data, nodeName, tensorName} from './data.js';
import {store} from './store.js';
import {announce, el, fill, named, shown} from './dom.js';
import {matchQuery, parseQuery} from './query.js';
import {goTo, isWeight, itemMarks, itemName, markKinds, modulePath, opOf, tensorType} from './facts.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./query.js').Fields} Fields */

const TEXT_FIELDS = ['op', 'name', 'shape', 'dtype', 'mark', 'in', 'domain', 'category', 'weight', 'is'];
const KIND_WORDS = ['node', 'connection', 'weight', 'input', 'output'];

/** Short names of quantities, besides their own. */
const SHORT_NAMES = new Map([['err', ['maxabs', 'error']], ['bytes', ['output_bytes', 'bytes']]]);

/** @param {string} key @returns {string[]} ids of the quantities that it names */
function quantityIds(key) {
    return SHORT_NAMES.get(key) ?? [key];
}

/** @returns {Fields} what a query of the graph can name */
function graphFields() {
    const {quantities} = data.results();
    const found = (/** @type {string} */ key) => quantities.find((q) => quantityIds(key).includes(q.id));
    return {
        isText: (key) => TEXT_FIELDS.includes(key) || found(key)?.scale === 'category',
        unit: (key) => {
            const quantity = found(key);
            if (quantity) return quantity.scale === 'category' ? null : quantity.unit === 'B' ? 'bytes' : quantity.unit;
            return key === 'bytes' ? 'bytes' : null;
        },
        isMark: (word) => markKinds().includes(word),
        names: () => [...new Set([...(found('err') ? ['err'] : []), 'bytes', ...quantities.filter((q) => q.scale !== 'category').map((q) => q.id)])],
    };
}

/** One node or tensor at a time, so that a search makes no object for each. */
class GraphSearched {
    /** @param {Graph} g */
    constructor(g) {
        this.g = g;
        /** @type {Item} */
        this.item = {kind: 'node', id: 0, graph: g.index};
        this.lower = g.strings.map((text) => text.toLowerCase());
        /** @type {Map<string, import('./data.js').Quantity[]>} */
        this.named = new Map();
    }

    /** @returns {number[]} the tensors whose types and errors count for the item */
    tensors() {
        const {kind, id} = this.item;
        if (kind === 'tensor') return [id];
        const list = this.g.node.kind[id] === NODE.output ? this.g.node.inputs[id] : this.g.node.outputs[id];
        return list.includes(-1) ? list.filter((tensor) => tensor >= 0) : list;
    }

    /** @returns {string[]} */
    words() {
        const {g, item} = this;
        if (item.kind === 'node') {
            const name = nodeName(g, item.id) === '' ? itemName(item).toLowerCase() : this.lower[g.node.name[item.id]];
            return [name, this.lower[g.op.name[g.node.op[item.id]]], ...(g.node.members.get(item.id) ?? []).map((member) => member.toLowerCase())];
        }
        return [this.text(g.tensor.name[item.id]), this.text(g.tensor.dtype[item.id]), this.text(g.tensor.shape[item.id])];
    }

    /** @param {number} index */
    text(index) {
        return index >= 0 ? this.lower[index] : '';
    }

    /** @param {string} key @returns {string[]} */
    texts(key) {
        const {g, item} = this;
        const isNode = item.kind === 'node';
        switch (key) {
        case 'name':
            return isNode ? this.words().filter((_, i) => i !== 1) : [this.text(g.tensor.name[item.id])];
        case 'op':
            return isNode ? [this.text(g.op.name[g.node.op[item.id]])] : [];
        case 'domain':
            return isNode ? [this.text(g.op.domain[g.node.op[item.id]])] : [];
        case 'category':
            return isNode ? [g.op.category[g.node.op[item.id]]] : [];
        case 'shape':
            return this.tensors().filter((tensor) => g.tensor.shape[tensor] >= 0).map((tensor) => this.text(g.tensor.shape[tensor]));
        case 'dtype':
            return this.tensors().map((tensor) => this.text(g.tensor.dtype[tensor]));
        case 'in':
            return [modulePath(g, isNode ? item.id : Math.max(0, g.tensor.producer[item.id])).toLowerCase()];
        case 'weight':
            return isNode ? g.node.inputs[item.id].filter((tensor) => tensor >= 0 && isWeight(g, tensor)).map((tensor) => this.text(g.tensor.name[tensor])) : [];
        case 'is':
            return [KIND_WORDS[isNode ? [0, 3, 4][g.node.kind[item.id]] : [1, 3, 4, 2, 2][g.tensor.kind[item.id]]]];
        case 'mark':
            return this.marks();
        default:
            return this.categories(key);
        }
    }

    /** @returns {string[]} */
    marks() {
        const found = itemMarks(this.item).map((mark) => mark.kind);
        if (this.item.kind === 'node') {
            for (const id of this.tensors()) for (const mark of itemMarks({kind: 'tensor', id, graph: this.g.index})) found.push(mark.kind);
            if (store.get().bookmarks.has(this.item.id)) found.push('bookmark');
        }
        return found;
    }

    /** @param {string} mark */
    hasMark(mark) {
        return this.marks().includes(mark);
    }

    /** @param {string} key @returns {string[]} */
    categories(key) {
        const names = [];
        for (const quantity of this.quantities(key)) {
            const value = this.valuesIn(quantity)[0] ?? null;
            if (value !== null && quantity.names[value] !== undefined) names.push(quantity.names[value].toLowerCase());
        }
        return names;
    }

    /** @param {string} key */
    quantities(key) {
        let found = this.named.get(key);
        if (!found) {
            const ids = quantityIds(key);
            found = data.results().quantities.filter((q) => ids.includes(q.id) && q.graph === this.g.index);
            this.named.set(key, found);
        }
        return found;
    }

    /** @param {import('./data.js').Quantity} quantity @returns {(number | null)[]} */
    valuesIn(quantity) {
        if (quantity.of === this.item.kind) return [quantity.values[this.item.id] ?? null];
        return quantity.of === 'tensor' ? this.tensors().map((tensor) => quantity.values[tensor] ?? null) : [];
    }

    /** @param {string} key @returns {(number | null)[]} */
    numbers(key) {
        const found = [];
        for (const quantity of this.quantities(key)) found.push(...this.valuesIn(quantity));
        if (key === 'bytes') for (const tensor of this.tensors()) found.push(this.g.tensor.bytes[tensor] || null);
        return found;
    }
}

/**
 * All that a query finds in a graph.
 * @param {string} text
 * @param {Graph} g
 * @param {{nodes: boolean, connections: boolean, weights: boolean}} kinds
 */
export function findInGraph(text, g, kinds) {
    const parsed = parseQuery(text, graphFields());
    /** @type {{nodes: Set<number>, tensors: Set<number>}} */
    const hits = {nodes: new Set(), tensors: new Set()};
    if (parsed.query === null) return {...parsed, hits};
    const searched = new GraphSearched(g);
    if (kinds.nodes) {
        for (let id = 0; id < g.node.count; id++) {
            searched.item = {kind: 'node', id, graph: g.index};
            if (matchQuery(parsed.query, searched)) hits.nodes.add(id);
        }
    }
    for (let id = 0; id < g.tensor.count; id++) {
        if (!(isWeight(g, id) ? kinds.weights : kinds.connections)) continue;
        searched.item = {kind: 'tensor', id, graph: g.index};
        if (matchQuery(parsed.query, searched)) hits.tensors.add(id);
    }
    return {...parsed, hits};
}

// ---- The box and the list ---------------------------------------------------------------------------

const HIT_HEIGHT = 40;

/** @type {{box: HTMLInputElement | null}} */
const finder = {box: null};

/**
 * Puts the cursor into the box.
 * @param {string} start of the text there
 */
export function focusFind(start) {
    const box = finder.box;
    if (!box) return;
    box.focus();
    if (start !== '') {
        box.value = start;
        box.setSelectionRange(start.length, start.length);
    } else box.select();
}

/**
 * @param {HTMLElement} element of the box
 * @param {HTMLElement} list
 */
export function mountFind(element, list) {
    const box = el('input', {
        type: 'search', id: 'find-box', placeholder: 'Find  ( / )', maxlength: 2000, autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Find in the graph', 'aria-controls': 'hits',
        title: 'Words, "exact", op:Conv, name:, shape:64x, dtype:float16, err>1e-3, time>1ms, fail, nan, mark:, -not, OR. Press ? for all',
    });
    finder.box = box;
    fill(element, box);
    const hits = new HitList(list, box);
    let timer = 0;
    box.addEventListener('input', () => {
        clearTimeout(timer);
        timer = window.setTimeout(() => {
            timer = 0;
            store.set({query: box.value});
        }, 120);
    });
    box.addEventListener('keydown', (event) => hits.key(event));
    store.on((changed) => {
        const {query} = store.get();
        if (changed.has('query') && timer === 0 && box.value !== query) box.value = query;
        if (['query', 'graph'].some((name) => changed.has(name)) || (changed.has('bookmarks') && query.includes('bookmark'))) hits.search();
    });
    box.value = store.get().query;
    hits.search();
}

/** The list of hits: a box of options of which the seen ones are in the page. */
class HitList {
    /** @param {HTMLElement} element @param {HTMLInputElement} box */
    constructor(element, box) {
        this.element = element;
        this.box = box;
        this.kinds = {nodes: true, connections: false, weights: false};
        /** @type {Item[]} */
        this.items = [];
        this.current = -1;
        this.title = el('span', {class: 'count', role: 'status'});
        this.problem = el('p', {class: 'problem', role: 'alert', id: 'find-problem'});
        this.space = el('div', {class: 'hit-space'});
        this.list = el('div', {class: 'hit-list', role: 'listbox', 'aria-label': 'Found', tabindex: 0}, this.space);
        const switches = /** @type {const} */ (['nodes', 'connections', 'weights']).map((kind) => {
            const input = el('input', {type: 'checkbox', on: {change: () => {
                this.kinds = {...this.kinds, [kind]: input.checked};
                this.search();
            }}});
            input.checked = this.kinds[kind];
            return el('label', {}, input, ` ${kind}`);
        });
        fill(element, el('div', {class: 'hit-head'}, this.title, ...switches), this.problem, this.list);
        this.list.addEventListener('scroll', () => this.draw(), {passive: true});
        this.list.addEventListener('keydown', (event) => this.key(event));
        this.list.addEventListener('click', (event) => this.pick(event, false));
        this.list.addEventListener('dblclick', (event) => this.pick(event, true));
        this.list.addEventListener('pointerover', (event) => this.point(this.itemAt(event)));
        this.list.addEventListener('pointerleave', () => this.point(null));
    }

    search() {
        const {query, graph} = store.get();
        this.element.hidden = query.trim() === '';
        if (this.element.hidden) {
            this.box.removeAttribute('aria-invalid');
            this.items = [];
            store.set({hits: null});
            return;
        }
        let found = findInGraph(query, data.graph(graph), this.kinds);
        if (!found.error && found.hits.nodes.size === 0 && !this.kinds.connections) {
            const more = findInGraph(query, data.graph(graph), {nodes: false, connections: true, weights: true});
            if (more.hits.tensors.size > 0) found = {...more, notes: [...more.notes, 'No node has this, but these connections and weights have.']};
        }
        this.showProblem(query, found.error, found.notes);
        this.items = [...[...found.hits.nodes].map((id) => this.item('node', id)), ...[...found.hits.tensors].map((id) => this.item('tensor', id))];
        this.current = -1;
        this.list.scrollTop = 0;
        this.title.textContent = found.error ? '' : `${this.items.length} found`;
        store.set({hits: found.error ? null : found.hits});
        this.draw();
    }

    /** @param {'node' | 'tensor'} kind @param {number} id @returns {Item} */
    item(kind, id) {
        return {kind, id, graph: store.get().graph};
    }

    /** @param {string} query @param {import('./query.js').QueryError | null} error @param {string[]} notes */
    showProblem(query, error, notes) {
        this.problem.classList.toggle('error', error !== null);
        if (error) {
            this.box.setAttribute('aria-invalid', 'true');
            this.box.setAttribute('aria-describedby', 'find-problem');
            fill(this.problem, `Character ${error.at + 1}: ${shown(error.text)}`, el('code', {}, shown(query.slice(0, error.at)), el('mark', {}, shown(query.slice(error.at, error.end)) || ' '), shown(query.slice(error.end))));
        } else {
            this.box.removeAttribute('aria-invalid');
            this.box.removeAttribute('aria-describedby');
            fill(this.problem, ...notes.map((note) => shown(note)));
        }
        this.problem.hidden = error === null && notes.length === 0;
    }

    /** @param {Event} event @returns {Item | null} */
    itemAt(event) {
        const target = event.target instanceof Element ? event.target.closest('[data-place]') : null;
        return target ? this.items[Number(target.getAttribute('data-place'))] ?? null : null;
    }

    /** @param {Item | null} item */
    point(item) {
        store.set({hover: item});
    }

    /** @param {Event} event @param {boolean} twice */
    pick(event, twice) {
        const item = this.itemAt(event);
        if (!item) return;
        this.current = this.items.indexOf(item);
        this.draw();
        goTo(item);
        if (twice) document.getElementById('canvas')?.focus();
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const page = Math.max(1, Math.floor(this.list.clientHeight / HIT_HEIGHT) - 1);
        const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page}[event.key];
        if (step !== undefined && this.items.length > 0) {
            this.current = Math.min(Math.max(this.current + step, 0), this.items.length - 1);
            this.reveal();
            this.point(this.items[this.current]);
            announce(shown(itemName(this.items[this.current])));
        } else if (event.key === 'Enter') {
            if (event.currentTarget === this.box && store.get().query !== this.box.value) {
                store.set({query: this.box.value});
                store.tell();
            }
            if (this.items.length > 0) {
                this.current = Math.max(0, this.current);
                this.reveal();
                goTo(this.items[this.current]);
            }
        } else if (event.key === 'Escape' && (this.box.value !== '' || store.get().query !== '')) {
            this.box.value = '';
            store.set({query: '', hover: null});
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }

    reveal() {
        const top = this.current * HIT_HEIGHT;
        if (top < this.list.scrollTop) this.list.scrollTop = top;
        else if (top + HIT_HEIGHT > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + HIT_HEIGHT - this.list.clientHeight;
        this.draw();
    }

    draw() {
        const first = Math.max(0, Math.floor(this.list.scrollTop / HIT_HEIGHT) - 4);
        const end = Math.min(this.items.length, first + Math.ceil((this.list.clientHeight || 400) / HIT_HEIGHT) + 8);
        this.space.style.height = `${this.items.length * HIT_HEIGHT}px`;
        const rows = [];
        for (let place = first; place < end; place++) rows.push(this.drawHit(place));
        this.space.replaceChildren(...rows);
        if (this.current >= first && this.current < end) this.list.setAttribute('aria-activedescendant', `hit-${this.current}`);
        else this.list.removeAttribute('aria-activedescendant');
    }

    /** @param {number} place */
    drawHit(place) {
        const item = this.items[place];
        const g = data.graph(item.graph);
        const kind = item.kind === 'node' ? opOf(item) : isWeight(g, item.id) ? 'weight' : 'connection';
        const more = item.kind === 'node' ? modulePath(g, item.id) : tensorType(g, item.id);
        const made = el('div', {class: 'hit', role: 'option', id: `hit-${place}`, 'data-place': place, 'aria-selected': String(place === this.current), 'aria-posinset': place + 1, 'aria-setsize': this.items.length},
            named(item.kind === 'node' ? itemName(item) : tensorName(g, item.id), 48), el('span', {class: 'type'}, shown(kind), more !== '' && ` · ${shown(more.slice(0, 80))}`));
        made.style.top = `${place * HIT_HEIGHT}px`;
        return made;
    }
}
