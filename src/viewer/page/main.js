// SPDX-License-Identifier: Apache-2.0
// Starts everything.

import {store} from './store.js';
import {fit, resetView} from './show.js';
import {region} from './dom.js';
import {clearAll, enterSelected, foldSelected, followSelected, leaveRoot, step, stepInstance, stepNear, toggleBookmark, toggleDiff, zoomBy} from './moves.js';
import {mountKeys} from './keys.js';
import {focusFind} from './find.js';
import {stepFailing, stepWorst} from './worst.js';
import {stepQuantity} from './legend.js';
import {stepProfile} from './profiles.js';
import {copySelection, savePicture} from './export.js';
import {openHelp} from './help.js';
import {mountPanels, mountPanelsInTurn} from './panels.js';
import {startPicture} from './start.js';

/** @param {'attributes' | 'weights' | 'names' | 'horizontal' | 'zoom_by_wheel' | 'widths'} name */
function toggle(name) {
    store.set({[name]: !store.get()[name]});
}

/**
 * An action that needs the panels: they are made at once if they are not there yet.
 * @param {() => void} action
 * @returns {() => void}
 */
function withPanels(action) {
    return () => {
        mountPanels();
        action();
    };
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
            find: withPanels(() => focusFind('')),
            go: withPanels(() => focusFind('name:')),
            worst_next: withPanels(() => stepWorst(1)),
            worst_previous: withPanels(() => stepWorst(-1)),
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
            help: withPanels(() => openHelp()),
        }),
    );
}

async function main() {
    await startPicture();
    mountKeys(actions());
    region('help-button').addEventListener('click', withPanels(() => openHelp()));
    region('zoom-in').addEventListener('click', () => zoomBy(1.25));
    region('zoom-out').addEventListener('click', () => zoomBy(0.8));
    region('zoom-fit').addEventListener('click', () => fit());
    await mountPanelsInTurn();
}

main();
