import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { grantedScopes, type Principal } from '../auth/principal.js';
import { bindCursor } from '../common/cursor.js';
import { type Field, isList } from '../common/field.js';
import { isUuid } from '../common/identity.js';
import type { PageArguments, PageSelection, SelectedFields } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { readPage } from '../database/paging/page.js';
import { referredStatement } from '../field-references/field-references.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { SignedUrls } from '../media/signing/signed-urls.js';
import type { User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import { orderOf, ScimError, type ScimQuery, writeFilter } from './scim-query.js';
import { CORE, enterpriseForm, EXTENSIONS, type Json, type Kind, ResourceType } from './scim-schemas.js';

/** The most memberships in the resources of a list, about 10 MB, and the rows before a page that cost as much as an object. */
const [MOST_MEMBERSHIPS, ROWS_AS_OBJECT] = [50_000, 250] as const;
const ALL = { first: 2 ** 31 - 2 };
const selectFields = (names: string) => new Map(names.split(',').map((name) => [name, new Map()]));
/** Few selections are repeated, and the columns of a selection are found once. */
const SELECTED = new LRUCache<string, SelectedFields>({ max: 500, memoMethod: selectFields });
const NAMED = selectFields('nodeId,name');
const ROLE = selectFields('direct');
const MEMBERSHIPS: PageSelection = {
  ...{ cacheKey: 'scim', rows: true, cursors: 'none', totalCount: false, hasNextPage: false },
  ...{ hasPreviousPage: false, node: new Map(Object.entries({ user: NAMED, group: NAMED, role: ROLE })) },
};
const OF_PAGE = { ...MEMBERSHIPS, hasNextPage: true };
const OF_TOTAL = { ...MEMBERSHIPS, rows: false, totalCount: true };
type Model = User | Group;
type Paths = ResourceType['paths'];
/** `kinds` are listed together. */
type Wanted = PageArguments & { offset?: number; id?: string; kinds?: readonly Kind[] };
type Shown = Asked & { readonly references: ReadonlyMap<string, object[]> };
/** A request. `pay` charges for a number of objects, and `note` counts users who are shown with a field. */
export interface Asked {
  readonly query: ScimQuery;
  readonly principal: Principal;
  readonly context: RequestContext;
  readonly pay: (objects: number) => Promise<void>;
  readonly note: (field: string, users: number) => void;
}

/** Reads users and groups by the statements of their lists, and writes them as resources. */
@Injectable()
export class ScimResources {
  private readonly types: Record<string, ResourceType> = {};

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    private readonly urls: SignedUrls,
  ) {}

  typeOf(kind: Kind, principal: Principal): ResourceType {
    const { names, projection } = this.serviceOf(kind);
    const name = `${kind} ${grantedScopes(principal).join(' ')}`;
    return (this.types[name] ??= new ResourceType(kind, names, projection, principal));
  }

  urlOf(path: string): string {
    return `${this.config.baseUrl}/scim/v2/${path}`;
  }

  /** A page of users or groups, or the one with an id, without the total. */
  async read(kind: Kind, asked: Asked, page: Wanted) {
    const { query, principal, context } = asked;
    const { filter, sortBy, direction, shown } = query;
    const type = this.typeOf(kind, principal);
    const listed = (page.kinds ?? []).map((each) => this.typeOf(each, principal));
    const memberships = kind === 'User' ? 'groups' : 'members';
    const count = kind === 'User' ? 'u.group_count' : 'g.member_count';
    const { names, projection } = this.serviceOf(kind);
    const paths = type.paths.filter(([, , whole]) => shown.has(whole));
    const fields = ['nodeId', 'updatedAt', memberships, ...paths.map(([, { name }]) => name)];
    const columns = projection.select(SELECTED.memo(fields.join()));
    const plan = async () => {
      const { total, ...source } = await this.serviceOf(kind).sourceOf({}, columns, context.reader);
      const { values, order } = source;
      const hasId = isUuid(page.id) ? `${names.alias}.entry_uuid = ${values.add(page.id)}::uuid` : 'false';
      const conditions = page.id === undefined ? [] : [hasId];
      if (filter !== null) conditions.push(writeFilter(filter, type, listed, values));
      const by = sortBy === null ? order.columns.slice(0, -1) : [orderOf(sortBy, type)];
      return {
        ...{ ...source, conditions, offset: page.offset },
        order: { columns: [...by, ...order.columns.slice(-1)], direction },
        columns: [...source.columns, shown.has(memberships) ? count : '0'],
        binding: () => bindCursor(`scim ${kind}`, [sortBy, direction], [filter]),
        ...(conditions.length === 0 && total !== undefined && { total }),
      };
    };
    const cursors = query.cursor === null ? 'none' : 'ends';
    const found = await readPage(context.reader, await plan(), page, { ...OF_PAGE, cursors });
    // A first page that is not full has all rows. To count them costs as much as to read one.
    const isAll = page.id !== undefined || !(found.hasNextPage || page.after || page.offset);
    const counted = isAll ? null : await readPage(context.reader, await plan(), {}, OF_TOTAL);
    const models: Model[] = found.rows.map((row) => projection.mapRow(row, columns));
    const sum = found.rows.reduce((all, row) => all + Number(row.at(-1)), 0);
    if (models.length > 1 && sum > MOST_MEMBERSHIPS)
      throw new ScimError('tooMany', `The page has too many ${memberships}: exclude them, or ask for less`);
    const totalCount = counted?.totalCount ?? models.length;
    const rowsBefore = Math.min(page.offset ?? 0, totalCount);
    await asked.pay(models.length + sum + Math.floor(rowsBefore / ROWS_AS_OBJECT));
    const [references, lists] = await Promise.all([
      this.readReferences(kind, paths, models, asked),
      Promise.all(models.map(async (model) => (sum > 0 ? this.membershipsOf(kind, model, asked) : []))),
    ]);
    const resources = models.map((model, index) => {
      const attributes = this.attributesOf(kind, paths, model, { ...asked, references });
      return this.write(kind, model, { ...attributes, [memberships]: lists[index] }, query);
    });
    return { page: found, totalCount, resources };
  }

  /** All groups of a user, or all members of a group, those of all resources in one statement. None if they are hidden. */
  private async membershipsOf(kind: Kind, model: Model, { context, note }: Asked) {
    if (kind === 'Group' && model['membersVisibleTo'] !== 0) return [];
    const { nodes } = await this.serviceOf(kind).memberships.list(model, ALL, MEMBERSHIPS, context.batches);
    const fields = kind === 'User' ? ['GroupMembership.role'] : ['User.nodeId', 'User.name'];
    for (const field of fields) note(field, nodes.length);
    return nodes.map(({ user, group, role }) =>
      kind === 'User'
        ? this.referenceTo('Group', group, role.direct === null ? 'indirect' : 'direct')
        : this.referenceTo('User', user, 'User'),
    );
  }

  private referenceTo(kind: Kind, { entryUuid, name }: Model, type?: string) {
    const names = type === undefined ? { displayName: name } : { display: name, type };
    return { value: entryUuid, $ref: this.urlOf(`${kind}s/${entryUuid}`), ...names };
  }

  /** What the fields of objects refer to, by the name of the field and the key of the object. */
  private async readReferences(kind: Kind, paths: Paths, models: readonly Model[], { context }: Asked) {
    const found = new Map<string, object[]>();
    const from = kind === 'User' ? 'user' : 'group';
    for (const [, field] of models.length === 0 ? [] : paths) {
      const { name, reference } = field;
      if (reference === undefined) continue;
      const to = reference.to === 'user' ? 'User' : 'Group';
      const { projection } = this.serviceOf(to);
      const columns = projection.select(NAMED);
      const find = referredStatement({ from, field: { ...field, reference } }, columns);
      for (const row of await context.reader.read(find, [models.map(({ key }) => key)])) {
        const shownType = enterpriseForm(kind, field) === null ? to : undefined;
        const one = this.referenceTo(to, projection.mapRow(row, columns, 1), shownType);
        const of = `${name} ${String(row[0])}`;
        found.set(of, [...(found.get(of) ?? []), one]);
      }
    }
    return found;
  }

  private attributesOf(kind: Kind, paths: Paths, model: Model, { note, references }: Shown) {
    const found: Record<string, Json> = {};
    const noted = new Set(['nodeId']);
    const valueOf = (field: Field): unknown => {
      const { name, reader, reference } = field;
      if (reader === 'picture') return this.urls.find(name as 'photo' | 'picture', model as User, null);
      const all = reference && (references.get(`${name} ${model.key}`) ?? []);
      if (all !== undefined) return isList(field) ? all : all[0];
      const isText = enterpriseForm(kind, field) !== null && model[name] !== null;
      return isText ? String(model[name]) : model[name];
    };
    for (const [path, field] of paths) {
      const [name = '', part] = path.split('|');
      if (field.isPersonal !== false) noted.add(field.name);
      const value = valueOf(field);
      found[name] = part === undefined ? (value as Json) : present({ ...found[name], [part]: value });
    }
    if (kind === 'User') for (const field of noted) note(`User.${field}`, 1);
    const { emails: { value: address } = {}, photos = {}, ...others } = found;
    const emails = address ? [{ value: address, type: 'work', primary: true }] : [];
    const urlOf = ([type, value]: [string, unknown]) => ({ value, type, primary: type === 'photo' });
    return { ...others, emails, photos: Object.entries(photos).map(urlOf) };
  }

  /** The version depends on all that is returned but signatures, so that it discloses nothing that is hidden. */
  private write(kind: Kind, model: Model, { meta, ...attributes }: Json, query: ScimQuery) {
    const { entryUuid: id, updatedAt } = model;
    const location = this.urlOf(`${kind}s/${id}`);
    const ofEntry = { resourceType: kind, ...(meta as Json), location, version: '' };
    const picked = query.shown.pick({ ...present(attributes), meta: ofEntry });
    const schemas = [`${CORE}${kind}`, ...EXTENSIONS.filter((urn) => urn in picked)];
    const text = JSON.stringify({ schemas, id, ...picked });
    const unsigned = text.replace(/\?expires=\d+&signature=[0-9a-f]+/g, '');
    const digest = hash('sha256', `${String(updatedAt)} ${unsigned}`, 'base64url');
    const etag = `W/"${digest.slice(0, 22)}"`;
    const version = `"version":${JSON.stringify(etag)}`;
    return { text: text.replace(/"version":""(?=\}\}$)/, () => version), location, etag };
  }

  private serviceOf(kind: Kind): UsersService | GroupsService {
    return kind === 'User' ? this.users : this.groups;
  }
}

/** The members of an object that have a value. */
function present(object: Json): Record<string, unknown> {
  const has = (value: unknown) => typeof (value ?? {}) !== 'object' || Object.keys(value ?? {}).length > 0;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => has(value)));
}
