import { hasScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { type Field, isList } from '../common/field.js';
import type { SelectedFields } from '../common/page.js';

export const KINDS = ['User', 'Group'] as const;
export type Kind = (typeof KINDS)[number];

export const CORE = 'urn:ietf:params:scim:schemas:core:2.0:';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const FIELDS = 'urn:directory:scim:schemas:fields:1.0:';
export const EXTENSIONS = [ENTERPRISE, ...KINDS.map((kind) => `${FIELDS}${kind}`)];

/** The texts of the enterprise extension (RFC 7643 §4.3), which also has `manager`. */
const ENTERPRISE_TEXTS = ['employeeNumber', 'costCenter', 'organization', 'division', 'department'];
/** The fields in the core schemas. All others are in extensions. */
const OF_CORE: Readonly<Record<Kind, string>> = {
  User: 'id name givenName familyName email active photo picture createdAt updatedAt',
  Group: 'name createdAt updatedAt',
};

type Attribute = Readonly<Record<string, unknown>>;

/** @param more characteristics (RFC 7643 §7) that differ from those of most attributes */
function attribute(name: string, description: string, type = 'string', more: Attribute = {}): Attribute {
  const usual = { multiValued: false, required: false, caseExact: false, mutability: 'readOnly' };
  return { name, type, description, ...usual, returned: 'default', uniqueness: 'none', ...more };
}

function complex(name: string, description: string, multiValued: boolean, ...subAttributes: Attribute[]) {
  return attribute(name, description, 'complex', { multiValued, subAttributes });
}

function typeOf(...canonicalValues: string[]): Attribute {
  return attribute('type', 'What it is.', 'string', { canonicalValues });
}

const EXACT = { caseExact: true };
const URL_OF = (to: string) => ({ ...EXACT, referenceTypes: [to] });
const PRIMARY = attribute('primary', 'Whether it is preferred.', 'boolean');

function referenceTo(kind: Kind, display = 'display'): Attribute[] {
  const value = attribute('value', `The id of the ${kind}.`, 'string', EXACT);
  return [value, attribute('$ref', 'Its URL.', 'reference', URL_OF(kind)), attribute(display, 'Its name.')];
}

const ATTRIBUTES: Readonly<Record<Kind, readonly Attribute[]>> = {
  User: [
    attribute('userName', 'The id in the directory.', 'string', { required: true, uniqueness: 'server' }),
    complex(
      ...(['name', 'The parts of the name.', false] as const),
      ...[attribute('formatted', 'The full name.'), attribute('familyName', 'The family name.')],
      attribute('givenName', 'The given name.'),
    ),
    attribute('displayName', 'The full name.'),
    attribute('active', 'Whether the account is active.', 'boolean'),
    complex('emails', 'The address.', true, attribute('value', 'It.'), typeOf('work'), PRIMARY),
    complex(
      ...(['photos', 'Pictures.', true] as const),
      attribute('value', 'A signed URL, which is valid for an hour.', 'reference', URL_OF('external')),
      ...[typeOf('photo', 'picture'), PRIMARY],
    ),
    complex('groups', 'All groups.', true, ...referenceTo('Group'), typeOf('direct', 'indirect')),
  ],
  Group: [
    attribute('displayName', 'The name.', 'string', { required: true }),
    complex('members', 'All users, also of inner groups.', true, ...referenceTo('User'), typeOf('User')),
  ],
};

/** The types of attributes by those of fields. All others are strings. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ URL: 'reference', Int: 'integer', Float: 'decimal', Boolean: 'boolean', DateTime: 'dateTime' },
};

/** The form of a field in the enterprise extension; null if it is in the extension of the service. */
export function enterpriseForm(kind: Kind, field: Field): 'text' | 'manager' | null {
  const { name, reference } = field;
  if (kind === 'Group' || isList(field) || reference?.to === 'group') return null;
  if (name === 'manager') return 'manager';
  return reference === undefined && ENTERPRISE_TEXTS.includes(name) ? 'text' : null;
}

export function kindOf({ to }: NonNullable<Field['reference']>): Kind {
  return to === 'user' ? 'User' : 'Group';
}

function attributeOf(kind: Kind, field: Field): Attribute {
  const { name, description, reference, match } = field;
  const form = enterpriseForm(kind, field);
  if (form === 'text') return attribute(name, description);
  if (form === 'manager') return complex(name, description, false, ...referenceTo('User', 'displayName'));
  const multiValued = isList(field);
  const to = reference && kindOf(reference);
  if (to) return complex(name, description, multiValued, ...referenceTo(to), typeOf(to));
  const type = TYPES[field.type.replace(/\W/g, '')] ?? 'string';
  const caseExact = match === 'caseExact' || type !== 'string';
  const more = type === 'reference' ? URL_OF('external') : { caseExact };
  return attribute(name, description, type, { multiValued, ...more });
}

/** What a token can read of users or groups: the core schema, and fields whose scopes it has in extensions. */
export class ResourceType {
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
    const extended = fields.filter(({ name }) => !OF_CORE[kind].split(' ').includes(name));
    const urnOf = (field: Field) => (enterpriseForm(kind, field) ? ENTERPRISE : `${FIELDS}${kind}`);
    const found = EXTENSIONS.map((urn) => [urn, extended.filter((each) => urnOf(each) === urn)] as const);
    this.extensions = new Map(found.filter(([, { length }]) => length > 0));
    const names = ['nodeId', 'groups', 'members', ...fields.map(({ name }) => name)];
    this.selected = new Map(names.map((name) => [name, new Map()]));
  }

  /** The documents of `/Schemas`. */
  get schemas(): Attribute[] {
    const { kind, extensions } = this;
    const documentOf = (id: string, name: string, attributes: readonly Attribute[]) => {
      const description = `Attributes of a ${kind.toLowerCase()}.`;
      return { schemas: [`${CORE}Schema`], id, name, description, attributes };
    };
    const ofExtensions = [...extensions].map(([urn, fields]) => {
      const name = urn === ENTERPRISE ? 'EnterpriseUser' : `${kind}Fields`;
      const attributes = fields.map((field) => attributeOf(kind, field));
      return documentOf(urn, name, attributes);
    });
    return [documentOf(`${CORE}${kind}`, kind, ATTRIBUTES[kind]), ...ofExtensions];
  }

  /** The document of `/ResourceTypes`. */
  get document(): Attribute {
    const { kind, extensions } = this;
    const schemaExtensions = [...extensions.keys()].map((schema) => ({ schema, required: false }));
    const names = { id: kind, name: kind, description: `${kind}s of the directory.`, endpoint: `/${kind}s` };
    return { schemas: [`${CORE}ResourceType`], ...names, schema: `${CORE}${kind}`, schemaExtensions };
  }
}
