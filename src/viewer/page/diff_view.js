// SPDX-License-Identifier: Apache-2.0
// The list of differences between two models, and both sides of the one that is chosen.

import {NODE, data, nodeOp, textAt} from './data.js';
import {store} from './store.js';
import {append, button, el, fill, named, shown} from './dom.js';
import {TableView, tableColumns} from './table_view.js';
import {counterparts, counted, goTo, graphLabel, itemLink, itemName, tensorType} from './facts.js';
import {section} from './sidebar_node.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./table_view.js').Column} Column */

/** @param {HTMLElement} element */
export function mountDiff(element) {
    /** @type {DiffView | null} */
    let view = null;
    const update = () => {
        if (store.get().view !== 'diff') return;
        if (!view) view = new DiffView(element);
        view.follow();
    };
    store.on((changed) => (changed.has('view') || changed.has('selected')) && update());
    update();
}

class DiffView {
    /** @param {HTMLElement} element */
    constructor(element) {
        this.table = data.table('diff');
        this.columns = this.table ? tableColumns(this.table) : [];
        this.change = this.columns.find((column) => column.name === 'Change') ?? null;
        this.node = this.columns.find((column) => column.kind === 'node') ?? null;
        /** @type {Set<string>} changes that are not listed */
        this.hidden = new Set();
        this.box = el('div', {class: 'grid-box'});
        this.sides = el('div', {class: 'sides-box', 'aria-live': 'polite'});
        const chips = el('div', {class: 'chips', role: 'group', 'aria-label': 'Kinds of changes'});
        fill(element, el('div', {class: 'panel fills'}, el('h2', {}, 'Differences'), this.noteText(), chips, this.box, this.sides));
        this.fillChips(chips);
        this.makeTable();
    }

    noteText() {
        const {pairs} = data.results();
        const counts = new Map();
        const isNode = (/** @type {number} */ graph, /** @type {number} */ node) => node >= 0 && data.graph(graph).node.kind[node] === NODE.node;
        const shared = pairs ? pairs.a.filter((node, i) => isNode(0, node) && isNode(1, pairs.b[i])).length : 0;
        if (pairs) {
            counts.set('in both', shared);
            counts.set('only in A', new Set(pairs.a.filter((node, i) => isNode(0, node) && pairs.b[i] < 0)).size);
            counts.set('only in B', new Set(pairs.b.filter((node, i) => isNode(1, node) && pairs.a[i] < 0)).size);
        }
        const text = pairs && shared === 0 ? 'The two models have no node in common.' : [...counts].map(([word, count]) => `${counted(count, 'node')} ${word}`).join(', ');
        return el('p', {class: 'note'}, text, this.table?.note ? ` ${shown(this.table.note)}` : '');
    }

    /** @param {number} row @returns {string} */
    changeOf(row) {
        return this.change ? String(this.change.value(row) ?? '') : '';
    }

    /** @param {HTMLElement} chips */
    fillChips(chips) {
        const counts = new Map();
        for (let row = 0; row < (this.table?.rows.length ?? 0); row++) counts.set(this.changeOf(row), (counts.get(this.changeOf(row)) ?? 0) + 1);
        for (const [change, count] of counts) {
            const chip = button(`${shown(change)} ${count}`, () => {
                if (!this.hidden.delete(change)) this.hidden.add(change);
                chip.setAttribute('aria-pressed', String(!this.hidden.has(change)));
                this.makeTable();
            }, {class: `chip ${/^[a-z]+$/.test(change) ? change : ''}`, 'aria-pressed': 'true'});
            chips.append(chip);
        }
    }

    makeTable() {
        /** @type {number[]} */
        const rows = [];
        for (let row = 0; row < (this.table?.rows.length ?? 0); row++) if (!this.hidden.has(this.changeOf(row))) rows.push(row);
        this.rows = rows;
        if (rows.length === 0) {
            fill(this.box, el('p', {class: 'note'}, this.table && this.table.rows.length > 0 ? 'All kinds of changes are switched off.' : 'No difference was found.'));
            return;
        }
        /** @type {Column[]} */
        const columns = this.columns.map((column) => ({...column, value: (row) => column.value(rows[row]), item: undefined}));
        this.grid = new TableView(this.box, {label: 'Differences', columns, rows: rows.length, file: 'differences', choose: (row) => this.choose(row), enter: (row) => this.enter(row)});
    }

    /** @param {number} row of the grid */
    choose(row) {
        const item = this.node?.item?.((this.rows ?? [])[row]) ?? null;
        if (item) store.set({selected: item});
        else fill(this.sides);
    }

    /** @param {number} row of the grid */
    enter(row) {
        const item = this.node?.item?.((this.rows ?? [])[row]) ?? null;
        if (item) goTo(item);
    }

    /** Shows both sides of what is selected. */
    follow() {
        const {selected} = store.get();
        if (selected?.kind !== 'node') {
            fill(this.sides);
            return;
        }
        const all = [selected, ...counterparts(selected)];
        const sides = [0, 1].map((graph) => all.filter((item) => item.graph === graph));
        fill(this.sides, ...sides.map((items, graph) => sidePanel(items, graph)));
        if (sides[0].length === 1 && sides[1].length === 1) this.addAttributes(sides[0][0], sides[1][0]);
    }

    /**
     * Marks what differs in the attributes.
     * @param {Item} a
     * @param {Item} b
     */
    async addAttributes(a, b) {
        const selected = store.get().selected;
        const [before, after] = await Promise.all([data.detail(a.graph, a.id), data.detail(b.graph, b.id)]);
        if (store.get().selected !== selected) return;
        const texts = [before, after].map((detail) => {
            /** @type {Map<string, string>} */
            const attributes = new Map();
            for (const [name, , text] of detail?.attributes ?? []) attributes.set(name, text);
            return attributes;
        });
        const names = [...new Set([...texts[0].keys(), ...texts[1].keys()])].sort();
        if (names.length === 0) return;
        const body = el('tbody', {}, ...names.map((name) => {
            const [x, y] = texts.map((side) => side.get(name));
            return el('tr', {class: x === y ? null : 'differs'}, el('th', {scope: 'row'}, named(name)), ...[x, y].map((text) => el('td', {}, text === undefined ? '–' : named(text, 400))));
        }));
        append(this.sides, [el('section', {class: 'wide'}, el('h3', {}, 'Attributes'), el('table', {class: 'sides'}, el('thead', {}, el('tr', {}, el('td'), el('th', {scope: 'col'}, 'A'), el('th', {scope: 'col'}, 'B'))), body))]);
    }
}

/** @param {Item[]} items @param {number} graph */
function sidePanel(items, graph) {
    const box = el('section', {class: 'side'}, el('h3', {}, graphLabel(graph)));
    if (items.length === 0) append(box, [el('p', {class: 'note'}, 'not there')]);
    for (const item of items) {
        const g = data.graph(item.graph);
        append(box, [el('p', {}, el('strong', {}, named(nodeOp(g, item.id))), ' ', itemLink(item)),
            section('Inputs', portList(g, g.node.inputs[item.id])), section('Outputs', portList(g, g.node.outputs[item.id]))]);
    }
    return box;
}

/** @param {import('./data.js').Graph} g @param {number[]} tensors */
function portList(g, tensors) {
    return el('ul', {class: 'plain'}, ...tensors.slice(0, 50).filter((tensor) => tensor >= 0).map((tensor) =>
        el('li', {}, named(itemName({kind: 'tensor', id: tensor, graph: g.index}), 60), el('span', {class: 'type'}, ` ${shown(tensorType(g, tensor))} ${shown(textAt(g, g.tensor.value[tensor]))}`))));
}
