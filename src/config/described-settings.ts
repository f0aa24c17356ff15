import { isDeepStrictEqual } from 'node:util';
import { hideUserInformation } from '../common/url.js';
import type { Environment } from './config.js';
import { ENVIRONMENT } from './environment-file.js';
import { type SettingName, SETTINGS } from './settings.js';

/** A setting as it may be printed: without secrets, and without the user information of URLs. */
interface DescribedSetting {
  readonly name: SettingName;
  readonly value: string;
}

/** Describes all settings of an environment, also those with invalid values. */
export function describeSettings(environment: Environment = ENVIRONMENT): DescribedSetting[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const value = environment[name] ?? '';
    const isSet = value !== '' || (environment[`${name}_FILE`] ?? '') !== '';
    const hidden = 'secret' in SETTINGS[name];
    return { name, value: isSet ? (hidden ? '(set)' : hideUserInformation(value)) : '(default)' };
  });
}

/** Describes the settings whose values differ from their defaults. */
export function describeChangedSettings(environment: Environment = ENVIRONMENT): DescribedSetting[] {
  return describeSettings(environment).filter(
    ({ name, value }) => value !== '(default)' && !isDefault(name, environment[name]),
  );
}

function isDefault(name: SettingName, value: string | undefined): boolean {
  const { schema } = SETTINGS[name];
  const [given, standard] = [schema.safeParse(value), schema.safeParse(undefined)];
  // A secret in a file is given by another variable.
  return value !== undefined && given.success && isDeepStrictEqual(given.data, standard.data);
}
