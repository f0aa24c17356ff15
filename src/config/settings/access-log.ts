import { setting } from '../setting.js';
import { integer } from '../value-kinds.js';

/** What is kept about who reads what of people. */
export const ACCESS_LOG_SETTINGS = {
  ACCESS_LOG_DAYS: setting(
    integer(0, 3650, 90),
    'Days for which is kept who read which fields of how many people; 0: nothing is',
  ),
};
