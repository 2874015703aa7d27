// Positions (docs/formats/page.md, Arranging).
import assert from 'node:assert/strict';
import test from 'node:test';

import {arrange, finish} from '../../../src/viewer/page/arrange.js';
import {graphOf, layoutOf, tensorNamed} from './graphs.mjs';

/** Node 0, then a scope (1) with nodes 1 and 2, beside it node 3, then node 4. */
function nested() {
    return graphOf(
        [['A0', ['x'], ['a'], 0], ['B1', ['a'], ['b'], 1], ['C2', ['b'], ['c'], 1], ['D3', ['a'], ['d'], 0], ['E4', ['c', 'd'], ['e'], 0]],
        [
            {
                kind: 0, parent: -1,
                layout: layoutOf([[0, 0, 0, 60, 100, 40], [1, 1, 1, 60, 120, 40], [0, 3, 1, 190, 100, 40], [0, 4, 2, 60, 100, 40]], [[1, 0, 1], [1, 0, 2], [3, 1, 3], [4, 2, 3]]),
            },
            {kind: 1, name: 'scope', parent: 0, state: 0, layout: layoutOf([[3, 1, 0, 80, 0, 0], [0, 1, 1, 80, 160, 40], [0, 2, 2, 80, 160, 40], [4, 3, 3, 80, 0, 0]], [[1, 0, 1], [2, 1, 2], [3, 2, 3]])},
        ],
    );
}

function sceneOf(g, changes = {}) {
    const size = ({kind, id}) => (kind === 'node' ? {w: g.node.w[id], h: g.node.h[id]} : {w: 120, h: 40});
    return finish(arrange(g, {folding: {states: new Map(), instance: new Map(), root: 0}, horizontal: false, size, keep: null, ...changes}));
}

const open = (states, root = 0) => ({folding: {states: new Map(states), instance: new Map(), root}});
const boxOf = (scene, node) => scene.cards[scene.cardOfNode.get(node)];
const centre = (box) => box.x + box.w / 2;

test('with nothing unfolded, places are those of the layout', () => {
    const scene = sceneOf(nested());
    assert.deepEqual(scene.cards.map((c) => [centre(c), c.y]), [[60, 0], [60, 60], [190, 60], [60, 120]]);
    assert.equal(scene.frames.length, 0);
    assert.equal(scene.h, 160);
});

test('an open container pushes its neighbours away, and lines stay straight', () => {
    const g = nested();
    g.node.w[1] = g.node.w[2] = 160;
    const scene = sceneOf(g, open([[1, 1]]));
    const frame = scene.frames[0];
    assert.equal(frame.w, 160 + 20);
    assert.equal(frame.h, 180 + 20 + 22);
    assert.equal(centre(boxOf(scene, 0)), centre(frame), 'what stood above its middle still does');
    assert.equal(centre(boxOf(scene, 4)), centre(frame));
    assert.equal(boxOf(scene, 3).x, frame.x + frame.w + 20, 'the gap of the layout, 20 at most');
    assert.equal(boxOf(scene, 3).y + 20, frame.y + frame.h / 2, 'in the middle of the row');
    assert.equal(boxOf(scene, 4).y, frame.y + frame.h + 20);
    assert.equal(scene.w, boxOf(scene, 3).x + 100);
});

test('the content of a frame begins at (10, 32)', () => {
    const scene = sceneOf(nested(), open([[1, 1]]));
    const frame = scene.frames[0];
    assert.equal(boxOf(scene, 1).y, frame.y + 32 + 60);
    assert.ok(scene.cards.every((c) => c.x >= 0 && c.y >= 0 && c.x + c.w <= scene.w && c.y + c.h <= scene.h));
});

test('folding again gives the first picture', () => {
    const g = nested();
    const before = sceneOf(g);
    sceneOf(g, open([[1, 1]]));
    assert.deepEqual(sceneOf(g).cards, before.cards);
});

test('an edge meets an open container at its port, and goes on inside', () => {
    const g = nested();
    const scene = sceneOf(g, open([[1, 1]]));
    const frame = scene.frames[0];
    const enters = scene.edges.filter((e) => e.tensor === tensorNamed(g, 'a') && e.points[e.points.length - 1] === frame.y);
    assert.equal(enters.length, 1);
    assert.equal(enters[0].arrow, false);
    const goesOn = scene.edges.find((e) => e.points[1] === frame.y + 22 && e.tensor === tensorNamed(g, 'a'));
    assert.equal(goesOn.points[0], enters[0].points[enters[0].points.length - 2], 'at the same place of the border');
    assert.equal(goesOn.arrow, true);
});

test('edges into one card do not meet at one point', () => {
    const scene = sceneOf(nested());
    const ends = scene.edges.filter((e) => e.points[e.points.length - 1] === 120).map((e) => e.points[e.points.length - 2]);
    assert.equal(ends.length, 2);
    assert.ok(ends[0] < ends[1], 'the left source ends on the left');
});

test('a container can be opened by itself', () => {
    const scene = sceneOf(nested(), open([], 1));
    assert.deepEqual(scene.cards.map((c) => c.item.id), [1, 2]);
});

