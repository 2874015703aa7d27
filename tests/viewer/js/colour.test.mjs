// Colours and short texts of values.
import assert from 'node:assert/strict';
import test from 'node:test';

import {NOT_FINITE, ZERO, colourOf, mixStops, positionOf, scaleOf, shortBytes, shortNumber, shortTime, shortValue, textOn} from '../../../src/viewer/page/colour.js';

const like = {index: 0, id: 'maxabs', label: '', unit: '', group: '', graph: 0, of: 'node', scale: 'log', fold: 'max', better: 'low', values: [], names: []};

test('a logarithmic scale goes from the smallest positive to the largest value', () => {
    const scale = scaleOf({...like, values: [0, 1e-6, null, 1e-2, NaN, Infinity, -1]}, null);
    assert.deepEqual([scale.low, scale.high], [1e-6, 1e-2]);
    assert.equal(colourOf(scale, 1e-6).fill, '#12306e');
    assert.equal(colourOf(scale, 1e-2).fill, '#ffe94e');
    assert.ok(Math.abs(positionOf(scale, 1e-4) - 0.5) < 1e-12);
    assert.equal(colourOf(scale, 1).fill, '#ffe94e', 'beyond the end: the colour of the end');
});

test('not measured, zero and not finite differ from each other and from all of the scale', () => {
    const scale = scaleOf({...like, values: [1, 2]}, null);
    assert.equal(colourOf(scale, null).fill, null);
    assert.equal(colourOf(scale, 0).fill, ZERO);
    assert.equal(colourOf(scale, NaN).fill, NOT_FINITE);
    assert.equal(colourOf(scale, Infinity).fill, NOT_FINITE);
    assert.ok(!scale.stops.includes(ZERO) && !scale.stops.includes(NOT_FINITE));
});

test('where high is better, low values have the colour to look at', () => {
    const scale = scaleOf({...like, scale: 'linear', better: 'high', values: [10, 60]}, null);
    assert.equal(colourOf(scale, 0).fill, '#ffe94e');
    assert.equal(colourOf(scale, 60).fill, '#12306e');
});

test('a linear scale begins at zero if nothing is negative', () => {
    assert.equal(scaleOf({...like, scale: 'linear', values: [5, 9]}, null).low, 0);
    assert.equal(scaleOf({...like, scale: 'linear', values: [-5, 9]}, null).low, -5);
});

test('differences are symmetric: around zero, ratios around one', () => {
    const difference = scaleOf({...like, id: 'bytes_change', scale: 'diverging', values: [-2, 8]}, null);
    assert.deepEqual([difference.low, difference.high], [-8, 8]);
    assert.equal(colourOf(difference, 0).fill, '#d9d9d9');
    const ratio = scaleOf({...like, id: 'time_ratio', scale: 'diverging', values: [0.25, 2]}, null);
    assert.deepEqual([ratio.low, ratio.high], [0.25, 4]);
    assert.equal(colourOf(ratio, 1).fill, '#d9d9d9');
    assert.equal(colourOf(ratio, 4).fill, '#b4570a');
});

test('a chosen range wins over the values', () => {
    const scale = scaleOf({...like, values: [1e-9, 1]}, [1e-3, 1e-1]);
    assert.deepEqual([scale.low, scale.high], [1e-3, 1e-1]);
});

test('a single value is the high end, and no values are no colour', () => {
    assert.equal(colourOf(scaleOf({...like, values: [3]}, null), 3).fill, '#ffe94e');
    assert.equal(colourOf(scaleOf(like, null), null).fill, null);
});

test('names that mean the same have the same colour everywhere', () => {
    const scale = scaleOf({...like, scale: 'category', names: ['odd', 'fail', 'pass'], values: [0, 1, 2]}, null);
    assert.equal(colourOf(scale, 1).fill, '#d55e00');
    assert.equal(colourOf(scale, 2).fill, '#56b4e9');
    assert.equal(colourOf(scale, 7).fill !== undefined, true);
    assert.equal(colourOf(scale, NaN).fill, null);
});

test('text on a colour can be read', () => {
    const luminance = (hex) => {
        const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
    const scale = scaleOf({...like, values: [1, 2]}, null);
    for (let k = 0; k <= 100; k++) {
        const fill = mixStops(scale.stops, k / 100);
        assert.ok(contrast(fill, textOn(fill)) >= 4.5, `${fill} at ${k}`);
    }
});

test('short texts', () => {
    const texts = [0, 1.23456, 0.00123, 123456, 1e-7, 1e5, NaN, -Infinity].map(shortNumber);
    assert.deepEqual(texts, ['0', '1.23', '0.00123', '1.2e5', '1e-7', '1e5', 'NaN', '-Inf']);
    assert.deepEqual([shortTime(1.5), shortTime(999.9), shortTime(2.5e6)], ['1.5 µs', '1 ms', '2.5 s']);
    assert.deepEqual([shortBytes(100), shortBytes(3 * 1024 * 1024)], ['100 B', '3 MiB']);
    assert.equal(shortValue({...like, unit: 'us'}, 12), '12 µs');
    assert.equal(shortValue(like, null), '');
    assert.equal(shortValue({...like, scale: 'category', names: ['fail']}, 0), 'fail');
    assert.equal(shortValue({...like, unit: 'us'}, NaN), 'NaN');
});
