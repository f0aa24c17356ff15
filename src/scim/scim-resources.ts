import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { nameOfScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { bindCursor } from '../common/cursor.js';
import { type Field, isList } from '../common/field.js';
import type { PageArguments, PageSelection, SelectedFields } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { referenceFields } from '../database/fields/projection.js';
import { type PageSource, readPage } from '../database/paging/page.js';
import { referredStatement } from '../field-references/field-references.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { SignedUrls } from '../media/signing/signed-urls.js';
import { User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import { ScimError } from './scim-error.js';
import { type Comparables, comparablesOf, FilterCondition, orderOf } from './scim-filter.js';
import { type ScimQuery } from './scim-query.js';
import { CORE, enterpriseForm, type Kind, kindOf, ResourceType } from './scim-schemas.js';

/** The most memberships in the resources of a list, about 10 MB. A single resource has all of its own. */
const MOST_MEMBERSHIPS = 50_000;
const ALL = { first: 2 ** 31 - 2 };

const NAMED: SelectedFields = new Map(['nodeId', 'name'].map((name) => [name, new Map()]));
const MEMBERSHIPS: PageSelection = {
  ...{ cacheKey: 'scim', rows: true, cursors: 'none', totalCount: false },
  ...{ hasNextPage: false, hasPreviousPage: false },
  node: new Map<string, SelectedFields>([
    ['role', new Map([['direct', new Map()]])],
    ...['user', 'group'].map((node): [string, SelectedFields] => [node, NAMED]),
  ]),
};
/** The attribute with the memberships, and the column with their number. */
const OF_KIND = {
  User: { memberships: 'groups', count: 'u.group_count', other: 'Group' },
  Group: { memberships: 'members', count: 'g.member_count', other: 'User' },
} as const;

/** The signature of the URL of a picture, which is another one every quarter of an hour. */
const SIGNATURE = /\?expires=\d+&signature=[0-9a-f]+/g;

type Model = User | Group;

/** A resource as it is sent. */
export interface Resource {
  readonly text: string;
  readonly location: string;
  readonly etag: string;
}

/** A request for users or groups. */
export interface Asked {
  readonly query: ScimQuery;
  readonly principal: Principal;
  readonly context: RequestContext;
  /** Charges for a number of objects. @throws ServiceError RATE_LIMITED */
  readonly pay: (objects: number) => Promise<void>;
  /** Notes how many users are shown with a field. */
  readonly note: (field: string, users?: number) => void;
}

/** Reads users and groups by the statements of their lists, and writes them as resources. */
@Injectable()
export class ScimResources {
  /** By the kind and the scopes of the token. */
  private readonly types = new LRUCache<string, readonly [ResourceType, Comparables]>({ max: 200 });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly urls: SignedUrls,
  ) {}

  typeOf(kind: Kind, principal: Principal): readonly [ResourceType, Comparables] {
    const name = `${kind} ${nameOfScopes(principal)}`;
    const known = this.types.get(name);
    if (known !== undefined) return known;
    const { projection } = this.serviceOf(kind);
    const type = new ResourceType(kind, projection.fields, principal);
    const found = [type, comparablesOf(type, projection.columns)] as const;
    this.types.set(name, found);
    return found;
  }

  urlOf(path: string): string {
    return `${this.config.baseUrl}/scim/v2/${path}`;
  }

  /**
   * A page of users or groups, or the one with an id, without the total.
   * @param isOfAll whether users and groups are listed together, so that filters can name attributes of both
   */
  async read(
    kind: Kind,
    asked: Asked,
    page: PageArguments & { offset?: number; id?: string },
    isOfAll = false,
  ) {
    const { query, principal, context } = asked;
    const [type, comparables] = this.typeOf(kind, principal);
    const { memberships, count, other } = OF_KIND[kind];
    const service = this.serviceOf(kind);
    const { projection } = service;
    const columns = projection.select(type.selected);
    const { total, ...source } = await service.sourceOf({}, columns, context.reader);
    const { values } = source;
    const conditions: string[] = [];
    if (page.id !== undefined)
      conditions.push(`${service.names.alias}.entry_uuid = ${values.add(page.id)}::uuid`);
    if (query.filter !== null) {
      const others: Comparables = isOfAll ? this.typeOf(other, principal)[1] : new Map();
      const { root, texts } = query.filter;
      conditions.push(new FilterCondition(kind, comparables, others, texts, values).write(root));
    }
    const ordered =
      query.sortBy === null
        ? source.order.columns
        : [orderOf(query.sortBy, kind, comparables), ...source.order.columns.slice(-1)];
    const direction = query.isDescending ? 'DESC' : 'ASC';
    const listed: PageSource = {
      ...{ ...source, conditions, offset: page.offset, order: { columns: ordered, direction } },
      columns: [...columns.columns, query.shown.has(memberships) ? count : '0'],
      binding: bindCursor(`scim ${kind}`, [query.sortBy, direction], [query.filterText]),
      ...(conditions.length === 0 && total !== undefined && { total }),
    };
    const rows = (page.first ?? page.last ?? 0) > 0;
    const found = await readPage(context.reader, listed, page, {
      ...{ ...MEMBERSHIPS, rows, cursors: 'ends', totalCount: page.id === undefined },
      ...{ hasNextPage: rows, hasPreviousPage: rows },
    });
    const models = found.rows.map((row) => projection.mapRow(row, columns));
    const sum = found.rows.reduce((all, row) => all + Number(row.at(-1)), 0);
    if (models.length > 1 && sum > MOST_MEMBERSHIPS)
      throw new ScimError(
        'tooMany',
        `This page has more than ${MOST_MEMBERSHIPS} ${memberships}: ask for a smaller one, or exclude ${memberships}`,
      );
    await asked.pay(models.length + sum);
    const lists = await Promise.all(models.map((model) => this.membershipsOf(kind, model, asked)));
    const references = await this.readReferences(type, models, asked);
    const resources = models.map((model, index): Resource => {
      const own = model instanceof User ? this.attributesOf(model, asked) : { displayName: model['name'] };
      const extensions = this.extensionsOf(type, model, references, asked);
      return this.write(kind, model, present({ ...own, [memberships]: lists[index], ...extensions }), asked);
    });
    return { page: found, resources };
  }

  /** All groups of a user, or all members of a group, those of all resources in one statement. None if they are hidden. */
  private async membershipsOf(kind: Kind, model: Model, { query, context, note }: Asked) {
    const isHidden = kind === 'Group' && model['membersVisibleTo'] !== 0;
    if (isHidden || !query.shown.has(OF_KIND[kind].memberships)) return [];
    const { nodes } = await this.serviceOf(kind).memberships.list(model, ALL, MEMBERSHIPS, context.batches);
    const fields = kind === 'User' ? ['GroupMembership.role'] : ['User.nodeId', 'User.name'];
    for (const field of fields) note(field, nodes.length);
    return nodes.map(({ user, group, role }) =>
      kind === 'User'
        ? { ...this.referenceTo('Group', group), type: role.direct === null ? 'indirect' : 'direct' }
        : { ...this.referenceTo('User', user), type: 'User' },
    );
  }

  private referenceTo(kind: Kind, { entryUuid, name }: Model, display = 'display') {
    return { value: entryUuid, $ref: this.urlOf(`${kind}s/${entryUuid}`), [display]: name };
  }

  /** What the fields of objects refer to, by the field and the key of the object. */
  private async readReferences(
    { kind, extensions }: ResourceType,
    models: readonly Model[],
    { query, context }: Asked,
  ) {
    const found = new Map<string, Model[]>();
    for (const [urn, fields] of models.length === 0 ? [] : extensions)
      for (const field of referenceFields(fields).filter(({ name }) => query.shown.has(urn, name))) {
        const { projection } = this.serviceOf(kindOf(field.reference));
        const columns = projection.select(NAMED);
        const find = referredStatement({ from: kind === 'User' ? 'user' : 'group', field }, columns);
        for (const row of await context.reader.read(find, [models.map(({ key }) => key)])) {
          const name = `${field.name} ${String(row[0])}`;
          found.set(name, [...(found.get(name) ?? []), projection.mapRow(row, columns, 1)]);
        }
      }
    return found;
  }

  private extensionsOf(
    { kind, extensions }: ResourceType,
    model: Model,
    references: ReadonlyMap<string, Model[]>,
    { query, note }: Asked,
  ) {
    const valueOf = (field: Field): unknown => {
      const { name, reference } = field;
      const form = enterpriseForm(kind, field);
      if (kind === 'User' && field.isPersonal !== false) note(`User.${name}`);
      if (reference !== undefined) {
        const to = kindOf(reference);
        const all = (references.get(`${name} ${model.key}`) ?? []).map((each) =>
          form === null
            ? { ...this.referenceTo(to, each), type: to }
            : this.referenceTo(to, each, 'displayName'),
        );
        return isList(field) ? all : all[0];
      }
      const value = model[name] ?? null;
      if (value === null || form === null) return value;
      return form === 'manager' ? { displayName: String(value) } : String(value);
    };
    return Object.fromEntries(
      [...extensions].map(([urn, fields]) => {
        const shown = fields.filter(({ name }) => query.shown.has(urn, name));
        return [urn, present(Object.fromEntries(shown.map((field) => [field.name, valueOf(field)])))];
      }),
    );
  }

  private attributesOf(user: User, { query, note }: Asked) {
    const fields = new Set(['nodeId']);
    const of = (field: string, ...path: string[]) => {
      if (!query.shown.has(...path)) return null;
      fields.add(field);
      return user[field];
    };
    const pictures = (['photo', 'picture'] as const).map((type) => {
      const value = of(type, 'photos') === null ? null : this.urls.find(type, user, null);
      return { value, type, ...(type === 'photo' && { primary: true }) };
    });
    const address = of('email', 'emails');
    const attributes = {
      userName: of('id', 'userName'),
      name: present({
        formatted: of('name', 'name', 'formatted'),
        familyName: of('familyName', 'name', 'familyName'),
        givenName: of('givenName', 'name', 'givenName'),
      }),
      displayName: of('name', 'displayName'),
      active: of('active', 'active'),
      emails: address === null ? [] : [{ value: address, type: 'work', primary: true }],
      photos: pictures.filter(({ value }) => value !== null),
    };
    for (const field of fields) note(`User.${field}`);
    return attributes;
  }

  /** The version depends on all that is returned, so that it is right for all viewers, and tells none of what is hidden. */
  private write(kind: Kind, model: Model, attributes: object, { query }: Asked): Resource {
    const { entryUuid: id, createdAt: created, updatedAt: lastModified } = model;
    const location = this.urlOf(`${kind}s/${id}`);
    const picked = query.shown.pick({
      ...attributes,
      meta: { resourceType: kind, created, lastModified, location, version: '' },
    });
    const schemas = [`${CORE}${kind}`, ...Object.keys(picked).filter((name) => name.startsWith('urn:'))];
    const text = JSON.stringify({ schemas, id, ...picked });
    const digest = hash('sha256', `${String(lastModified)} ${text.replace(SIGNATURE, '')}`, 'base64url');
    const etag = `W/"${digest.slice(0, 22)}"`;
    return {
      text: text.replace(/"version":""(?=\}\}$)/, () => `"version":${JSON.stringify(etag)}`),
      location,
      etag,
    };
  }

  private serviceOf(kind: Kind): UsersService | GroupsService {
    return kind === 'User' ? this.users : this.groups;
  }
}

/** The members of an object that have a value. */
function present(object: object): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    typeof (value ?? {}) === 'object' && Object.keys(value ?? {}).length === 0;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}
