import type { FieldChanges } from './validate.js';

/** Returns an entry with new values of its fields (pure). */
export function withChange<Entry extends object>(entry: Entry, change: FieldChanges): Entry {
  const given = Object.entries(change).filter(([, each]) => each !== undefined);
  return { ...entry, ...Object.fromEntries(given) };
}
