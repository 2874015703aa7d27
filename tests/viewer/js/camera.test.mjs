// The camera and the index of what is seen.
import assert from 'node:assert/strict';
import test from 'node:test';

import {fitBox, firstCamera, pan, reveal, seen, toContent, toScreen, zoomAt} from '../../../src/viewer/page/camera.js';
import {Grid, overlap} from '../../../src/viewer/page/grid.js';

const view = {w: 800, h: 600};

test('zooming keeps the point under the pointer', () => {
    const camera = {x: 100, y: 50, scale: 1};
    const before = toContent(camera, view, 700, 100);
    const after = toContent(zoomAt(camera, view, 1.7, 700, 100), view, 700, 100);
    assert.ok(Math.abs(before.x - after.x) < 1e-9 && Math.abs(before.y - after.y) < 1e-9);
});

test('panning moves the content with the pointer', () => {
    const camera = pan({x: 100, y: 50, scale: 0.5}, 10, -20);
    assert.deepEqual(toScreen(camera, view, 100, 50), {x: 410, y: 280});
});

test('fit shows the whole, and never enlarges', () => {
    const camera = fitBox({x: 0, y: 0, w: 4000, h: 1000}, view);
    const part = seen(camera, view);
    assert.ok(part.x <= 0 && part.x + part.w >= 4000 && part.y <= 0 && part.y + part.h >= 1000);
    assert.equal(fitBox({x: 0, y: 0, w: 10, h: 10}, view).scale, 1);
});

test('the first picture of a long graph is its beginning, large enough to read', () => {
    const camera = firstCamera({w: 700, h: 90000}, view, false, 350);
    const part = seen(camera, view);
    assert.ok(camera.scale >= 0.75);
    assert.ok(part.y <= 0 && part.y > -100);
    assert.ok(part.x <= 0 && part.x + part.w >= 700);
});

test('revealing moves no more than needed', () => {
    const camera = {x: 400, y: 300, scale: 1};
    assert.deepEqual(reveal(camera, view, {x: 300, y: 300, w: 100, h: 40}), camera);
    const moved = reveal(camera, view, {x: 300, y: 900, w: 100, h: 40});
    const part = seen(moved, view);
    assert.equal(moved.x, camera.x);
    assert.ok(part.y + part.h >= 940 && part.y + part.h < 1000);
});

test('the grid finds all boxes that a linear search finds', () => {
    let random = 7;
    const next = (n) => (random = (random * 1103515245 + 12345) % 2147483648) % n;
    const boxes = Array.from({length: 3000}, () => ({x: next(20000), y: next(9000), w: next(300), h: next(60)}));
    const grid = new Grid(20000, 9000, boxes.length);
    boxes.forEach((b, i) => grid.add(i, b.x, b.y, b.x + b.w, b.y + b.h));
    for (let k = 0; k < 50; k++) {
        const part = {x: next(22000) - 1000, y: next(10000) - 500, w: next(3000), h: next(2000)};
        const found = new Set(grid.find(part));
        boxes.forEach((b, i) => overlap(b, part) && assert.ok(found.has(i), `box ${i}`));
        assert.ok(found.size < boxes.length);
    }
});

test('a graph of no size is no error', () => {
    assert.deepEqual(new Grid(0, 0, 0).find({x: 0, y: 0, w: 1, h: 1}), []);
});
