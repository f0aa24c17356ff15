import { ACCESS_LOG_SETTINGS } from './settings/access-log.js';
import { AUTH_SETTINGS } from './settings/auth.js';
import { DATABASE_SETTINGS } from './settings/database.js';
import { DIRECTORY_SETTINGS } from './settings/directory-settings.js';
import { EXPLORER_SETTINGS } from './settings/explorer.js';
import { LIMITS_SETTINGS } from './settings/limits.js';
import { MONITORING_SETTINGS } from './settings/monitoring.js';
import { REDIS_SETTINGS } from './settings/redis.js';
import { SERVICE_SETTINGS } from './settings/service.js';
import type { ValuesOf } from './setting.js';

/**
 * Every setting there is, by subject. `directory check`, the README's table and `.env.example` are compared with this
 * list, in its order.
 */
export const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...MONITORING_SETTINGS,
  ...DATABASE_SETTINGS,
  ...REDIS_SETTINGS,
  ...DIRECTORY_SETTINGS,
  ...AUTH_SETTINGS,
  ...EXPLORER_SETTINGS,
  ...LIMITS_SETTINGS,
  ...ACCESS_LOG_SETTINGS,
};

export type SettingName = keyof typeof SETTINGS;

/** The settings as they were read, each with the type that its schema gives it. */
export type Settings = ValuesOf<typeof SETTINGS>;
