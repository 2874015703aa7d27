// SPDX-License-Identifier: Apache-2.0
// Getting things out: the picture as SVG or PNG, tables, a text for a bug report, and an attachment for Netron.

import {data, nodeName, tensorName} from './data.js';
import {store} from './store.js';
import {announce, button, copyText, el, exactNumber, fill, saveFile, shown} from './dom.js';
import {SvgContext} from './svg_context.js';
import {extent, paint} from './show.js';
import {columnKey, tableColumns, tableCsv, tableJson} from './table_view.js';
import {itemName, measuredOf, opOf, quantityText, tensorType} from './facts.js';
import {firstFailing, lastFolder} from './summary.js';
import {fileName} from './sidebar_values.js';
import {closeOutside} from './views.js';

/** Sides of a PNG file that browsers can make. */
const PNG_SIDE = 16000;

/** @param {string} end @returns {string} a file name after the page's title */
function exportName(end) {
    return `${fileName(data.head().title)}${end}`;
}

/**
 * Saves the picture of the graph: what is seen, or all of it.
 * @param {'svg' | 'png'} kind
 * @param {boolean} [all]
 */
export function savePicture(kind, all = false) {
    const canvas = document.getElementById('canvas');
    const size = all ? extent() : {w: canvas?.clientWidth || 1200, h: canvas?.clientHeight || 800};
    if (kind === 'svg') {
        const context = new SvgContext(size.w, size.h);
        paint(/** @type {CanvasRenderingContext2D} */ (/** @type {unknown} */ (context)), size.w, size.h, all);
        saveFile(exportName('.svg'), [context.text()], 'image/svg+xml');
        return;
    }
    const scale = Math.min(2, PNG_SIDE / Math.max(size.w, size.h, 1));
    const image = el('canvas', {width: Math.max(1, Math.round(size.w * scale)), height: Math.max(1, Math.round(size.h * scale))});
    const context = image.getContext('2d');
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paint(context, size.w, size.h, all);
    image.toBlob((blob) => {
        if (blob) saveFile(exportName('.png'), [blob], 'image/png');
        else announce('The browser could not make an image of this size; save it as SVG');
    }, 'image/png');
}

/** Copies the name of what is selected, or of all that was found. */
export async function copySelection() {
    const {selected, hits, graph} = store.get();
    const names = selected ? [itemName(selected)] : hits ? [...hits.nodes].map((id) => itemName({kind: 'node', id, graph})) : [];
    if (names.length === 0) return;
    announce(await copyText(names.join('\n')) ? 'Copied' : 'The browser did not allow the copy');
}

// ---- Text for a bug report --------------------------------------------------------------------------

/**
 * What failed first, by how much, and how to see it again.
 * @returns {Promise<string>}
 */
export async function reportText() {
    const head = data.head();
    const lines = [shown(head.title)];
    if (head.verdict) lines.push(`Verdict: ${head.verdict.passed ? 'passed' : 'FAILED'}. ${shown(head.verdict.text)}`);
    const first = firstFailing();
    const item = first ?? store.get().selected;
    if (item && item.kind === 'node') {
        const g = data.graph(item.graph);
        lines.push('', `${first ? 'First failing' : 'Selected'} node: ${shown(opOf(item))} ${shown(itemName(item))} (node ${item.id} of ${shown(g.name)})`);
        for (const line of measuredLines(item)) lines.push(`  ${line}`);
        for (const id of g.node.outputs[item.id].filter((tensor) => tensor >= 0)) {
            lines.push(`  output ${shown(tensorName(g, id))} ${shown(tensorType(g, id))}`, ...measuredLines({kind: 'tensor', id, graph: item.graph}).map((line) => `    ${line}`));
        }
        const detail = await data.detail(item.graph, item.id);
        for (const [title, command] of detail?.commands ?? []) lines.push('', `${shown(title)}:`, `  ${shown(command)}`);
    } else lines.push('', 'No node failed.');
    lines.push('', 'Command:', `  ${shown(head.command)}`, '', `Made by ${shown(head.generator)} from:`, ...head.sources.map(({path, label}) => `  ${shown(lastFolder(path))} (${shown(label)})`));
    for (const {title, rows} of head.summary.filter((part) => /environment|runner/i.test(part.title))) lines.push('', `${shown(title)}:`, ...rows.map(([name, text]) => `  ${shown(name)}: ${shown(text)}`));
    return `${lines.join('\n')}\n`;
}

