// SPDX-License-Identifier: Apache-2.0
// The sidebars of a container, of the model, and of many nodes at once.

import {CONTAINER, NODE, childrenOf, data, nodeOp, tensorName, textAt} from './data.js';
import {store} from './store.js';
import {append, button, bytesText, copyButton, el, exactNumber, facts, named, shown} from './dom.js';
import {counted, goTo, graphLabel, isWeight, itemLink, itemName, quantityText, tensorType} from './facts.js';
import {enterRoot} from './show.js';
import {longText, section} from './sidebar_node.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Graph} Graph */

const CONTAINER_WORDS = ['Graph', 'Scope', 'Repeated part', 'Instance', 'Fused layer', 'Node with blocks', 'Block', 'Function'];

/** @param {Graph} g @param {number} container @returns {number[]} all nodes in it */
export function allNodesIn(g, container) {
    const {nodes, containers} = childrenOf(g);
    const found = [];
    const open = [container];
    for (let c = open.pop(); c !== undefined; c = open.pop()) {
        for (const node of nodes[c]) found.push(node);
        for (const child of containers[c]) open.push(child);
    }
    return found.sort((a, b) => a - b);
}

/** @param {Item} item */
export function containerPanel(item) {
    const g = data.graph(item.graph);
    const {containers} = childrenOf(g);
    const kind = g.container.kind[item.id];
    const note = textAt(g, g.container.note[item.id]);
    const call = g.container.node[item.id];
    const parent = g.container.parent[item.id];
    const nodes = allNodesIn(g, item.id);
    const children = el('ul', {class: 'plain'});
    for (const child of containers[item.id].slice(0, 300)) children.append(el('li', {}, itemLink({kind: 'container', id: child, graph: item.graph}), ` ${noteOf(g, child)}`));
    if (containers[item.id].length > 300) children.append(el('li', {class: 'missing'}, `and ${containers[item.id].length - 300} more`));
    const head = el('header', {}, el('h2', {}, CONTAINER_WORDS[kind] ?? 'Part'), el('p', {class: 'subject'}, named(itemName(item))),
        el('div', {class: 'actions'}, button('Show', () => goTo(item)), copyButton(() => itemName(item), 'Copy name'),
            button('Open alone', () => {
                store.set({view: 'graph', graph: item.graph});
                enterRoot(item.id);
            }, {title: 'Show only what is in it'})));
    const panel = el('div', {class: 'panel'}, head);
    append(panel, [
        facts([
            ['Is', note !== '' && named(note)],
            ['Of node', call >= 0 && itemLink({kind: 'node', id: call, graph: item.graph})],
            ['Part of', parent > 0 && itemLink({kind: 'container', id: parent, graph: item.graph})],
            ['Instances', kind === CONTAINER.repeat && exactNumber(containers[item.id].length)],
            ['Nodes', exactNumber(nodes.length)],
        ]),
        section(kind === CONTAINER.repeat ? 'Instances' : 'Parts', children),
        ...totals(g, nodes),
    ]);
    return panel;
}

/** @param {Graph} g @param {number} container */
function noteOf(g, container) {
    const note = textAt(g, g.container.note[container]);
    return note === '' ? '' : shown(note);
}

/**
 * Sums and worst values of nodes, and how many there are of each operator.
 * @param {Graph} g
 * @param {number[]} nodes
 */
export function totals(g, nodes) {
    /** @type {Map<string, number>} */
    const ops = new Map();
    for (const node of nodes) if (g.node.kind[node] === NODE.node) ops.set(nodeOp(g, node), (ops.get(nodeOp(g, node)) ?? 0) + 1);
    const counts = [...ops].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const list = facts(counts.slice(0, 40).map(([op, count]) => [button(shown(op), () => store.set({query: `op:"${op}"`}), {class: 'link'}), exactNumber(count)]));
    const rows = el('tbody');
    for (const {label, text, worst} of totalRows(g, nodes)) {
        rows.append(el('tr', {}, el('th', {scope: 'row'}, label), el('td', {class: 'number'}, text, worst !== null && el('span', {}, ' at ', itemLink(worst, 24)))));
    }
    return [section('Measured', rows.childNodes.length > 0 && el('table', {class: 'measured'}, rows)), section('Operators', list)];
}

/** @param {Graph} g @param {number[]} nodes */
function totalRows(g, nodes) {
    /** @type {{label: string, text: string, worst: Item | null}[]} */
    const rows = [];
    for (const quantity of data.results().quantities) {
        if (quantity.graph !== g.index || quantity.scale === 'category') continue;
        const total = foldOver(g, nodes, quantity);
        if (total.count === 0) continue;
        const word = quantity.fold === 'sum' ? 'sum' : quantity.fold === 'min' ? 'smallest' : 'largest';
        rows.push({label: `${quantity.label}, ${word}`, text: quantityText(quantity, total.value), worst: quantity.fold === 'sum' ? null : total.at});
    }
    return rows;
}

