/** How far the clock of the logs follows the clock of the database at once. */
export const LEAP_HOURS = 24;

/**
 * SQL of the present for what expires, in a statement that reads `mirror_state k`. A clock that leaps ahead makes at most one
 * day of a log expire: the stored clock follows it only when the leap has lasted (src/changes/retention.ts).
 */
export const LOG_CLOCK = `greatest(k.changes_clock, least(now(), k.changes_clock + interval '${LEAP_HOURS} hours'))`;
