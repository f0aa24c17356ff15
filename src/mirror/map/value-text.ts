import type { Field } from '../../common/field.js';

/** Returns the value of a field as its attribute has it (pure): the inverse of parseValue. */
export function textOfValue({ reader }: Pick<Field, 'reader'>, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (reader === 'boolean') return value === true ? 'TRUE' : 'FALSE';
  if (value instanceof Date || reader === 'time') return generalizedTime(new Date(value as string | Date));
  if (value instanceof URL) return value.href;
  return typeof value === 'number' ? String(value) : (value as string);
}

/** RFC 4517 §3.3.13, in UTC, with milliseconds only if there are some. */
function generalizedTime(instant: Date): string {
  const [date = '', milliseconds = '000Z'] = instant.toISOString().split('.');
  return `${date.replace(/[-:T]/g, '')}${milliseconds === '000Z' ? 'Z' : `.${milliseconds}`}`;
}
