// The timeline's lanes, and what is found in them.
import assert from 'node:assert/strict';
import test from 'node:test';

import {axisStep, firstAfter, timelineLanes} from '../../../src/viewer/page/timeline_lanes.js';

function timeline(slices) {
    const column = (k) => slices.map((slice) => slice[k]);
    return {
        source: '', synthetic: false, note: null, rows: [{process: 'p', name: 'a'}, {process: 'p', name: 'b'}], strings: [''],
        slice: {row: column(0), start: column(1), duration: column(2), name: column(1), category: column(1), node: column(1), run: column(1)},
    };
}

test('a slice inside another lies one lane deeper; what follows does not', () => {
    const lanes = timelineLanes(timeline([[0, 10, 5], [0, 0, 10], [0, 2, 3], [0, 5, 5], [0, 3, 1], [1, 0, 1]]));
    assert.deepEqual(lanes.map((lane) => [lane.row, lane.depth, [...lane.slices]]), [[0, 0, [1, 0]], [0, 1, [2, 3]], [0, 2, [4]], [1, 0, [5]]]);
});

test('no slices, rows without slices, rows that are not there', () => {
    assert.deepEqual(timelineLanes(timeline([])).map((lane) => lane.slices.length), [0, 0]);
    assert.deepEqual(timelineLanes(timeline([[7, 0, 1]])).map((lane) => lane.slices.length), [0, 0]);
});

test('slices that overlap without nesting never share a lane', () => {
    const lanes = timelineLanes(timeline([[0, 0, 10], [0, 5, 10], [0, 12, 1]]));
    for (const lane of lanes) {
        for (let i = 1; i < lane.slices.length; i++) assert.notDeepEqual([lane.slices[i - 1], lane.slices[i]], [0, 1]);
    }
    assert.deepEqual(lanes[0].slices[0], 0);
    assert.deepEqual(lanes[1].slices[0], 1);
});

test('the first slice that ends after a time', () => {
    const t = timeline([[0, 0, 10], [0, 10, 10], [0, 30, 5]]);
    const [lane] = timelineLanes(t);
    assert.deepEqual([-1, 0, 10, 25, 34, 35].map((time) => firstAfter(lane, t.slice, time)), [0, 0, 1, 2, 2, 3]);
});

test('200 000 slices', () => {
    const slices = Array.from({length: 200000}, (_, i) => [i % 2, Math.floor(i / 2) * 10, 9]);
    const t = timeline(slices);
    const lanes = timelineLanes(t);
    assert.deepEqual(lanes.map((lane) => lane.slices.length), [100000, 100000]);
    assert.equal(firstAfter(lanes[0], t.slice, 500000), 50000);
});

test('steps of the axis', () => {
    assert.equal(axisStep(100, 10), 10);
    assert.equal(axisStep(130, 10), 20);
    assert.equal(axisStep(0.004, 10), 0.0005);
});
