// Graphs for the tests of the picture, made from short descriptions.
import {decodeGraph} from '../../../src/viewer/page/data.js';

/**
 * A graph whose nodes are [name, input tensors, output tensors, container]. Names of tensors are texts; those that no node makes are inputs.
 * @param {[string, string[], string[], number?][]} nodes
 * @param {{kind: number, name?: string, parent: number, node?: number, state?: number, layout?: object | null}[]} [containers]
 */
export function graphOf(nodes, containers = [{kind: 0, parent: -1}]) {
    const strings = [''];
    const s = (text) => {
        if (!strings.includes(text)) strings.push(text);
        return strings.indexOf(text);
    };
    const tensors = [];
    const t = (name) => {
        if (!tensors.includes(name)) tensors.push(name);
        return tensors.indexOf(name);
    };
    const inputs = nodes.map(([, names]) => names.map(t));
    const outputs = nodes.map(([, , names]) => names.map(t));
    const ops = [...new Set(nodes.map(([name]) => name.replace(/\d+$/, '')))];
    const column = (value) => tensors.map(() => value);
    return decodeGraph({
        name: 'test', kind: 'onnx', properties: [],
        op: {name: ops.map(s), domain: ops.map(() => 0), doc: ops.map(() => 0), category: ops.map(() => 'other')},
        node: {
            op: nodes.map(([name]) => ops.indexOf(name.replace(/\d+$/, ''))), name: nodes.map(([name]) => s(name)), parent: nodes.map((n) => n[3] ?? 0), kind: nodes.map(() => 0),
            inputs, outputs, w: nodes.map(() => 100), h: nodes.map(() => 40), members: {},
        },
        tensor: {
            name: tensors.map(s), dtype: column(0), kind: column(0), shape: column(-1), declared: column(-1), seen: column(-1), bytes: column(0), value: column(-1),
            producer: tensors.map((_, i) => outputs.findIndex((list) => list.includes(i))),
        },
        container: {
            kind: containers.map((c) => c.kind), name: containers.map((c) => s(c.name ?? '')), parent: containers.map((c) => c.parent), node: containers.map((c) => c.node ?? -1),
            note: containers.map(() => -1), state: containers.map((c) => c.state ?? 1), layout: containers.map((c) => c.layout ?? null),
        },
        strings,
    }, 0);
}

/** The indices of tensors by name. */
export function tensorNamed(g, name) {
    return g.tensor.name.findIndex((s) => g.strings[s] === name);
}

/** A layout of items [kind, ref, row, x, width, height]; rows are 60 apart. */
export function layoutOf(items, edges, extra = {}) {
    const column = (k) => items.map((item) => item[k]);
    const rows = Math.max(...column(2)) + 1;
    return {
        card: [120, 40], w: Math.max(...items.map((i) => i[3] + i[4] / 2)), h: rows * 60 - 20,
        kind: column(0), ref: column(1), row: column(2), x: column(3), iw: column(4), ih: column(5), edges, y: Array.from({length: rows}, (_, r) => r * 60), ...extra,
    };
}

/** A diamond: a to b and c, both to d; e is apart. */
export function diamond() {
    return graphOf([
        ['A0', ['x'], ['a']],
        ['B1', ['a'], ['b']],
        ['C2', ['a'], ['c']],
        ['B3', ['b', 'c'], ['d']],
        ['E4', ['y'], ['e']],
    ]);
}

/** A repeat (1) of two instances (2, 3) with two nodes each; node 4 stands outside. */
export function repeatOf(state) {
    const layout = layoutOf([[0, 0, 0, 50, 100, 40], [0, 1, 1, 50, 100, 40]], [[1, 0, 1]]);
    return graphOf(
        [['A0', ['x'], ['a'], 2], ['B1', ['a'], ['b'], 2], ['A2', ['b'], ['c'], 3], ['B3', ['c'], ['d'], 3], ['C4', ['d'], ['e'], 0]],
        [
            {kind: 0, parent: -1, layout: layoutOf([[1, 1, 0, 60, 120, 40], [0, 4, 1, 60, 100, 40]], [])},
            {kind: 2, name: 'layers', parent: 0, state},
            {kind: 3, name: 'layer.0', parent: 1, layout},
            {kind: 3, name: 'layer.1', parent: 1, layout: {card: [120, 40], like: 2, ref: [2, 3], tensor: [3]}},
        ],
    );
}
