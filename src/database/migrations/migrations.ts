import { Initial1763683200100 } from './0001-initial.js';

/** All migrations, in their order. */
export const MIGRATIONS = [Initial1763683200100];
