// SPDX-License-Identifier: Apache-2.0
// The address: its fragment holds the state (`#node=conv1&q=maxabs&z=0.8`), so that a place can be sent to a colleague, "back" works, and a reload
// shows the same.

import {CONTAINER, data, nodeName, tensorName} from './data.js';
import {store} from './store.js';

/** @typedef {import('./store.js').State} State */
/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Graph} Graph */

/**
 * What a link needs to know of the data.
 * @typedef {{graph: (index: number) => Graph, graphs: number, quantities: {id: string, graph: number}[], tables: string[]}} Known
 */

const VIEWS = ['graph', 'summary', 'timeline', 'search', 'diff'];
const SWITCHES = /** @type {['attributes', 'weights', 'names', 'horizontal', 'zoom_by_wheel', 'widths', 'diff']} */ (['attributes', 'weights', 'names', 'horizontal', 'zoom_by_wheel', 'widths', 'diff']);
/** Changes that "back" undoes; others replace the address. */
const STEPS = ['view', 'graph', 'root', 'selected', 'quantity', 'diff', 'near'];
const DELAY_MS = 200; // browsers refuse many changes in a row
const CLEARED_MS = 1200;

/**
 * @param {Graph} g
 * @param {(i: number) => string} nameOf
 * @param {number} count
 * @param {number} id
 * @returns {string} the name if it leads back, else `~index`
 */
function reference(g, nameOf, count, id) {
    const name = nameOf(id);
    if (name === '' || name.startsWith('~') || name.length > 200) return '~' + id;
    for (let i = 0; i < id; i++) if (nameOf(i) === name) return '~' + id;
    return id < count ? name : '~' + id;
}

/** @param {string} text @param {(i: number) => string} nameOf @param {number} count @returns {number} -1: there is none */
function resolve(text, nameOf, count) {
    if (/^~\d+$/.test(text)) return Number(text.slice(1)) < count ? Number(text.slice(1)) : -1;
    for (let i = 0; i < count; i++) if (nameOf(i) === text) return i;
    return -1;
}

/** @param {number} v @param {number} digits @returns {string} */
function rounded(v, digits) {
    return String(Number(v.toFixed(digits)));
}

/** @param {Readonly<State>} s @param {Known} known @returns {string} the fragment without `#` */
export function encodeState(s, known) {
    const parts = new URLSearchParams();
    if (s.view !== 'graph') parts.set('view', s.view);
    if (s.graph !== 0) parts.set('graph', String(s.graph));
    if (s.selected) {
        const g = known.graph(s.selected.graph);
        const {kind, id, graph} = s.selected;
        if (kind === 'container') parts.set('container', String(id));
        else if (kind === 'node') parts.set('node', reference(g, (i) => nodeName(g, i), g.node.count, id));
        else parts.set('tensor', reference(g, (i) => tensorName(g, i), g.tensor.count, id));
        if (graph !== s.graph) parts.set('of', String(graph));
    }
    const q = known.quantities[s.quantity];
    if (q) parts.set('q', q.graph === 0 ? q.id : q.id + '@' + q.graph);
    if (s.range) parts.set('range', s.range.join('_'));
    if (s.query) parts.set('find', s.query);
    if (s.root !== 0) parts.set('root', String(s.root));
    if (s.near) parts.set('near', String(s.near));
    if (s.states.size) parts.set('fold', [...s.states].map(([c, state]) => c + 'foi'[state]).join(' '));
    if (s.instance.size) parts.set('at', [...s.instance].map(([c, k]) => c + '.' + k).join(' '));
    const on = SWITCHES.filter((name) => s[name]);
    if (on.length) parts.set('show', on.join(' '));
    if (s.bookmarks.size) parts.set('marked', [...s.bookmarks].join(' '));
    if (s.camera.scale > 0) {
        parts.set('z', rounded(s.camera.scale, 4));
        parts.set('x', rounded(s.camera.x, 0));
        parts.set('y', rounded(s.camera.y, 0));
    }
    return parts.toString();
}

/** @param {URLSearchParams} parts @param {string} name @param {number} otherwise @returns {number} a whole number that is not negative */
function whole(parts, name, otherwise) {
    const text = parts.get(name) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
}

/**
 * Reads a fragment. Whatever does not fit the data is left out.
 * @param {string} fragment
 * @param {Known} known
 * @returns {Partial<State>}
 */
