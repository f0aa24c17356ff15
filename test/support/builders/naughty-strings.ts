import { readFileSync } from 'node:fs';

/** Strings that are known to break software: the Big List of Naughty Strings. All are well-formed Unicode. */
export const NAUGHTY_STRINGS = JSON.parse(
  readFileSync('node_modules/big-list-of-naughty-strings/blns.json', 'utf8'),
) as readonly string[];