test('only a neighbourhood', () => {
    const g = nested();
    const scene = sceneOf(g, {keep: ({kind, id}) => kind === 'node' && (id === 0 || id === 3)});
    assert.deepEqual(scene.cards.map((c) => c.item.id), [0, 3]);
    assert.equal(scene.edges.length, 1);
    assert.ok(boxOf(scene, 3).y > boxOf(scene, 0).y + 40);
});

test('from left to right, rows are columns and nothing overlaps', () => {
    const scene = sceneOf(nested(), {horizontal: true, ...open([[1, 1]])});
    assert.ok(boxOf(scene, 0).x < scene.frames[0].x && scene.frames[0].x + scene.frames[0].w <= boxOf(scene, 4).x);
    for (const [i, a] of scene.cards.entries()) {
        for (const b of scene.cards.slice(i + 1)) assert.ok(a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y);
    }
});

/** A repeat (1) of two instances (2, 3) with one node each. */
function repeated() {
    return graphOf(
        [['S0', ['x'], ['s'], 0], ['A1', ['s'], ['a'], 2], ['A2', ['a'], ['b'], 3], ['E3', ['b'], ['e'], 0]],
        [
            {kind: 0, parent: -1, layout: layoutOf([[0, 0, 0, 60, 100, 40], [1, 1, 1, 60, 120, 40], [0, 3, 2, 60, 100, 40]], [[1, 0, 1], [3, 1, 2]])},
            {kind: 2, parent: 0, state: 2, layout: layoutOf([[3, 1, 0, 60, 0, 0], [1, 2, 1, 60, 120, 40], [1, 3, 2, 60, 120, 40], [4, 3, 3, 60, 0, 0]], [[1, 0, 1], [2, 1, 2], [3, 2, 3]])},
            {kind: 3, parent: 1, layout: layoutOf([[3, 1, 0, 50, 0, 0], [0, 1, 1, 50, 100, 40], [4, 2, 2, 50, 0, 0]], [[1, 0, 1], [2, 1, 2]])},
            {kind: 3, parent: 1, layout: {card: [120, 40], like: 2, ref: [2, 2, 3], tensor: [2, 3]}},
        ],
    );
}

test('of a repeat one instance is shown, and the edges around it meet it', () => {
    const g = repeated();
    for (const [instance, node] of [[0, 1], [1, 2]]) {
        const scene = sceneOf(g, {folding: {states: new Map(), instance: new Map([[1, instance]]), root: 0}});
        assert.deepEqual(scene.cards.map((c) => c.item.id), [0, node, 3]);
        const frame = scene.frames[0];
        const port = frame.x + 10 + 50;
        assert.ok(scene.edges.some((e) => e.points[e.points.length - 1] === frame.y && e.points[e.points.length - 2] === port), 'into the frame at the port');
        assert.ok(scene.edges.some((e) => e.points[1] === frame.y + frame.h && e.points[0] === port), 'out of the frame at the port');
    }
});

test('an open repeat shows all instances, which have the places of the first', () => {
    const g = repeated();
    const scene = sceneOf(g, open([[1, 1]]));
    assert.deepEqual(scene.cards.map((c) => c.item.id), [0, 1, 2, 3]);
    assert.equal(scene.frames.length, 3);
    assert.equal(scene.edges.length, 9, 'the second instance has the edges of the first, with tensors of its own');
});

test('what a body takes from outside is a tunnel', () => {
    const g = graphOf(
        [['A0', ['x'], ['a'], 0], ['If1', ['c'], ['y'], 1], ['B2', ['a'], ['b'], 2]],
        [
            {kind: 0, parent: -1, layout: layoutOf([[0, 0, 0, 60, 100, 40], [1, 1, 1, 60, 120, 40]], [[2, 0, 1]])},
            {kind: 5, parent: 0, node: 1, layout: layoutOf([[3, 2, 0, 60, 0, 0], [1, 2, 1, 60, 120, 40]], [[2, 0, 1]])},
            {kind: 6, parent: 1, layout: layoutOf([[3, 2, 0, 50, 0, 0], [0, 2, 1, 50, 100, 40]], [[2, 0, 1]])},
        ],
    );
    assert.deepEqual(sceneOf(g).edges.map((e) => e.tunnel), [true, true, true]);
    const folded = sceneOf(g, open([[1, 0]]));
    assert.equal(folded.cardOfNode.get(1), folded.cardOfContainer.get(1), 'a folded call is the card of its node');
});

test('50 000 nodes are arranged in steps that are short', () => {
    const count = 50000;
    const nodes = Array.from({length: count}, (_, n) => [`A${n}`, [`t${n % 5}`], [], 0]);
    const items = Array.from({length: count}, (_, n) => [0, n, Math.floor(n / 50), (n % 50) * 120 + 50, 100, 40]);
    const g = graphOf(nodes, [{kind: 0, parent: -1, layout: layoutOf(items, [])}]);
    const steps = arrange(g, {folding: {states: new Map(), instance: new Map(), root: 0}, horizontal: false, size: () => ({w: 110, h: 40}), keep: null});
    let taken = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) taken++;
    assert.equal(step.value.cards.length, count);
    assert.ok(taken > 150, `only ${taken} steps`);
});
