// SPDX-License-Identifier: Apache-2.0
// The sidebar of a node: what it is, what it reads and makes, what was measured, and commands that repeat it.

import {CONTAINER, NODE, TENSOR, childrenOf, data, nodeName, nodeOp, tensorName, textAt} from './data.js';
import {store} from './store.js';
import {append, button, copyButton, el, facts, named, shown} from './dom.js';
import {followSelected, stepNear} from './moves.js';
import {cellText, tableColumns} from './table_view.js';
import {containerPath, counterparts, goTo, graphLabel, isWeight, itemLink, itemMarks, itemName, markIcon, markText, measuredOf, nodeTitle, quantityText, tensorType, valueAt} from './facts.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Graph} Graph */

/**
 * A part of the sidebar with a heading; null if it has nothing to show.
 * @param {string} title
 * @param {...(Node | string | null | false | undefined)} children
 */
export function section(title, ...children) {
    const content = children.filter((child) => child && !(child instanceof Element && child.childNodes.length === 0));
    return content.length === 0 ? null : el('section', {}, el('h3', {}, title), ...content);
}

/** @param {Item} item */
export function nodePanel(item) {
    const g = data.graph(item.graph);
    const panel = el('div', {class: 'panel'});
    const later = el('div');
    append(panel, [
        nodeHead(g, item), markList(item), documentation(g, item), identity(g, item),
        section('Measured', measuredTable(item)),
        ports(g, item, 'Inputs', g.node.inputs[item.id]), ports(g, item, 'Outputs', g.node.outputs[item.id]),
        section('Blocks', blockList(g, item)), membersOf(g, item), otherGraphs(item), later, tableRows(item),
    ]);
    data.detail(item.graph, item.id).then((detail) => {
        if (detail) append(later, [...detailSections(detail), extractLink(g, item)]);
    }, (error) => append(later, [el('p', {class: 'note error'}, String(error.message ?? error))]));
    return panel;
}

/** @param {Graph} g @param {Item} item */
function nodeHead(g, item) {
    const kind = g.node.kind[item.id];
    const what = kind === NODE.input ? 'Graph input' : kind === NODE.output ? 'Graph output' : nodeOp(g, item.id);
    const op = nodeOp(g, item.id);
    return el('header', {}, el('h2', {}, named(what, 60)), el('p', {class: 'subject'}, named(nodeTitle(g, item.id))), el('div', {class: 'actions'},
        button('Show', () => goTo(item), {title: 'Centre it in the graph'}),
        bookmarkButton(item), copyButton(() => itemName(item), 'Copy name'),
        kind === NODE.node && op !== '' && button('Find this type', () => store.set({query: `op:"${op}"`}), {title: `Find op:"${shown(op)}"`}),
        data.timeline() !== null && button('Timeline', () => store.set({view: 'timeline'}), {title: 'Its slices in the timeline'}), followMenu()));
}

/** What can be followed from a node. */
function followMenu() {
    const menu = el('div', {class: 'menu'});
    const details = el('details', {class: 'drop'}, el('summary', {}, 'Follow'), menu);
    const entry = (/** @type {'ancestors' | 'descendants' | 'type' | 'chain'} */ walk, /** @type {string} */ text, /** @type {string} */ key) => {
        menu.append(button(text, () => {
            details.open = false;
            followSelected(walk);
        }));
        menu.lastElementChild?.append(el('kbd', {}, key));
    };
    entry('ancestors', 'All ancestors', 'a');
    entry('descendants', 'All descendants', 's');
    entry('chain', 'Chain of failures that leads here', 'e');
    entry('type', 'All nodes of this operator', 't');
    menu.append(button('Only the neighbourhood', () => stepNear()));
    menu.lastElementChild?.append(el('kbd', {}, 'k'));
    return details;
}

/** @param {Item} item */
function bookmarkButton(item) {
    const made = button('', () => {
        const bookmarks = new Set(store.get().bookmarks);
        if (!bookmarks.delete(item.id)) bookmarks.add(item.id);
        store.set({bookmarks});
        update(bookmarks);
    });
    const update = (/** @type {Set<number>} */ bookmarks) => {
        made.textContent = bookmarks.has(item.id) ? '\u2605 Bookmark' : '\u2606 Bookmark';
        made.setAttribute('aria-pressed', String(bookmarks.has(item.id)));
    };
    update(store.get().bookmarks);
    return made;
}

/** @param {Item} item */
export function markList(item) {
    const marks = itemMarks(item);
    if (marks.length === 0) return null;
    return el('ul', {class: 'marks'}, ...marks.map((mark) => {
        return el('li', {}, markIcon(mark.kind), ' ', el('span', {}, el('strong', {}, markText(mark.kind)), mark.text && mark.text !== markText(mark.kind) ? `: ${shown(mark.text)}` : null));
    }));
}

