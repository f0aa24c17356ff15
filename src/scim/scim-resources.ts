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
import { type ReferenceField, referenceFields } from '../database/fields/projection.js';
import { type Page, readPage } from '../database/paging/page.js';
import { referredStatement } from '../field-references/field-references.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { SignedUrls } from '../media/signing/signed-urls.js';
import { User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import { ScimError } from './scim-error.js';
import { type Comparables, comparablesOf, FilterCondition, orderColumns } from './scim-filter.js';
import type { ScimQuery } from './scim-query.js';
import { CORE, enterpriseForm, type Kind, ResourceType } from './scim-schemas.js';

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
const OF_KIND = {
  User: { memberships: 'groups', count: 'u.group_count', other: 'Group' },
  Group: { memberships: 'members', count: 'g.member_count', other: 'User' },
} as const;

/** The signature of the URL of a picture, which is another one every quarter of an hour. */
const SIGNATURE = /\?expires=\d+&signature=[0-9a-f]+/g;

/** A resource as it is sent. */
export interface Resource {
  readonly text: string;
  readonly location: string;
  readonly version: string;
}

/** A request for users or groups. */
export interface Asked {
  readonly query: ScimQuery;
  readonly principal: Principal;
  readonly context: RequestContext;
  /** Whether users and groups are listed together, so that filters can name attributes of both. */
  readonly isOfAll: boolean;
  /** Charges for a number of objects. @throws ServiceError RATE_LIMITED */
  readonly pay: (objects: number) => Promise<void>;
  /** Notes how many users are shown with a field. */
  readonly note: (field: string, users: number) => void;
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
    let found = this.types.get(name);
    if (found === undefined) {
      const { projection } = this.serviceOf(kind);
      const type = new ResourceType(kind, projection.fields, principal);
      found = [type, comparablesOf(type, projection.columns)];
      this.types.set(name, found);
    }
    return found;
  }

  urlOf(path: string): string {
    return `${this.config.baseUrl}/scim/v2/${path}`;
  }

  /** A page of users or groups, or the one with an id, without the total. @throws ScimError; ServiceError */
  async read(
    kind: Kind,
    asked: Asked,
    page: PageArguments,
    offset: number,
    id: string | null = null,
  ): Promise<{ page: Page<unknown[]>; resources: Resource[] }> {
    const { query, principal, context } = asked;
    const [type, comparables] = this.typeOf(kind, principal);
    const service = this.serviceOf(kind);
    const { memberships, count, other } = OF_KIND[kind];
    const columns = service.projection.select(type.selected);
    const { total, ...source } = await service.sourceOf({}, columns, context.reader);
    const { values } = source;
    const conditions: string[] = [];
    if (id !== null) conditions.push(`${service.names.alias}.entry_uuid = ${values.add(id)}::uuid`);
    if (query.filter !== null) {
      const others = asked.isOfAll ? this.typeOf(other, principal)[1] : new Map<string, never>();
      const { root, texts } = query.filter;
      conditions.push(new FilterCondition(kind, comparables, others, texts, values).write(root));
    }
    const { key } = { key: source.order.columns.slice(-1) };
    const order =
      query.sortBy === null
        ? source.order.columns
        : [...orderColumns(query.sortBy, kind, comparables), ...key];
    const rows = (page.first ?? page.last ?? 0) > 0;
    const direction = query.isDescending ? 'DESC' : 'ASC';
    const found = await readPage(
      context.reader,
      {
        ...{ ...source, conditions, offset, order: { columns: order, direction } },
        columns: [...columns.columns, query.shown.has(memberships) ? count : '0'],
        binding: bindCursor(`scim ${kind}`, [query.sortBy, direction], [query.filterText]),
        ...(conditions.length === 0 && total !== undefined && { total }),
      },
      page,
      {
        ...MEMBERSHIPS,
        rows,
        cursors: 'ends',
        totalCount: id === null,
        hasNextPage: rows,
        hasPreviousPage: rows,
      },
    );
    const models = found.rows.map((row) => service.projection.mapRow(row, columns));
    const sum = found.rows.reduce((all, row) => all + Number(row.at(-1)), 0);
    if (models.length > 1 && sum > MOST_MEMBERSHIPS)
      throw new ScimError(
        'tooMany',
        `This page has more than ${MOST_MEMBERSHIPS} ${memberships}: ask for fewer resources, or exclude ${memberships}`,
      );
    if (sum > 0) await asked.pay(sum);
    const parts = await Promise.all(models.map((model) => this.membershipsOf(kind, model, asked)));
    const references = await this.readReferences(type, models, asked);
    for (const name of type.fields.keys()) if (kind === 'User') asked.note(`User.${name}`, models.length);
    const resources = models.map((model, index) => {
      const extensions = this.extensionsOf(type, model, references);
      const attributes =
        kind === 'User' ? this.attributesOf(type, model as User) : { displayName: model['name'] };
      return this.write(kind, model, { ...attributes, [memberships]: parts[index], ...extensions }, query);
    });
    return { page: found, resources };
  }

  /** All groups of a user, or all members of a group, those of all resources in one statement. None if they are hidden. */
  private async membershipsOf(kind: Kind, model: User | Group, { query, context, note }: Asked) {
    const isHidden = model instanceof Group && model.membersVisibleTo !== 0;
    if (isHidden || !query.shown.has(OF_KIND[kind].memberships)) return [];
    const { nodes } = await this.serviceOf(kind).memberships.list(model, ALL, MEMBERSHIPS, context.batches);
    note('GroupMembership.role', nodes.length);
    note('User.name', kind === 'Group' ? nodes.length : 0);
    return nodes.map(({ user, group, role }) =>
      kind === 'User'
        ? { ...this.reference('Group', group), type: role.direct === null ? 'indirect' : 'direct' }
        : { ...this.reference('User', user), type: 'User' },
    );
  }

  private reference(kind: Kind, { entryUuid, name }: User | Group, display = 'display') {
    return { value: entryUuid, $ref: this.urlOf(`${kind}s/${entryUuid}`), [display]: name };
  }

  /** What the fields of objects refer to, by the field and the key of the object. */
  private async readReferences(
    { kind, fields, extensions }: ResourceType,
    models: readonly (User | Group)[],
    { query, context }: Asked,
  ) {
    const found = new Map<string, (User | Group)[]>();
    const keys = models.map(({ key }) => key);
    for (const [urn, extended] of extensions)
      for (const field of referenceFields(extended)) {
        if (keys.length === 0 || !query.shown.has(urn, field.name)) continue;
        const { projection } = this.serviceOf(field.reference.to === 'user' ? 'User' : 'Group');
        const columns = projection.select(NAMED);
        const from = kind === 'User' ? 'user' : 'group';
        const rows = await context.reader.read(referredStatement({ from, field }, columns), [keys]);
        for (const row of rows) {
          const name = `${field.name} ${String(row[0])}`;
          found.set(name, [...(found.get(name) ?? []), projection.mapRow(row, columns, 1)]);
        }
      }
    return found;
  }

  private extensionsOf(
    { kind, extensions }: ResourceType,
    model: User | Group,
    references: ReadonlyMap<string, (User | Group)[]>,
  ) {
    const valueOf = (field: Field): unknown => {
      const value = model[field.name] ?? null;
      const form = enterpriseForm(kind, field);
      const display = form === 'manager' ? 'displayName' : 'display';
      if (field.reference !== undefined) {
        const to = field.reference.to === 'user' ? 'User' : 'Group';
        const all = (references.get(`${field.name} ${model.key}`) ?? []).map((each) => ({
          ...this.reference(to, each, display),
          ...(form === null && { type: to }),
        }));
        return isList(field) ? all : all[0];
      }
      if (value === null || form === null) return value;
      return form === 'manager' ? { displayName: String(value) } : String(value);
    };
    return Object.fromEntries(
      [...extensions].map(([urn, fields]) => [
        urn,
        present(Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]))),
      ]),
    );
  }

  private attributesOf({ fields }: ResourceType, user: User) {
    const of = (name: string) => (fields.has(name) ? user[name] : null);
    const [photo, picture] = (['photo', 'picture'] as const).map((type) => {
      const value = fields.has(type) ? this.urls.find(type, user, null) : null;
      return value === null ? [] : [{ value, type, ...(type === 'photo' && { primary: true }) }];
    });
    const address = of('email');
    return {
      userName: user.id,
      name: present({ formatted: of('name'), familyName: of('familyName'), givenName: of('givenName') }),
      displayName: of('name'),
      active: of('active'),
      emails: address === null ? [] : [{ value: address, type: 'work', primary: true }],
      photos: [...(photo ?? []), ...(picture ?? [])],
    };
  }

  /** The version depends on all that is returned, so that it is right for all viewers, and tells none of what is hidden. */
  private write(kind: Kind, model: User | Group, attributes: object, { shown }: ScimQuery): Resource {
    const { entryUuid: id, createdAt: created, updatedAt: lastModified } = model;
    const location = this.urlOf(`${kind}s/${id}`);
    const meta = { resourceType: kind, created, lastModified, location, version: '' };
    const { meta: shownMeta, ...picked } = shown.pick({ ...present(attributes), meta });
    const others = Object.keys(present(picked)).filter((name) => name.startsWith('urn:'));
    const schemas = [`${CORE}${kind}`, ...others];
    const text = JSON.stringify({ schemas, id, ...present(picked), meta: shownMeta });
    const version = `W/"${hash('sha256', `${lastModified} ${text.replace(SIGNATURE, '')}`, 'base64url').slice(0, 22)}"`;
    return {
      text: text.replace(/"version":""(?=\}\}$)/, () => `"version":${JSON.stringify(version)}`),
      location,
      version,
    };
  }

  private serviceOf(kind: Kind): UsersService | GroupsService {
    return kind === 'User' ? this.users : this.groups;
  }
}

/** The members of an object that have a value. */
function present(object: object): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}
