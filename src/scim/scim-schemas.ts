import { hasScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { type Field, isList } from '../common/field.js';
import type { SelectedFields } from '../common/page.js';

export const KINDS = ['User', 'Group'] as const;
export type Kind = (typeof KINDS)[number];

export const CORE = 'urn:ietf:params:scim:schemas:core:2.0:';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const FIELDS = 'urn:directory:scim:schemas:fields:1.0:';
/** The URNs of the schemas of the service. */
export const EXTENSIONS = [ENTERPRISE, ...KINDS.map((kind) => `${FIELDS}${kind}`)];

/** The texts of the enterprise extension (RFC 7643 §4.3). */
const ENTERPRISE_TEXTS = ['employeeNumber', 'costCenter', 'organization', 'division', 'department'];

/** The fields of the core schemas. All others are in extensions. */
const OF_CORE: Readonly<Record<Kind, readonly string[]>> = {
  User: [
    ...['id', 'name', 'givenName', 'familyName', 'email', 'active', 'photo', 'picture'],
    ...['createdAt', 'updatedAt'],
  ],
  Group: ['name', 'createdAt', 'updatedAt'],
};

type Attribute = Readonly<Record<string, unknown>>;

/** The characteristics of an attribute (RFC 7643 §7) that most attributes have. */
const USUAL = {
  ...{ multiValued: false, required: false, caseExact: false },
  ...{ mutability: 'readOnly', returned: 'default', uniqueness: 'none' },
};
const EXACT = { caseExact: true };
const MANY = { multiValued: true };

function attribute(name: string, type: string, description: string, more: Attribute = {}): Attribute {
  return { name, type, description, ...USUAL, ...more };
}

/** The sub-attributes of a reference to a resource. */
function referenceTo(kind: Kind, display: string): Attribute[] {
  return [
    attribute('value', 'string', `The id of the ${kind}.`, EXACT),
    attribute('$ref', 'reference', `The URL of the ${kind}.`, { ...EXACT, referenceTypes: [kind] }),
    attribute(display, 'string', 'Its name.'),
  ];
}

function typeAttribute(description: string, ...canonicalValues: string[]): Attribute {
  return attribute('type', 'string', description, { canonicalValues });
}

/** The types of attributes by those of fields. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ URL: 'reference', Int: 'integer', Float: 'decimal', Boolean: 'boolean', DateTime: 'dateTime' },
};

/** The form of a field in the enterprise extension; null if it is in the one of the service. */
export function enterpriseForm(kind: Kind, field: Field): 'text' | 'manager' | null {
  const isText = field.reader !== 'reference';
  if (kind === 'Group' || isList(field)) return null;
  if (field.name === 'manager') return field.reference?.to === 'user' || isText ? 'manager' : null;
  return isText && ENTERPRISE_TEXTS.includes(field.name) ? 'text' : null;
}

function attributeOf(kind: Kind, field: Field): Attribute {
  const { name, description, reference, match } = field;
  const multiValued = isList(field);
  const form = enterpriseForm(kind, field);
  if (form === 'text') return attribute(name, 'string', description);
  const complex = (subAttributes: Attribute[]) =>
    attribute(name, 'complex', description, { multiValued, subAttributes });
  if (form === 'manager') return complex(referenceTo('User', 'displayName'));
  if (reference !== undefined) {
    const to = reference.to === 'user' ? 'User' : 'Group';
    return complex([...referenceTo(to, 'display'), typeAttribute('What it refers to.', to)]);
  }
  const type = TYPES[field.type.replace(/[[\]!]/g, '')] ?? 'string';
  const isExact = match === 'caseExact' || type !== 'string';
  const more = type === 'reference' ? { referenceTypes: ['external'] } : {};
  return attribute(name, type, description, { multiValued, caseExact: isExact, ...more });
}

/** What a token can read of users or groups, and the schemas that describe it. */
export class ResourceType {
  /** The fields whose scopes the token has. */
  readonly fields: ReadonlyMap<string, Field>;
  /** The fields of extensions, by their URNs. */
  readonly extensions: ReadonlyMap<string, readonly Field[]>;
  readonly selected: SelectedFields;

  constructor(
    readonly kind: Kind,
    all: readonly Field[],
    principal: Principal,
  ) {
    // A reference leads to objects that only tokens with `read` may read.
    const fields = all.filter(({ reference, scopes = [] }) =>
      hasScopes(principal, reference === undefined ? scopes : ['read', ...scopes]),
    );
    this.fields = new Map(fields.map((field) => [field.name, field]));
    const extended = fields.filter(({ name }) => !OF_CORE[kind].includes(name));
    const urnOf = (field: Field) => (enterpriseForm(kind, field) === null ? `${FIELDS}${kind}` : ENTERPRISE);
    const urns = EXTENSIONS.filter((urn) => extended.some((field) => urnOf(field) === urn));
    this.extensions = new Map(urns.map((urn) => [urn, extended.filter((field) => urnOf(field) === urn)]));
    const needed = ['nodeId', kind === 'User' ? 'groups' : 'members', ...this.fields.keys()];
    this.selected = new Map(needed.map((name) => [name, new Map()]));
  }

  get urn(): string {
    return `${CORE}${this.kind}`;
  }

  /** The documents of `/Schemas`, without `meta`. */
  get schemas(): Attribute[] {
    const { kind, extensions, urn } = this;
    const described = (id: string, name: string, description: string, attributes: Attribute[]) => ({
      ...{ schemas: [`${CORE}Schema`], id, name, description, attributes },
    });
    const core = kind === 'User' ? this.ofUsers() : this.ofGroups();
    return [
      described(urn, kind, `A ${kind.toLowerCase()} of the directory.`, core),
      ...[...extensions].map(([id, fields]) => {
        const name = id === ENTERPRISE ? 'EnterpriseUser' : `${kind}Fields`;
        const attributes = fields.map((field) => attributeOf(kind, field));
        return described(id, name, `Further fields of a ${kind.toLowerCase()}.`, attributes);
      }),
    ];
  }

  /** The document of `/ResourceTypes`, without `meta`. */
  get document(): Attribute {
    const { kind, urn, extensions } = this;
    const schemaExtensions = [...extensions.keys()].map((schema) => ({ schema, required: false }));
    const named = { id: kind, name: kind, endpoint: `/${kind}s`, schema: urn, schemaExtensions };
    return { schemas: [`${CORE}ResourceType`], ...named, description: `${kind}s of the directory.` };
  }

  /** An attribute with the description of a field; none if the token may not read it. */
  private of(field: string, name: string, type: string, more: Attribute = {}): Attribute[] {
    const description = this.fields.get(field)?.description;
    return description === undefined ? [] : [attribute(name, type, description, more)];
  }

  private ofUsers(): Attribute[] {
    const primary = attribute('primary', 'boolean', 'Whether it is preferred.');
    const parts = [
      ...this.of('name', 'formatted', 'string'),
      ...this.of('familyName', 'familyName', 'string'),
      ...this.of('givenName', 'givenName', 'string'),
    ];
    const address = [...this.of('email', 'value', 'string'), typeAttribute('Its use.', 'work'), primary];
    const url = attribute('value', 'reference', 'A signed URL, which is valid for an hour.', {
      ...{ ...EXACT, referenceTypes: ['external'] },
    });
    const pictures = ['photo', 'picture'].filter((name) => this.fields.has(name));
    const picture = [url, typeAttribute('Which picture.', ...pictures), primary];
    const type = typeAttribute('Whether the group itself names the user.', 'direct', 'indirect');
    return [
      ...this.of('id', 'userName', 'string', { required: true, uniqueness: 'server' }),
      attribute('name', 'complex', 'The parts of the name.', { subAttributes: parts }),
      ...this.of('name', 'displayName', 'string'),
      ...this.of('active', 'active', 'boolean'),
      ...this.of('email', 'emails', 'complex', { ...MANY, subAttributes: address }),
      ...(pictures.length === 0
        ? []
        : [attribute('photos', 'complex', 'Pictures.', { ...MANY, subAttributes: picture })]),
      attribute('groups', 'complex', 'The groups to which the user belongs, also through other groups.', {
        ...{ ...MANY, subAttributes: [...referenceTo('Group', 'display'), type] },
      }),
    ];
  }

  private ofGroups(): Attribute[] {
    const type = typeAttribute('What the member is.', 'User');
    return [
      ...this.of('name', 'displayName', 'string', { required: true }),
      attribute('members', 'complex', 'All users of the group, also those of groups inside it.', {
        ...{ ...MANY, subAttributes: [...referenceTo('User', 'display'), type] },
      }),
    ];
  }
}
