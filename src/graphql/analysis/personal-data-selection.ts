import { getNamedType, type GraphQLObjectType, isAbstractType, isListType, isNonNullType } from 'graphql';
import { type PersonalDataAccess, isPersonal } from '../../access-log/personal-data.decorator.js';
import { nameOfOriginal } from '../schema/preview-types.js';
import type { SelectedField } from './operation.js';

/** The personal data that an operation selects, shared by all requests with the same decision. */
export interface PersonalDataSelection {
  /** Names of fields such as `User.email`, each once. */
  readonly fields: readonly string[];
  readonly places: readonly Place[];
  /** The access of the previous response, which is reused because most responses show as much. */
  last: PersonalDataAccess | null;
}

interface Place {
  /** Response keys to the objects to count: users, or objects with data of exactly one user. */
  readonly path: readonly string[];
  /** The fields shown of each object: indexes into `fields`. */
  readonly fields: readonly number[];
  /** Which of the objects at the path count; null if all do. */
  readonly isShown: ((object: Shown) => boolean) | null;
}

type Shown = Readonly<Record<string, unknown>>;

/** The location of the objects of one level in a response. */
export interface Level {
  /** Response keys from the root to the objects. */
  readonly path: readonly string[];
  /** The same path, or a shorter one to the same number of objects. */
  readonly counted: readonly string[];
  readonly isAbstract: boolean;
}

/** Finds the personal data that an operation selects, level by level. */
export class PersonalDataSearch {
  private readonly names: string[] = [];
  private readonly places: Place[] = [];

  get found(): PersonalDataSelection | null {
    const { names: fields, places } = this;
    return places.length === 0 ? null : { fields, places, last: null };
  }

  /**
   * @param shown the fields of the level that are not withheld
   * @param all all that its document selects
   */
  addLevel(shown: readonly SelectedField[], all: Map<string, SelectedField>, level: Level): void {
    const types = new Map<GraphQLObjectType, SelectedField[]>();
    for (const selected of shown)
      types.set(selected.parentType, [...(types.get(selected.parentType) ?? []), selected]);
    for (const [type, own] of types) {
      if (isPersonal(type)) {
        const mark = level.isAbstract ? findMark(own, all) : null;
        const isShown = mark === null ? null : (object: Shown) => object[mark] !== undefined;
        const personal = own.filter(({ field }) => field.extensions['personal'] !== false);
        if (personal.length > 0) this.addPlace(level, isShown, personal);
        continue;
      }
      for (const selected of own.filter(({ field }) => isPersonal(field))) {
        const key = keyOf(selected);
        const isThere = (object: Shown) => object[key] !== undefined && object[key] !== null;
        const isOneEach = isNonNullType(selected.field.type) && !level.isAbstract;
        this.addPlace(level, isOneEach ? null : isThere, [selected]);
      }
    }
  }

  private addPlace(
    { path, counted }: Level,
    isShown: Place['isShown'],
    selected: readonly SelectedField[],
  ): void {
    const fields = [...new Set(selected.map((each) => this.indexOf(each)))];
    this.places.push({ path: isShown === null ? counted : path, isShown, fields });
  }

  private indexOf({ parentType, field }: SelectedField): number {
    const name = `${nameOfOriginal(parentType)}.${field.name}`;
    const index = this.names.indexOf(name);
    return index < 0 ? this.names.push(name) - 1 : index;
  }
}

/** A non-null field occurs once in each parent object, so the parents can be counted instead. */
export function levelBelow({ field, responsePath }: SelectedField, above: Level): Level {
  const isOneEach = isNonNullType(field.type) && !isListType(field.type.ofType) && !above.isAbstract;
  return {
    path: responsePath,
    counted: isOneEach ? above.counted : responsePath,
    isAbstract: isAbstractType(getNamedType(field.type)),
  };
}

/**
 * Finds a response key that distinguishes objects of one type from objects of other types at the same path.
 * Null if no key does. Then all objects at the path count: an overestimate is preferred to an underestimate.
 */
function findMark(own: readonly SelectedField[], all: Map<string, SelectedField>): string | null {
  const type = own[0]?.parentType;
  const others = new Set([...all.values()].filter(({ parentType }) => parentType !== type).map(keyOf));
  return own.map(keyOf).find((key) => !others.has(key)) ?? null;
}

function keyOf({ responsePath }: SelectedField): string {
  return responsePath.at(-1) ?? '';
}

/** Counts the users whose data is in a result. Null if there are none. */
export function personalDataAccessOf(
  selection: PersonalDataSelection,
  data: unknown,
): PersonalDataAccess | null {
  const { fields, places, last } = selection;
  const users = fields.map(() => 0);
  let isEmpty = true;
  for (const place of places) {
    const count = countAt(data, place, 0);
    if (count === 0) continue;
    isEmpty = false;
    for (const index of place.fields) users[index] = (users[index] ?? 0) + count;
  }
  if (isEmpty) return null;
  if (last?.users.every((count, index) => count === users[index]) === true) return last;
  selection.last = { fields, users };
  return selection.last;
}

function countAt(value: unknown, place: Place, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  const key = place.path[depth];
  if (!Array.isArray(value)) {
    if (key !== undefined) return countAt((value as Shown)[key], place, depth + 1);
    return place.isShown === null || place.isShown(value as Shown) ? 1 : 0;
  }
  let count = 0;
  for (const item of value as unknown[]) count += countAt(item, place, depth);
  return count;
}
