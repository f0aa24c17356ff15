import type { Values } from './statement.js';

/** SQL for rows, from an array for each column. */
export function unnest(values: Values, types: readonly string[], arrays: readonly unknown[]): string {
  const columns = types.map((type, index) => `${values.add(arrays[index])}::${type}[]`);
  return `unnest(${columns.join(', ')})`;
}
