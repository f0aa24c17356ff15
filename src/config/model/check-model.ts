import { mappableFields } from './built-in-fields.js';
import { checkField, type FieldPlace } from './check-field.js';
import { valueAt } from './check-shape.js';
import { isCredential, readsCredential } from './credentials.js';
import { closestTo } from './did-you-mean.js';
import { normalizeDn } from '../../ldap/naming/dn.js';
import { BUILT_IN_SCOPES, FOREIGN_SCOPES } from '../scopes.js';
import type { Model, CustomField } from './model.schema.js';
import { filter } from './model-values.js';
import { isReserved } from './reserved-names.js';
import { quote } from './quote.js';
import type { ModelProblem, Path, YamlFile } from './yaml-file.js';

const MOST_FIELDS = 100;

interface AttributePlace {
  readonly path: readonly string[];
  readonly value: string | readonly string[] | undefined;
}

type Kind = 'users' | 'groups';
const KINDS: readonly Kind[] = ['users', 'groups'];
const ROLES = ['members', 'admins', 'owners'] as const;

/** Finds what is wrong between values that are valid one by one. */
export class ModelCheck {
  readonly problems: ModelProblem[] = [];
  private readonly ownScopes: readonly string[];

  constructor(
    private readonly model: Model,
    private readonly file: YamlFile,
  ) {
    // A declaration that is invalid is a problem of its own, and not one of each place that uses it.
    const declared = (file.value as { scopes?: unknown } | null | undefined)?.scopes;
    this.ownScopes = typeof declared === 'object' && declared !== null ? Object.keys(declared) : [];
  }

  run(): readonly ModelProblem[] {
    this.checkScopes();
    for (const kind of KINDS) {
      this.checkBases(kind);
      this.checkFields(kind);
    }
    for (const { path, value } of attributesOf(this.model)) {
      if ([value ?? []].flat().some(isCredential))
        this.atValue(path, `${path.join('.')} is an attribute that holds credentials. Name another one`);
    }
    for (const { path, value } of evaluatedFilters(this.model, this.file)) {
      if (readsCredential(value))
        this.atValue(
          path,
          `${path.join('.')} reads an attribute that holds credentials. Write another filter`,
        );
    }
    this.checkForms();
    this.checkReverseNames();
    this.checkBypass();
    return this.problems;
  }

  private checkBases(kind: Kind): void {
    const known = new Set<string>();
    for (const [index, base] of [this.model[kind]?.base ?? []].flat().entries()) {
      const dn = normalizeDn(base);
      const path = [kind, 'base', String(index)];
      if (known.has(dn))
        this.atValue(path, `${path.join('.')} is the same DN as a base before it. Keep one of them`);
      known.add(dn);
    }
  }

  private checkScopes(): void {
    for (const name of Object.keys(this.model.scopes ?? {})) {
      const isBuiltIn = BUILT_IN_SCOPES.some((scope) => scope.name === name);
      if (isBuiltIn) this.atKey(['scopes', name], `${quote(name)} is a built-in scope. Choose another name`);
      if (FOREIGN_SCOPES.includes(name))
        this.atKey(['scopes', name], `${quote(name)} is a scope of OpenID Connect. Choose another name`);
      if (name in Object.prototype)
        this.atKey(['scopes', name], `${quote(name)} is a name of JavaScript objects. Choose another name`);
    }
  }

  private checkFields(kind: Kind): void {
    const fields = Object.entries(this.model[kind]?.fields ?? {});
    const path = [kind, 'fields'];
    const own = fields.filter(([, field]) => isCustom(field)).length;
    if (own > MOST_FIELDS) this.atKey(path, `${kind}.fields has ${own} fields. Keep at most ${MOST_FIELDS}`);
    for (const [name, field] of fields) {
      const isBuiltIn = mappableFields(kind).includes(name);
      if (!isCustom(field)) {
        if (!isBuiltIn) this.atKey([...path, name], this.explainShortForm(kind, name));
      } else if (isBuiltIn) {
        this.atKey([...path, name], explainBuiltIn(kind, name, field));
      } else this.checkCustomField({ kind, name, field, path: [...path, name] });
    }
  }

  private explainShortForm(kind: Kind, name: string): string {
    if (isReserved(kind, name)) {
      const cure = `Remove it, or use the key of ${kind} or of the model`;
      return `${quote(name)} is not read from an attribute by fields. ${cure}`;
    }
    const closest = closestTo(name, mappableFields(kind));
    const own = `${quote(name)} is a custom field, and needs more. Write {attribute, type, description}`;
    return closest === null ? own : `${own}. Or did you mean ${closest}?`;
  }

  private checkCustomField(place: FieldPlace): void {
    const { kind, name, field, path } = place;
    this.checkName(kind, name, path);
    if (field.access !== undefined) this.checkScope(field.access, [...path, 'access']);
    for (const { key, text } of checkField(field)) this.atValue([...path, key], `${quote(name)} ${text}`);
  }

  private checkName(kind: Kind, name: string, path: Path): void {
    if (!isReserved(kind, name)) return;
    this.atKey(
      path,
      `${quote(name)} is a name of the built-in schema or of the service. Choose another name`,
    );
  }

  private checkForms(): void {
    for (const role of ROLES) {
      const known = new Set<string>();
      for (const { path, form } of formsOf(this.model, role)) {
        const by = form.by ?? 'dn';
        const written = [...path, ...(form.by === undefined ? [] : ['by'])];
        if (known.has(by))
          this.atValue(
            written,
            `groups.${role} has two forms with by: ${by}. Write one with a list of attributes`,
          );
        const attributes = [form.attribute].flat().map((each) => each.toLowerCase());
        const again = attributes.find((each) => known.has(`attribute ${each}`));
        if (again !== undefined)
          this.atValue(
            [...path, 'attribute'],
            `groups.${role} reads ${quote(again)} in two ways. Keep the form that fits its values`,
          );
        for (const each of [by, ...attributes.map((name) => `attribute ${name}`)]) known.add(each);
      }
    }
  }

