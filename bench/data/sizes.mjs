// Sizes of the directories.
import { LARGE } from './large-mirror.mjs';

const SMALL = { people: 10_000, groups: 500, members: 100 };

/** `more`: a second directory with ten times the memberships. `tokens`: number of users with a token. */
export const SIZES = {
  full: { directory: LARGE, more: { ...LARGE, members: LARGE.members * 10 }, tokens: 1000 },
  quick: { directory: SMALL, more: { ...SMALL, members: SMALL.members * 10 }, tokens: 100 },
};
