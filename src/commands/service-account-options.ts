import { InvalidArgumentError } from 'commander';
import { knownScopes, SCOPES, type Scope } from '../auth/principal.js';
import { ConfigError, readConfig } from '../config/config.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from '../config/scopes.js';

export const DAY = 86_400;

export const SCOPES_HELP = `the scopes: ${SCOPES.join(', ')}, and those of the model file`;

/** Parses ids that are separated by commas. */
export function parseIds(text: string): string[] {
  const ids = text.split(',').flatMap((id) => (id.trim() === '' ? [] : [id.trim()]));
  if (ids.length === 0) throw new InvalidArgumentError('The ids of groups are separated by commas.');
  return ids;
}

export function parseText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('The value must not be empty.');
  return text.trim();
}

export function parseScopeList(text: string): Scope[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const known = configuredScopes();
  const scopes = knownScopes(names, known);
  if (scopes.length === 0 || scopes.length < new Set(names).size) {
    throw new InvalidArgumentError(
      `Scopes are ${known.map(({ name }) => name).join(', ')}, separated by commas.`,
    );
  }
  return scopes;
}

function configuredScopes(): readonly ScopeDefinition[] {
  try {
    return readConfig().scopes;
  } catch (error) {
    // The action reads the settings too, and reports their problems.
    if (error instanceof ConfigError) return BUILT_IN_SCOPES;
    throw error;
  }
}

/** Parses a duration into seconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new InvalidArgumentError('A duration is a number and s, m, h or d, such as 90d or 12h.');
  return Number(count) * ({ s: 1, m: 60, h: 3600, d: DAY }[unit ?? 's'] ?? 1);
}

/** A time, or none. Commander replaces null by an empty text. */
export type End = Date | 'never';

/** Parses a duration from now into a time. */
export function parseEnd(text: string): End {
  if (text === 'never') return text;
  const seconds = parseDuration(text);
  if (seconds === 0)
    throw new InvalidArgumentError('It would end at once: `service-account revoke ID` ends an account.');
  return new Date(Date.now() + seconds * 1000);
}

export function timeOfEnd(end: End): Date | null {
  return end === 'never' ? null : end;
}
