// SPDX-License-Identifier: Apache-2.0
// Small charts of a tensor's statistics: histograms on shared bins, the curve of errors against tolerances, and a plane of values as a
// picture. Charts are SVG, so that they print; each says in words what it shows.

import {mixStops, scaleOf, shortNumber} from './colour.js';
import {el, exactNumber, svgElement} from './dom.js';

const CHART = {width: 280, height: 84, left: 2, bottom: 14, top: 4};

/**
 * A counted set of bins, drawn as a line of steps so that a second one can lie over it.
 * @param {number[]} counts
 * @param {number} most the count that fills the height
 * @param {string} name class of the shape
 */
function stepShape(counts, most, name) {
    const width = (CHART.width - 2 * CHART.left) / counts.length;
    const base = CHART.height - CHART.bottom;
    const high = base - CHART.top;
    let path = `M${CHART.left} ${base}`;
    counts.forEach((count, i) => {
        // A bin that is not empty shows, however small its share is.
        const size = count === 0 ? 0 : Math.max(1.5, (high * Math.log1p(count)) / Math.log1p(most));
        const y = (base - size).toFixed(1);
        path += `L${(CHART.left + i * width).toFixed(1)} ${y}L${(CHART.left + (i + 1) * width).toFixed(1)} ${y}`;
    });
    return svgElement('path', {d: `${path}L${CHART.width - CHART.left} ${base}Z`, class: name});
}

/**
 * @param {string} text what the chart shows, in words
 * @param {number} low
 * @param {number} high
 */
function chartFrame(text, low, high) {
    const svg = svgElement('svg', {class: 'chart', viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: 'img', 'aria-label': text});
    const base = CHART.height - CHART.bottom;
    svg.append(svgElement('title', {}, text));
    svg.append(svgElement('line', {x1: CHART.left, x2: CHART.width - CHART.left, y1: base, y2: base, class: 'axis'}));
    svg.append(svgElement('text', {x: CHART.left, y: CHART.height - 3, class: 'tick'}, shortNumber(low)));
    svg.append(svgElement('text', {x: CHART.width - CHART.left, y: CHART.height - 3, class: 'tick end'}, shortNumber(high)));
    if (low < 0 && high > 0) {
        const x = CHART.left + ((CHART.width - 2 * CHART.left) * -low) / (high - low);
        svg.append(svgElement('line', {x1: x, x2: x, y1: CHART.top, y2: base + 3, class: 'zero'}));
        if (x > 40 && x < CHART.width - 40) svg.append(svgElement('text', {x, y: CHART.height - 3, class: 'tick middle'}, '0'));
    }
    return svg;
}

/**
 * @param {number[]} counts
 * @param {number} low
 * @param {number} high
 */
function peakText(counts, low, high) {
    const most = Math.max(...counts);
    const width = (high - low) / counts.length;
    const at = low + width * counts.indexOf(most);
    return `most values (${most}) between ${exactNumber(at)} and ${exactNumber(at + width)}`;
}

/**
 * The histograms of A and B on the same bins.
 * @param {{low: number, high: number, a: number[], b: number[]}} histogram
 */
export function histogramChart(histogram) {
    const {low, high, a, b} = histogram;
    const most = Math.max(1, ...a, ...b);
    const sides = [['A', a], ['B', b]].filter(([, counts]) => counts.length > 0);
    const words = sides.map(([side, counts]) => `${side}: ${peakText(/** @type {number[]} */ (counts), low, high)}`).join('; ');
    const svg = chartFrame(`Histogram from ${exactNumber(low)} to ${exactNumber(high)}, counts on a logarithmic scale. ${words}.`, low, high);
    if (a.length > 0) svg.append(stepShape(a, most, 'bars a'));
    if (b.length > 0) svg.append(stepShape(b, most, 'bars b'));
    return svg;
}

/** @param {{low: number, high: number, counts: number[]}} difference */
export function differenceChart(difference) {
    const {low, high, counts} = difference;
    const svg = chartFrame(`Histogram of the differences from ${exactNumber(low)} to ${exactNumber(high)}: ${peakText(counts, low, high)}.`, low, high);
    svg.append(stepShape(counts, Math.max(1, ...counts), 'bars d'));
    return svg;
}

/**
 * The share of elements beyond a tolerance, both on logarithmic scales. A share of zero lies on the base line.
 * @param {[number, number][]} curve
 */
