// SPDX-License-Identifier: Apache-2.0
// The sidebar of a connection or weight: type and shape from all that know it, who makes and reads it, and the statistics of its values.

import {TENSOR, data, tensorName, tensorShape, textAt} from './data.js';
import {shortNumber} from './colour.js';
import {append, button, bytesText, copyButton, el, exactNumber, facts, fill, named, saveFile, shown} from './dom.js';
import {curveChart, differenceChart, histogramChart, planeOf, planePicture, planeRange} from './charts.js';
import {counted, goTo, graphLabel, isWeight, itemLink, itemName, readersOf, shapeText} from './facts.js';
import {markList, measuredTable, section, tableRows} from './sidebar_node.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./data.js').Stats} Stats */

/** @param {Item} item */
export function tensorPanel(item) {
    const g = data.graph(item.graph);
    const panel = el('div', {class: 'panel'});
    const values = el('div', {'aria-live': 'polite'});
    append(panel, [
        el('header', {}, el('h2', {}, tensorKind(g, item.id)), el('p', {class: 'subject'}, named(itemName(item))),
            el('div', {class: 'actions'}, button('Show', () => goTo(item)), copyButton(() => itemName(item), 'Copy name'))),
        markList(item), typeFacts(g, item), section('Measured', measuredTable(item)), producerAndReaders(g, item), values, tableRows(item),
    ]);
    fillStatistics(values, g, item);
    return panel;
}

/** @param {Graph} g @param {number} tensor */
function tensorKind(g, tensor) {
    return ['Connection', 'Graph input', 'Graph output', 'Weight', 'Constant'][g.tensor.kind[tensor]] ?? 'Connection';
}

/** @param {Graph} g @param {Item} item */
function typeFacts(g, item) {
    const t = g.tensor;
    const shape = tensorShape(g, item.id);
    const declared = t.declared[item.id] >= 0 ? textAt(g, t.declared[item.id]) : null;
    const seen = t.seen[item.id] >= 0 ? textAt(g, t.seen[item.id]) : null;
    const value = textAt(g, t.value[item.id]);
    return facts([
        ['Type', named(textAt(g, t.dtype[item.id]) || 'unknown')],
        ['Shape', shape === null ? 'unknown' : named(shapeText(shape))],
        ['Declared', declared !== null && el('span', {class: 'contradiction'}, named(shapeText(declared)), ' (contradicts the shape above)')],
        ['Seen by a run', seen !== null && el('span', {}, named(shapeText(seen)), shape !== null && !/[?a-z]/i.test(shape.replace(/x/g, '')) && seen !== shape && !seen.endsWith(` ${shape}`) ? ' (not as inferred)' : '')],
        ['Value', value !== '' && named(value)],
        ['Size', t.bytes[item.id] > 0 && bytesText(t.bytes[item.id])],
        ['Number', `${item.id} of graph ${graphLabel(item.graph)}`],
    ]);
}

/** @param {Graph} g @param {Item} item */
function producerAndReaders(g, item) {
    const producer = g.tensor.producer[item.id];
    const readers = readersOf(g, item.id);
    const link = (/** @type {number} */ id) => itemLink({kind: 'node', id, graph: item.graph});
    const list = el('ul', {class: 'plain'});
    for (const reader of readers.slice(0, 200)) list.append(el('li', {}, link(reader)));
    if (readers.length > 200) list.append(el('li', {class: 'missing'}, `and ${readers.length - 200} more`));
    const last = readers.length > 0 ? Math.max(...readers.slice(0, 100000)) : -1;
    const lives = producer >= 0 && last >= producer && !isWeight(g, item.id);
    return section('Made and read', facts([
        ['Made by', producer >= 0 ? link(producer) : isWeight(g, item.id) ? 'the file' : g.tensor.kind[item.id] === TENSOR.input ? 'the caller' : 'nothing'],
        [`Read by ${readers.length}`, readers.length > 0 ? list : 'nothing'],
        ['Lifetime', lives && `node ${producer} to node ${last}, ${counted(last - producer, 'step')} in the file's order`],
    ]));
}

/** @param {Graph} g @param {Item} item @returns {number} the tensor of graph 0 that statistics are about, -1: none */
function statisticsTensor(g, item) {
    const {stats} = data.results();
    if (item.graph === 0) return stats.includes(item.id) ? item.id : -1;
    const name = tensorName(g, item.id);
    const first = data.graph(0);
    return stats.find((tensor) => tensorName(first, tensor) === name) ?? -1;
}