  /** A reverse name is a field of the other type: it is unique among all fields there. */
  private checkReverseNames(): void {
    const taken = { users: this.ownNames('users'), groups: this.ownNames('groups') };
    for (const kind of KINDS) {
      for (const [name, field] of Object.entries(this.model[kind]?.fields ?? {})) {
        if (!isCustom(field) || field.reverse === undefined) continue;
        const target = /User/.test(field.type) ? 'users' : 'groups';
        const path = [kind, 'fields', name, 'reverse'];
        const { reverse } = field;
        if (isReserved(target, reverse))
          this.atValue(
            path,
            `${quote(reverse)} is a name of the built-in schema or of the service. Choose another name`,
          );
        else if (taken[target].has(reverse))
          this.atValue(
            path,
            `${quote(reverse)} is the name of another field or reverse of ${target}. Choose another name`,
          );
        taken[target].add(reverse);
      }
    }
  }

  private ownNames(kind: Kind): Set<string> {
    return new Set(Object.keys(this.model[kind]?.fields ?? {}));
  }

  /** Tokens have the scopes of the built-in schema for other purposes, and would see everything from the next start on. */
  private checkBypass(): void {
    const { bypass } = this.model.visibility ?? {};
    const path = ['visibility', 'bypass'];
    if (BUILT_IN_SCOPES.some(({ name }) => name === bypass))
      this.atValue(
        path,
        `${quote(bypass ?? '')} is a built-in scope, which tokens have for other purposes: they would see everything that is hidden. Declare a scope of your own under scopes, and name it here`,
      );
    else if (bypass !== undefined) this.checkScope(bypass, path, this.ownScopes);
  }

  private checkScope(name: string, path: Path, known = this.scopes): void {
    if (known.includes(name)) return;
    const closest = closestTo(name, known);
    const cure =
      closest === null
        ? 'Declare it under scopes'
        : `Did you mean ${closest}? Otherwise declare it under scopes`;
    this.atValue(path, `The scope ${quote(name)} does not exist. ${cure}`);
  }

  private get scopes(): readonly string[] {
    return [...BUILT_IN_SCOPES.map(({ name }) => name), ...this.ownScopes];
  }

  private atKey(path: Path, text: string): void {
    this.problems.push({ ...this.file.placeOfKey(path), text });
  }

  private atValue(path: Path, text: string): void {
    this.problems.push({ ...this.file.placeOfValue(path), text });
  }
}

/** The attributes of a model besides those of custom fields. */
function attributesOf(model: Model): AttributePlace[] {
  const { uuid, createdAt, modifiedAt, users, groups } = model;
  const shortFields = KINDS.flatMap((kind) =>
    Object.entries((kind === 'users' ? users : groups)?.fields ?? {}).flatMap(([name, value]) =>
      isCustom(value) ? [] : [{ path: [kind, 'fields', name], value }],
    ),
  );
  return [
    ...Object.entries({ uuid, createdAt, modifiedAt }).map(([key, value]) => ({ path: [key], value })),
    ...(['id', 'name', 'memberOf', 'photoStamp'] as const).map((key) => ({
      path: ['users', key],
      value: users?.[key],
    })),
    ...(['id', 'name'] as const).map((key) => ({ path: ['groups', key], value: groups?.[key] })),
    ...ROLES.flatMap((role) => formsOf(model, role)).map(({ path, form }) => ({
      path: [...path, 'attribute'],
      value: form.attribute,
    })),
    ...shortFields,
  ];
}

/** The forms of a role as the file has them, with their places. */
function formsOf({ groups }: Model, role: (typeof ROLES)[number]) {
  const written = groups?.[role] ?? [];
  return Array.isArray(written)
    ? written.map((form, index) => ({ path: ['groups', role, String(index)], form }))
    : [{ path: ['groups', role], form: written }];
}

/**
 * The valid filters whose attributes the service reads; it sends the others to the server. The rules are those of the file, because
 * the model has no list of which one rule is invalid.
 */
function evaluatedFilters({ users }: Model, file: YamlFile): { path: string[]; value: string }[] {
  const rules = ['users', 'groups', 'members'].flatMap((list) => {
    const written = valueAt(file.value, ['visibility', list]);
    return (Array.isArray(written) ? written : []).flatMap((rule: unknown, index) => {
      const { data } = filter.safeParse(valueAt(rule, ['where']));
      return data === undefined ? [] : [{ path: ['visibility', list, String(index), 'where'], value: data }];
    });
  });
  const disabled = users?.disabled;
  return disabled === undefined ? rules : [{ path: ['users', 'disabled'], value: disabled }, ...rules];
}

/** A built-in field has no options, but one of its own can have them. */
function explainBuiltIn(kind: Kind, name: string, { attribute }: CustomField): string {
  const attributes = [attribute].flat();
  const short = `${name}: ${attributes.length === 1 ? (attributes[0] ?? '') : `[${attributes.join(', ')}]`}`;
  const cure = `Write only the attribute that it is read from: ${short}`;
  return `${quote(name)} is a built-in field of ${kind}. ${cure}. For other keys, declare a custom field with another name`;
}

export function isCustom(field: string | readonly string[] | CustomField): field is CustomField {
  return typeof field === 'object' && !Array.isArray(field);
}
