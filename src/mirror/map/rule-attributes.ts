import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter-parser.js';

/** The lists of filters that decide what is visible or active. */
export type FilterList = 'users' | 'groups' | 'members' | 'disabled';

/**
 * Member of a mapped entry that is not part of its content: the lists of which the entry lacks an attribute. With all of
 * them, what the filters decide is what the entry says, and not that the account cannot read it.
 */
export const LACKS_ATTRIBUTES_OF: unique symbol = Symbol('lacksAttributesOf');

type AnyMapping = DirectoryMapping['users'] | DirectoryMapping['groups'];
type AttributesByList = readonly (readonly [list: FilterList, attributes: readonly string[]])[];

/** The mapping of a configuration does not change, and its filters are parsed once. */
const parsed = new WeakMap<AnyMapping, AttributesByList>();

/** Returns the lists of filters of which an entry lacks an attribute (pure). */
export function listsLacking(entry: Entry, mapping: AnyMapping): readonly FilterList[] {
  let lists = parsed.get(mapping);
  if (lists === undefined) parsed.set(mapping, (lists = attributesByList(mapping)));
  return lists
    .filter(([, attributes]) => attributes.some((each) => entry.bytesOfSubtypes(each).length === 0))
    .map(([list]) => list);
}

/** Whether an entry may lack what a list of filters reads. Unknown counts as lacking. */
export function mayLack(
  { [LACKS_ATTRIBUTES_OF]: lists }: { readonly [LACKS_ATTRIBUTES_OF]?: readonly FilterList[] },
  list: FilterList,
): boolean {
  return lists?.includes(list) ?? true;
}

function attributesByList(mapping: AnyMapping): AttributesByList {
  const { rules, disabled } = mapping;
  const filters: [FilterList, string[]][] =
    'memberRules' in mapping
      ? [
          ['groups', rules.map(({ where }) => where)],
          ['members', mapping.memberRules.map(({ where }) => where)],
        ]
      : [
          ['users', rules.map(({ where }) => where)],
          ['disabled', disabled === null ? [] : [disabled]],
        ];
  return filters.map(([list, texts]) => [
    list,
    texts.flatMap((text) => attributesOfFilter(parseFilter(text))),
  ]);
}
