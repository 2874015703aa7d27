// SPDX-License-Identifier: Apache-2.0
// The blocks of the page (docs/formats/page.md) as typed objects. A block is parsed when it is first asked for; a served page fetches the
// blocks that it does not contain.

import {commandsOf} from './commands.js';

/** @typedef {number | 'nan' | 'inf' | '-inf' | null} Written  a number in JSON */

/**
 * @typedef {Object} Head
 * @property {number} version
 * @property {string} title
 * @property {string} generator
 * @property {string} command
 * @property {boolean} served
 * @property {{kind: string, path: string, label: string}[]} sources
 * @property {{name: string, kind: string, nodes: number, role: string, profile?: number}[]} graphs
 * @property {{passed: boolean, text: string} | null} verdict
 * @property {{title: string, rows: [string, string][]}[]} summary
 * @property {string[]} warnings
 * @property {{id: string, title: string, graph: number, rows: number}[]} tables
 * @property {string[]} blocks
 */

/**
 * @typedef {Object} Layout
 * @property {[number, number]} card  size of the container when it is folded
 * @property {number} w
 * @property {number} h
 * @property {number[]} kind  of items: `ITEM`
 * @property {number[]} ref
 * @property {number[]} row
 * @property {number[]} x
 * @property {number[]} iw
 * @property {number[]} ih
 * @property {number[][]} edges
 * @property {number[]} y
 * @property {number} [like]
 * @property {number[]} [tensor]
 */

/**
 * Columns: entry i of each belongs to operator, node, tensor or container i. Columns of texts are indices into `strings`.
 * @typedef {Object} Graph
 * @property {number} index
 * @property {string} name
 * @property {string} kind
 * @property {[string, string][]} properties
 * @property {[string, string][]} commands  texts of all commands, without names
 * @property {string[]} strings
 * @property {{name: number[], domain: number[], doc: number[], category: string[]}} op
 * @property {{count: number, op: number[], name: number[], parent: number[], kind: number[], inputs: number[][], outputs: number[][], w: number[],
 *     h: number[], members: Map<number, string[]>}} node
 * @property {{count: number, name: number[], dtype: number[], kind: number[], shape: number[], declared: number[], seen: number[], producer: number[],
 *     bytes: number[], value: number[]}} tensor
 * @property {{count: number, kind: number[], name: number[], parent: number[], node: number[], note: number[], state: number[],
 *     layout: (Layout | null)[]}} container
 * @property {Children | null} children_index
 * @property {Consumers | null} consumers_index
 */

/** @typedef {{nodes: number[][], containers: number[][]}} Children  of each container, in the model's order */
/** @typedef {{start: Int32Array, node: Int32Array}} Consumers  readers of tensor t: node[start[t]] to node[start[t + 1] - 1] */

/**
 * @typedef {Object} Quantity
 * @property {number} index  in `results.quantities`
 * @property {string} id
 * @property {string} label
 * @property {string} unit
 * @property {string} group
 * @property {number} graph
 * @property {'node' | 'tensor'} of
 * @property {'log' | 'linear' | 'diverging' | 'category'} scale
 * @property {'max' | 'min' | 'sum' | 'same'} fold
 * @property {'low' | 'high' | 'none'} better
 * @property {(number | null)[]} values  null: not measured; NaN and Infinity are values
 * @property {string[]} names  of categories
 */

/** @typedef {{graph: number, of: 'node' | 'tensor', at: number, kind: string, text: string}} Mark */

/**
 * @typedef {Object} Results
 * @property {Quantity[]} quantities
 * @property {Mark[]} marks
 * @property {{a: number[], b: number[], merged: number[]} | null} pairs
 * @property {number[]} stats  tensors that have statistics
 */

/** @typedef {{attributes: [string, string, string][], doc: string, metadata: [string, string][], commands: [string, string][]}} Detail */

/** @typedef {{runner: string, dtype: string, shape: string, count: number, min: number, max: number, mean: number, std: number, nan: number, inf: number, zeros: number}} Side */

/**
 * @typedef {Object} Stats
 * @property {Side | null} a
 * @property {Side | null} b
 * @property {{low: number, high: number, a: number[], b: number[]} | null} histogram
 * @property {{low: number, high: number, counts: number[]} | null} difference
 * @property {[string, number, number, number][]} worst
 * @property {[number, number][]} curve
 * @property {{shape: number[], a: number[], b: number[]} | null} plane
 */

/**
 * @typedef {Object} Timeline
 * @property {string} source
 * @property {boolean} synthetic
 * @property {string | null} note
 * @property {{process: string, name: string}[]} rows
 * @property {string[]} strings
 * @property {{row: number[], start: number[], duration: number[], name: number[], category: number[], node: number[], run: number[]}} slice
 */

/** @typedef {{title: string, found: string, steps: {title: string, verdict: 'pass' | 'fail' | 'skip', detail: string, nodes: number[], seconds: number | null}[]}} Search */

/** @typedef {{id: string, title: string, graph: number, note: string | null, columns: {name: string, kind: string}[], rows: any[][]}} Table */

