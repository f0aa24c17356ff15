import { setting } from '../setting.js';
import { integer } from '../value-kinds.js';

/** Settings of the access log, which records reads of personal data. */
export const ACCESS_LOG_SETTINGS = {
  ACCESS_LOG_DAYS: setting(integer(0, 3650, 90), 'Days for which the access log is kept. 0: no access log.'),
};