export function decodeState(fragment, known) {
    const parts = new URLSearchParams(fragment.replace(/^#/, ''));
    /** @type {Partial<State>} */
    const s = {selected: null, other: null, path: null, range: null};
    const view = parts.get('view') ?? 'graph';
    s.view = VIEWS.includes(view) || known.tables.includes(view) ? view : 'graph';
    s.graph = Math.min(whole(parts, 'graph', 0), known.graphs - 1);
    s.selected = selectedOf(parts, s.graph, known);
    const [id, graph] = (parts.get('q') ?? '').split('@');
    s.quantity = known.quantities.findIndex((q) => q.id === id && q.graph === Number(graph ?? 0));
    const range = (parts.get('range') ?? '').split('_').map(Number);
    if (range.length === 2 && range.every(Number.isFinite)) s.range = [range[0], range[1]];
    s.query = parts.get('find') ?? '';
    const g = known.graph(s.graph);
    const root = whole(parts, 'root', 0);
    s.root = root < g.container.count && g.container.layout[root] ? root : 0;
    s.near = Math.min(whole(parts, 'near', 0), 99);
    s.states = new Map();
    for (const [, c, state] of (parts.get('fold') ?? '').matchAll(/(\d{1,9})([foi])/g)) {
        if (Number(c) < g.container.count) s.states.set(Number(c), 'foi'.indexOf(state));
    }
    s.instance = new Map();
    for (const [, c, k] of (parts.get('at') ?? '').matchAll(/(\d{1,9})\.(\d{1,9})/g)) {
        if (g.container.kind[Number(c)] === CONTAINER.repeat) s.instance.set(Number(c), Number(k));
    }
    const on = (parts.get('show') ?? '').split(' ');
    for (const name of SWITCHES) s[name] = on.includes(name);
    s.bookmarks = new Set((parts.get('marked') ?? '').split(' ').filter((n) => /^\d{1,9}$/.test(n) && Number(n) < g.node.count).map(Number));
    const [scale, x, y] = ['z', 'x', 'y'].map((name) => Number(parts.get(name) ?? NaN));
    s.camera = scale > 0 && scale < 100 && Number.isFinite(x) && Number.isFinite(y) ? {x, y, scale} : {x: 0, y: 0, scale: 0};
    return s;
}

/** @param {URLSearchParams} parts @param {number} graph @param {Known} known @returns {Item | null} */
function selectedOf(parts, graph, known) {
    const of = Math.min(whole(parts, 'of', graph), known.graphs - 1);
    const g = known.graph(of);
    const node = parts.get('node');
    const tensor = parts.get('tensor');
    const container = whole(parts, 'container', -1);
    if (node !== null) {
        const id = resolve(node, (i) => nodeName(g, i), g.node.count);
        return id >= 0 ? {kind: 'node', id, graph: of} : null;
    }
    if (tensor !== null) {
        const id = resolve(tensor, (i) => tensorName(g, i), g.tensor.count);
        return id >= 0 ? {kind: 'tensor', id, graph: of} : null;
    }
    return container >= 0 && container < g.container.count ? {kind: 'container', id: container, graph: of} : null;
}

/** @returns {Known} */
function knownData() {
    return {
        graph: (i) => data.graph(i),
        graphs: data.head().graphs.length,
        quantities: data.results().quantities,
        tables: data.head().tables.map((t) => t.id),
    };
}

/**
 * Reads the address, and keeps it up to date.
 * @param {(item: Item) => void} show  called when the address has changed to that of a place
 * @returns {Item | null} the place of the first address
 */
export function mountLink(show) {
    const known = knownData();
    let written = location.hash.replace(/^#/, '');
    let isStep = false;
    let due = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    /** @param {string} fragment @returns {Item | null} the place that it names without saying where it stands */
    const read = (fragment) => {
        const state = decodeState(fragment, known);
        store.set(state);
        return state.selected && state.camera?.scale === 0 && state.view === 'graph' ? state.selected : null;
    };
    const write = () => {
        timer = undefined;
        const fragment = encodeState(store.get(), known);
        if (fragment === written) return;
        const isOpening = written === '';
        written = fragment;
        if (isStep && !isOpening) history.pushState(null, '', '#' + fragment);
        else history.replaceState(null, '', '#' + fragment);
        isStep = false;
    };
    const first = written ? read(written) : null;
    addEventListener('popstate', () => {
        const fragment = location.hash.replace(/^#/, '');
        if (fragment === written) return;
        clearTimeout(timer);
        timer = undefined;
        written = fragment;
        isStep = false;
        const place = read(fragment);
        if (place) show(place);
    });
    store.on((changed, state) => {
        if (encodeState(state, known) === written) return;
        isStep = isStep || STEPS.some((name) => changed.has(name));
        const isCleared = changed.has('selected') && state.selected === null; // what is selected next is the same step
        const wanted = performance.now() + (isCleared ? CLEARED_MS : DELAY_MS);
        if (timer !== undefined && due <= wanted) return;
        clearTimeout(timer);
        due = wanted;
        timer = setTimeout(write, due - performance.now());
    });
    return first;
}
