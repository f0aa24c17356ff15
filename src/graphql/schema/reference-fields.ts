import type { GraphQLResolveInfo } from 'graphql';
import { isList, MOST_REFERENCES } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { BuiltInScope } from '../../config/scopes.js';
import { type ObjectKind, type ReferenceField, referenceFields } from '../../database/fields/projection.js';
import type { RequestContext } from '../http/request-context.js';
import type { DerivedField } from './derived-fields.js';

/** Resolves references of custom fields. The token by which src/field-references provides it. */
export abstract class ReferenceResolver {
  abstract one(parent: Parent, given: unknown, context: RequestContext, info: GraphQLResolveInfo): unknown;
  abstract list(parent: Parent, given: unknown, context: RequestContext, info: GraphQLResolveInfo): unknown;
  abstract reverse(
    parent: Parent,
    given: unknown,
    context: RequestContext,
    info: GraphQLResolveInfo,
  ): unknown;
}

/** A user, a profile or a group. */
export interface Parent {
  readonly key: number;
}

/** The references of users or groups, and the connections of those that refer to them. */
export function referenceFieldsOf(mapping: DirectoryMapping, kind: ObjectKind): DerivedField[] {
  const sides = [
    { from: 'user', fields: referenceFields(mapping.users.fields), type: 'UserConnection', list: 'users' },
    {
      from: 'group',
      fields: referenceFields(mapping.groups.fields),
      type: 'GroupConnection',
      list: 'groups',
    },
  ] as const;
  return sides.flatMap(({ from, fields, type, list }) => [
    ...fields
      .filter(() => from === kind)
      .map((field): DerivedField => ({
        ...field,
        scopes: scopesOfReference(field),
        resolver: { class: ReferenceResolver, name: isList(field) ? 'list' : 'one' },
        ...(isList(field) ? { mostNodes: MOST_REFERENCES } : {}),
      })),
    ...fields
      .filter(({ reference }) => reference.to === kind && reference.reverse !== null)
      .map((field): DerivedField => ({
        ...field,
        name: field.reference.reverse ?? '',
        type,
        scopes: scopesOfReference(field),
        description: `The ${list} that have this ${kind} as \`${field.name}\`, page by page.`,
        argumentsOf: list,
        resolver: { class: ReferenceResolver, name: 'reverse' },
      })),
  ]);
}

/** A reference leads beyond the parent, to objects that only tokens with `read` may read. */
function scopesOfReference({ scopes = [] }: ReferenceField): string[] {
  const needed: BuiltInScope = 'read';
  return [...new Set([needed, ...scopes])];
}
