import type { Field } from '../../common/field.js';
import { asLabel } from '../../common/fold.js';
import type { Values } from '../statements/values.js';

/**
 * The SQL conditions for the fields by which a list is filtered.
 * @param filter the input, which may have other members too
 * @param conditionOf SQL for one field and the placeholder of its value
 */
export function fieldConditions(
  fields: readonly Field[],
  filter: Readonly<Record<string, unknown>>,
  values: Values,
  conditionOf: (field: Field, placeholder: string) => string,
): string[] {
  return fields.flatMap((field) => {
    const wanted = filter[field.name];
    if (field.filter === undefined || typeof wanted !== 'string') return [];
    return [conditionOf(field, `${values.add(asLabel(wanted))}::text`)];
  });
}
