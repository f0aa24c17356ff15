import type { Field, FieldReference } from '../../common/field.js';

/** The objects that have references, or that references name. */
export type ObjectKind = FieldReference['to'];

/** A field that refers to users or groups. */
export interface ReferenceField extends Field {
  readonly reference: FieldReference;
}

export function referenceFields(fields: readonly Field[]): ReferenceField[] {
  return fields.filter((field): field is ReferenceField => field.reference !== undefined);
}