/** @param {HTMLElement} element @param {Graph} g @param {Item} item */
async function fillStatistics(element, g, item) {
    const tensor = statisticsTensor(g, item);
    if (tensor < 0) {
        if (data.results().stats.length > 0 && !isWeight(g, item.id)) fill(element, section('Values', el('p', {class: 'note'}, 'No run kept values of this tensor.')));
        return;
    }
    fill(element, section('Values', el('p', {class: 'note'}, 'Loading …')));
    try {
        const stats = await data.stats(tensor);
        if (stats) fill(element, ...statisticsSections(stats, itemName(item)));
        else fill(element, section('Values', el('p', {class: 'note'}, 'The page has no statistics of this tensor.')));
    } catch (error) {
        fill(element, section('Values', el('p', {class: 'note error'}, error instanceof Error ? error.message : String(error))));
    }
}

/** @param {Stats} stats @param {string} name */
function statisticsSections(stats, name) {
    return [
        section('Values', sidesTable(stats)),
        stats.histogram && section('Histogram', histogramChart(stats.histogram), sideLegend(stats)),
        stats.difference && section('Differences', differenceChart(stats.difference)),
        section('Worst elements', worstTable(stats)),
        stats.curve.length > 1 && section('Error against tolerance', curveChart(stats.curve), curveNote(stats.curve)),
        stats.plane ? section('Picture', planeBox(stats, stats.plane, name)) : section('Picture', noValues()),
    ];
}

/** Said where a picture of the values would be. */
function noValues() {
    return el('p', {class: 'note'}, 'The page has only the summary of these values. With ', el('code', {class: 'nowrap'}, '--embed-values'), ' it keeps the values, too.');
}

/** @param {Stats} stats */
function sidesTable(stats) {
    const sides = [stats.a, stats.b];
    const row = (/** @type {string} */ label, /** @type {(side: import('./data.js').Side) => string | number} */ read) => {
        const cells = sides.map((side) => el('td', {class: 'number'}, side === null ? '–' : read(side)));
        const differs = sides[0] !== null && sides[1] !== null && cells[0].textContent !== cells[1].textContent;
        return el('tr', {class: differs ? 'differs' : null}, el('th', {scope: 'row'}, label), ...cells);
    };
    return el('table', {class: 'sides'}, el('thead', {}, el('tr', {}, el('td'), el('th', {scope: 'col'}, 'A'), el('th', {scope: 'col'}, 'B'))), el('tbody', {},
        row('runner', (side) => shown(side.runner)), row('type', (side) => shown(side.dtype)), row('shape', (side) => shown(shapeText(side.shape))),
        row('elements', (side) => exactNumber(side.count)), row('min', (side) => exactNumber(side.min)), row('max', (side) => exactNumber(side.max)),
        row('mean', (side) => exactNumber(side.mean)), row('std', (side) => exactNumber(side.std)), row('NaN', (side) => exactNumber(side.nan)),
        row('Inf', (side) => exactNumber(side.inf)), row('zeros', (side) => exactNumber(side.zeros))));
}

/** @param {Stats} stats */
function sideLegend(stats) {
    const side = (/** @type {string} */ key, /** @type {import('./data.js').Side | null} */ one) => one && el('span', {}, el('span', {class: `swatch ${key}`}), `${key.toUpperCase()} ${shown(one.runner)} `);
    return el('p', {class: 'note'}, side('a', stats.a), side('b', stats.b), 'counts on a logarithmic scale');
}

/** @param {Stats} stats */
function worstTable(stats) {
    if (stats.worst.length === 0) return null;
    const body = el('tbody');
    for (const [index, a, b, difference] of stats.worst) {
        body.append(el('tr', {}, el('td', {}, shown(index)), ...[a, b, difference].map((value) => el('td', {class: 'number'}, exactNumber(value)))));
    }
    return el('table', {class: 'sides'}, el('thead', {}, el('tr', {}, ...['index', 'A', 'B', 'difference'].map((name) => el('th', {scope: 'col', class: name === 'index' ? 'text' : null}, name)))), body);
}

/** @param {[number, number][]} curve */
function curveNote(curve) {
    const steps = curve.filter((_, i) => i % Math.ceil(curve.length / 4) === 0 || i === curve.length - 1);
    return el('p', {class: 'note'}, 'Share of elements beyond: ', steps.map(([tolerance, share]) => `${exactNumber(Number((100 * share).toPrecision(3)))} % at ${shortNumber(tolerance)}`).join(', '));
}

// ---- The picture of a plane -------------------------------------------------------------------------

/**
 * @param {Stats} stats
 * @param {NonNullable<Stats['plane']>} plane
 * @param {string} name
 */
