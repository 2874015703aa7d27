// SPDX-License-Identifier: Apache-2.0
// What is folded, what stands for a folded node, and what quantities and marks say about whole containers.

import {CONTAINER, STATE, childrenOf, data} from './data.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./data.js').Quantity} Quantity */
/** @typedef {{kind: 'node' | 'container', id: number}} Shown  what is drawn for something */
/** @typedef {{states: Map<number, number>, instance: Map<number, number>, root: number}} Folding  the members of the state that fold */

/** @type {WeakMap<Graph, Int32Array>} */
const canonicalIndex = new WeakMap();

/**
 * Instances of a repeat share their folding: for each container, the one of the first instance that it corresponds to, or itself.
 * @param {Graph} g
 * @returns {Int32Array}
 */
export function canonicalOf(g) {
    const known = canonicalIndex.get(g);
    if (known) return known;
    const canonical = Int32Array.from({length: g.container.count}, (_, c) => c);
    for (let c = 0; c < g.container.count; c++) {
        const like = g.container.layout[c]?.like ?? -1;
        if (like >= 0) canonical[c] = like;
    }
    for (let c = 0; c < g.container.count; c++) {
        while (canonical[c] !== canonical[canonical[c]]) canonical[c] = canonical[canonical[c]];
    }
    canonicalIndex.set(g, canonical);
    return canonical;
}

/** @param {Graph} g @param {Folding} folding @param {number} c container @returns {number} STATE */
export function stateOf(g, folding, c) {
    if (c === folding.root || g.container.kind[c] === CONTAINER.instance) return STATE.open;
    const chosen = folding.states.get(canonicalOf(g)[c]) ?? g.container.state[c];
    const one = chosen === STATE.one && g.container.kind[c] !== CONTAINER.repeat ? STATE.open : chosen;
    return hasContent(g, c) ? one : STATE.folded;
}

/**
 * False if there is no layout, so it cannot be unfolded.
 * @param {Graph} g
 * @param {number} c
 */
export function hasContent(g, c) {
    return g.container.layout[c] !== null || g.container.kind[c] === CONTAINER.repeat;
}

/**
 * Which instance of a repeat is shown in state `one`.
 * @param {Graph} g
 * @param {Folding} folding
 * @param {number} repeat
 */
export function instanceOf(g, folding, repeat) {
    const count = childrenOf(g).containers[repeat].length;
    return Math.min(Math.max(folding.instance.get(canonicalOf(g)[repeat]) ?? firstInstance(g, repeat), 0), Math.max(count - 1, 0));
}

/** @type {WeakMap<Graph, Map<number, number>>} */
const firstInstances = new WeakMap();

/**
 * The instance that is shown at first: the one in which errors begin, or else with a failure or a change, so that it is not hidden.
 * @param {Graph} g
 * @param {number} repeat
 * @returns {number}
 */
function firstInstance(g, repeat) {
    let known = firstInstances.get(g);
    if (!known) firstInstances.set(g, (known = new Map()));
    let chosen = known.get(repeat);
    if (chosen === undefined) {
        const bits = childrenOf(g).containers[repeat].map((c) => marksOf(g).containers[c]);
        const kinds = [['first'], ['nan', 'inf'], ['fail'], ['contradiction', 'unsupported', 'removed', 'added', 'changed']].map(bitsOf);
        chosen = 0;
        for (const wanted of kinds) {
            const found = bits.findIndex((b) => b & wanted);
            if (found < 0) continue;
            chosen = found;
            break;
        }
        known.set(repeat, chosen);
    }
    return chosen;
}

/**
 * The containers around something, the innermost first.
 * @param {Graph} g
 * @param {Shown} item
 * @returns {number[]}
 */
export function containersAround(g, item) {
    const around = [];
    let c = item.kind === 'node' ? g.node.parent[item.id] : g.container.parent[item.id];
    for (; c >= 0; c = g.container.parent[c]) around.push(c);
    return around;
}

/**
 * The root that something is drawn in: the main graph, a function, or the folding's root if it lies in that.
 * @param {Graph} g
 * @param {Folding} folding
 * @param {Shown} item
 * @returns {number}
 */