export const ITEM = {node: 0, container: 1, bend: 2, enter: 3, leave: 4};
export const NODE = {node: 0, input: 1, output: 2};
export const TENSOR = {value: 0, input: 1, output: 2, weight: 3, constant: 4};
export const CONTAINER = {graph: 0, scope: 1, repeat: 2, instance: 3, fused: 4, call: 5, body: 6, function: 7};
export const STATE = {folded: 0, open: 1, one: 2};

const DETAIL_CHUNK = 1024;
const STATS_CHUNK = 256;

/** @param {Written | undefined} value @returns {number | null} null: not measured */
export function readNumber(value) {
    if (value === null || value === undefined) return null;
    if (typeof value === 'number') return value;
    return value === 'inf' ? Infinity : value === '-inf' ? -Infinity : NaN;
}

/**
 * Turns the strings that stand for NaN and infinities into numbers, in place and at any depth. Only for blocks without texts that could be
 * taken for them.
 * @param {any} value
 * @returns {any}
 */
function readNumbers(value) {
    if (Array.isArray(value)) {
        for (let i = 0; i < value.length; i++) value[i] = readNumbers(value[i]);
        return value;
    }
    return value === 'nan' ? NaN : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : value;
}

/** @param {any} raw @param {number} index @returns {Graph} */
export function decodeGraph(raw, index) {
    const members = new Map();
    for (const [node, names] of Object.entries(raw.node.members || {})) members.set(Number(node), names);
    return {
        index,
        name: raw.name,
        kind: raw.kind,
        properties: raw.properties || [],
        commands: raw.commands || [],
        strings: raw.strings,
        op: raw.op,
        node: {...raw.node, count: raw.node.op.length, members},
        tensor: {...raw.tensor, count: raw.tensor.name.length},
        container: {...raw.container, count: raw.container.kind.length},
        children_index: null,
        consumers_index: null,
    };
}

/** @param {any} raw @returns {Results} */
export function decodeResults(raw) {
    const quantities = (raw.quantities || []).map((/** @type {any} */ q, /** @type {number} */ index) => ({
        ...q,
        index,
        names: q.names || [],
        values: readNumbers(q.values),
    }));
    const pairs = raw.pairs && raw.pairs.a ? raw.pairs : null;
    return {quantities, marks: raw.marks || [], pairs, stats: raw.stats || []};
}

/** @param {any} side @returns {Side | null} */
function decodeSide(side) {
    if (!side) return null;
    for (const name of ['min', 'max', 'mean', 'std']) side[name] = readNumber(side[name]) ?? NaN;
    return side;
}

/** @param {any} raw @returns {Stats | null} */
export function decodeStats(raw) {
    if (!raw) return null;
    return {
        a: decodeSide(raw.a),
        b: decodeSide(raw.b),
        histogram: raw.histogram || null,
        difference: raw.difference || null,
        worst: (raw.worst || []).map((/** @type {any[]} */ w) => [String(w[0]), ...w.slice(1).map((v) => readNumber(v) ?? NaN)]),
        curve: readNumbers(raw.curve || []),
        plane: raw.plane ? {shape: raw.plane.shape, a: readNumbers(raw.plane.a || []), b: readNumbers(raw.plane.b || [])} : null,
    };
}

class Data {
    constructor() {
        /** @type {Map<string, any>} blocks that were parsed, or their promises if they were fetched */
        this.blocks = new Map();
    }

    /**
     * The block of a name if it is in the page.
     * @param {string} name
     * @returns {any}
     */
    block(name) {
        if (this.blocks.has(name)) return this.blocks.get(name);
        const element = document.getElementById('pgy-' + name);
        if (!element) return null;
        const value = JSON.parse(element.textContent || 'null');
        element.remove();
        this.blocks.set(name, value);
        return value;
    }

    /**
     * The decoded form of a block.
     * @template T
     * @param {string} name
     * @param {(raw: any) => T} decode
     * @returns {T | null}
     */
    decoded(name, decode) {
        const key = name + ' decoded';
        if (this.blocks.has(key)) return this.blocks.get(key);
        const raw = this.block(name);
        const value = raw === null ? null : decode(raw);
        this.blocks.set(key, value);
        this.blocks.delete(name);
        return value;
    }

    /**
     * A block that may have to be fetched; null if there is none.
     * @param {string} name
     * @returns {Promise<any>}
     */
    async piece(name) {
        const inside = this.block(name);
        if (inside !== null || !this.head().served) return inside;
        const key = name + ' fetched';
        let promise = this.blocks.get(key);
        if (!promise) {
            promise = fetch('data/' + encodeURIComponent(name) + location.search).then((answer) => {
                if (answer.ok) return answer.json();
                if (answer.status === 404) return null;
                throw new Error('cannot load ' + name + ': the server answered ' + answer.status + ' ' + answer.statusText);
            });
            this.blocks.set(key, promise);
        }
        return promise;
    }

    /** @returns {Head} */
    head() {
        const head = this.block('head');
        if (head === null) throw new Error('the page has no block "head": the file is incomplete; write it again');
        return head;
    }

