// SPDX-License-Identifier: Apache-2.0
// What the panels say about a node or tensor: its names, marks, values and counterparts, and links that lead to it.

import {CONTAINER, TENSOR, containerName, data, nodeName, nodeOp, tensorConsumers, tensorName, tensorShape, textAt} from './data.js';
import {store} from './store.js';
import {valuesOf} from './fold.js';
import {exactNumber, named, unitText} from './dom.js';
import {MARK_LOOKS, drawMark} from './marks.js';
import {SvgContext} from './svg_context.js';
import {FONT} from './theme.js';
import {show} from './show.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./data.js').Quantity} Quantity */
/** @typedef {import('./data.js').Mark} Mark */
/** @typedef {import('./store.js').Item} Item */

// ---- Names ------------------------------------------------------------------------------------------

/**
 * The name of an item: what a user can search for. Nodes without a name have that of their first output.
 * @param {Item} item
 * @returns {string}
 */
export function itemName(item) {
    const g = data.graph(item.graph);
    if (item.kind === 'tensor') return tensorName(g, item.id);
    if (item.kind === 'container') return containerName(g, item.id) || g.name;
    return nodeTitle(g, item.id);
}

/**
 * @param {Graph} g
 * @param {number} node
 * @returns {string}
 */
export function nodeTitle(g, node) {
    const name = nodeName(g, node);
    if (name !== '') return name;
    const first = g.node.outputs[node].find((tensor) => tensor >= 0);
    return first === undefined ? '' : tensorName(g, first);
}

/**
 * @param {Graph} g
 * @param {number} tensor
 * @returns {string} float32 1x64x56x56, with what is known
 */
export function tensorType(g, tensor) {
    const dtype = textAt(g, g.tensor.dtype[tensor]);
    return [dtype, shapeText(tensorShape(g, tensor))].filter((part) => part !== '').join(' ');
}

/** @param {string | null} shape */
export function shapeText(shape) {
    if (shape === null) return '';
    return shape === '' ? 'scalar' : shape.replace(/x/g, '\u00d7');
}

/** @param {Graph} g @param {number} tensor */
export function isWeight(g, tensor) {
    return g.tensor.kind[tensor] === TENSOR.weight || g.tensor.kind[tensor] === TENSOR.constant;
}

/**
 * The containers from the graph's own, which is left out, to this one.
 * @param {Graph} g
 * @param {number} container
 * @returns {number[]}
 */
export function containerPath(g, container) {
    const path = [];
    for (let c = container; c > 0; c = g.container.parent[c]) path.unshift(c);
    return path;
}

/**
 * The part of the model that a node lies in, as a path of names.
 * @param {Graph} g
 * @param {number} node
 */
export function modulePath(g, node) {
    return containerPath(g, g.node.parent[node])
        .filter((c) => g.container.kind[c] !== CONTAINER.repeat && g.container.node[c] !== node)
        .map((c) => containerName(g, c)).join(' / ');
}

// ---- Values -----------------------------------------------------------------------------------------

/**
 * A value with its unit, or the name of its category.
 * @param {Quantity} quantity
 * @param {number | null} value
 */
export function quantityText(quantity, value) {
    if (value === null) return 'not measured';
    if (quantity.scale === 'category') return quantity.names[value] ?? '';
    return unitText(value, quantity.unit);
}

/** @returns {Quantity | null} the one that colours the graph */
export function currentQuantity() {
    return data.results().quantities[store.get().quantity] ?? null;
}

/**
 * @param {string} id
 * @param {number} graph
 * @returns {Quantity | null}
 */
export function quantityOf(id, graph) {
    return data.results().quantities.find((q) => q.id === id && q.graph === graph) ?? null;
}

/**
 * How bad a value is, to sort the worst first: NaN above infinity above all others; null: not measured, or not comparable.
 * @param {Quantity} quantity
 * @param {number | null} value
 * @returns {number | null}
 */
export function badness(quantity, value) {
    if (value === null) return null;
    if (Number.isNaN(value)) return Number.MAX_VALUE;
    const size = Math.min(Math.max(value, -1e300), 1e300);
    if (quantity.scale === 'category') return badCategory(quantity, value);
    if (quantity.better === 'high') return -size;
    return quantity.scale === 'diverging' && quantity.better === 'none' ? Math.abs(size) : size;
}

/**
 * @param {Quantity} quantity
 * @param {number} value
 */
function badCategory(quantity, value) {
    const order = ['pass', 'same', 'normal', 'constant', 'zero', 'fused', 'changed', 'added', 'removed', 'saturated', 'inf', 'nan', 'fail'];
    return order.indexOf(quantity.names[value] ?? '') + value / 1000;
}

/**
 * The value of a quantity for what is drawn as an item: a node has the worst or the sum of its outputs, a container that of its nodes.
 * @param {Quantity} quantity
 * @param {Item} item
 * @returns {number | null}
 */
export function valueAt(quantity, item) {
    if (quantity.graph !== item.graph) return null;
    if (item.kind === 'tensor') return quantity.of === 'tensor' ? quantity.values[item.id] ?? null : null;
    const values = valuesOf(data.graph(item.graph), quantity);
    return (item.kind === 'node' ? values.nodes : values.containers)[item.id] ?? null;
}

