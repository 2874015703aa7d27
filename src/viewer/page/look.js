// SPDX-License-Identifier: Apache-2.0
// What the picture needs to know of the state to draw a graph: colours, texts and highlights of cards.

import {CONTAINER, STATE, TENSOR, childrenOf, containerName, data, nodeCategory, nodeName, nodeOp, tensorName, tensorShape, textAt} from './data.js';
import {colourOf, extremesOf, scaleOf, shortValue} from './colour.js';
import {stateOf, valuesOf} from './fold.js';
import {shown} from './dom.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./data.js').Quantity} Quantity */
/** @typedef {import('./store.js').State} State */
/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./fold.js').Shown} Shown */
/** @typedef {import('./fold.js').Values} Values */
/** @typedef {import('./fold.js').Marks} Marks */
/** @typedef {import('./colour.js').Scale} Scale */
/** @typedef {import('./theme.js').Theme} Theme */

/**
 * @typedef {Object} Look
 * @property {Graph} g
 * @property {Theme} theme
 * @property {Readonly<State>} state
 * @property {Quantity | null} quantity
 * @property {Scale | null} scale
 * @property {Values | null} values
 * @property {Marks} marks
 * @property {Set<number>} selected  cards
 * @property {Set<number>} hits
 * @property {Set<number> | null} path  cards of the path; null: there is none, and nothing is dimmed
 * @property {Set<number>} tensors  edges that are highlighted
 * @property {number} hover  card under the pointer, -1: none
 * @property {number} hoverTensor
 * @property {number} edgeAlpha  less than 1 while cards move
 */

export const ROW = 15;
export const CARD_HEIGHT = 40;
const ROWS_MOST = 12;
/** What is not worth a word on each card. */
const ORDINARY = new Set(['same', 'normal', 'pass']);

/**
 * The quantity that is shown on a graph; null: none.
 * @param {Graph} g
 * @param {Readonly<State>} state
 * @returns {Quantity | null}
 */
export function quantityOn(g, state) {
    const {quantities, pairs} = data.results();
    const q = quantities[state.quantity];
    if (!q) return null;
    if (q.graph === g.index) return q;
    const same = quantities.find((other) => other.graph === g.index && other.id === q.id);
    return same || (pairs ? q : null);
}

/**
 * True if an item is a node of a fused layer and a time is shown: it was measured for the whole layer, whose frame has it.
 * @param {Look} look
 * @param {Shown} item
 * @returns {boolean}
 */
export function isShared(look, item) {
    if (item.kind !== 'node' || !look.quantity || look.quantity.group !== 'time') return false;
    return look.g.container.kind[look.g.node.parent[item.id]] === CONTAINER.fused;
}

/** @param {Look} look @param {Shown} item @returns {number | null} */
export function valueOf(look, item) {
    if (!look.values || isShared(look, item)) return null;
    return (item.kind === 'node' ? look.values.nodes : look.values.containers)[item.id] ?? null;
}

/** @param {Look} look @param {Shown} item */
export function colourOfItem(look, item) {
    if (!look.scale || !look.quantity) return {fill: null, text: look.theme.text, isMeasured: false};
    const colour = colourOf(look.scale, valueOf(look, item));
    return {...colour, isMeasured: colour.fill !== null};
}

/** @param {Look} look @param {Shown} item @returns {string} */
export function valueText(look, item) {
    const text = look.quantity ? shortValue(look.quantity, valueOf(look, item)) : '';
    return ORDINARY.has(text) ? '' : text;
}

/** @param {Look} look @param {Shown} item @returns {number} bits */
export function marksOfItem(look, item) {
    return (item.kind === 'node' ? look.marks.nodes : look.marks.containers)[item.id];
}

/**
 * The scale and the values of the quantity of the state.
 * @param {Graph} g
 * @param {Readonly<State>} state
 */
export function colouring(g, state) {
    const q = quantityOn(g, state);
    if (!q) return {quantity: null, scale: null, values: null};
    const chosen = data.results().quantities[state.quantity];
    const isOther = q.graph !== g.index;
    return {quantity: q, scale: scaleOf(chosen, state.range), values: isOther ? pairedValues(g, q) : valuesOf(g, q)};
}

/**
 * The values that a picture has colours for: of its cards, of fused layers, and of repeats that show one instance.
 * @param {Look} look
 * @param {Scene} scene
 * @returns {Generator<number | null, void, void>}
 */
