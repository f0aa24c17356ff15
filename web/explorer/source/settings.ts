import { type PageSettings, SETTINGS_ELEMENT } from '../../../src/explorer/page-settings.js';

/** The settings that the service writes into the page. */
export const settings = JSON.parse(
  document.getElementById(SETTINGS_ELEMENT)?.textContent ?? '',
) as PageSettings;