export function rootOf(g, folding, item) {
    const around = containersAround(g, item);
    if (item.kind === 'container' && item.id === folding.root) return folding.root;
    return around.includes(folding.root) ? folding.root : around.length ? around[around.length - 1] : item.id;
}

/**
 * What is drawn for an item: itself, or the outermost folded container around it; null: it lies outside the root, or in an instance that is
 * not shown.
 * @param {Graph} g
 * @param {Folding} folding
 * @param {Shown} item
 * @returns {Shown | null}
 */
export function shownFor(g, folding, item) {
    if (item.kind === 'container' && item.id === folding.root) return item;
    const around = containersAround(g, item);
    const top = around.indexOf(folding.root);
    if (top < 0) return null;
    for (let k = top; k >= 0; k--) {
        const c = around[k];
        const state = stateOf(g, folding, c);
        if (state === STATE.folded) return {kind: 'container', id: c};
        if (state === STATE.one) {
            const inside = k > 0 ? around[k - 1] : item.kind === 'container' ? item.id : -1;
            if (inside >= 0 && childrenOf(g).containers[c][instanceOf(g, folding, c)] !== inside) return null;
        }
    }
    if (item.kind === 'node' && isCallNode(g, item.id)) return {kind: 'container', id: g.node.parent[item.id]};
    return item;
}

/**
 * A container of kind call is drawn in place of its node, so the node has no card of its own.
 * @param {Graph} g
 * @param {number} n
 */
export function isCallNode(g, n) {
    const parent = g.node.parent[n];
    return parent >= 0 && g.container.kind[parent] === CONTAINER.call && g.container.node[parent] === n;
}

/**
 * The changes of the state that make an item visible.
 * @param {Graph} g
 * @param {Folding} folding
 * @param {Shown} item
 * @returns {Partial<Folding>}
 */
export function unfoldFor(g, folding, item) {
    const root = rootOf(g, folding, item);
    const states = new Map(folding.states);
    const instance = new Map(folding.instance);
    const around = containersAround(g, item);
    const canonical = canonicalOf(g);
    const inside = {...folding, root};
    for (let k = around.indexOf(root); k >= 0; k--) {
        const c = around[k];
        const child = k > 0 ? around[k - 1] : item.kind === 'container' ? item.id : -1;
        const state = stateOf(g, inside, c);
        const isRepeat = g.container.kind[c] === CONTAINER.repeat;
        if (state === STATE.folded && !(item.kind === 'node' && g.container.node[c] === item.id)) states.set(canonical[c], isRepeat ? STATE.one : STATE.open);
        if (isRepeat && state !== STATE.open && child >= 0) instance.set(canonical[c], childrenOf(g).containers[c].indexOf(child));
    }
    return {states, instance, root};
}

// ---- Quantities of containers -----------------------------------------------------------------------------------------------------------

/** Values of a quantity by node and by container of its graph; null: not measured.
 * @typedef {{nodes: (number | null)[], containers: (number | null)[]}} Values */

/**
 * Joins two values. NaN wins over all, so that it is never hidden.
 * @param {string} fold
 * @param {number | null} a
 * @param {number | null} b
 */
export function foldValues(fold, a, b) {
    if (a === null) return b;
    if (b === null) return a;
    if (Number.isNaN(a) || Number.isNaN(b)) return NaN;
    switch (fold) {
        case 'sum':
            return a + b;
        case 'min':
            return Math.min(a, b);
        case 'same':
            return a === b ? a : null;
        default:
            return Math.max(a, b);
    }
}

/** @type {WeakMap<Quantity, Values>} */
const valuesIndex = new WeakMap();

/**
 * Values of a quantity for what is drawn: of nodes (a quantity of tensors: folded over a node's outputs) and containers.
 * @param {Graph} g
 * @param {Quantity} q
 * @returns {Values}
 */
