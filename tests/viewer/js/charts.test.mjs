// Planes of values, and .npy files.
import assert from 'node:assert/strict';
import test from 'node:test';

import {planeOf, planeRange} from '../../../src/viewer/page/charts.js';
import {fileName, npyFile} from '../../../src/viewer/page/sidebar_values.js';

test('a plane at chosen indices', () => {
    const values = Array.from({length: 2 * 3 * 2 * 2}, (_, i) => i);
    assert.deepEqual(planeOf(values, [2, 3, 2, 2], [1, 2]), {rows: 2, columns: 2, values: [20, 21, 22, 23]});
    assert.deepEqual(planeOf(values, [2, 3, 2, 2], [9, -5]).values, [12, 13, 14, 15], 'indices out of range are the nearest');
    assert.deepEqual(planeOf([1, 2, 3], [3], []), {rows: 1, columns: 3, values: [1, 2, 3]});
    assert.deepEqual(planeOf([7], [], []), {rows: 1, columns: 1, values: [7]});
    assert.deepEqual(planeOf([], [0, 4], []).values, []);
});

test('the range of a plane leaves out what is not finite', () => {
    assert.deepEqual(planeRange([3, NaN, -1, Infinity]), [-1, 3]);
    assert.deepEqual(planeRange([NaN]), [0, 0]);
});

function readNpy(buffer) {
    const view = new DataView(buffer);
    const head = 10 + view.getUint16(8, true);
    assert.equal(head % 64, 0);
    const text = Buffer.from(buffer, 10, head - 10).toString('latin1');
    assert.ok(text.endsWith('\n'));
    return {text: text.trim(), view: new DataView(buffer, head)};
}

test('.npy files', () => {
    const {text, view} = readNpy(npyFile([1.5, -2, NaN], [3], 'float32'));
    assert.equal(text, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
    assert.equal(view.getFloat32(4, true), -2);
    assert.ok(Number.isNaN(view.getFloat32(8, true)));
    assert.equal(view.byteLength, 12);
    assert.match(readNpy(npyFile([1, 2], [1, 2], 'int64')).text, /'<i8'.*\(1, 2\)/);
    assert.equal(readNpy(npyFile([-5], [], 'int64')).view.getBigInt64(0, true), -5n);
    assert.match(readNpy(npyFile([1], [], 'bfloat16')).text, /'<f4'.*\(\)/);
    assert.match(readNpy(npyFile([1], [1], 'float64')).text, /'<f8'/);
});

test('names of files have nothing that a shell or a folder could mean', () => {
    assert.equal(fileName('../../etc/passwd'), 'etc_passwd');
    assert.equal(fileName('a b\u0000$(c)'), 'a_b_c_');
    assert.equal(fileName('\u65e5'), 'tensor');
    assert.equal(fileName('-rf'), 'rf');
    assert.equal(fileName('/../encoder.0/w"\r\nX:1;\u00e9_w2'), 'encoder.0_w_X_1_w2', 'as serve.c expects of the server');
    assert.equal(fileName('x'.repeat(10000)).length, 80);
});
