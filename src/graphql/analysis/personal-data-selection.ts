import { type PersonalDataAccess, isPersonal } from '../../access-log/personal-data.decorator.js';
import { nameOfOriginal } from '../schema/preview-types.js';
import type { SelectedField } from './operation-cost.js';

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
  /** The keys that an object has if it counts: others at the same path are of another type. */
  readonly keys: readonly string[];
  /** The key of the only field, whose value may be missing; null: each object counts. */
  readonly value: string | null;
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
   * @param shown the fields that a level shows
   * @param isAbstract whether the objects of the level are of several types
   */
  addLevel(shown: readonly SelectedField[], path: readonly string[], isAbstract: boolean): void {
    for (const type of new Set(shown.map(({ parentType }) => parentType))) {
      const own = shown.filter(({ parentType }) => parentType === type);
      // If fields of another type have the same keys, its objects count too: rather too many than too few.
      const keys = isAbstract ? own.map(keyOf) : [];
      const fields = own.filter(({ field }) =>
        isPersonal(type) ? field.extensions['personal'] !== false : isPersonal(field),
      );
      const add = (value: string | null, ...given: readonly SelectedField[]) => {
        this.places.push({
          path,
          keys,
          value,
          fields: [...new Set(given.map((each) => this.indexOf(each)))],
        });
      };
      if (!isPersonal(type)) for (const field of fields) add(keyOf(field), field);
      else if (fields.length > 0) add(null, ...fields);
    }
  }

  private indexOf({ parentType, field }: SelectedField): number {
    const name = `${nameOfOriginal(parentType)}.${field.name}`;
    const index = this.names.indexOf(name);
    return index < 0 ? this.names.push(name) - 1 : index;
  }
}

function keyOf({ path }: SelectedField): string {
  return path.at(-1) ?? '';
}

/** Counts the users whose data is in a result. Null if there are none. */
export function personalDataAccessOf(
  selection: PersonalDataSelection,
  data: unknown,
): PersonalDataAccess | null {
  const { fields, places, last } = selection;
  const users = fields.map(() => 0);
  for (const place of places) {
    const count = countAt(data, place, 0);
    for (const index of place.fields) users[index] = (users[index] ?? 0) + count;
  }
  if (users.every((count) => count === 0)) return null;
  if (last?.users.every((count, index) => count === users[index]) === true) return last;
  selection.last = { fields, users };
  return selection.last;
}

function countAt(value: unknown, place: Place, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) {
    let count = 0;
    for (const item of value as unknown[]) count += countAt(item, place, depth);
    return count;
  }
  const object = value as Readonly<Record<string, unknown>>;
  const key = place.path[depth];
  if (key !== undefined) return countAt(object[key], place, depth + 1);
  const isShown = place.keys.every((each) => object[each] !== undefined);
  return isShown && (place.value === null || (object[place.value] ?? null) !== null) ? 1 : 0;
}