/** @param {import('./store.js').Item} item */
function measuredLines(item) {
    return measuredOf(item).map(({quantity, value}) => `${quantity.label}: ${quantityText(quantity, value)}`);
}

// ---- Netron -----------------------------------------------------------------------------------------

/**
 * Everything measured of a graph, as Netron reads it.
 * @param {number} graph
 */
export function netronAttachment(graph) {
    const g = data.graph(graph);
    const head = data.head();
    const metrics = [];
    for (const quantity of data.results().quantities) {
        if (quantity.graph !== graph) continue;
        const name = quantity.unit === '' ? quantity.label : `${quantity.label} (${quantity.unit})`;
        for (let id = 0; id < quantity.values.length; id++) {
            const value = quantity.values[id];
            const target = quantity.of === 'node' ? nodeName(g, id) : tensorName(g, id);
            if (value === null || target === '') continue;
            const isText = quantity.scale === 'category' || !Number.isFinite(value);
            metrics.push({kind: quantity.of === 'node' ? 'node' : 'value', target, name, value: quantity.scale === 'category' ? quantity.names[value] ?? '' : isText ? exactNumber(value) : value, type: isText ? 'string' : 'float64'});
        }
    }
    const metadata = [{kind: 'model', name: 'generator', value: head.generator, type: 'string'}];
    return {signature: 'netron:attachment', metadata, metrics};
}

// ---- The menu ---------------------------------------------------------------------------------------

/** @param {HTMLElement} element */
export function mountExport(element) {
    const menu = el('div', {class: 'menu'});
    const details = el('details', {class: 'drop'}, el('summary', {}, 'Export'), menu);
    const entry = (/** @type {string} */ label, /** @type {() => void} */ action, /** @type {string} */ key = '') => {
        const made = button(label, () => {
            details.open = false;
            action();
        });
        if (key !== '') made.append(el('kbd', {}, key));
        return made;
    };
    const tables = data.head().tables.flatMap(({id, title}) => [
        entry(`${shown(title)} as CSV`, () => saveTable(id, 'csv')), entry(`${shown(title)} as JSON`, () => saveTable(id, 'json')),
    ]);
    fill(menu, entry('Picture as SVG', () => savePicture('svg'), 'Ctrl+Alt+E'), entry('Picture as PNG', () => savePicture('png'), 'Ctrl+Shift+E'),
        entry('Whole graph as SVG', () => savePicture('svg', true)), entry('Whole graph as PNG', () => savePicture('png', true)), el('hr'),
        entry('Copy text for a bug report', async () => {
            announce(await copyText(await reportText()) ? 'Copied' : 'The browser did not allow the copy');
        }),
        entry('Netron attachment', () => saveFile(exportName('.attachment.json'), [`${JSON.stringify(netronAttachment(store.get().graph), null, 1)}\n`], 'application/json')),
        tables.length > 0 && el('hr'), ...tables);
    fill(element, details);
    closeOutside(details);
}

/** @param {string} id @param {'csv' | 'json'} kind */
function saveTable(id, kind) {
    const table = data.table(id);
    if (!table) return;
    const columns = tableColumns(table);
    const name = exportName(`-${columnKey(id) || 'table'}.${kind}`);
    const make = kind === 'csv' ? tableCsv : tableJson;
    saveFile(name, [make(columns, table.rows.keys())], kind === 'csv' ? 'text/csv' : 'application/json');
}
