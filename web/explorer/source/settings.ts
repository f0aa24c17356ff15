import { type PageSettings, SETTINGS_ELEMENT } from '../../../src/explorer/page-settings.js';

/** What the service says of itself. */
export const settings = JSON.parse(
  document.getElementById(SETTINGS_ELEMENT)?.textContent ?? '',
) as PageSettings;
