import { type PersonalDataAccess, isPersonal } from '../../access-log/personal-data.decorator.js';
import type { GraphQLNamedType } from 'graphql';
import type { SelectedField } from './operation-cost.js';

/** Where a response has personal data: users, or objects with data of exactly one user. */
interface Place {
  readonly path: readonly string[];
  readonly fields: readonly string[];
  /** The keys that an object has if it counts: others at the same path are of another type. */
  readonly keys: readonly string[];
  /** Whether the value may be missing: the object counts if it is not null. */
  readonly isValue: boolean;
}

export type PersonalDataSelection = readonly Place[];

/**
 * The personal data of a level, for each type that its objects may have. If fields of another type have the same keys, its objects
 * count too: rather too many than too few.
 * @param shown the fields that the level shows
 */
export function personalDataOf(shown: readonly SelectedField[], path: readonly string[]): Place[] {
  return [...new Set(shown.map(({ parentType }) => parentType))].flatMap((type): Place[] => {
    const own = shown.filter(({ parentType }) => parentType === type);
    const nameOf = ({ field }: SelectedField) => `${nameOfOriginal(type)}.${field.name}`;
    if (!isPersonal(type))
      return own
        .filter(({ field }) => isPersonal(field))
        .map((each) => ({ path, fields: [nameOf(each)], keys: [keyOf(each)], isValue: true }));
    const fields = own.filter(({ field }) => field.extensions['personal'] !== false).map(nameOf);
    if (fields.length === 0) return [];
    return [{ path, fields: [...new Set(fields)], keys: own.map(keyOf), isValue: false }];
  });
}

/** The name that the type of an object has where the object is not below a preview. */
export function nameOfOriginal({ name, extensions }: Pick<GraphQLNamedType, 'name' | 'extensions'>): string {
  return (extensions['previewOf'] as string | undefined) ?? name;
}

function keyOf({ path }: SelectedField): string {
  return path.at(-1) ?? '';
}

/** Counts the users whose data is in a result. Null if there are none. */
export function personalDataAccessOf(
  selection: PersonalDataSelection,
  data: unknown,
): PersonalDataAccess | null {
  const users = new Map<string, number>();
  for (const place of selection) {
    const count = countAt(data, place, 0);
    if (count > 0) for (const field of place.fields) users.set(field, (users.get(field) ?? 0) + count);
  }
  return users.size === 0 ? null : { fields: [...users.keys()], users: [...users.values()] };
}

function countAt(value: unknown, place: Place, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value))
    return value.reduce((count: number, item) => count + countAt(item, place, depth), 0);
  const object = value as Readonly<Record<string, unknown>>;
  const key = place.path[depth];
  if (key !== undefined) return countAt(object[key], place, depth + 1);
  const { keys, isValue } = place;
  return keys.every((each) => object[each] !== undefined && !(isValue && object[each] === null)) ? 1 : 0;
}
