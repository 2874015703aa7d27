// SPDX-License-Identifier: Apache-2.0
// Values of quantities as colours and as short texts. docs/viewer.md, Colours, has the stops and the rules; drawings in C use the same.

/** @typedef {import('./data.js').Quantity} Quantity */

const MAGNITUDE = ['#12306e', '#2c4973', '#476076', '#637678', '#808d77', '#9fa474', '#bebb6d', '#ded262', '#ffe94e'];
const DIVERGING = ['#1f5fa8', '#517eb6', '#7e9cc3', '#abbbcf', '#d9d9d9', '#d3b9ab', '#cb997d', '#c0794e', '#b4570a'];
const NAMES = ['#56b4e9', '#e69f00', '#009e73', '#cc79a7', '#0072b2', '#f0e442', '#d55e00', '#9a9a9a'];

/** @type {Map<string, string>} names that have the same colour in every quantity */
const NAMED = new Map([
    ['fail', '#d55e00'],
    ['removed', '#d55e00'],
    ['pass', '#56b4e9'],
    ['normal', '#56b4e9'],
    ['added', '#56b4e9'],
    ['same', '#d9d9d9'],
    ['nan', '#c2185b'],
    ['inf', '#e07aa5'],
    ['zero', '#e1eaf4'],
    ['saturated', '#e69f00'],
    ['changed', '#e69f00'],
    ['constant', '#b9a06b'],
    ['fused', '#cc79a7'],
]);

/** @type {Map<string, string>} stripes of the cards */
export const CATEGORY_COLOURS = new Map([
    ['layer', '#3b64a8'],
    ['activation', '#b0413e'],
    ['pool', '#3f8f4f'],
    ['normalization', '#2a8f86'],
    ['shape', '#8b6f5c'],
    ['tensor', '#a37c00'],
    ['data', '#7b7b7b'],
    ['quantization', '#c4610a'],
    ['attention', '#d6930f'],
    ['control', '#7453a6'],
    ['constant', '#a9a9a9'],
    ['input', '#1f7a8c'],
    ['output', '#1f7a8c'],
    ['other', '#5f6b7a'],
]);

export const ZERO = '#e1eaf4';
export const NOT_FINITE = '#c2185b';

/**
 * How values of a quantity become colours.
 * @typedef {Object} Scale
 * @property {'log' | 'linear' | 'diverging' | 'ratio' | 'category'} kind  ratio: diverging around one by logarithm
 * @property {number} low
 * @property {number} high
 * @property {boolean} reversed  high is better, so the low end is what to look at
 * @property {string[]} stops
 * @property {string[]} names  of categories
 */

/** @typedef {{fill: string | null, text: string}} Colour  fill null: not measured */

/** @param {string} hex @returns {[number, number, number]} */
function channels(hex) {
    const n = parseInt(hex.slice(1), 16);
    return [n >> 16, (n >> 8) & 255, n & 255];
}

/** @param {string[]} stops @param {number} at from 0 to 1 @returns {string} */
export function mixStops(stops, at) {
    const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(place), stops.length - 2);
    const [a, b] = [channels(stops[k]), channels(stops[k + 1])];
    const part = place - k;
    return '#' + a.map((v, i) => Math.round(v + (b[i] - v) * part).toString(16).padStart(2, '0')).join('');
}

/**
 * Black or white, whichever can be read on a colour.
 * @param {string} hex
 * @returns {string}
 */
