import type { MemberForm } from '../config/model/mapping.js';
import type { EntryKind } from '../sources/source.js';
import { isSame } from './stored-entry.js';

/** Classes of groups in RFC 4519, RFC 2307, 389 Directory Server and FreeIPA, in lower case. */
const STANDARD_CLASSES: ReadonlySet<string> = new Set([
  ...['top', 'groupofnames', 'groupofuniquenames', 'posixgroup'],
  ...['nsmemberof', 'nestedgroup', 'ipausergroup', 'ipaobject'],
]);
/** The classes that allow the usual attributes of members, in lower case. */
const CLASS_OF_MEMBERS: Readonly<Record<string, string>> = {
  member: 'groupofnames',
  uniquemember: 'groupofuniquenames',
  memberuid: 'posixgroup',
};
/** Attributes of built-in fields that none of the standard classes of groups has. */
const ABSENT_ATTRIBUTES = ['displayName', 'mail', 'labeledURI'];

function hasClass(classes: readonly string[], name: string): boolean {
  return classes.some((each) => isSame(each, name));
}

/** Returns whether an entry with these classes cannot have the attribute, as far as the classes are known. */
export function lacksAttribute(classes: readonly string[], attribute: string): boolean {
  return areStandard(classes) && ABSENT_ATTRIBUTES.some((each) => isSame(each, attribute));
}

function areStandard(classes: readonly string[]): boolean {
  return classes.length > 0 && classes.every((each) => STANDARD_CLASSES.has(each.toLowerCase()));
}

/** Returns those of the attributes of members that an entry with these classes can have, or all if that is not known. */
export function memberAttributesIn(
  classes: readonly string[],
  { attributes }: MemberForm,
): readonly string[] {
  const possible = possibleAttributes(classes, attributes);
  return possible.length === 0 ? attributes : possible;
}

function possibleAttributes(classes: readonly string[], attributes: readonly string[]): readonly string[] {
  // Such a class, or classes that are all known, say which attributes the entry has. Other classes can allow each of them.
  const isKnown = ['groupOfNames', 'groupOfUniqueNames'].some((each) => hasClass(classes, each));
  if (hasClass(classes, 'extensibleObject') || !(isKnown || areStandard(classes))) return attributes;
  return attributes.filter((each) => {
    const required = CLASS_OF_MEMBERS[each.toLowerCase()];
    return required === undefined || hasClass(classes, required);
  });
}

/**
 * Returns the form in which a group with these classes names another entry: the first that it can have, or else the first. An id
 * names only users.
 */
export function formForNewName(
  classes: readonly string[],
  forms: readonly MemberForm[],
  kind: EntryKind,
): MemberForm | undefined {
  const naming = forms.filter(({ by }) => kind === 'person' || by !== 'id');
  const usable = naming.length === 0 ? forms : naming;
  return usable.find(({ attributes }) => possibleAttributes(classes, attributes).length > 0) ?? usable[0];
}