function* shownValues(look, scene) {
    for (const {item} of scene.cards) yield valueOf(look, item);
    for (const {container} of scene.frames) {
        const kind = look.g.container.kind[container];
        const isOne = kind === CONTAINER.repeat && stateOf(look.g, look.state, container) === STATE.one;
        if (kind === CONTAINER.fused || isOne) yield valueOf(look, {kind: 'container', id: container});
    }
}

/** @type {WeakMap<Scene, {values: Values, extremes: [number, number] | null}>} */
const shownExtremesIndex = new WeakMap();

/**
 * The smallest and the largest value that a picture has colours for; null: there is none.
 * @param {Look} look
 * @param {Scene} scene
 * @returns {[number, number] | null}
 */
export function shownExtremes(look, scene) {
    const {quantity, values} = look;
    if (!quantity || !values) return null;
    const known = shownExtremesIndex.get(scene);
    if (known && known.values === values) return known.extremes;
    const extremes = extremesOf(quantity, shownValues(look, scene));
    shownExtremesIndex.set(scene, {values, extremes});
    return extremes;
}

/**
 * Values of a graph's quantity at the nodes of another that belong to them.
 * @param {Graph} g
 * @param {Quantity} q
 * @returns {Values}
 */
function pairedValues(g, q) {
    const {pairs} = data.results();
    const values = valuesOf(data.graph(q.graph), q);
    /** @type {Values} */
    const paired = {nodes: new Array(g.node.count).fill(null), containers: new Array(g.container.count).fill(null)};
    if (!pairs) return paired;
    const columns = [pairs.a, pairs.b, pairs.merged];
    const [from, to] = [columns[q.graph] || [], columns[g.index] || []];
    to.forEach((n, k) => {
        if (n >= 0 && from[k] >= 0) paired.nodes[n] = values.nodes[from[k]];
    });
    return paired;
}

// ---- Texts of cards ---------------------------------------------------------------------------------------------------------------------

/**
 * What stands on a card.
 * @typedef {{title: string, name: string, category: string, badge: string, canOpen: boolean, isRound: boolean, isMany: boolean}} CardText
 */

/** @type {WeakMap<Graph, Map<string, CardText>>} */
const cardTexts = new WeakMap();

/** @param {Graph} g @param {Shown} item @returns {CardText} */
export function cardText(g, item) {
    let known = cardTexts.get(g);
    if (!known) cardTexts.set(g, (known = new Map()));
    const key = item.kind + item.id;
    let text = known.get(key);
    if (!text) known.set(key, (text = item.kind === 'node' ? nodeText(g, item.id) : containerText(g, item.id)));
    return text;
}

/** @param {Graph} g @param {number} n @returns {CardText} */
function nodeText(g, n) {
    const kind = g.node.kind[n];
    const name = shown(nodeName(g, n));
    const title = kind === 0 ? shown(nodeOp(g, n)) : name || shown(tensorName(g, (kind === 1 ? g.node.outputs : g.node.inputs)[n][0] ?? -1));
    return {
        title,
        name: kind === 0 ? name || shown(tensorName(g, g.node.outputs[n][0] ?? -1)) : kind === 1 ? 'input' : 'output',
        category: kind === 1 ? 'input' : kind === 2 ? 'output' : nodeCategory(g, n),
        badge: '',
        canOpen: functionOf(g, n) >= 0,
        isRound: kind !== 0,
        isMany: false,
    };
}

/** @param {Graph} g @param {number} c @returns {CardText} */
function containerText(g, c) {
    const kind = g.container.kind[c];
    const node = g.container.node[c];
    const note = textAt(g, g.container.note[c]);
    const isRepeat = kind === CONTAINER.repeat;
    const count = nodesInside(g, c);
    const isCall = kind === CONTAINER.call && node >= 0;
    const name = shown(containerName(g, c));
    return {
        title: isCall ? shown(nodeOp(g, node)) : name || 'group',
        name: isCall ? shown(nodeName(g, node)) : note ? shown(note) : count + (count === 1 ? ' node' : ' nodes'),
        category: isCall ? nodeCategory(g, node) : 'other',
        badge: isRepeat ? '×' + childrenOf(g).containers[c].length : '',
        canOpen: g.container.layout[c] !== null || isRepeat,
        isRound: false,
        isMany: !isCall,
    };
}

/** @type {WeakMap<Graph, Int32Array>} */
const insideIndex = new WeakMap();

