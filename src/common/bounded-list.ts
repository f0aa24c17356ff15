import { BadUserInputError } from './errors.js';

/** Maximum number of elements of a list of identities in an argument. */
export const LONGEST_LIST = 100;

/** @throws BadUserInputError when the list is longer, before its elements are examined */
export function boundedList(list: readonly string[], argument: string): readonly string[] {
  if (list.length <= LONGEST_LIST) return list;
  throw new BadUserInputError(`${argument} must have at most ${LONGEST_LIST} elements`, argument);
}
