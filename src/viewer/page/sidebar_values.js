// SPDX-License-Identifier: Apache-2.0
// The values of a tensor: a plane of them as a picture, with a choice of the other indices, and as .npy files. They come from the page, or from
// the server in pieces.

import {data, readNumber} from './data.js';
import {append, button, el, exactNumber, fill, saveFile, shown} from './dom.js';
import {planeOf, planePicture, planeRange} from './charts.js';
import {counted} from './facts.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./data.js').Stats} Stats */
/** @typedef {{row: number, column: number, rows: number, columns: number, values: number[]}} Piece  part of a plane, row-major */

/**
 * A source of values. `window` is the largest number of rows, and of columns, that one read gives; with 0 a read gives the whole plane.
 * @typedef {{shape: number[], sides: string[], window: number, read: (side: string, at: number[], row: number, column: number) => Promise<Piece>,
 *     save: (side: string) => void}} ValueSource
 */

const PIECE_SIDE = 256;
const DIFFERENCE = 'B \u2212 A';

/**
 * The values that are in the page.
 * @param {Stats} stats
 * @param {NonNullable<Stats['plane']>} plane
 * @param {string} name
 * @returns {ValueSource}
 */
export function storedValues(stats, plane, name) {
    const sides = /** @type {const} */ (['a', 'b']).filter((side) => plane[side].length > 0);
    return {
        shape: plane.shape, sides, window: 0,
        read: async (side, at) => ({row: 0, column: 0, ...planeOf(side === 'b' ? plane.b : plane.a, plane.shape, at)}),
        save: (side) => saveFile(`${fileName(name)}_${side.toUpperCase()}.npy`, [npyFile(side === 'b' ? plane.b : plane.a, plane.shape, (side === 'b' ? stats.b : stats.a)?.dtype ?? '')], 'application/octet-stream'),
    };
}

/**
 * The values that the server has.
 * @param {Item} item
 * @param {number[]} shape
 * @param {string[]} sides
 * @param {string} name
 * @returns {ValueSource}
 */
export function servedValues(item, shape, sides, name) {
    const place = (/** @type {string} */ side) => `graph=${item.graph}&tensor=${item.id}&side=${side}`;
    return {
        shape, sides, window: PIECE_SIDE,
        read: async (side, at, row, column) => {
            const answer = await fetch(`values?${place(side)}&at=${at.join(',')}&row=${row}&column=${column}`);
            if (!answer.ok) throw new Error((await answer.text()).slice(0, 300));
            const piece = await answer.json();
            return {...piece, values: piece.values.map((/** @type {any} */ value) => readNumber(value) ?? NaN)};
        },
        save: (side) => {
            const link = el('a', {href: `values.npy?${place(side)}`, download: `${fileName(name)}_${side.toUpperCase()}.npy`});
            document.body.append(link);
            link.click();
            link.remove();
        },
    };
}

/**
 * Sizes in a text such as 1x64x7.
 * @param {string | null} text
 * @returns {number[] | null} null: not all are known
 */
export function knownShape(text) {
    if (text === null) return null;
    const sizes = text === '' ? [] : text.split('x').map(Number);
    return sizes.every((size) => Number.isInteger(size) && size > 0) ? sizes : null;
}

/** @returns {boolean} values can be fetched */
export function isServed() {
    return data.head().served;
}

/**
 * The picture of a plane with its controls.
 * @param {ValueSource} source
 * @param {string} name of the tensor
 */