/** @param {Graph} g @param {Item} item */
function documentation(g, item) {
    const doc = textAt(g, g.op.doc[g.node.op[item.id]]);
    return doc === '' ? null : el('p', {class: 'doc'}, shown(doc));
}

/** @param {Graph} g @param {Item} item */
function identity(g, item) {
    const domain = textAt(g, g.op.domain[g.node.op[item.id]]);
    const around = containerPath(g, g.node.parent[item.id]).filter((c) => g.container.node[c] !== item.id);
    const path = el('span', {});
    around.forEach((container, i) => append(path, [i > 0 && ' / ', itemLink({kind: 'container', id: container, graph: item.graph}, 30)]));
    return facts([
        ['Name', nodeName(g, item.id) === '' && 'none; called by its first output'],
        ['Domain', domain !== '' && named(domain)],
        ['Part of', around.length > 0 && path],
        ['Number', `${item.id} of graph ${graphLabel(item.graph)}`],
    ]);
}

/** @param {Item} item */
export function measuredTable(item) {
    const found = measuredOf(item);
    if (found.length === 0) return null;
    const current = store.get().quantity;
    const body = el('tbody');
    for (const {quantity, value} of found) {
        const label = button(quantity.label, () => store.set({quantity: quantity.index}), {class: 'link', title: 'Colour the graph by it'});
        body.append(el('tr', {class: quantity.index === current ? 'current' : null}, el('th', {scope: 'row'}, label), el('td', {class: 'number'}, quantityText(quantity, value))));
    }
    return el('table', {class: 'measured'}, body);
}

/**
 * Inputs or outputs, with types and errors.
 * @param {Graph} g
 * @param {Item} item
 * @param {string} title
 * @param {number[]} tensors
 */
function ports(g, item, title, tensors) {
    if (tensors.length === 0) return null;
    const list = el('ol', {class: 'ports', start: 0});
    for (const tensor of tensors.slice(0, 500)) {
        if (tensor < 0) {
            list.append(el('li', {class: 'missing'}, 'left out'));
            continue;
        }
        const port = {kind: /** @type {const} */ ('tensor'), id: tensor, graph: item.graph};
        list.append(el('li', {}, itemLink(port), el('span', {class: 'type'}, tensorText(g, tensor)), portSigns(port), portError(port)));
    }
    if (tensors.length > 500) list.append(el('li', {class: 'missing'}, `and ${tensors.length - 500} more`));
    return section(title, list);
}

/** @param {Graph} g @param {number} tensor */
function tensorText(g, tensor) {
    const value = textAt(g, g.tensor.value[tensor]);
    const kind = g.tensor.kind[tensor] === TENSOR.constant ? 'constant' : isWeight(g, tensor) ? 'weight' : '';
    return [kind, shown(tensorType(g, tensor)), value === '' ? '' : `= ${shown(value)}`].filter((part) => part !== '').join(' ');
}

/** @param {Item} port */
function portSigns(port) {
    const marks = itemMarks(port);
    return marks.length > 0 && el('span', {class: 'signs'}, ...marks.map((mark) => {
        const text = shown(mark.text || markText(mark.kind));
        return el('span', {role: 'img', 'aria-label': text, title: text}, markIcon(mark.kind));
    }));
}

/**
 * The chosen quantity of a tensor, or its error.
 * @param {Item} port
 */
function portError(port) {
    const {quantities} = data.results();
    const chosen = quantities[store.get().quantity];
    const quantity = chosen?.of === 'tensor' && chosen.graph === port.graph ? chosen : quantities.find((q) => q.graph === port.graph && q.of === 'tensor' && q.group === 'accuracy');
    const value = quantity ? valueAt(quantity, port) : null;
    return quantity && value !== null && el('span', {class: 'error-value'}, `${quantity.label} ${quantityText(quantity, value)}`);
}

/** @param {Graph} g @param {Item} item */
function blockList(g, item) {
    const list = el('ul', {class: 'plain'});
    g.container.node.forEach((node, call) => {
        if (node !== item.id) return;
        for (const body of [call, ...childrenOf(g).containers[call]]) {
            if (body === call && childrenOf(g).containers[call].length > 0) continue;
            const note = textAt(g, g.container.note[body]);
            list.append(el('li', {}, itemLink({kind: 'container', id: body, graph: item.graph}), note !== '' && el('span', {class: 'type'}, ` ${shown(note)}`)));
        }
    });
    return list;
}

