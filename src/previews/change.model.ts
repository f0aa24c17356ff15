import { Field, InputType, ObjectType, registerEnumType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { DateTime } from '../graphql/schema/scalars.js';
import { type ExpectedFailure, UserErrorCode } from '../graphql/schema/user-errors.js';
import type { Field as MirroredField, FieldChange } from '../common/field.js';
import type { DerivedField } from '../graphql/schema/derived-fields.js';

registerEnumType(UserErrorCode, {
  name: 'UserErrorCode',
  description: 'The failures of a mutation that a client can foresee.',
  valuesMap: {
    BAD_USER_INPUT: { description: 'A value of the input is not valid, or nothing would change.' },
    CONFLICT: { description: 'The directory would reject or misunderstand the change.' },
    FORBIDDEN: { description: 'The user for whom the token acts may not make the change.' },
    NOT_FOUND: { description: 'An object that the input names does not exist.' },
  },
});

@ObjectType({ description: 'An expected failure of a mutation.' })
class UserError implements ExpectedFailure {
  @InheritAccess()
  @Field(() => UserErrorCode, { description: 'The kind of the failure.' })
  code!: UserErrorCode;

  @InheritAccess()
  @Field(() => String, { description: 'The failure in English, for people. It may change.' })
  message!: string;

  @InheritAccess()
  @Field(() => [String], {
    description:
      'The names that lead from the arguments of the mutation to the rejected value, such as `input`, `email`.',
  })
  path!: string[];
}

@ObjectType({ description: 'A value that the change would replace.' })
export class PreviewedChange {
  @InheritAccess()
  @Field(() => [String], {
    description:
      'The names that lead from the payload to the field, such as `user`, `email`. The payload does not have an object that ' +
      'would be gone, nor the membership of the user who creates a group. The value of `parents` is the id of a group.',
  })
  path!: string[];

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description: 'The value before the change, as text. Null if there is none.',
  })
  before!: string | null;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description: 'The value after the change, as text. Null if there is none.',
  })
  after!: string | null;
}

@ObjectType({ description: 'A preview of a change. The service does not apply it.' })
export class ChangePreview {
  constructor(ldif: string, basedOn: Date | null, changes: ChangePreview['changes']) {
    this.ldif = ldif;
    this.basedOn = basedOn;
    this.changes = changes;
  }

  @Personal()
  @InheritAccess()
  @Field(() => [PreviewedChange], {
    description:
      'What would change, field by field: values of the object and roles of the user that the mutation names, as far as the ' +
      'token may read them. What follows for other objects is not listed, such as roles in groups that contain the group.',
  })
  changes: PreviewedChange[] | (() => Promise<PreviewedChange[]>);

  @Personal()
  @InheritAccess()
  @Field(() => String, {
    description:
      'The change as LDIF change records (RFC 2849), which an administrator applies with `ldapmodify`. The ' +
      'records name the values that they replace. The directory therefore rejects them if these values have ' +
      'changed in the meantime.',
  })
  ldif: string;

  @InheritAccess()
  @Field(() => Boolean, {
    description: 'Whether the change was applied. Always false: an administrator applies the LDIF.',
    deprecationReason:
      'Use `ldif`, which an administrator applies. Deprecated since 2026-11-23, gone from 2027-06-01.',
  })
  readonly persisted: boolean = false;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description:
      'The preview is based on every change that was made in the directory before this instant, like `directoryStatus.asOf`. ' +
      'Null if it is unknown.',
  })
  basedOn: Date | null;
}

/** Members that the payloads of all mutations share. */
@ObjectType({ isAbstract: true })
export abstract class ChangePayload {
  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The `clientMutationId` of the input, unchanged.' })
  clientMutationId!: string | null;

  @InheritAccess()
  @Field(() => ChangePreview, { description: 'The change, and the LDIF that makes it permanent.' })
  preview!: ChangePreview;

  @InheritAccess()
  @Field(() => [UserError], {
    description:
      'Failures that the client can correct, such as a missing right or an invalid value. If an operation selects this field, ' +
      'such a failure is listed here, and `result` is null; otherwise it is in the top-level `errors`. Select the objects of the ' +
      'payload below `result`, because a field of the payload that is never null causes a top-level error.',
  })
  userErrors?: UserError[];
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

/** Description of valid new values, by the format of the change or else by the reader of the field. */
const LIMITS: Readonly<Record<string, string>> = {
  address: 'one address in ASCII, up to 254 characters',
  boolean: 'true or false',
  integer: 'a whole number of 32 bits',
  number: 'a finite number',
  time: 'an instant in the years 1 to 9999',
  url: 'an absolute URL, up to 10,000 characters',
  label: 'up to 64 characters',
  text: 'up to 10,000 characters, which may include line feeds and tabs',
  website: 'an http or https URL without user information, spaces, quotes or markup, up to 10,000 characters',
};
const LINE = 'up to 512 characters';

export function changeInputsOf(
  fields: readonly MirroredField[],
  by: readonly FieldChange['by'][],
): DerivedField[] {
  return fields.flatMap(
    ({ name, type, reader, change, scopes, visibleTo, deprecationReason }): DerivedField[] => {
      // The record of a change shows the value before it.
      if (change === undefined || visibleTo !== undefined || !by.includes(change.by)) return [];
      const limits = LIMITS[change.format ?? reader] ?? LINE;
      const removal = !change.isRemovable
        ? 'It cannot be removed'
        : type.startsWith('String')
          ? 'null or an empty string removes it'
          : 'null removes it';
      const description = `The new ${change.label}: ${limits}. ${removal}. If omitted, it stays unchanged.`;
      return [
        { name, type: type.replace(/!$/, ''), description, ...(scopes && { scopes }), deprecationReason },
      ];
    },
  );
}

/** Returns the members of an input for a new entry. A field that cannot be removed is required. */
export function newInputsOf(fields: readonly MirroredField[]): DerivedField[] {
  return fields.flatMap(
    ({ name, type, reader, change, scopes, visibleTo, deprecationReason }): DerivedField[] => {
      if (change === undefined || visibleTo !== undefined) return [];
      const description = `The ${change.label}: ${LIMITS[change.format ?? reader] ?? LINE}.`;
      const nullable = type.replace(/!$/, '');
      return [
        {
          name,
          type: change.isRemovable ? nullable : `${nullable}!`,
          description,
          ...(scopes && { scopes }),
          deprecationReason,
        },
      ];
    },
  );
}