/**
 * Everything measured for an item.
 * @param {Item} item
 * @returns {{quantity: Quantity, value: number}[]}
 */
export function measuredOf(item) {
    const found = [];
    for (const quantity of data.results().quantities) {
        if (quantity.graph !== item.graph || quantity.of !== item.kind) continue;
        const value = quantity.values[item.id] ?? null;
        if (value !== null) found.push({quantity, value});
    }
    return found;
}

// ---- Marks ------------------------------------------------------------------------------------------

/**
 * What a kind of mark means.
 * @param {string} kind
 * @returns {string}
 */
export function markText(kind) {
    return MARK_LOOKS.get(kind)?.title ?? kind;
}

/** @returns {string[]} */
export function markKinds() {
    return [...MARK_LOOKS.keys()];
}

/**
 * A mark in the shape that it has in the picture.
 * @param {string} kind
 */
export function markIcon(kind) {
    const context = new SvgContext(18, 18);
    drawMark(/** @type {CanvasRenderingContext2D} */ (/** @type {unknown} */ (context)), kind, 9, 9, 14, 'transparent', FONT);
    context.root.setAttribute('class', 'mark-icon');
    context.root.setAttribute('aria-hidden', 'true');
    return context.root;
}

/**
 * Shape and type in the file, where they contradict what was inferred.
 * @param {Graph} g
 * @param {number} tensor
 * @returns {string | null}
 */
export function declaredText(g, tensor) {
    return g.tensor.declared[tensor] >= 0 ? textAt(g, g.tensor.declared[tensor]) : null;
}

/** @type {{list: Mark[] | null, at: Map<string, Mark[]>}} */
const markIndex = {list: null, at: new Map()};

/**
 * @param {Item} item
 * @returns {Mark[]}
 */
export function itemMarks(item) {
    const {marks} = data.results();
    if (markIndex.list !== marks) {
        markIndex.list = marks;
        markIndex.at = new Map();
        for (const mark of marks) {
            const key = `${mark.graph} ${mark.of} ${mark.at}`;
            const there = markIndex.at.get(key);
            if (there) there.push(mark);
            else markIndex.at.set(key, [mark]);
        }
    }
    const found = markIndex.at.get(`${item.graph} ${item.kind} ${item.id}`) ?? [];
    const declared = item.kind === 'tensor' ? declaredText(data.graph(item.graph), item.id) : null;
    if (declared === null || found.some((mark) => mark.kind === 'contradiction')) return found;
    return [...found, {graph: item.graph, of: 'tensor', at: item.id, kind: 'contradiction', text: `the file declares ${declared}`}];
}

// ---- Two graphs -------------------------------------------------------------------------------------

/**
 * What a node is in the other graphs.
 * @param {Item} item
 * @returns {Item[]}
 */
export function counterparts(item) {
    const {pairs} = data.results();
    if (pairs === null || item.kind !== 'node') return [];
    const lists = [pairs.a, pairs.b, pairs.merged];
    const mine = lists[item.graph] ?? [];
    /** @type {Item[]} */
    const found = [];
    mine.forEach((node, i) => {
        if (node !== item.id) return;
        lists.forEach((list, graph) => {
            const id = list[i] ?? -1;
            if (graph !== item.graph && id >= 0 && !found.some((other) => other.graph === graph && other.id === id)) found.push({kind: 'node', id, graph});
        });
    });
    return found;
}

/** @param {number} graph */
export function graphLabel(graph) {
    const entry = data.head().graphs[graph];
    if (!entry) return '';
    if (entry.role === 'a' && data.head().graphs.length > 1) return 'A';
    return entry.role === 'b' ? 'B' : entry.role === 'merged' ? 'A and B' : entry.name;
}

// ---- Links ------------------------------------------------------------------------------------------

/**
 * Selects an item and shows it in the graph.
 * @param {Item} item
 */
export function goTo(item) {
    store.set({view: 'graph', selected: item, sidebar: true});
    show(item);
}

/**
 * Listeners that highlight an item while the pointer or the focus is on an element.
 * @param {Item} item
 */
export function hovering(item) {
    return {
        pointerenter: () => store.set({hover: item}),
        pointerleave: () => store.set({hover: null}),
        focus: () => store.set({hover: item}),
        blur: () => store.set({hover: null}),
    };
}

/**
 * A link to an item.
 * @param {Item} item
 * @param {number} [limit] shown characters of its name
 * @returns {HTMLElement}
 */
export function itemLink(item, limit = 60) {
    const made = document.createElement('button');
    made.type = 'button';
    made.className = 'link';
    made.append(named(itemName(item), limit));
    for (const [event, listener] of Object.entries(hovering(item))) made.addEventListener(event, listener);
    made.addEventListener('click', () => {
        store.set({hover: null});
        goTo(item);
    });
    return made;
}

/**
 * Operator and name of a node.
 * @param {Item} item
 */
export function opOf(item) {
    return item.kind === 'node' ? nodeOp(data.graph(item.graph), item.id) : '';
}

/** @param {Graph} g @param {number} tensor @returns {number[]} nodes that read it, each once */
export function readersOf(g, tensor) {
    return [...new Set(tensorConsumers(g, tensor))];
}

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
    return `${exactNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}