    /** @param {number} index @returns {Graph} */
    graph(index) {
        const graph = this.decoded('graph-' + index, (raw) => decodeGraph(raw, index));
        if (graph === null) throw new Error('the page has no block "graph-' + index + '": the file is incomplete; write it again');
        return graph;
    }

    /** @returns {Results} */
    results() {
        return this.decoded('results', decodeResults) || NO_RESULTS;
    }

    /**
     * What is known about a node in full.
     * @param {number} graph
     * @param {number} node
     * @returns {Promise<Detail | null>}
     */
    async detail(graph, node) {
        const chunk = await this.piece('detail-' + graph + '-' + Math.floor(node / DETAIL_CHUNK));
        return this.wholeDetail(graph, node, chunk);
    }

    /**
     * The same, if it is in the page.
     * @param {number} graph
     * @param {number} node
     * @returns {Detail | null}
     */
    detailNow(graph, node) {
        return this.wholeDetail(graph, node, this.block('detail-' + graph + '-' + Math.floor(node / DETAIL_CHUNK)));
    }

    /**
     * Details leave out what is empty, and have the indices of commands.
     * @param {number} graph
     * @param {number} node
     * @param {any} chunk
     * @returns {Detail | null}
     */
    wholeDetail(graph, node, chunk) {
        const raw = chunk && chunk[node % DETAIL_CHUNK];
        if (!raw) return null;
        return {
            attributes: raw.attributes || [], doc: raw.doc || '', metadata: raw.metadata || [],
            commands: raw.commands ? commandsOf(this.graph(graph), node, raw.commands) : [],
        };
    }

    /**
     * Statistics of a tensor of graph 0.
     * @param {number} tensor
     * @returns {Promise<Stats | null>}
     */
    async stats(tensor) {
        const chunk = await this.piece('stats-' + Math.floor(tensor / STATS_CHUNK));
        return decodeStats(chunk && chunk[tensor % STATS_CHUNK]);
    }

    /** @returns {Timeline | null} */
    timeline() {
        return this.block('timeline');
    }

    /** @returns {Search | null} */
    search() {
        return this.block('search');
    }

    /** @param {string} id @returns {Table | null} */
    table(id) {
        return this.block('table-' + id);
    }
}

/** @type {Results} */
const NO_RESULTS = {quantities: [], marks: [], pairs: null, stats: []};

export const data = new Data();

// ---- Reading columns --------------------------------------------------------------------------------------------------------------------

/** @param {Graph} g @param {number} index of a string @returns {string} '' if the index is -1 */
export function textAt(g, index) {
    return index >= 0 ? g.strings[index] : '';
}

/** @param {Graph} g @param {number} node */
export function nodeName(g, node) {
    return textAt(g, g.node.name[node]);
}

/** @param {Graph} g @param {number} node */
export function nodeOp(g, node) {
    return textAt(g, g.op.name[g.node.op[node]]);
}

/** @param {Graph} g @param {number} node */
export function nodeCategory(g, node) {
    return g.op.category[g.node.op[node]] || 'other';
}

/** @param {Graph} g @param {number} tensor */
export function tensorName(g, tensor) {
    return textAt(g, g.tensor.name[tensor] ?? -1);
}

/** @param {Graph} g @param {number} tensor @returns {string | null} `1x64x56x56`, '' for a scalar, null if unknown */
export function tensorShape(g, tensor) {
    const index = g.tensor.shape[tensor];
    return index >= 0 ? g.strings[index] : null;
}

/** @param {Graph} g @param {number} container */
export function containerName(g, container) {
    return textAt(g, g.container.name[container]);
}

/**
 * Nodes that read a tensor, each as often as it does.
 * @param {Graph} g
 * @param {number} tensor
 * @returns {Int32Array}
 */
export function tensorConsumers(g, tensor) {
    const c = consumersIndexOf(g);
    return c.node.subarray(c.start[tensor], c.start[tensor + 1]);
}

/** @param {Graph} g @returns {Consumers} */
function consumersIndexOf(g) {
    if (g.consumers_index) return g.consumers_index;
    const start = new Int32Array(g.tensor.count + 1);
    for (const inputs of g.node.inputs) for (const t of inputs) if (t >= 0) start[t + 1]++;
    for (let t = 0; t < g.tensor.count; t++) start[t + 1] += start[t];
    const node = new Int32Array(start[g.tensor.count]);
    const next = start.slice();
    g.node.inputs.forEach((inputs, n) => {
        for (const t of inputs) if (t >= 0) node[next[t]++] = n;
    });
    g.consumers_index = {start, node};
    return g.consumers_index;
}

/** @param {Graph} g @returns {Children} */
export function childrenOf(g) {
    if (g.children_index) return g.children_index;
    /** @type {number[][]} */
    const nodes = [];
    /** @type {number[][]} */
    const containers = [];
    for (let c = 0; c < g.container.count; c++) {
        nodes.push([]);
        containers.push([]);
    }
    g.node.parent.forEach((parent, n) => parent >= 0 && nodes[parent].push(n));
    g.container.parent.forEach((parent, c) => parent >= 0 && containers[parent].push(c));
    g.children_index = {nodes, containers};
    return g.children_index;
}