export function curveChart(curve) {
    const points = curve.filter(([tolerance]) => tolerance > 0);
    if (points.length < 2) return null;
    const low = points[0][0];
    const high = points[points.length - 1][0];
    const smallest = Math.min(...points.filter(([, share]) => share > 0).map(([, share]) => share), 1);
    const depth = Math.max(1, -Math.log10(smallest)) + 0.3;
    const base = CHART.height - CHART.bottom;
    const place = (/** @type {[number, number]} */ [tolerance, share]) => {
        const x = CHART.left + ((CHART.width - 2 * CHART.left) * Math.log(tolerance / low)) / Math.log(high / low);
        const y = share > 0 ? CHART.top + ((base - CHART.top) * -Math.log10(share)) / depth : base;
        return `${x.toFixed(1)} ${y.toFixed(1)}`;
    };
    const none = points.find(([, share]) => share === 0);
    const words = none ? `no element is beyond ${exactNumber(none[0])}` : `beyond ${exactNumber(high)} there are still ${exactNumber(100 * points[points.length - 1][1])} %`;
    const svg = chartFrame(`Share of elements beyond a tolerance, from ${exactNumber(low)} to ${exactNumber(high)}: ${words}.`, low, high);
    svg.append(svgElement('path', {d: `M${points.map(place).join('L')}`, class: 'curve'}));
    return svg;
}

/**
 * What a plane's picture covers: the smallest and largest finite value.
 * @param {ArrayLike<number>} values
 * @returns {[number, number]}
 */
export function planeRange(values) {
    let low = Infinity;
    let high = -Infinity;
    for (let i = 0; i < values.length; i++) {
        if (!Number.isFinite(values[i])) continue;
        low = Math.min(low, values[i]);
        high = Math.max(high, values[i]);
    }
    return low > high ? [0, 0] : [low, high];
}

/**
 * The two-dimensional part of a tensor's values at chosen indices of the other axes.
 * @param {ArrayLike<number>} values row-major
 * @param {number[]} shape
 * @param {number[]} at index on each axis but the last two
 * @returns {{rows: number, columns: number, values: number[]}}
 */
export function planeOf(values, shape, at) {
    const rows = shape.length > 1 ? shape[shape.length - 2] : 1;
    const columns = shape.length > 0 ? shape[shape.length - 1] : 1;
    let offset = 0;
    for (let axis = 0; axis < shape.length - 2; axis++) offset = offset * shape[axis] + Math.min(Math.max(at[axis] ?? 0, 0), shape[axis] - 1);
    const plane = [];
    for (let i = 0; i < rows * columns; i++) plane.push(values[offset * rows * columns + i]);
    return {rows, columns, values: plane};
}

/**
 * The colours of a plane's picture, as for quantities: 256 steps of red, green and blue.
 * @param {boolean} diverging
 * @returns {number[][]}
 */
function planeColours(diverging) {
    const like = {index: -1, id: '', label: '', unit: '', group: '', graph: 0, of: 'tensor', fold: 'max', better: 'none', values: [], names: [], scale: diverging ? 'diverging' : 'linear'};
    const {stops} = scaleOf(/** @type {import('./data.js').Quantity} */ (like), [0, 1]);
    return Array.from({length: 256}, (_, i) => {
        const colour = parseInt(mixStops(stops, i / 255).slice(1), 16);
        return [colour >> 16, (colour >> 8) & 255, colour & 255];
    });
}

const PLANE_ODD = [194, 24, 91];

/**
 * Draws a plane: one pixel of the canvas for each value; NaN and infinities in a colour of their own.
 * @param {{rows: number, columns: number, values: number[]}} plane
 * @param {[number, number]} range
 * @param {boolean} diverging
 * @param {string} text what it shows
 */
export function planePicture(plane, range, diverging, text) {
    const canvas = el('canvas', {class: 'plane', width: Math.max(1, plane.columns), height: Math.max(1, plane.rows), role: 'img', 'aria-label': text});
    const context = canvas.getContext('2d');
    if (!context || plane.values.length === 0) return canvas;
    const image = context.createImageData(plane.columns, plane.rows);
    const colours = planeColours(diverging);
    const span = range[1] - range[0];
    plane.values.forEach((value, i) => {
        const share = span > 0 ? (value - range[0]) / span : 0.5;
        const rgb = Number.isFinite(value) ? colours[Math.round(255 * Math.min(Math.max(share, 0), 1))] : PLANE_ODD;
        image.data.set([rgb[0], rgb[1], rgb[2], 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
    return canvas;
}
