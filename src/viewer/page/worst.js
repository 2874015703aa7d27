// SPDX-License-Identifier: Apache-2.0
// The worst list: what the current quantity measured, the worst first. Linked both ways with the graph.

import {data, nodeName} from './data.js';
import {shortValue, shownUnit} from './colour.js';
import {store} from './store.js';
import {announce, el, fill, shown} from './dom.js';
import {TableView} from './table_view.js';
import {badness, currentQuantity, goTo, itemName, valueAt} from './facts.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Quantity} Quantity */

/** @type {{list: WorstList | null}} */
const worst = {list: null};

/** @param {HTMLElement} element */
export function mountWorst(element) {
    const list = new WorstList(element);
    worst.list = list;
    store.on((changed) => {
        if (changed.has('quantity') || changed.has('graph')) list.make();
        else if (changed.has('selected')) list.follow();
    });
    list.make();
}

/**
 * Goes to the next or previous row.
 * @param {1 | -1} step
 */
export function stepWorst(step) {
    worst.list?.step(step);
}

/**
 * What was measured, the worst first; equals in the model's order.
 * @param {Quantity} quantity
 * @returns {number[]} nodes or tensors
 */
export function worstFirst(quantity) {
    /** @type {Map<number, number>} */
    const sizes = new Map();
    quantity.values.forEach((value, id) => {
        const size = badness(quantity, value);
        if (size !== null) sizes.set(id, size);
    });
    return [...sizes.keys()].sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0) || a - b);
}

class WorstList {
    /** @param {HTMLElement} element */
    constructor(element) {
        this.element = element;
        /** @type {TableView | null} */
        this.table = null;
        /** @type {Item[]} */
        this.items = [];
        /** @type {Map<string, number>} row of an item */
        this.rows = new Map();
    }

    make() {
        const quantity = currentQuantity();
        this.element.hidden = quantity === null;
        this.table = null;
        this.items = [];
        this.rows = new Map();
        if (quantity === null) {
            fill(this.element);
            return;
        }
        /** @type {Item[]} */
        const items = worstFirst(quantity).map((id) => ({kind: quantity.of, id, graph: quantity.graph}));
        this.items = items;
        items.forEach((item, row) => this.rows.set(`${item.kind} ${item.id}`, row));
        const box = el('div', {class: 'grid-box'});
        fill(this.element, el('h2', {}, quantity.label), box);
        if (items.length === 0) {
            fill(box, el('p', {class: 'note'}, 'Nothing was measured.'));
            return;
        }
        const values = items.map((item) => valueAt(quantity, item));
        const isCategory = quantity.scale === 'category';
        this.table = new TableView(box, {
            label: `${quantity.label}, the worst first`, rows: items.length, filter: false, file: `worst-${quantity.id.replace(/\W+/g, '_')}`,
            choose: (row) => goTo(items[row]),
            point: (row) => store.set({hover: row === null ? null : items[row]}),
            columns: [
                {name: quantity.of === 'node' ? 'Node' : 'Tensor', kind: 'text', rest: true, value: (row) => itemName(items[row])},
                {name: shownUnit(quantity.unit) || 'Value', kind: isCategory ? 'text' : 'number', value: (row) => (isCategory ? quantity.names[values[row] ?? -1] ?? '' : values[row]), text: (row) => shortValue(quantity, values[row])},
            ],
        });
        this.follow();
    }

    /** Selects the row of what is selected in the graph. */
    follow() {
        const {selected} = store.get();
        if (!this.table) return;
        this.table.select(selected ? this.rowOf(selected) : -1);
    }

    /** @param {Item} item @returns {number} -1: none */
    rowOf(item) {
        const quantity = currentQuantity();
        if (quantity === null || item.graph !== quantity.graph || item.kind === 'container') return -1;
        const direct = this.rows.get(`${item.kind} ${item.id}`);
        if (direct !== undefined) return direct;
        const g = data.graph(item.graph);
        if (item.kind === 'tensor') return quantity.of === 'node' ? this.rows.get(`node ${g.tensor.producer[item.id]}`) ?? -1 : -1;
        const rows = g.node.outputs[item.id].map((tensor) => this.rows.get(`tensor ${tensor}`) ?? -1).filter((row) => row >= 0);
        return rows.length > 0 ? Math.min(...rows) : -1;
    }

    /** @param {1 | -1} step */
    step(step) {
        const table = this.table;
        if (!table || table.order.length === 0) return;
        const place = table.order.indexOf(table.current);
        const next = table.order[place < 0 ? (step > 0 ? 0 : table.order.length - 1) : (place + step + table.order.length) % table.order.length];
        table.select(next);
        goTo(this.items[next]);
        announce(`${next + 1} of ${this.items.length}: ${shown(itemName(this.items[next]))}`);
    }
}

// ---- Failing nodes ----------------------------------------------------------------------------------

const FAILING = new Set(['fail', 'nan', 'inf', 'first']);

/** Goes to the next failing node after the selected one, in the model's order; after the last to the first. */
export function stepFailing() {
    const {graph, selected} = store.get();
    const g = data.graph(graph);
    const nodes = new Set();
    for (const mark of data.results().marks) {
        if (mark.graph !== graph || !FAILING.has(mark.kind)) continue;
        const node = mark.of === 'node' ? mark.at : g.tensor.producer[mark.at];
        if (node >= 0) nodes.add(node);
    }
    const sorted = [...nodes].sort((a, b) => a - b);
    if (sorted.length === 0) {
        announce('No node fails');
        return;
    }
    const from = selected?.graph !== graph ? -1 : selected.kind === 'node' ? selected.id : selected.kind === 'tensor' ? g.tensor.producer[selected.id] : -1;
    const next = sorted.find((node) => node > from) ?? sorted[0];
    goTo({kind: 'node', id: next, graph});
    announce(`Failing: ${shown(nodeName(g, next))}`);
}
