// SPDX-License-Identifier: Apache-2.0
// The choice of the quantity that colours the graph, and the legend of its scale.

import {data} from './data.js';
import {NOT_FINITE, ZERO, colourOf, mixStops, scaleOf, shortNumber, shortValue, shownUnit} from './colour.js';
import {store} from './store.js';
import {announce, button, el, fill, shown, svgElement} from './dom.js';
import {onScale, shownScale} from './show.js';
import {currentQuantity, markIcon, markKinds, markText} from './facts.js';
import {readQuantity} from './query.js';
import {isNarrow} from './start.js';

/** @typedef {import('./data.js').Quantity} Quantity */

const GROUPS = new Map([
    ['accuracy', 'Accuracy'], ['introduced', 'Introduced error'], ['time', 'Time'], ['size', 'Size'], ['work', 'Work'], ['type', 'Type'], ['health', 'Health'], ['change', 'Change'],
]);

/** @returns {Quantity[]} those of the graph shown, group by group */
function choices() {
    const {graph} = store.get();
    const order = [...GROUPS.keys()];
    const place = (/** @type {Quantity} */ q) => (order.includes(q.group) ? order.indexOf(q.group) : order.length);
    return data.results().quantities.filter((q) => q.graph === graph).sort((a, b) => place(a) - place(b) || a.index - b.index);
}

/** @param {number} index in the results, -1: none */
function choose(index) {
    store.set({quantity: index, range: null});
}

/** @param {1 | -1} step */
export function stepQuantity(step) {
    const list = [-1, ...choices().map((q) => q.index)];
    const at = list.indexOf(store.get().quantity);
    const next = list[(at + step + list.length) % list.length];
    choose(next);
    announce(next < 0 ? 'No colours' : `Coloured by ${data.results().quantities[next].label}`);
}

/** @param {HTMLElement} element */
export function mountQuantity(element) {
    const select = el('select', {id: 'quantity-choice', on: {change: (event) => choose(Number(event.target.value))}});
    fill(element, el('label', {for: 'quantity-choice'}, 'Colour'), ' ', select);
    const update = () => {
        const list = choices();
        const groups = new Map([...GROUPS.keys(), ''].map((group) => [group, /** @type {Quantity[]} */ ([])]));
        for (const q of list) groups.get(groups.has(q.group) ? q.group : '')?.push(q);
        fill(select, el('option', {value: -1}, 'by category'));
        for (const [group, members] of groups) {
            if (members.length === 0) continue;
            const part = el('optgroup', {label: GROUPS.get(group) ?? 'Other'});
            for (const q of members) part.append(el('option', {value: q.index}, shown(q.label)));
            select.append(part);
        }
        select.value = String(store.get().quantity);
        element.hidden = list.length === 0;
    };
    store.on((changed) => {
        if (changed.has('graph')) {
            keepQuantity();
            update();
        } else if (changed.has('quantity')) select.value = String(store.get().quantity);
    });
    update();
}

/** Another graph has quantities of its own: takes that of the same name. */
function keepQuantity() {
    const now = currentQuantity();
    if (now === null || now.graph === store.get().graph) return;
    choose(choices().find((q) => q.id === now.id)?.index ?? -1);
}

// ---- The legend -------------------------------------------------------------------------------------

/** @param {HTMLElement} element */
export function mountLegend(element) {
    const update = () => {
        const quantity = currentQuantity();
        const marks = marksLegend();
        element.hidden = quantity === null && marks === null;
        fill(element, quantity && scaleLegend(quantity), marks);
    };
    store.on((changed) => ['quantity', 'range', 'graph'].some((name) => changed.has(name)) && update());
    onScale(update);
    update();
}

/** @param {string | null} colour null: not measured @param {string} text */
function swatch(colour, text) {
    const sign = el('span', {class: colour === null ? 'swatch unmeasured' : 'swatch', 'aria-hidden': 'true'});
    if (colour !== null) sign.style.backgroundColor = colour;
    return el('span', {class: 'key'}, sign, ' ', text);
}

