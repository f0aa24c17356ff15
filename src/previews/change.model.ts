import { applyDecorators, type Type } from '@nestjs/common';
import {
  Field,
  type FieldOptions,
  InputType,
  Mutation,
  ObjectType,
  type ReturnTypeFunc,
} from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import { DateTime } from '../graphql/schema/scalars.js';
import { UserError } from '../graphql/schema/user-errors.js';
import type { Field as MirroredField, FieldChange } from '../common/field.js';
import type { DerivedField } from '../graphql/schema/derived-fields.js';
import { formatOf } from './values.js';

/** A field of a payload, or of an object below it. */
export const Shown = (type: ReturnTypeFunc, description: string, options: FieldOptions = {}) =>
  applyDecorators(InheritAccess(), Field(type, { description, ...options }));

@ObjectType({ description: 'A value that the change would replace.' })
export class PreviewedChange {
  @Shown(
    () => [String],
    'The names that lead from the payload to the field, such as `user`, `email`. The payload does not have an object that ' +
      'would be gone, nor the membership of the user who creates a group. The value of `parents` is the id of a group.',
  )
  path!: string[];

  @Shown(() => String, 'The value before the change, as text. Null if there is none.', { nullable: true })
  before!: string | null;

  @Shown(() => String, 'The value after the change, as text. Null if there is none.', { nullable: true })
  after!: string | null;
}

@ObjectType({ description: 'A preview of a change. The service does not apply it.' })
export class ChangePreview {
  @Personal()
  @Shown(
    () => [PreviewedChange],
    'What would change, field by field: values of the object and roles of the user that the mutation names, as far as the ' +
      'token may read them. What follows for other objects is not listed, such as roles in groups that contain the group.',
  )
  changes!: PreviewedChange[];

  @Personal()
  @Shown(
    () => String,
    'The change as LDIF change records (RFC 2849), which an administrator applies with `ldapmodify`. The ' +
      'records name the values that they replace. The directory therefore rejects them if these values have ' +
      'changed in the meantime.',
  )
  ldif!: string;

  @Shown(() => Boolean, 'Whether the change was applied. Always false: an administrator applies the LDIF.', {
    deprecationReason:
      'Use `ldif`, which an administrator applies. Deprecated since 2026-11-23, gone from 2027-06-01.',
  })
  persisted!: false;

  @Shown(
    () => DateTime,
    'The preview is based on every change that was made in the directory before this instant, like `directoryStatus.asOf`. ' +
      'Null if it is unknown.',
    { nullable: true },
  )
  basedOn!: Date | null;
}

/** Members that the payloads of all mutations share. */
@ObjectType({ isAbstract: true })
export abstract class ChangePayload {
  @Shown(() => String, 'The `clientMutationId` of the input, unchanged.', { nullable: true })
  readonly clientMutationId?: string | null;

  @Shown(() => ChangePreview, 'The change, and the LDIF that makes it permanent.', { nullable: true })
  preview!: ChangePreview;

  @Shown(
    () => [UserError],
    'Failures that the client can correct, such as a missing right or an invalid value. If there is one, nothing is changed, and ' +
      'the other fields of the payload are null, except `clientMutationId`.',
  )
  readonly userErrors?: UserError[];
}

/** Members that the inputs of all mutations share. */
@InputType({ isAbstract: true })
export abstract class ChangeInput {
  @Field(() => String, {
    nullable: true,
    description: 'A string of the client, up to 256 characters, which the payload returns unchanged.',
  })
  clientMutationId?: string | null;
}

/** The members of an input that changes fields. In that of a new entry, a field that cannot be removed is required. */
export function inputsOf(
  fields: readonly MirroredField[],
  by: readonly FieldChange['by'][],
  isNew = false,
): DerivedField[] {
  return fields.flatMap((field) => {
    const { name, type, change, scopes, visibleTo, deprecationReason } = field;
    // The record of a change shows the value before it.
    if (change === undefined || visibleTo !== undefined || !by.includes(change.by)) return [];
    const { label, isRemovable } = change;
    const nullable = type.replace(/!$/, '');
    const removal = !isRemovable
      ? 'It cannot be removed'
      : type.startsWith('String')
        ? 'null or an empty string removes it'
        : 'null removes it';
    const [, limits] = formatOf(field);
    const description = isNew
      ? `The ${label}: ${limits}.`
      : `The new ${label}: ${limits}. ${removal}. If omitted, it stays unchanged.`;
    const isRequired = isNew && !isRemovable;
    return {
      ...{ name, type: isRequired ? `${nullable}!` : nullable, description, deprecationReason },
      ...(scopes && { scopes }),
    };
  });
}

/** Declares a mutation, all of which are previews. It is nullable, so that others of the operation can succeed. */
export function Preview(
  payload: Type,
  description: string,
  scopes: Readonly<Parameters<typeof RequireScopes>> = ['write'],
): MethodDecorator {
  return applyDecorators(
    RequireScopes(...scopes),
    Mutation(() => payload, { nullable: true, description }),
  );
}
