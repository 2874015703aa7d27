// SPDX-License-Identifier: Apache-2.0
// Starts everything.

import {data} from './data.js';
import {store} from './store.js';
import {shown} from './dom.js';
import {fit, mountGraph, resetView, show} from './graph_view.js';
import {clearAll, enterSelected, foldSelected, followSelected, leaveRoot, step, stepInstance, stepNear, toggleBookmark, toggleDiff, zoomBy} from './moves.js';
import {mountLink} from './link.js';
import {mountKeys} from './keys.js';
import {mountTable} from './table_view.js';
import {mountSidebar} from './sidebar.js';
import {focusFind, mountFind} from './find.js';
import {mountWorst, stepFailing, stepWorst} from './worst.js';
import {mountLegend, mountQuantity, stepQuantity} from './legend.js';
import {mountSwitches, mountViews} from './views.js';
import {mountProfile, stepProfile} from './profiles.js';
import {mountSummary} from './summary.js';
import {mountTimeline} from './timeline_view.js';
import {mountSearch} from './search_view.js';
import {mountDiff} from './diff_view.js';
import {copySelection, mountExport, savePicture} from './export.js';
import {mountHelp, openHelp} from './help.js';

/** @param {string} id @returns {HTMLElement} */
function region(id) {
    const found = document.getElementById(id);
    if (!found) throw new Error('index.html has no element #' + id);
    return found;
}

/** @param {'attributes' | 'weights' | 'names' | 'horizontal' | 'zoom_by_wheel' | 'widths'} name */
function toggle(name) {
    store.set({[name]: !store.get()[name]});
}

/** @returns {Map<string, () => void>} what the actions of `KEYS` do */
function actions() {
    return new Map(
        Object.entries({
            up: () => step('up'),
            down: () => step('down'),
            left: () => step('left'),
            right: () => step('right'),
            zoom_in: () => zoomBy(1.1),
            zoom_out: () => zoomBy(0.9),
            fit,
            reset: resetView,
            find: () => focusFind(''),
            go: () => focusFind('name:'),
            worst_next: () => stepWorst(1),
            worst_previous: () => stepWorst(-1),
            failing: () => stepFailing(),
            clear: clearAll,
            quantity_next: () => stepQuantity(1),
            quantity_previous: () => stepQuantity(-1),
            diff: toggleDiff,
            profile: () => stepProfile(1),
            attributes: () => toggle('attributes'),
            weights: () => toggle('weights'),
            names: () => toggle('names'),
            horizontal: () => toggle('horizontal'),
            zoom_by_wheel: () => toggle('zoom_by_wheel'),
            widths: () => toggle('widths'),
            unfold: () => foldSelected(true),
            fold: () => foldSelected(false),
            enter: enterSelected,
            leave: leaveRoot,
            instance_previous: () => stepInstance(-1),
            instance_next: () => stepInstance(1),
            ancestors: () => followSelected('ancestors'),
            descendants: () => followSelected('descendants'),
            chain: () => followSelected('chain'),
            type: () => followSelected('type'),
            near: stepNear,
            bookmark: toggleBookmark,
            properties: () => store.set({view: 'summary'}),
            copy: () => copySelection(),
            png: () => savePicture('png'),
            svg: () => savePicture('svg'),
            help: () => openHelp(),
        }),
    );
}

/**
 * Lets the browser draw and answer between two parts of the start.
 * @returns {Promise<void>}
 */
function pause() {
    return new Promise((resolve) => setTimeout(resolve, 0));
}

async function main() {
    region('title').textContent = shown(data.head().title);
    region('app').hidden = false;
    await pause();
    data.graph(0);
    await pause();
    mountLink((item) => queueMicrotask(() => show(item))); // the first link is read before there is a picture
    mountViews(region('views'));
    mountGraph();
    await pause();
    mountQuantity(region('quantity'));
    mountProfile(region('profile'));
    mountSwitches(region('switches'));
    mountLegend(region('legend'));
    mountFind(region('find'), region('hits'));
    mountWorst(region('worst'));
    mountSidebar(region('sidebar'));
    await pause();
    mountSummary(region('view-summary'));
    mountTimeline(region('view-timeline'));
    mountSearch(region('view-search'));
    mountDiff(region('view-diff'));
    mountTable(region('view-table'));
    mountExport(region('export'));
    mountHelp(region('help'));
    region('help-button').addEventListener('click', () => openHelp());
    region('zoom-in').addEventListener('click', () => zoomBy(1.25));
    region('zoom-out').addEventListener('click', () => zoomBy(0.8));
    region('zoom-fit').addEventListener('click', () => fit());
    mountKeys(actions());
}

main();