/** @param {Quantity} quantity */
function scaleLegend(quantity) {
    const scale = shownScale() ?? scaleOf(quantity, store.get().range);
    const missing = quantity.values.reduce((/** @type {number} */ count, value) => count + Number(value === null), 0);
    const keys = el('div', {class: 'keys'});
    const box = el('div', {class: 'scale'}, el('strong', {}, shown(quantity.label), scale.kind === 'log' || scale.kind === 'ratio' ? el('small', {}, ' logarithmic') : null));
    if (quantity.scale === 'category') {
        const counts = new Map();
        for (const value of quantity.values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
        for (const [value, count] of [...counts].sort((a, b) => a[0] - b[0])) keys.append(swatch(colourOf(scale, value).fill, `${shown(quantity.names[value] ?? '')} ${count}`));
    } else if (Number.isFinite(scale.low)) {
        box.append(gradient(scale), rangeInputs(quantity, scale));
        if ((scale.kind === 'log' || scale.kind === 'ratio') && quantity.values.some((value) => value === 0)) keys.append(swatch(ZERO, 'zero'));
    }
    if (quantity.scale !== 'category' && quantity.values.some((value) => value !== null && !Number.isFinite(value))) keys.append(swatch(NOT_FINITE, 'NaN, Inf'));
    if (missing > 0) keys.append(swatch(null, 'not measured'));
    box.append(keys);
    return box;
}

/** @param {import('./colour.js').Scale} scale */
function gradient(scale) {
    const stops = scale.reversed ? [...scale.stops].reverse() : scale.stops;
    const shades = svgElement('linearGradient', {id: 'legend-shades'});
    stops.forEach((_, i) => shades.append(svgElement('stop', {offset: i / (stops.length - 1), 'stop-color': mixStops(stops, i / (stops.length - 1))})));
    return svgElement('svg', {class: 'gradient', viewBox: '0 0 200 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
        svgElement('defs', {}, shades), svgElement('rect', {x: 0, y: 0, width: 200, height: 10, fill: 'url(#legend-shades)'}));
}

/** @param {Quantity} quantity @param {import('./colour.js').Scale} scale */
function rangeInputs(quantity, scale) {
    const {range} = store.get();
    const input = (/** @type {number} */ value, /** @type {string} */ label) => {
        const made = el('input', {type: 'text', class: 'range', size: 8, 'aria-label': `${label} end of the colours, ${shortValue(quantity, value)}`, title: `${label} end; ${shortValue(quantity, value)}`, on: {change: apply}});
        made.value = shortNumber(value);
        return made;
    };
    const apply = () => {
        const [a, b] = [low, high].map((one) => readQuantity(one.value, quantity.unit));
        const positive = scale.kind !== 'log' && scale.kind !== 'ratio';
        const good = a !== null && b !== null && Number.isFinite(a) && Number.isFinite(b) && a < b && (positive || a > 0);
        for (const one of [low, high]) one.setAttribute('aria-invalid', String(!good));
        if (good) store.set({range: [/** @type {number} */ (a), /** @type {number} */ (b)]});
        else announce(positive ? 'The range needs two numbers, the smaller one first' : 'The range needs two numbers above zero, the smaller one first');
    };
    const low = input(scale.low, 'Low');
    const high = input(scale.high, 'High');
    return el('div', {class: 'ends'}, low, range ? button('Automatic', () => store.set({range: null}), {class: 'link'}) : el('span', {class: 'unit'}, shown(shownUnit(quantity.unit))), high);
}

function marksLegend() {
    const {graph} = store.get();
    const there = new Map();
    for (const mark of data.results().marks) if (mark.graph === graph) there.set(mark.kind, (there.get(mark.kind) ?? 0) + 1);
    if (there.size === 0) return null;
    const list = el('div', {class: 'keys'});
    for (const kind of markKinds()) {
        const count = there.get(kind);
        if (!count) continue;
        list.append(button('', () => store.set({query: `mark:${kind}`}), {class: 'key link', title: `Find mark:${kind}`}));
        fill(/** @type {Element} */ (list.lastElementChild), markIcon(kind), ` ${markText(kind)} (${count})`);
    }
    return el('details', {class: 'marks-legend', open: !isNarrow()}, el('summary', {}, 'Marks'), list);
}
