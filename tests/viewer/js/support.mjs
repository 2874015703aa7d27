// A page without a browser: the blocks of data that the modules read, and as much of a document as they need.

/**
 * Makes `document` hold the blocks of a page.
 * @param {{[name: string]: unknown}} blocks
 */
export function setBlocks(blocks) {
    const held = new Map(Object.entries(blocks).map(([name, value]) => [`pgy-${name}`, JSON.stringify(value)]));
    globalThis.document = {
        hidden: true,
        getElementById(id) {
            const text = held.get(id);
            return text === undefined ? null : {textContent: text, remove: () => held.delete(id)};
        },
    };
}

/**
 * A graph of three nodes: Conv (named conv1) to Relu (no name) to MyOp, with a weight; node 3 is the input's card.
 */
export function smallGraph() {
    const strings = ['', 'Conv', 'Relu', 'MyOp', 'conv1', 'last', 'x', 'w', 'y', 'r', 'z', 'float32', '1x64x8x8', '64x3x3x3', 'float16', 'scope', 'com.example'];
    const s = (text) => strings.indexOf(text);
    return {
        name: 'small', kind: 'onnx', properties: [], strings,
        commands: [['Extract this node', 'polygraphy surgeon extract small.onnx --inputs {inputs} --outputs {outputs}']],
        op: {name: [s('Conv'), s('Relu'), s('MyOp'), s('x')], domain: [0, 0, s('com.example'), 0], doc: [0, 0, 0, 0], category: ['layer', 'activation', 'other', 'input']},
        node: {
            op: [0, 1, 2, 3], name: [s('conv1'), 0, s('last'), s('x')], parent: [1, 1, 0, 0], kind: [0, 0, 0, 1],
            inputs: [[0, 1], [2], [3, -1], []], outputs: [[2], [3], [4], [0]], w: [90, 90, 90, 90], h: [40, 40, 40, 40], members: {2: ['Inner_Node']},
        },
        tensor: {
            name: [s('x'), s('w'), s('y'), s('r'), s('z')], dtype: [s('float32'), s('float32'), s('float32'), s('float16'), s('float32')], kind: [1, 3, 0, 0, 2],
            shape: [-1, s('64x3x3x3'), s('1x64x8x8'), s('1x64x8x8'), 0], declared: [-1, -1, -1, -1, -1], seen: [-1, -1, -1, -1, -1], producer: [3, -1, 0, 1, 2],
            bytes: [0, 6912, 16384, 8192, 4], value: [-1, -1, -1, -1, -1],
        },
        container: {kind: [0, 1], name: [0, s('scope')], parent: [-1, 0], node: [-1, -1], note: [-1, -1], state: [1, 1], layout: [null, null]},
    };
}

/** Results of that graph: errors of y (NaN), r (0.5) and z (not measured), times of nodes, a mark. */
export function smallResults() {
    const like = {unit: '', graph: 0, scale: 'log', fold: 'max', better: 'low', names: []};
    return {
        quantities: [
            {...like, id: 'maxabs', label: 'largest absolute error', group: 'accuracy', of: 'tensor', values: [null, null, 'nan', 0.5, null]},
            {...like, id: 'time', label: 'time, median', unit: 'us', group: 'time', of: 'node', fold: 'sum', values: [1500, 20, 'inf', null]},
            {...like, id: 'precision', label: 'precision', group: 'type', of: 'node', scale: 'category', fold: 'same', better: 'none', names: ['float32', 'float16'], values: [0, 1, 1, null]},
        ],
        marks: [{graph: 0, of: 'tensor', at: 2, kind: 'fail', text: ''}, {graph: 0, of: 'node', at: 0, kind: 'first', text: 'starts here'}],
        pairs: null, stats: [],
    };
}

/** The head of a page with that graph. */
export function smallHead() {
    return {
        version: 1, title: 'small', generator: 'polygraphy', command: 'polygraphy view small.onnx', served: false, sources: [{kind: 'model', path: 'small.onnx', label: 'model'}],
        graphs: [{name: 'small', kind: 'onnx', nodes: 4, role: 'a'}], verdict: {passed: false, text: '1 of 2 tensors'}, summary: [{title: 'Environment', rows: [['CPU', '8 cores']]}],
        warnings: [], tables: [], blocks: ['head', 'graph-0', 'results', 'detail-0-0'],
    };
}

/** All blocks of that page. */
export function smallPage() {
    const details = [{commands: [0]}, null, null, null];
    return {head: smallHead(), 'graph-0': smallGraph(), results: smallResults(), 'detail-0-0': details};
}
