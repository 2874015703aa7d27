// SPDX-License-Identifier: Apache-2.0
// Walks along the edges of a graph: ancestors, descendants, paths, neighbourhoods, the chain of failures. Pure functions of a graph.

import {tensorConsumers} from './data.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./store.js').Marked} Marked */

/** @param {Graph} g @param {number} n @returns {number[]} nodes that make the inputs */
export function producersOf(g, n) {
    const found = new Set();
    for (const t of g.node.inputs[n]) if (t >= 0 && g.tensor.producer[t] >= 0) found.add(g.tensor.producer[t]);
    return [...found];
}

/** @param {Graph} g @param {number} n @returns {number[]} nodes that read the outputs */
export function consumersOf(g, n) {
    const found = new Set();
    for (const t of g.node.outputs[n]) if (t >= 0) for (const c of tensorConsumers(g, t)) found.add(c);
    return [...found];
}

/**
 * All that can be reached, the start included.
 * @param {Iterable<number>} start
 * @param {(n: number) => number[]} next
 * @param {number} steps
 * @returns {Set<number>}
 */
function reach(start, next, steps) {
    const found = new Set(start);
    let edge = [...found];
    for (let k = 0; k < steps && edge.length > 0; k++) {
        const further = [];
        for (const n of edge) {
            for (const m of next(n)) {
                if (found.has(m)) continue;
                found.add(m);
                further.push(m);
            }
        }
        edge = further;
    }
    return found;
}

/** @param {Graph} g @param {Iterable<number>} nodes @returns {Set<number>} */
export function ancestorsOf(g, nodes) {
    return reach(nodes, (n) => producersOf(g, n), Infinity);
}

/** @param {Graph} g @param {Iterable<number>} nodes @returns {Set<number>} */
export function descendantsOf(g, nodes) {
    return reach(nodes, (n) => consumersOf(g, n), Infinity);
}

/** @param {Graph} g @param {Iterable<number>} nodes @param {number} steps @returns {Set<number>} */
export function neighbourhoodOf(g, nodes, steps) {
    return reach(nodes, (n) => [...producersOf(g, n), ...consumersOf(g, n)], steps);
}

/**
 * All nodes on paths between two sets, in whichever direction there are any; empty: there is no path.
 * @param {Graph} g
 * @param {Iterable<number>} a
 * @param {Iterable<number>} b
 * @returns {Set<number>}
 */
export function betweenNodes(g, a, b) {
    const [from, to] = [new Set(a), new Set(b)];
    for (const [first, last] of [[from, to], [to, from]]) {
        const below = descendantsOf(g, first);
        const both = [...ancestorsOf(g, last)].filter((n) => below.has(n));
        if (both.length > 0) return new Set(both);
    }
    return new Set();
}

/** @param {Graph} g @param {number} node @returns {Set<number>} all nodes of the same operator */
export function sameType(g, node) {
    const found = new Set();
    g.node.op.forEach((op, n) => op === g.node.op[node] && g.node.kind[n] === g.node.kind[node] && found.add(n));
    return found;
}

/**
 * The chain of failing nodes that leads to a node, from the first that fails: the shortest way up over failing producers to one that has
 * none.
 * @param {Graph} g
 * @param {number} node
 * @param {(n: number) => boolean} fails
 * @returns {number[]} from the first to `node`; empty if nothing above fails
 */
export function failingChain(g, node, fails) {
    let start = node;
    if (!fails(node)) {
        const above = ancestorsOf(g, [node]);
        start = -1;
        for (const n of above) if (fails(n)) start = Math.max(start, n);
        if (start < 0) return [];
    }
    /** @type {Map<number, number>} */
    const next = new Map([[start, -1]]);
    const queue = [start];
    for (let k = 0; k < queue.length; k++) {
        const failing = producersOf(g, queue[k]).filter(fails);
        if (failing.length === 0) return chainFrom(next, queue[k]);
        for (const p of failing) {
            if (next.has(p)) continue;
            next.set(p, queue[k]);
            queue.push(p);
        }
    }
    return chainFrom(next, start);
}

/** @param {Map<number, number>} next @param {number} first @returns {number[]} */
function chainFrom(next, first) {
    const chain = [];
    for (let n = first; n >= 0; n = next.get(n) ?? -1) chain.push(n);
    return chain;
}

/**
 * Nodes, and the tensors that go from one of them to another.
 * @param {Graph} g
 * @param {Set<number>} nodes
 * @returns {Marked}
 */
export function markedOf(g, nodes) {
    const tensors = new Set();
    for (const n of nodes) for (const t of g.node.inputs[n]) if (t >= 0 && nodes.has(g.tensor.producer[t])) tensors.add(t);
    return {nodes, tensors};
}

/**
 * Nodes by value, the worst first: what is not finite, then the largest (`better` high: the smallest). Nodes without a value are left out.
 * @param {(number | null)[]} values
 * @param {string} better
 * @returns {number[]}
 */
export function worstOrder(values, better) {
    const nodes = [];
    for (let n = 0; n < values.length; n++) if (values[n] !== null) nodes.push(n);
    /** @param {number} n */
    const badness = (n) => {
        const v = /** @type {number} */ (values[n]);
        return Number.isNaN(v) ? Infinity : better === 'high' ? -v : v;
    };
    return nodes.sort((a, b) => {
        const [x, y] = [badness(a), badness(b)];
        return x === y ? a - b : y > x ? 1 : -1;
    });
}