export function textOn(hex) {
    const [r, g, b] = channels(hex).map((c) => {
        const s = c / 255;
        return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

/** @param {Quantity} q */
export function isRatio(q) {
    return q.scale === 'diverging' && (q.id.endsWith('ratio') || q.unit === 'x');
}

/**
 * The smallest and the largest value that the scale can show; null: there is none.
 * @param {Quantity} q
 * @param {Iterable<number | null>} values
 * @returns {[number, number] | null}
 */
export function extremesOf(q, values) {
    const positive = q.scale === 'log' || isRatio(q);
    let low = Infinity;
    let high = -Infinity;
    for (const v of values) {
        if (v === null || !Number.isFinite(v) || (positive && v <= 0)) continue;
        if (v < low) low = v;
        if (v > high) high = v;
    }
    return low <= high ? [low, high] : null;
}

/**
 * @param {Quantity} q
 * @param {[number, number] | null} range  chosen by the user
 * @param {Iterable<number | null>} [values]  of what is shown; without: all that were measured
 * @returns {Scale}
 */
export function scaleOf(q, range, values = q.values) {
    const scale = {kind: q.scale, low: 0, high: 0, reversed: q.better === 'high', stops: MAGNITUDE, names: q.names};
    if (q.scale === 'category') return {...scale, kind: 'category', stops: NAMES, reversed: false};
    let [low, high] = range || extremesOf(q, values) || [NaN, NaN];
    if (q.scale === 'diverging') {
        const ratio = isRatio(q);
        const far = ratio ? Math.max(high, 1 / low) : Math.max(Math.abs(low), Math.abs(high));
        return {...scale, kind: ratio ? 'ratio' : 'diverging', low: ratio ? 1 / far : -far, high: far, stops: DIVERGING};
    }
    if (q.scale === 'linear' && low > 0 && !range) low = 0;
    return {...scale, low, high};
}

/**
 * Where a value stands between the ends, 0 to 1.
 * @param {Scale} scale
 * @param {number} value finite
 */
export function positionOf(scale, value) {
    const logarithmic = scale.kind === 'log' || scale.kind === 'ratio';
    const f = logarithmic ? Math.log : (/** @type {number} */ v) => v;
    const [low, high] = [f(scale.low), f(scale.high)];
    let at = high > low ? (f(value) - low) / (high - low) : scale.kind === 'ratio' || scale.kind === 'diverging' ? 0.5 : 1;
    at = Math.min(Math.max(at, 0), 1);
    return scale.reversed ? 1 - at : at;
}

/** @param {Scale} scale @param {number | null} value @returns {Colour} */
export function colourOf(scale, value) {
    if (value === null) return {fill: null, text: ''};
    let fill = NOT_FINITE;
    if (scale.kind === 'category') {
        if (!Number.isInteger(value) || value < 0) return {fill: null, text: ''};
        fill = NAMED.get(scale.names[value]) || scale.stops[value % scale.stops.length];
    } else if (Number.isFinite(value)) {
        const logarithmic = scale.kind === 'log' || scale.kind === 'ratio';
        fill = logarithmic && value === 0 ? ZERO : mixStops(scale.stops, logarithmic && value < 0 ? 0 : positionOf(scale, value));
    }
    return {fill, text: textOn(fill)};
}

// ---- Short texts ------------------------------------------------------------------------------------------------------------------------

/**
 * Three digits: 12.3, 0.0123, 1.2e-7.
 * @param {number} v
 * @returns {string}
 */
export function shortNumber(v) {
    if (Number.isNaN(v)) return 'NaN';
    if (!Number.isFinite(v)) return v > 0 ? 'Inf' : '-Inf';
    const size = Math.abs(v);
    if (size === 0) return '0';
    if (size >= 1e5 || size < 1e-3) return v.toExponential(1).replace('e+', 'e').replace('.0e', 'e');
    return String(Number(v.toPrecision(3)));
}

/** @param {number} v @param {number} base @param {string[]} units @returns {string} */
function withUnit(v, base, units) {
    let k = 0;
    while (Math.abs(v) >= base * 0.9995 && k + 1 < units.length) {
        v /= base;
        k++;
    }
    return Number(v.toPrecision(3)) + ' ' + units[k];
}

/** @param {number} v */
export function shortBytes(v) {
    return Number.isFinite(v) ? withUnit(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']) : shortNumber(v);
}

/** @param {number} v in us */
export function shortTime(v) {
    return Number.isFinite(v) ? withUnit(v, 1000, ['µs', 'ms', 's']) : shortNumber(v);
}

/** @param {string} unit @returns {string} as it stands beside numbers */
export function shownUnit(unit) {
    return unit === 'us' ? 'µs' : unit;
}

/**
 * A value as it stands on a card.
 * @param {Quantity} q
 * @param {number | null} value
 * @returns {string} '' if it was not measured
 */
export function shortValue(q, value) {
    if (value === null) return '';
    if (q.scale === 'category') return q.names[value] ?? '';
    if (!Number.isFinite(value)) return shortNumber(value);
    switch (q.unit) {
        case 'us':
            return shortTime(value);
        case 'B':
        case 'bytes':
            return shortBytes(value);
        case 'FLOP':
        case 'FLOPs':
            return withUnit(value, 1000, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP']);
        case '%':
            return shortNumber(value) + ' %';
        case 'dB':
            return shortNumber(value) + ' dB';
        default:
            return shortNumber(value) + (isRatio(q) ? '×' : '');
    }
}
