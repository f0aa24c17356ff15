import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { hasScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { type Field, isList } from '../common/field.js';
import type { TableNames } from '../database/fields/object-table.js';
import type { Projection } from '../database/fields/projection.js';
import { type Comparable, comparableFields, exact } from '../memberships/comparable-fields.js';

export const KINDS = ['User', 'Group'] as const;
export type Kind = (typeof KINDS)[number];
export type Json = Readonly<Record<string, unknown>>;

/** schemas.yaml says what its members are. */
interface Written extends Readonly<Record<Kind | 'reference' | 'manager', readonly Json[]>> {
  readonly paths: Readonly<Record<Kind, Readonly<Record<string, string>>>>;
  readonly compared: Written['paths'];
  readonly resourceTypes: Readonly<Record<Kind, Json>>;
  readonly types: Readonly<Record<string, string>>;
  readonly enterprise: readonly string[];
  readonly ServiceProviderConfig: Json;
}

export const WRITTEN = parse(readFileSync(new URL('schemas.yaml', import.meta.url), 'utf8')) as Written;
export const CORE = 'urn:ietf:params:scim:schemas:core:2.0:';
export const OF_CORE = new RegExp(`^${CORE}(?:${KINDS.join('|')}):`, 'i');
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const FIELDS = 'urn:directory:scim:schemas:fields:1.0:';
export const EXTENSIONS = [ENTERPRISE, ...KINDS.map((kind) => `${FIELDS}${kind}`)];

/** An attribute with all its characteristics (RFC 7643 §7). */
function attribute({ subAttributes, ...own }: Json): Json {
  const parts = { subAttributes: (subAttributes as Json[] | undefined)?.map(attribute) };
  const usual = { type: 'string', multiValued: false, required: false, caseExact: false };
  return { ...usual, mutability: 'readOnly', returned: 'default', uniqueness: 'none', ...own, ...parts };
}

/** The form of a field in the enterprise extension; null if it is in an extension of the service. */
export function enterpriseForm(kind: Kind, field: Field): 'text' | 'manager' | null {
  const { name, reference } = field;
  if (kind === 'Group' || isList(field)) return null;
  if (name === 'manager' && reference?.to === 'user') return 'manager';
  return reference === undefined && WRITTEN.enterprise.includes(name) ? 'text' : null;
}

function attributeOf(kind: Kind, field: Field): Json {
  const { name, description, match } = field;
  const form = enterpriseForm(kind, field);
  const shared = { name, description, multiValued: isList(field) };
  if (form === 'text') return attribute(shared);
  const subAttributes = form === 'manager' ? WRITTEN.manager : WRITTEN.reference;
  if (field.reference !== undefined) return attribute({ ...shared, type: 'complex', subAttributes });
  const type = WRITTEN.types[field.type.replace(/\W/g, '')] ?? 'string';
  const more = type === 'reference' ? { referenceTypes: ['external'] } : {};
  return attribute({ ...shared, type, caseExact: match === 'caseExact' || type !== 'string', ...more });
}

/** What a token can read of users or groups: the core schema, and the fields whose scopes it has in extensions. */
export class ResourceType {
  /** Fields by the paths of their attributes, with `|` behind the URN of an extension or the first name. Some are shown as a whole. */
  readonly paths: readonly (readonly [path: string, field: Field, whole: string])[];
  readonly extensions: readonly string[];
  /** What filters and orders compare, by paths in lower case. */
  readonly comparables = new Map<string, Comparable>();

  constructor(
    readonly kind: Kind,
    names: TableNames,
    { fields: all, columns }: Pick<Projection<object>, 'fields' | 'columns'>,
    principal: Principal,
  ) {
    const core = Object.entries(WRITTEN.paths[kind]);
    const pathsOf = (field: Field) => {
      const paths = core.flatMap(([path, name]) => (name === field.name ? [path] : []));
      const urn = enterpriseForm(kind, field) === null ? `${FIELDS}${kind}` : ENTERPRISE;
      const own = paths.length > 0 ? paths : [`${urn}|${field.name}`];
      return own.map((path) => [path, field, path.replace(/^(emails|photos)\|.*/, '$1')] as const);
    };
    // A reference leads to objects that only tokens with `read` may read.
    const isReadable = ({ reference, scopes = [] }: Field) =>
      hasScopes(principal, reference === undefined ? scopes : ['read', ...scopes]);
    this.paths = all.filter(isReadable).flatMap(pathsOf);
    this.extensions = EXTENSIONS.filter((urn) => this.paths.some(([path]) => path.startsWith(urn)));
    const fields = comparableFields(names, all, columns);
    const add = (at: string, own?: Comparable | null) => own && this.comparables.set(at.toLowerCase(), own);
    for (const [path, name] of Object.entries(WRITTEN.compared[kind])) add(path, fields[name]);
    for (const [path, field] of this.paths) {
      const own = fields[field.name];
      const isText = own && own.type !== 'string' && enterpriseForm(kind, field) !== null;
      add(path, isText ? exact(`(${own.sql})::text`) : own);
    }
  }

  get schemas(): Json[] {
    const { kind, paths, extensions } = this;
    const documentOf = (id: string, name: string, attributes: readonly Json[]) => {
      return { schemas: [`${CORE}Schema`], id, name, description: `The attributes of ${name}.`, attributes };
    };
    const others = extensions.map((urn) => {
      const own = paths.filter(([path]) => path.startsWith(urn)).map(([, field]) => attributeOf(kind, field));
      return documentOf(urn, urn === ENTERPRISE ? 'EnterpriseUser' : `${kind}Fields`, own);
    });
    return [documentOf(`${CORE}${kind}`, kind, WRITTEN[kind].map(attribute)), ...others];
  }

  get document(): Json {
    const schemaExtensions = this.extensions.map((schema) => ({ schema, required: false }));
    return { ...WRITTEN.resourceTypes[this.kind], schemaExtensions };
  }
}
