import type { Setting } from '../../src/config/setting.js';

type Groups = Readonly<Record<string, Readonly<Record<string, Setting>>>>;
export function formatSettingsPage(groups: Groups): string;
export function formatEnvironmentExample(groups: Groups): string;