export function valuesBox(source, name) {
    const choice = el('select', {'aria-label': 'Values shown'}, ...source.sides.map((side) => el('option', {value: side}, side.toUpperCase())));
    if (source.sides.length === 2) choice.append(el('option', {value: DIFFERENCE}, DIFFERENCE));
    const numbers = indexInputs(source);
    const picture = el('div', {class: 'plane-box'});
    const caption = el('p', {class: 'note', role: 'status'});
    let asked = 0;
    const draw = async () => {
        const mine = ++asked;
        try {
            const piece = await readPiece(source, choice.value, numbers.at.map(inputNumber), inputNumber(numbers.row), inputNumber(numbers.column));
            if (mine === asked) drawPiece(picture, caption, piece, choice.value, name);
        } catch (error) {
            if (mine !== asked) return;
            fill(picture);
            caption.textContent = shown(error instanceof Error ? error.message : String(error));
        }
    };
    for (const control of [choice, ...numbers.at, numbers.row, numbers.column]) control.addEventListener('input', draw);
    draw();
    const bar = el('div', {class: 'actions'}, choice, ...numbers.at);
    const [rows, columns] = [source.shape[source.shape.length - 2] ?? 1, source.shape[source.shape.length - 1] ?? 1];
    if (source.window > 0 && rows > source.window) append(bar, [el('label', {}, 'from row ', numbers.row)]);
    if (source.window > 0 && columns > source.window) append(bar, [el('label', {}, 'from column ', numbers.column)]);
    return el('div', {}, bar, picture, caption, el('div', {class: 'actions'}, ...source.sides.map((side) => button(`Save ${side.toUpperCase()}.npy`, () => source.save(side)))));
}

/** @param {ValueSource} source */
function indexInputs(source) {
    const input = (/** @type {number} */ size, /** @type {string} */ label, /** @type {number} */ step) =>
        el('input', {type: 'number', min: 0, max: Math.max(0, size - 1), step, value: 0, 'aria-label': `${label}, 0 to ${size - 1}`, title: `${label}, 0 to ${size - 1}`});
    const {shape} = source;
    return {
        at: shape.slice(0, -2).map((size, axis) => input(size, `Index on axis ${axis}`, 1)),
        row: input(shape[shape.length - 2] ?? 1, 'First row', PIECE_SIDE), column: input(shape[shape.length - 1] ?? 1, 'First column', PIECE_SIDE),
    };
}

/**
 * @param {HTMLInputElement} input
 * @returns {number} within its limits
 */
function inputNumber(input) {
    return Math.min(Math.max(Math.trunc(Number(input.value)) || 0, 0), Number(input.max));
}

/**
 * @param {ValueSource} source
 * @param {string} side
 * @param {number[]} at
 * @param {number} row
 * @param {number} column
 * @returns {Promise<Piece>}
 */
export async function readPiece(source, side, at, row, column) {
    if (side !== DIFFERENCE) return source.read(side, at, row, column);
    const [a, b] = await Promise.all([source.read('a', at, row, column), source.read('b', at, row, column)]);
    if (a.rows !== b.rows || a.columns !== b.columns) throw new Error('A and B have different shapes');
    return {...a, values: a.values.map((value, i) => b.values[i] - value)};
}

/**
 * @param {HTMLElement} picture
 * @param {HTMLElement} caption
 * @param {Piece} piece
 * @param {string} side
 * @param {string} name
 */
function drawPiece(picture, caption, piece, side, name) {
    const diverging = side === DIFFERENCE;
    const [low, high] = planeRange(piece.values);
    const most = Math.max(Math.abs(low), Math.abs(high));
    const from = piece.row > 0 || piece.column > 0 ? ` from row ${piece.row} and column ${piece.column}` : '';
    const text = `${counted(piece.rows, 'row')}, ${counted(piece.columns, 'column')}${from}, between ${exactNumber(low)} and ${exactNumber(high)}`;
    fill(picture, planePicture(piece, diverging ? [-most, most] : [low, high], diverging, `${side.toUpperCase()} of ${shown(name)}: ${text}`));
    caption.textContent = text;
}

// ---- Files ------------------------------------------------------------------------------------------

/**
 * A name without what files may not have in theirs; the server names files in the same way (serve/answer.c).
 * @param {string} name
 * @returns {string}
 */
export function fileName(name) {
    return name.replace(/[^A-Za-z0-9.-]+/g, '_').replace(/^[-._]+/, '').slice(0, 80) || 'tensor';
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
