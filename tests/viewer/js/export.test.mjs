// What leaves the page as text: the report of a bug, Netron's attachment; and the totals of many nodes.
import assert from 'node:assert/strict';
import test from 'node:test';

import {setBlocks, smallPage} from './support.mjs';

setBlocks(smallPage());
const {data} = await import('../../../src/viewer/page/data.js');
const {netronAttachment, reportText} = await import('../../../src/viewer/page/export.js');
const {foldOver} = await import('../../../src/viewer/page/sidebar_model.js');
const {firstFailing} = await import('../../../src/viewer/page/summary.js');

test('the text for a bug report names the first failing node, errors and commands', async () => {
    assert.deepEqual(firstFailing(), {kind: 'node', id: 0, graph: 0});
    const text = await reportText();
    assert.match(text, /^small\nVerdict: FAILED\. 1 of 2 tensors\n/);
    assert.match(text, /First failing node: Conv conv1 \(node 0 of small\)\n {2}time, median: 1\.5 ms\n/);
    assert.match(text, /output y float32 1\u00d764\u00d78\u00d78\n {4}largest absolute error: NaN\n/);
    assert.match(text, /Extract this node:\n {2}polygraphy surgeon extract small\.onnx --inputs x:auto:auto --outputs y:auto\n/);
    assert.match(text, /Command:\n {2}polygraphy view small\.onnx\n/);
    assert.match(text, /Environment:\n {2}CPU: 8 cores\n/);
});

test('an attachment for Netron has each measured value, and no others', () => {
    const attachment = JSON.parse(JSON.stringify(netronAttachment(0)));
    assert.equal(attachment.signature, 'netron:attachment');
    const errors = attachment.metrics.filter((metric) => metric.name === 'largest absolute error');
    assert.deepEqual(errors, [
        {kind: 'value', target: 'y', name: 'largest absolute error', value: 'NaN', type: 'string'},
        {kind: 'value', target: 'r', name: 'largest absolute error', value: 0.5, type: 'float64'},
    ]);
    const times = attachment.metrics.filter((metric) => metric.name === 'time, median (us)');
    assert.deepEqual(times.map((metric) => [metric.kind, metric.target, metric.value]), [['node', 'conv1', 1500], ['node', 'last', 'Inf']]);
    assert.deepEqual(attachment.metrics.find((metric) => metric.name === 'precision' && metric.target === 'last')?.value, 'float16');
});

test('totals: times add up, of errors the largest counts and NaN wins', () => {
    const g = data.graph(0);
    const [errors, times] = data.results().quantities;
    assert.deepEqual(foldOver(g, [0, 1], times), {count: 2, value: 1520, at: null});
    assert.deepEqual(foldOver(g, [1], errors), {count: 1, value: 0.5, at: {kind: 'tensor', id: 3, graph: 0}});
    const all = foldOver(g, [1, 0, 2], errors);
    assert.ok(Number.isNaN(all.value));
    assert.equal(all.at.id, 2);
    assert.equal(foldOver(g, [2], errors).count, 0, 'not measured counts for nothing');
});