/**
 * @param {Graph} g
 * @param {number[]} nodes
 * @param {import('./data.js').Quantity} quantity
 */
export function foldOver(g, nodes, quantity) {
    let count = 0;
    let value = 0;
    /** @type {Item | null} */
    let at = null;
    const ids = quantity.of === 'node' ? nodes : [...new Set(nodes.flatMap((node) => g.node.outputs[node].filter((tensor) => tensor >= 0)))];
    for (const id of ids) {
        const one = quantity.values[id] ?? null;
        if (one === null) continue;
        const replaces = count === 0 || Number.isNaN(one) || (quantity.fold === 'min' ? one < value : one > value);
        if (quantity.fold === 'sum') value += one;
        else if (replaces && !(count > 0 && Number.isNaN(value))) {
            value = one;
            at = {kind: quantity.of, id, graph: g.index};
        }
        count++;
    }
    return {count, value, at};
}

/**
 * What a search found, as one.
 * @param {{nodes: Set<number>, tensors: Set<number>}} hits
 */
export function hitsPanel(hits) {
    const {graph, query} = store.get();
    const g = data.graph(graph);
    const nodes = [...hits.nodes];
    const panel = el('div', {class: 'panel'}, el('header', {}, el('h2', {}, 'Found'), el('p', {class: 'subject'}, named(query)),
        el('div', {class: 'actions'}, button('Bookmark all', () => store.set({bookmarks: new Set([...store.get().bookmarks, ...nodes])})),
            copyButton(() => nodes.map((id) => itemName({kind: 'node', id, graph})).join('\n'), 'Copy names'))));
    append(panel, [el('p', {}, `${counted(hits.nodes.size, 'node')}, ${counted(hits.tensors.size, 'connection')}`), ...totals(g, nodes)]);
    return panel;
}

/**
 * Is a node in the body of another one, or in a function?
 * @param {import('./data.js').Graph} g
 * @param {number} node
 */
function isInside(g, node) {
    for (let c = g.node.parent[node]; c >= 0; c = g.container.parent[c]) {
        if (g.container.kind[c] === CONTAINER.body || g.container.kind[c] === CONTAINER.function) return true;
    }
    return false;
}

/**
 * The model, when nothing is selected.
 * @param {number} index of the graph
 */
export function modelPanel(index) {
    const g = data.graph(index);
    const ports = (/** @type {number} */ kind) => {
        const list = el('ul', {class: 'plain'});
        for (let node = 0; node < g.node.count; node++) {
            const tensor = g.node.kind[node] !== kind || isInside(g, node) ? -1 : [...g.node.inputs[node], ...g.node.outputs[node]].find((t) => t >= 0) ?? -1;
            if (tensor >= 0) list.append(el('li', {}, itemLink({kind: 'tensor', id: tensor, graph: index}), el('span', {class: 'type'}, ` ${shown(tensorType(g, tensor))}`)));
        }
        return list;
    };
    const all = Array.from({length: g.node.count}, (_, node) => node);
    const label = graphLabel(index);
    const panel = el('div', {class: 'panel'}, el('header', {}, el('h2', {}, 'Model', label !== g.name && data.head().graphs.length > 1 ? ` ${label}` : ''), el('p', {class: 'subject'}, named(g.name))));
    append(panel, [
        facts([...g.properties.map(([name, text]) => /** @type {[Node, Node]} */ ([named(name), longText(text)])), ['Nodes', exactNumber(all.filter((node) => g.node.kind[node] === NODE.node).length)],
            ['Connections', exactNumber(g.tensor.count - weightsOf(g).length)], ['Weights', weightText(g)]]),
        section('Inputs', ports(NODE.input)), section('Outputs', ports(NODE.output)), functionsOf(g), ...totals(g, all),
    ]);
    return panel;
}

/** @param {Graph} g */
function weightText(g) {
    const weights = weightsOf(g);
    const bytes = weights.reduce((sum, tensor) => sum + g.tensor.bytes[tensor], 0);
    return weights.length > 0 && `${exactNumber(weights.length)}, ${bytesText(bytes)}`;
}

/** @param {Graph} g @returns {number[]} */
function weightsOf(g) {
    const weights = [];
    for (let tensor = 0; tensor < g.tensor.count; tensor++) if (isWeight(g, tensor)) weights.push(tensor);
    return weights;
}

/** @param {Graph} g */
function functionsOf(g) {
    const list = el('ul', {class: 'plain'});
    g.container.kind.forEach((kind, id) => {
        if (kind === CONTAINER.function) list.append(el('li', {}, itemLink({kind: 'container', id, graph: g.index})));
    });
    return section('Functions', list);
}

/**
 * Names for a copy of the selection.
 * @param {Item} item
 */
export function copiedName(item) {
    return item.kind === 'tensor' ? tensorName(data.graph(item.graph), item.id) : itemName(item);
}