/** @param {Graph} g @param {Item} item */
function membersOf(g, item) {
    const names = new Set(g.node.members.get(item.id) ?? []);
    const parent = g.node.parent[item.id];
    const fused = parent > 0 && g.container.kind[parent] === CONTAINER.fused;
    const list = el('ul', {class: 'plain'});
    for (const name of [...names].slice(0, 500)) list.append(el('li', {}, named(name)));
    if (fused) list.append(el('li', {}, 'Fused into ', itemLink({kind: 'container', id: parent, graph: item.graph})));
    return section(fused ? 'Fusion' : 'Made of', list);
}

/** @param {Item} item */
function otherGraphs(item) {
    const others = counterparts(item);
    if (others.length === 0) return null;
    return section('In the other graph', el('ul', {class: 'plain'}, ...others.map((other) => el('li', {}, `${graphLabel(other.graph)}: `, itemLink(other)))));
}

/** @param {import('./data.js').Detail} detail */
function detailSections(detail) {
    const attributes = [...(detail.attributes ?? [])].sort((a, b) => (a[0] < b[0] ? -1 : Number(a[0] > b[0])));
    return [
        detail.doc ? section('Description', el('p', {class: 'long'}, shown(detail.doc))) : null,
        section('Attributes', facts(attributes.map(([name, type, text]) => [named(name), el('span', {title: type}, longText(text), ' ', el('small', {}, type))]))),
        section('Metadata', facts((detail.metadata ?? []).map(([name, text]) => [named(name), longText(text)]))),
        section('Commands', ...(detail.commands ?? []).map(([title, text]) => commandLine(title, text))),
    ];
}

/**
 * When the page is served from a model, the node can be had as a model.
 * @param {Graph} g
 * @param {Item} item
 */
function extractLink(g, item) {
    if (!data.head().served || g.kind !== 'onnx' || g.node.kind[item.id] !== NODE.node) return null;
    const inBody = containerPath(g, g.node.parent[item.id]).some((c) => g.container.kind[c] === CONTAINER.body || g.container.kind[c] === CONTAINER.function);
    if (inBody) return null;
    const names = (/** @type {string} */ key, /** @type {number[]} */ tensors) =>
        tensors.filter((tensor) => tensor >= 0 && !isWeight(g, tensor)).map((tensor) => `&${key}=${encodeURIComponent(tensorName(g, tensor))}`).join('');
    const address = `extract?graph=${item.graph}${names('input', g.node.inputs[item.id])}${names('output', g.node.outputs[item.id])}`;
    return el('p', {}, el('a', {href: address, download: 'part.onnx', class: 'link'}, 'Save this node as a model'));
}

/**
 * A text that may be long.
 * @param {string} text
 */
export function longText(text) {
    return el('span', {class: text.length > 200 ? 'long' : null}, shown(text));
}

/** @param {string} title @param {string} text */
export function commandLine(title, text) {
    return el('div', {class: 'command'}, el('span', {}, shown(title)), copyButton(text, 'Copy', `Copy: ${shown(title)}`), el('code', {tabindex: 0}, shown(text)));
}

/**
 * What the tables say about a node or tensor.
 * @param {Item} item
 */
export function tableRows(item) {
    const parts = [];
    for (const {id, title, graph} of data.head().tables) {
        if (graph !== item.graph) continue;
        const rows = rowsAbout(id, item);
        const table = rows.length > 0 ? data.table(id) : null;
        if (!table) continue;
        const columns = tableColumns(table);
        for (const row of rows.slice(0, 3)) {
            const lines = columns.filter((column) => column.value(row) !== null && column.item?.(row)?.id !== item.id)
                .map((column) => /** @type {[string, Node]} */ ([column.name, named(cellText(column.value(row), column.kind), 300)]));
            parts.push(section(title, facts(lines)));
        }
        parts.push(button(rows.length > 3 ? `All ${rows.length} rows in the table` : 'In the table', () => store.set({view: id}), {class: 'link more'}));
    }
    return parts.length === 0 ? null : el('div', {class: 'from-tables'}, ...parts);
}

/** @type {Map<string, Map<string, number[]>>} rows of each table by item */
const rowIndex = new Map();

/** @param {string} id of a table @param {Item} item @returns {number[]} */
function rowsAbout(id, item) {
    let index = rowIndex.get(id);
    if (!index) {
        index = new Map();
        const table = data.table(id);
        const columns = table ? table.columns.flatMap((column, i) => (column.kind === 'node' || column.kind === 'tensor' ? [i] : [])) : [];
        for (const [row, cells] of (table?.rows ?? []).entries()) {
            for (const column of columns) {
                const key = `${table?.columns[column].kind} ${cells[column]?.[0] ?? -1}`;
                const there = index.get(key);
                if (!there) index.set(key, [row]);
                else if (there[there.length - 1] !== row) there.push(row);
            }
        }
        rowIndex.set(id, index);
    }
    return index.get(`${item.kind} ${item.id}`) ?? [];
}