function planeBox(stats, plane, name) {
    const {shape} = plane;
    const sides = new Map([['A', plane.a], ['B', plane.b]].filter(([, values]) => values.length > 0).map(([side, values]) => [String(side), /** @type {number[]} */ (values)]));
    if (sides.size === 2) sides.set('B \u2212 A', plane.b.map((value, i) => value - plane.a[i]));
    const choice = el('select', {'aria-label': 'Values shown', on: {change: () => draw()}}, ...[...sides.keys()].map((side) => el('option', {value: side}, side)));
    const inputs = shape.slice(0, -2).map((size, axis) => el('input', {type: 'number', min: 0, max: size - 1, value: 0, 'aria-label': `Index on axis ${axis}, 0 to ${size - 1}`, on: {input: () => draw()}}));
    const picture = el('div', {class: 'plane-box'});
    const caption = el('p', {class: 'note'});
    const draw = () => {
        const values = sides.get(choice.value) ?? [];
        const at = inputs.map((input) => Math.trunc(Number(input.value)) || 0);
        const cut = planeOf(values, shape, at);
        const diverging = choice.selectedIndex === 2;
        const [low, high] = planeRange(cut.values);
        const most = Math.max(Math.abs(low), Math.abs(high));
        /** @type {[number, number]} */
        const range = diverging ? [-most, most] : [low, high];
        const text = `${counted(cut.rows, 'row')}, ${counted(cut.columns, 'column')}, from ${exactNumber(low)} to ${exactNumber(high)}`;
        fill(picture, planePicture(cut, range, diverging, `${choice.value} of ${shown(name)}: ${text}`));
        caption.textContent = text;
    };
    draw();
    const saves = [['A', plane.a, stats.a], ['B', plane.b, stats.b]].filter(([, values]) => /** @type {number[]} */ (values).length > 0)
        .map(([side, values, info]) => button(`Save ${side}.npy`, () => saveNpy(`${fileName(name)}_${side}.npy`, /** @type {number[]} */ (values), shape, /** @type {any} */ (info)?.dtype ?? '')));
    return el('div', {}, el('div', {class: 'actions'}, choice, ...inputs), picture, caption, el('div', {class: 'actions'}, ...saves));
}

/** @param {string} name @returns {string} it without what files may not have in their names */
export function fileName(name) {
    return name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^[._]+/, '').slice(0, 80) || 'tensor';
}

/** @param {string} file @param {number[]} values @param {number[]} shape @param {string} dtype */
function saveNpy(file, values, shape, dtype) {
    saveFile(file, [npyFile(values, shape, dtype)], 'application/octet-stream');
}

/** @type {Map<string, [string, number, (view: DataView, at: number, value: number) => void]>} */
const NPY_TYPES = new Map([
    ['float32', ['<f4', 4, (view, at, value) => view.setFloat32(at, value, true)]],
    ['int8', ['|i1', 1, (view, at, value) => view.setInt8(at, value)]],
    ['uint8', ['|u1', 1, (view, at, value) => view.setUint8(at, value)]],
    ['int16', ['<i2', 2, (view, at, value) => view.setInt16(at, value, true)]],
    ['uint16', ['<u2', 2, (view, at, value) => view.setUint16(at, value, true)]],
    ['int32', ['<i4', 4, (view, at, value) => view.setInt32(at, value, true)]],
    ['uint32', ['<u4', 4, (view, at, value) => view.setUint32(at, value, true)]],
    ['int64', ['<i8', 8, (view, at, value) => view.setBigInt64(at, BigInt(Math.round(value)), true)]],
    ['bool', ['|b1', 1, (view, at, value) => view.setUint8(at, value === 0 ? 0 : 1)]],
]);

/**
 * A .npy file. Types that NumPy lacks, such as bfloat16, and float16 become float32, which holds their values.
 * @param {number[]} values
 * @param {number[]} shape
 * @param {string} dtype
 * @returns {ArrayBuffer}
 */
export function npyFile(values, shape, dtype) {
    const small = /^(b?float16|float8.*)$/.test(dtype) ? 'float32' : dtype;
    const [code, size, write] = NPY_TYPES.get(small) ?? ['<f8', 8, (/** @type {DataView} */ view, /** @type {number} */ at, /** @type {number} */ value) => view.setFloat64(at, value, true)];
    const tuple = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
    const text = `{'descr': '${code}', 'fortran_order': False, 'shape': (${tuple}), }`;
    const head = Math.ceil((10 + text.length + 1) / 64) * 64;
    const view = new DataView(new ArrayBuffer(head + values.length * size));
    const magic = '\x93NUMPY\x01\x00';
    for (let i = 0; i < magic.length; i++) view.setUint8(i, magic.charCodeAt(i));
    view.setUint16(8, head - 10, true);
    const padded = `${text.padEnd(head - 11)}\n`;
    for (let i = 0; i < padded.length; i++) view.setUint8(10 + i, padded.charCodeAt(i));
    values.forEach((value, i) => write(view, head + i * size, value));
    return view.buffer;
}
