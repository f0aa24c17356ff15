import type { ValuesOf } from './setting.js';
import { AUTH_SETTINGS } from './settings/auth.js';
import { DATABASE_SETTINGS } from './settings/database.js';
import { DIRECTORY_SETTINGS } from './settings/directory.js';
import { LIMITS_SETTINGS } from './settings/limits.js';
import {
  ACCESS_LOG_SETTINGS,
  EXPLORER_SETTINGS,
  MONITORING_SETTINGS,
  REDIS_SETTINGS,
  SERVICE_SETTINGS,
} from './settings/service.js';
import { TRUSTED_DOCUMENTS_SETTINGS } from './settings/trusted-documents.js';

/** The settings by subject, in the order of docs/settings.md (`npm run settings`). */
export const SETTING_GROUPS = {
  Service: SERVICE_SETTINGS,
  'Logs, metrics and traces': MONITORING_SETTINGS,
  Database: DATABASE_SETTINGS,
  'Shared limits': REDIS_SETTINGS,
  Directory: DIRECTORY_SETTINGS,
  'Tokens and signed URLs': AUTH_SETTINGS,
  Explorer: EXPLORER_SETTINGS,
  'Trusted documents': TRUSTED_DOCUMENTS_SETTINGS,
  Limits: LIMITS_SETTINGS,
  'Access log': ACCESS_LOG_SETTINGS,
};

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...MONITORING_SETTINGS,
  ...DATABASE_SETTINGS,
  ...REDIS_SETTINGS,
  ...DIRECTORY_SETTINGS,
  ...AUTH_SETTINGS,
  ...EXPLORER_SETTINGS,
  ...TRUSTED_DOCUMENTS_SETTINGS,
  ...LIMITS_SETTINGS,
  ...ACCESS_LOG_SETTINGS,
};

export type SettingName = keyof typeof SETTINGS;

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** The values of all settings, each with the output type of its schema. */
export type Settings = ValuesOf<typeof SETTINGS>;
