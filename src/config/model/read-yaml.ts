import { placeOfInvalidByte, readBounded } from './read-text.js';
import type { ModelProblem } from './yaml-file.js';

/** The most problems that are listed. */
const MOST_PROBLEMS = 100;

const NOT_UTF8 = 'This is not UTF-8. Save the file in this encoding';

/** What is wrong in a file. */
export interface CheckedFile {
  readonly problems: readonly ModelProblem[];
  /** The number of problems beyond. */
  readonly more: number;
}

/**
 * Reads a file that a setting names, and checks its text.
 * @returns null instead of a result if it cannot be read; one line for each problem: FILE:LINE:COLUMN, cause and cure
 */
export function readYaml<Checked extends CheckedFile>(
  setting: string,
  file: string,
  check: (text: string) => Checked,
): { checked: Checked | null; problems: readonly string[] } {
  const content = readBounded(file);
  if ('cause' in content)
    return { checked: null, problems: [`${setting} ${content.cause}: ${file}. ${content.cure}.`] };
  const place = placeOfInvalidByte(content);
  if (place !== null)
    return { checked: null, problems: describeProblems(file, [{ ...place, text: NOT_UTF8 }]) };
  // A byte order mark belongs to no text.
  const checked = check(content.toString('utf8').replace(/^\ufeff/, ''));
  return { checked, problems: describeProblems(file, checked.problems, checked.more) };
}

function describeProblems(file: string, problems: readonly ModelProblem[], beyond = 0): string[] {
  const sorted = [...problems].sort((left, right) => left.line - right.line || left.column - right.column);
  const lines = sorted
    .slice(0, MOST_PROBLEMS)
    .map(({ line, column, text }) => `${file}:${line}:${column}: ${text}${/[.?]$/.test(text) ? '' : '.'}`);
  const more = problems.length - lines.length + beyond;
  return more > 0 ? [...lines, `${file}: ${more} more ${more === 1 ? 'problem' : 'problems'}.`] : lines;
}
