import type { Environment } from './config.js';
import { ENVIRONMENT, findTooLate } from './environment-file.js';
import { closestTo } from './model/did-you-mean.js';
import { type SettingName, SETTINGS } from './settings.js';

const NAMES = (Object.keys(SETTINGS) as SettingName[]).flatMap((name) =>
  'secret' in SETTINGS[name] ? [name, `${name}_FILE`] : [name],
);
const KNOWN = new Set(NAMES);
/** First words of settings that other software reads too. */
const SHARED_WORDS = new Set(['NODE', 'OTEL']);
/** Variables that Kubernetes sets in a pod for each service, such as one with the name `directory` or `redis`. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT(?:_\d+_(?:TCP|UDP)\w*)?)$/;

/** Warnings about variables of the process: misspelled settings, and those that `.env` sets too late. */
export function findUselessVariables(): string[] {
  return [...findMisspelled(), ...findTooLate()];
}

/**
 * Finds variables that are probably meant as settings: they begin with the first word of settings, and the rest is similar to
 * that of one of them. They are no errors, because other software may use them.
 */
export function findMisspelled(environment: Environment = ENVIRONMENT): string[] {
  return Object.keys(environment).flatMap((name) => {
    const meant = environment[name] === '' ? null : settingLike(name);
    return meant === null ? [] : [`${name} is not a setting, and has no effect: did you mean ${meant}?`];
  });
}

function settingLike(name: string): string | null {
  const [first = ''] = name.split('_', 1);
  if (KNOWN.has(name) || SHARED_WORDS.has(first) || OF_KUBERNETES.test(name)) return null;
  const beginning = `${first}_`;
  const rests = NAMES.filter((known) => known.startsWith(beginning)).map((known) =>
    known.slice(beginning.length),
  );
  const rest = closestTo(name.slice(beginning.length), rests);
  return rest === null ? null : beginning + rest;
}
