// How large the directory is that everybody is asked about.
import { LARGE } from '../../test/support/builders/large-directory.mjs';

const SMALL = { people: 10_000, groups: 500, members: 100 };

/** `more`: the same with ten times the memberships, to see what that costs. `tokens`: people who ask for their profile. */
export const SIZES = {
  full: { directory: LARGE, more: { ...LARGE, members: LARGE.members * 10 }, tokens: 1000 },
  quick: { directory: SMALL, more: { ...SMALL, members: SMALL.members * 10 }, tokens: 100 },
};
