import type { GraphQLResolveInfo } from 'graphql';
import { isList, MOST_REFERENCES } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { type ObjectKind, referenceFields } from '../../database/fields/projection.js';
import type { RequestContext } from '../http/request-context.js';
import type { DerivedField } from './derived-fields.js';

/** Resolves references of custom fields. The token by which src/field-references provides it. */
export abstract class ReferenceResolver {
  abstract one(...given: Given): unknown;
  abstract list(...given: Given): unknown;
  abstract reverse(...given: Given): unknown;
}

type Given = [parent: Parent, given: unknown, context: RequestContext, info: GraphQLResolveInfo];

/** A user, a profile or a group. */
export interface Parent {
  readonly key: number;
}

/** The references of users or groups, and the connections of those that refer to them. */
export function referenceFieldsOf({ users, groups }: DirectoryMapping, kind: ObjectKind): DerivedField[] {
  const sides = [
    { fields: referenceFields(users.fields), from: 'user', type: 'UserConnection', list: 'users' },
    { fields: referenceFields(groups.fields), from: 'group', type: 'GroupConnection', list: 'groups' },
  ] as const;
  return sides.flatMap(({ fields, from, type, list }) =>
    fields.flatMap((field) => {
      const { name, reference } = field;
      // A reference leads beyond the parent, to objects that only tokens with `read` may read.
      const shared = { ...field, scopes: [...new Set(['read', ...(field.scopes ?? [])])] };
      const own: DerivedField[] = isList(field)
        ? [{ ...shared, resolver: { class: ReferenceResolver, name: 'list' }, mostNodes: MOST_REFERENCES }]
        : [{ ...shared, resolver: { class: ReferenceResolver, name: 'one' } }];
      const reverse: DerivedField = {
        ...shared,
        name: reference.reverse ?? '',
        type,
        description: `The ${list} that have this ${kind} as \`${name}\`, page by page.`,
        argumentsOf: list,
        resolver: { class: ReferenceResolver, name: 'reverse' },
      };
      return [
        ...(from === kind ? own : []),
        ...(reference.to === kind && reference.reverse !== null ? [reverse] : []),
      ];
    }),
  );
}
