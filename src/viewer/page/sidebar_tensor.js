// SPDX-License-Identifier: Apache-2.0
// The sidebar of a connection or weight: type and shape from all that know it, who makes and reads it, and the statistics of its values.

import {TENSOR, data, tensorName, tensorShape, textAt} from './data.js';
import {shortNumber} from './colour.js';
import {append, button, bytesText, copyButton, el, exactNumber, facts, fill, named, shown} from './dom.js';
import {curveChart, differenceChart, histogramChart} from './charts.js';
import {isServed, knownShape, servedValues, storedValues, valuesBox} from './sidebar_values.js';
import {counted, declaredText, goTo, graphLabel, isWeight, itemLink, itemName, readersOf, shapeText} from './facts.js';
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
    const declared = declaredText(g, item.id);
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
    const shape = knownShape(tensorShape(g, item.id));
    if (tensor < 0 && isWeight(g, item.id) && isServed() && shape && g.kind === 'onnx') {
        fill(element, section('Values', valuesBox(servedValues(item, shape, ['a'], itemName(item)), itemName(item))));
        return;
    }
    if (tensor < 0) {
        if (data.results().stats.length > 0 && !isWeight(g, item.id)) fill(element, section('Values', el('p', {class: 'note'}, 'No run kept values of this tensor.')));
        return;
    }
    fill(element, section('Values', el('p', {class: 'note'}, 'Loading …')));
    try {
        const stats = await data.stats(tensor);
        if (stats) fill(element, ...statisticsSections(stats, {kind: 'tensor', id: tensor, graph: 0}));
        else fill(element, section('Values', el('p', {class: 'note'}, 'The page has no statistics of this tensor.')));
    } catch (error) {
        fill(element, section('Values', el('p', {class: 'note error'}, error instanceof Error ? error.message : String(error))));
    }
}

/** @param {Stats} stats @param {Item} item */
function statisticsSections(stats, item) {
    return [
        section('Values', sidesTable(stats)),
        stats.histogram && section('Histogram', histogramChart(stats.histogram), sideLegend(stats)),
        stats.difference && section('Differences', differenceChart(stats.difference)),
        section('Worst elements', worstTable(stats)),
        stats.curve.length > 1 && section('Error against tolerance', curveChart(stats.curve), curveNote(stats.curve)),
        section('Picture', pictureOf(stats, item)),
    ];
}

/** @param {Stats} stats @param {Item} item */
function pictureOf(stats, item) {
    const name = itemName(item);
    if (stats.plane) return valuesBox(storedValues(stats, stats.plane, name), name);
    const shape = knownShape((stats.a ?? stats.b)?.shape ?? null);
    const sides = /** @type {const} */ (['a', 'b']).filter((side) => stats[side] !== null);
    if (isServed() && shape) return valuesBox(servedValues(item, shape, sides, name), name);
    return noValues();
}

/** Said where a picture of the values would be. */
function noValues() {
    return el('p', {class: 'note'}, 'The page has only the summary of these values. With ', el('code', {class: 'nowrap'}, '--embed-values'), ' it keeps the values, too.');
}

/**
 * The name of a runner without number and time, if that tells the sides apart: "onnxrt-runner".
 * @param {import('./data.js').Side} side
 * @param {Stats} stats
 */
export function runnerLabel(side, stats) {
    const short = (/** @type {import('./data.js').Side | null} */ one) => (one === null ? '' : one.runner.replace(/-N\d+-\d\d\/\d\d\/.*$/, ''));
    return shown(short(stats.a) === short(stats.b) ? side.runner : short(side));
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
        row('runner', (side) => runnerLabel(side, stats)), row('type', (side) => shown(side.dtype)), row('shape', (side) => shown(shapeText(side.shape))),
        row('elements', (side) => exactNumber(side.count)), row('min', (side) => exactNumber(side.min)), row('max', (side) => exactNumber(side.max)),
        row('mean', (side) => exactNumber(side.mean)), row('std', (side) => exactNumber(side.std)), row('NaN', (side) => exactNumber(side.nan)),
        row('Inf', (side) => exactNumber(side.inf)), row('zeros', (side) => exactNumber(side.zeros))));
}

/** @param {Stats} stats */
function sideLegend(stats) {
    const side = (/** @type {string} */ key, /** @type {import('./data.js').Side | null} */ one) => one && el('span', {}, el('span', {class: `swatch ${key}`}), `${key.toUpperCase()} ${runnerLabel(one, stats)} `);
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
