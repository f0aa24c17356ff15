import { Inject, Injectable } from '@nestjs/common';
import type { GraphQLResolveInfo } from 'graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { type ObjectKind, referenceFields } from '../database/fields/projection.js';
import { readPages } from '../database/paging/page.js';
import { objectSelection, pageSelection } from '../graphql/analysis/selection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { nameOfOriginal } from '../graphql/schema/preview-types.js';
import { type Parent, ReferenceResolver } from '../graphql/schema/reference-fields.js';
import type { GroupListArguments } from '../groups/group-list.inputs.js';
import { GroupsService } from '../groups/groups.service.js';
import type { UserListArguments } from '../users/user-list.inputs.js';
import { UsersService } from '../users/users.service.js';
import { type Reference, referredStatement, referringSource } from './field-references.queries.js';

type Info = Pick<GraphQLResolveInfo, 'parentType' | 'fieldName'>;

/** Reads the references of custom fields and those who refer, for all objects of a level in one statement. */
@Injectable()
export class FieldReferencesService extends ReferenceResolver {
  /** By kind and name of the GraphQL field. */
  private readonly forward = new Map<string, Reference>();
  private readonly backward = new Map<string, Reference>();

  constructor(
    @Inject(CONFIG) { directory: { mapping } }: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {
    super();
    const kinds = [
      ['user', mapping.users.fields],
      ['group', mapping.groups.fields],
    ] as const;
    for (const [from, fields] of kinds) {
      for (const field of referenceFields(fields)) {
        this.forward.set(`${from} ${field.name}`, { from, field });
        this.backward.set(`${field.reference.to} ${field.reference.reverse ?? ''}`, { from, field });
      }
    }
  }

  async one(
    parent: Parent,
    given: unknown,
    context: RequestContext,
    info: GraphQLResolveInfo,
  ): Promise<unknown> {
    const [first = null] = await this.list(parent, given, context, info);
    return first;
  }

  list(
    { key }: Parent,
    _given: unknown,
    { batches }: RequestContext,
    info: GraphQLResolveInfo,
  ): Promise<readonly object[]> {
    const reference = find(this.forward, info);
    const { projection } = this.objectsOf(reference.field.reference.to);
    const columns = projection.select(objectSelection(info, '').fields);
    const name = `${reference.from}.${reference.field.name} ${columns.properties.join(' ')}`;
    return batches.load<number, readonly object[]>(name, key, async (keys, reader) => {
      const rows = await reader.read<[number, ...unknown[]]>(referredStatement(reference, columns), [keys]);
      const found = new Map(keys.map((each) => [each, [] as object[]]));
      for (const row of rows) found.get(row[0])?.push(projection.mapRow(row, columns, 1));
      return keys.map((each) => found.get(each) ?? []);
    });
  }

  reverse(
    { key }: Parent,
    page: UserListArguments & GroupListArguments,
    { batches }: RequestContext,
    info: GraphQLResolveInfo,
  ): Promise<Connection<object>> {
    const reference = find(this.backward, info);
    const objects = this.objectsOf(reference.from);
    const selection = pageSelection(info);
    const columns = objects.projection.select(selection.node);
    const name = `${info.parentType.name}.${info.fieldName} ${selection.cacheKey} ${JSON.stringify(page)}`;
    return batches.load<number, Connection<object>>(name, key, async (keys, reader) => {
      const all = await objects.sourceOf(page, columns, reader);
      const source = referringSource(reference, all, page.orderBy ?? {}, page.filter ?? {});
      const pages = await readPages(reader, source, page, selection, keys);
      return pages.map((each) => Connection.of(each, (row) => objects.projection.mapRow(row, columns)));
    });
  }

  private objectsOf(kind: ObjectKind): UsersService | GroupsService {
    return kind === 'user' ? this.users : this.groups;
  }
}

function find(references: ReadonlyMap<string, Reference>, { parentType, fieldName }: Info): Reference {
  const reference = references.get(
    `${nameOfOriginal(parentType) === 'Group' ? 'group' : 'user'} ${fieldName}`,
  );
  if (reference === undefined) throw new Error(`${parentType.name}.${fieldName} is not a reference`);
  return reference;
}
