import { ShortList } from '../graphql/analysis/operation-cost.js';
import { applyDecorators } from '@nestjs/common';
import {
  Args,
  Field,
  type FieldOptions,
  InputType,
  Mutation,
  ObjectType,
  type ReturnTypeFunc,
} from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { RequireScopes } from '../auth/access.js';
import type { Field as DirectoryField } from '../common/field.js';
import { Shown } from '../graphql/schema/connection.js';
import { DeriveFields, DateTime } from '../graphql/schema/derived-fields.js';
import { UserError } from '../graphql/schema/schema.js';
import { GroupInput, GroupRole } from '../groups/group.model.js';
import { UserInput } from '../users/user.model.js';
import { formatOf } from './values.js';

/** A member of an input. */
const Given = (type: ReturnTypeFunc, description: string, options: FieldOptions = {}) =>
  Field(type, { description, ...options });

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
  @ShortList()
  @Shown(
    () => [PreviewedChange],
    'What would change, field by field: values of the object and roles of the user that the mutation names, as far as the ' +
      'token may read them. What follows for other objects is not listed, such as roles in groups that contain the group.',
  )
  changes!: PreviewedChange[];

  @Personal()
  @Shown(
    () => String,
    'The change as LDIF change records (RFC 2849), which an administrator applies with `ldapmodify`. They name the values that ' +
      'they replace, so that the directory rejects them if these values have changed in the meantime.',
  )
  ldif!: string;

  @Shown(() => Boolean, 'Whether the change was applied. Always false: an administrator applies the LDIF.', {
    deprecationReason: 'Use `ldif`, which an administrator applies.',
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
abstract class ChangePayload {
  @Shown(() => String, 'The `clientMutationId` of the input, unchanged.', { nullable: true })
  readonly clientMutationId!: string | null;

  @Shown(() => ChangePreview, 'The change, and the LDIF that makes it permanent.', { nullable: true })
  preview!: ChangePreview;

  @ShortList()
  @Shown(
    () => [UserError],
    'Failures that the client can correct, such as a missing right or an invalid value. If there is one, nothing is changed, and ' +
      'the other fields of the payload are null, except `clientMutationId`.',
  )
  readonly userErrors!: UserError[];
}

/** The object of a payload: its field, its type and a description. */
export type PayloadObject = readonly [name: string, type: ReturnTypeFunc, description: string];

/** Declares a mutation, which is a preview, and its payload. It is nullable, so that others of the operation can succeed. */
export function Preview(
  [name, type, text]: PayloadObject,
  description: string,
  scopes: Readonly<Parameters<typeof RequireScopes>> = ['write'],
): MethodDecorator {
  return (target, key, descriptor) => {
    const mutation = String(key);
    class Payload extends ChangePayload {}
    Shown(type, text, { nullable: true })(Payload.prototype, name);
    ObjectType(`${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Payload`, {
      description: `The result of \`${mutation}\`.`,
    })(Payload);
    applyDecorators(
      RequireScopes(...scopes),
      Mutation(() => Payload, { nullable: true, description }),
    )(target, key, descriptor);
  };
}

/** The input of a mutation. */
export const Input = (description: string) => Args('input', { description });

/** Members that the inputs of all mutations share. */
@InputType({ isAbstract: true })
abstract class ChangeInput {
  [field: string]: unknown;

  @Given(() => String, 'A text of up to 256 characters, which the payload returns unchanged.', {
    nullable: true,
  })
  clientMutationId?: string | null;
}

/** Adds members for fields to an input. In that of a new entry, a field that cannot be removed is required. */
const Changes = (
  kind: 'users' | 'groups',
  by: readonly NonNullable<DirectoryField['change']>['by'][],
  isNew = false,
) =>
  DeriveFields(({ directory: { mapping } }) =>
    mapping[kind].fields.flatMap((field) => {
      const { name, type, change, scopes, visibleTo, deprecationReason } = field;
      // The record of a change shows the value before it.
      if (change === undefined || visibleTo !== undefined || !by.includes(change.by)) return [];
      const { label, isRemovable } = change;
      const nullable = type.replace(/!$/, '');
      const removal = nullable === 'String' ? 'null or an empty string removes it' : 'null removes it';
      const rest = `${isRemovable ? removal : 'It cannot be removed'}. If omitted, it stays unchanged.`;
      const limits = `${label}: ${formatOf(field)[1]}.`;
      return {
        ...{ name, type: isNew && !isRemovable ? `${nullable}!` : nullable, deprecationReason },
        description: isNew ? `The ${limits}` : `The new ${limits} ${rest}`,
        ...(scopes && { scopes }),
      };
    }),
  );

@Changes('users', ['self'])
@InputType({ description: 'The changes to the user for whom the token acts. At least one is required.' })
export class UpdateProfileInput extends ChangeInput {}

@Changes('users', ['self', 'administrator'])
@InputType({ description: 'A user and the changes to it. At least one is required.' })
export class UpdateUserInput extends ChangeInput {
  @Given(() => UserInput, 'The user to change.')
  user!: UserInput;
}

@Changes('groups', ['owner'], true)
@InputType({ description: 'A new group. The user for whom the token acts becomes its owner.' })
export class CreateGroupInput extends ChangeInput {
  @Given(
    () => String,
    'The id: 1 to 256 ASCII letters, digits, dots, hyphens and underscores, beginning with a letter or a ' +
      'digit. It is unique; case is ignored. It is part of URLs and cannot be changed later.',
  )
  id!: string;

  @Given(
    () => GroupInput,
    'A group to which the new group is added as a member. Its members then belong to that group too.',
    { nullable: true },
  )
  parent?: GroupInput | null;
}

@Changes('groups', ['owner'])
@InputType({ description: 'A group and the changes to it. At least one is required.' })
export class UpdateGroupInput extends ChangeInput {
  @Given(() => GroupInput, 'The group to change.')
  group!: GroupInput;
}

@InputType({ description: 'A group to delete.' })
export class DeleteGroupInput extends ChangeInput {
  @Given(() => GroupInput, 'The group to delete. Its members and the groups inside it stay in the directory.')
  group!: GroupInput;
}

/** Identifies the user and the group of a membership. */
@InputType({ isAbstract: true })
export abstract class MembershipChangeInput extends ChangeInput {
  @Given(() => GroupInput, 'The group.')
  group!: GroupInput;

  @Given(() => UserInput, 'The user.')
  user!: UserInput;
}

@InputType({ description: 'The user to add, the group to add them to, and their role.' })
export class AddGroupMemberInput extends MembershipChangeInput {
  @Given(() => GroupRole, 'The role of the user in the group.', { defaultValue: GroupRole.MEMBER })
  role!: GroupRole;
}

@InputType({ description: 'The member to change, the group, and the new role.' })
export class UpdateGroupMemberInput extends MembershipChangeInput {
  @Given(() => GroupRole, 'The new role of the member.')
  role!: GroupRole;
}

@InputType({ description: 'The member to remove, and the group to remove them from.' })
export class RemoveGroupMemberInput extends MembershipChangeInput {}
