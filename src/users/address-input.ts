import type { Field } from '../common/field.js';
import type { DerivedField } from '../graphql/schema/derived-fields.js';

/** The field with the e-mail addresses of users. */
export function addressField(fields: readonly Field[]): Field | undefined {
  return fields.find(({ name }) => name === 'email');
}

/** A member of an input that finds users by their addresses. It needs the scopes of the field, and has its audience. */
export function addressInput(
  fields: readonly Field[],
  input: Pick<DerivedField, 'name' | 'type' | 'description'>,
): DerivedField {
  const { scopes, visibleTo } = addressField(fields) ?? {};
  return { ...input, ...(scopes && { scopes }), ...(visibleTo && { visibleTo }) };
}
