// Tables: order, filters, and what is exported.
import assert from 'node:assert/strict';
import test from 'node:test';

import {compareCells, csvCell, filterRows, tableColumns, tableCsv, tableJson} from '../../../src/viewer/page/table_view.js';

const ROWS = [['conv10', 12.5, 'fail'], ['conv9', NaN, 'pass'], ['relu', null, 'pass'], ['=SUM(A1)', -3, 'pass']];
const COLUMNS = [
    {name: 'Layer name', kind: 'text', value: (row) => ROWS[row][0]},
    {name: 'Time', kind: 'us', value: (row) => ROWS[row][1]},
    {name: 'Verdict', kind: 'verdict', value: (row) => ROWS[row][2]},
];

function sorted(values, down) {
    return [...values].sort((a, b) => compareCells(a, b, down));
}

test('what is missing is last in both directions, NaN is largest', () => {
    assert.deepEqual(sorted([null, 2, NaN, 1, Infinity], false), [1, 2, Infinity, NaN, null]);
    assert.deepEqual(sorted([null, 2, NaN, 1, Infinity], true), [NaN, Infinity, 2, 1, null]);
});

test('digits in texts count by their value', () => {
    assert.deepEqual(sorted(['conv10', 'conv9', null], false), ['conv9', 'conv10', null]);
});

test('filters: words, columns, comparisons, errors', () => {
    assert.deepEqual(filterRows(COLUMNS, 4, 'conv').rows, [0, 1]);
    assert.deepEqual(filterRows(COLUMNS, 4, 'verdict:pass').rows, [1, 2, 3]);
    assert.deepEqual(filterRows(COLUMNS, 4, 'layer_name:conv -verdict:pass').rows, [0]);
    assert.deepEqual(filterRows(COLUMNS, 4, 'time>0.01ms').rows, [0, 1]);
    assert.deepEqual(filterRows(COLUMNS, 4, 'time<0').rows, [3]);
    assert.deepEqual(filterRows(COLUMNS, 4, '').rows, [0, 1, 2, 3]);
    assert.match(filterRows(COLUMNS, 4, 'speed>3').error, /"speed" is no quantity of this page; there are: time/);
});

test('CSV: quotes, and texts that a spreadsheet would run', () => {
    assert.equal(csvCell('a,"b"'), '"a,""b"""');
    assert.equal(csvCell('two\nlines'), '"two\nlines"');
    assert.equal(csvCell('plain'), 'plain');
    for (const text of ['=1+1', '+1', '-1', '@x', '\tx', ' =1', '\uff1dx']) assert.equal(csvCell(text).replace(/^"/, '')[0], "'", JSON.stringify(text));
    assert.equal(csvCell(-1.5), '-1.5', 'a number is no formula');
    assert.equal(csvCell(NaN), 'nan');
    assert.equal(csvCell(-Infinity), '-inf');
    assert.equal(csvCell(null), '');
});

test('a table as CSV and JSON, in the order that is shown', () => {
    assert.equal(tableCsv(COLUMNS, [3, 1, 2]), "Layer name,Time,Verdict\r\n'=SUM(A1),-3,pass\r\nconv9,nan,pass\r\nrelu,,pass\r\n");
    assert.deepEqual(JSON.parse(tableJson(COLUMNS, [1, 2])), [{'Layer name': 'conv9', Time: 'nan', Verdict: 'pass'}, {'Layer name': 'relu', Time: null, Verdict: 'pass'}]);
});

test('a column called __proto__ is a column', () => {
    const json = tableJson([{name: '__proto__', kind: 'text', value: () => 'x'}], [0]);
    assert.equal(json.replace(/\s/g, ''), '[{"__proto__":"x"}]');
});

test('columns of a block: links to nodes, and numbers that JSON lacks', () => {
    const columns = tableColumns({
        id: 'layers', title: '', graph: 1, note: null, columns: [{name: 'layer', kind: 'node'}, {name: 'time', kind: 'us'}, {name: 'kernel', kind: 'text'}],
        rows: [[[4, 'conv'], 'inf', 'nan'], [[-1, 'gone'], null, null]],
    });
    assert.deepEqual(columns[0].item(0), {kind: 'node', id: 4, graph: 1});
    assert.equal(columns[0].item(1), null);
    assert.equal(columns[0].value(1), 'gone');
    assert.equal(columns[1].value(0), Infinity);
    assert.equal(columns[1].value(1), null);
    assert.equal(columns[2].value(0), 'nan', 'a text stays one');
});
