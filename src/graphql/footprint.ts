import { getNamedType, type GraphQLObjectType, isAbstractType } from 'graphql';
import type { Exhibit } from '../access-log/exhibit.js';
import { isPersonal } from '../access-log/personal.js';
import {
  type Operation,
  type PathKey,
  type SelectedField,
  selectedAmong,
  type Variables,
} from './operation.js';

/** What an operation shows of people, and where in its answer they are: decided once for all that decide the same. */
export interface Footprint {
  /** Names of fields such as `User.email`, each once. */
  readonly fields: readonly string[];
  readonly places: readonly Place[];
  /** What the last answer showed: many show as much as the one before, and what is noted again costs least. */
  last: Exhibit | null;
}

interface Place {
  /** Response keys from the root to objects that each are a person, or about one. */
  readonly path: readonly string[];
  /** What is shown of each: indices into the fields. */
  readonly fields: readonly number[];
  readonly isShown: (object: Shown) => boolean;
}

type Shown = Readonly<Record<string, unknown>>;

/**
 * Finds what an operation shows of people.
 * @param withheld fields that the token does not reach
 * @returns null when it shows nothing of anybody
 */
export function findFootprint(
  { roots }: Operation,
  variables: Variables,
  withheld: ReadonlySet<PathKey>,
): Footprint | null {
  const names: string[] = [];
  const places: Place[] = [];
  const indexOf = ({ parentType, field }: SelectedField): number => {
    const name = `${parentType.name}.${field.name}`;
    const index = names.indexOf(name);
    return index < 0 ? names.push(name) - 1 : index;
  };
  const visit = (fields: Map<string, SelectedField>, path: readonly string[], isAbstract: boolean): void => {
    const types = new Map<GraphQLObjectType, SelectedField[]>();
    for (const selected of selectedAmong(fields, variables)) {
      if (withheld.has(selected.key)) continue;
      types.set(selected.parentType, [...(types.get(selected.parentType) ?? []), selected]);
      visit(selected.children, selected.responsePath, isAbstractType(getNamedType(selected.field.type)));
    }
    for (const [type, own] of types) {
      if (isPersonal(type)) {
        const mark = isAbstract ? findMark(own, fields) : null;
        const isShown = mark === null ? () => true : (object: Shown) => object[mark] !== undefined;
        places.push({ path, fields: [...new Set(own.map(indexOf))], isShown });
        continue;
      }
      for (const selected of own.filter(({ field }) => isPersonal(field))) {
        const key = keyOf(selected);
        const isShown = (object: Shown) => object[key] !== undefined && object[key] !== null;
        places.push({ path, fields: [indexOf(selected)], isShown });
      }
    }
  };
  visit(roots, [], false);
  return places.length === 0 ? null : { fields: names, places, last: null };
}

/**
 * A response key by which objects of one type can be told from those of the others that are in the same place. Null where
 * all of them look alike: then everything there is counted, rather too much than too little.
 */
function findMark(own: readonly SelectedField[], all: Map<string, SelectedField>): string | null {
  const type = own[0]?.parentType;
  const others = new Set([...all.values()].filter(({ parentType }) => parentType !== type).map(keyOf));
  return own.map(keyOf).find((key) => !others.has(key)) ?? null;
}

function keyOf({ responsePath }: SelectedField): string {
  return responsePath.at(-1) ?? '';
}

/** Counts whom an answer shows. Null: nobody. */
export function exhibitOf(footprint: Footprint, data: unknown): Exhibit | null {
  const { fields, places, last } = footprint;
  const people = fields.map(() => 0);
  let isEmpty = true;
  for (const place of places) {
    const count = countAt(data, place, 0);
    if (count === 0) continue;
    isEmpty = false;
    for (const index of place.fields) people[index] = (people[index] ?? 0) + count;
  }
  if (isEmpty) return null;
  if (last?.people.every((count, index) => count === people[index]) === true) return last;
  footprint.last = { fields, people };
  return footprint.last;
}

function countAt(value: unknown, place: Place, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) {
    let count = 0;
    for (const item of value) count += countAt(item, place, depth);
    return count;
  }
  const key = place.path[depth];
  if (key === undefined) return place.isShown(value as Shown) ? 1 : 0;
  return countAt((value as Shown)[key], place, depth + 1);
}