/**
 * How many nodes lie in a container, at any depth.
 * @param {Graph} g
 * @param {number} c
 */
export function nodesInside(g, c) {
    let inside = insideIndex.get(g);
    if (!inside) {
        inside = new Int32Array(g.container.count);
        for (let n = 0; n < g.node.count; n++) for (let p = g.node.parent[n]; p >= 0; p = g.container.parent[p]) inside[p]++;
        insideIndex.set(g, inside);
    }
    return inside[c];
}

/** @type {WeakMap<Graph, Map<string, number>>} */
const functionIndex = new WeakMap();

/**
 * The container of the function that a node calls, -1: it calls none.
 * @param {Graph} g
 * @param {number} n
 */
export function functionOf(g, n) {
    let functions = functionIndex.get(g);
    if (!functions) {
        functions = new Map();
        for (let c = 0; c < g.container.count; c++) if (g.container.kind[c] === CONTAINER.function) functions.set(containerName(g, c), c);
        functionIndex.set(g, functions);
    }
    if (functions.size === 0 || g.node.kind[n] !== 0) return -1;
    const domain = textAt(g, g.op.domain[g.node.op[n]]);
    const op = nodeOp(g, n);
    return functions.get(domain ? domain + '.' + op : op) ?? functions.get(domain + '::' + op) ?? functions.get(op) ?? -1;
}

/**
 * Rows below the head of a card.
 * @param {Graph} g
 * @param {Shown} item
 * @param {Readonly<State>} state
 * @returns {[string, string][]} name, text
 */
export function cardRows(g, item, state) {
    const n = item.kind === 'node' ? item.id : g.container.node[item.id];
    if (n < 0 || (!state.weights && !state.attributes)) return [];
    /** @type {[string, string][]} */
    const rows = [];
    if (state.weights) {
        for (const t of g.node.inputs[n]) {
            if (t < 0 || (g.tensor.kind[t] !== TENSOR.weight && g.tensor.kind[t] !== TENSOR.constant)) continue;
            const value = textAt(g, g.tensor.value[t]);
            rows.push([lastPart(shown(tensorName(g, t))), value ? '= ' + shown(value).slice(0, 12) : '⟨' + timesSigns(tensorShape(g, t) ?? '?') + '⟩']);
        }
    }
    if (state.attributes) {
        for (const [name, , text] of data.detailNow(g.index, n)?.attributes || []) rows.push([shown(name), '= ' + shown(String(text).slice(0, 24))]);
    }
    if (rows.length <= ROWS_MOST) return rows;
    return [...rows.slice(0, ROWS_MOST - 1), ['…', rows.length - ROWS_MOST + 1 + ' more']];
}

/** @param {string} name @returns {string} */
export function lastPart(name) {
    const parts = name.split(/[/.:]/).filter((p) => p !== '');
    return parts.length ? parts[parts.length - 1] : name;
}

/** @param {string} shape @returns {string} */
export function timesSigns(shape) {
    return shape.replace(/x/g, '×');
}

/** @type {Map<string, string>} */
const SHORT_TYPES = new Map([
    ['float32', ''],
    ['float16', 'f16'],
    ['bfloat16', 'bf16'],
    ['float64', 'f64'],
    ['float', ''],
    ['double', 'f64'],
    ['int64', 'i64'],
    ['int32', 'i32'],
    ['int8', 'i8'],
    ['uint8', 'u8'],
]);

/**
 * The label of a tensor's edge.
 * @param {Graph} g
 * @param {number} t
 * @param {boolean} names
 * @returns {{text: string, source: 'inferred' | 'run' | 'contradiction'}}
 */
export function edgeLabel(g, t, names) {
    const contradicts = g.tensor.declared[t] >= 0;
    if (names) return {text: shown(tensorName(g, t)), source: contradicts ? 'contradiction' : 'inferred'};
    const shape = tensorShape(g, t);
    const seen = textAt(g, g.tensor.seen[t]);
    const dtype = textAt(g, g.tensor.dtype[t]);
    const type = SHORT_TYPES.get(dtype) ?? shown(dtype);
    if (shape === null) return {text: timesSigns(shown(seen)), source: 'run'};
    const text = shape === '' ? 'scalar' : timesSigns(shown(shape));
    return {text: (type ? type + ' ' : '') + text, source: contradicts ? 'contradiction' : 'inferred'};
}