export function valuesOf(g, q) {
    const known = valuesIndex.get(q);
    if (known) return known;
    /** @type {(number | null)[]} */
    const nodes = new Array(g.node.count).fill(null);
    for (let n = 0; n < g.node.count; n++) {
        if (q.of === 'node') {
            nodes[n] = q.values[n] ?? null;
        } else {
            for (const t of g.node.outputs[n]) if (t >= 0) nodes[n] = foldValues(q.fold, nodes[n], q.values[t] ?? null);
            if (g.node.kind[n] === 2) for (const t of g.node.inputs[n]) if (t >= 0) nodes[n] = foldValues(q.fold, nodes[n], q.values[t] ?? null);
        }
    }
    const values = {nodes, containers: foldContainers(g, q.fold, nodes)};
    valuesIndex.set(q, values);
    return values;
}

/** @param {Graph} g @param {string} fold @param {(number | null)[]} nodes @returns {(number | null)[]} */
function foldContainers(g, fold, nodes) {
    const count = g.container.count;
    /** @type {(number | null)[]} */
    const values = new Array(count).fill(null);
    const differs = new Uint8Array(count);
    /** @param {number} c @param {number | null} v */
    const join = (c, v) => {
        if (c < 0 || v === null) return;
        const before = values[c];
        values[c] = foldValues(fold, before, v);
        if (fold === 'same' && before !== null && before !== v) differs[c] = 1;
    };
    const own = new Uint8Array(count); // a call whose node was measured: its bodies add nothing
    for (let n = 0; n < g.node.count; n++) {
        const parent = g.node.parent[n];
        if (isCallNode(g, n) && nodes[n] !== null) {
            own[parent] = 1;
            values[parent] = nodes[n];
        }
    }
    for (let n = 0; n < g.node.count; n++) {
        const parent = g.node.parent[n];
        if (parent >= 0 && !own[parent] && g.node.kind[n] === 0) join(parent, nodes[n]);
    }
    for (const c of byDepth(g)) {
        const parent = g.container.parent[c];
        if (parent >= 0 && !own[parent]) {
            if (differs[c]) differs[parent] = 1;
            join(parent, values[c]);
        }
    }
    for (let c = 0; c < count; c++) if (differs[c]) values[c] = null;
    return values;
}

/**
 * Containers, the innermost first.
 * @param {Graph} g
 * @returns {number[]}
 */
function byDepth(g) {
    const depth = new Int32Array(g.container.count);
    for (let c = 0; c < g.container.count; c++) {
        for (let p = g.container.parent[c]; p >= 0; p = g.container.parent[p]) depth[c]++;
    }
    return Array.from(depth.keys()).sort((a, b) => depth[b] - depth[a]);
}

// ---- Marks of nodes and containers ------------------------------------------------------------------------------------------------------

/** Kinds of marks, the most important first. */
export const MARKS = ['first', 'nan', 'inf', 'fail', 'contradiction', 'unsupported', 'not_run', 'finding', 'removed', 'added', 'changed', 'precision', 'fused'];

/**
 * Bits of `MARKS` by node, container and tensor.
 * @typedef {{nodes: Uint16Array, containers: Uint16Array, tensors: Uint16Array}} Marks
 */

/** @type {WeakMap<Graph, Marks>} */
const marksIndex = new WeakMap();

/** @param {Graph} g @returns {Marks} */
export function marksOf(g) {
    const known = marksIndex.get(g);
    if (known) return known;
    const marks = {nodes: new Uint16Array(g.node.count), containers: new Uint16Array(g.container.count), tensors: new Uint16Array(g.tensor.count)};
    for (const mark of data.results().marks) {
        if (mark.graph !== g.index) continue;
        const bit = 1 << Math.max(MARKS.indexOf(mark.kind), 0);
        const node = mark.of === 'node' ? mark.at : g.tensor.producer[mark.at];
        if (mark.of === 'tensor') marks.tensors[mark.at] |= bit;
        if (node === undefined || node < 0) continue;
        marks.nodes[node] |= bit;
        for (let c = g.node.parent[node]; c >= 0; c = g.container.parent[c]) marks.containers[c] |= bit;
    }
    marksIndex.set(g, marks);
    return marks;
}

/** @param {string[]} kinds @returns {number} */
export function bitsOf(kinds) {
    return kinds.reduce((bits, kind) => bits | (1 << MARKS.indexOf(kind)), 0);
}

/**
 * The names in a set of bits.
 * @param {number} bits
 * @returns {string[]}
 */
export function markNames(bits) {
    return MARKS.filter((_, i) => bits & (1 << i));
}
