import { UNIQUE_MEMBER } from '../ldap/naming/name-and-uid.js';
import { isSame } from './stored-entry.js';

/** Classes of groups in RFC 4519, RFC 2307, 389 Directory Server and FreeIPA, in lower case. */
const STANDARD_CLASSES: ReadonlySet<string> = new Set([
  ...['top', 'groupofnames', 'groupofuniquenames', 'posixgroup'],
  ...['nsmemberof', 'nestedgroup', 'ipausergroup', 'ipaobject'],
]);
/** Attributes of built-in fields that none of the standard classes of groups has. */
const ABSENT_ATTRIBUTES = ['displayName', 'mail', 'labeledURI'];

function hasClass(classes: readonly string[], name: string): boolean {
  return classes.some((each) => isSame(each, name));
}

/** Returns whether an entry with these classes cannot have the attribute, as far as the classes are known. */
export function lacksAttribute(classes: readonly string[], attribute: string): boolean {
  const isStandard = classes.length > 0 && classes.every((each) => STANDARD_CLASSES.has(each.toLowerCase()));
  return isStandard && ABSENT_ATTRIBUTES.some((each) => isSame(each, attribute));
}

/** Returns those of the attributes of members that an entry with these classes can have, or all if that is not known. */
export function memberAttributesIn(
  classes: readonly string[],
  attributes: readonly string[],
): readonly string[] {
  const hasNames = hasClass(classes, 'groupOfNames');
  if (hasNames === hasClass(classes, 'groupOfUniqueNames') || hasClass(classes, 'extensibleObject'))
    return attributes;
  const absent = hasNames ? UNIQUE_MEMBER : 'member';
  const possible = attributes.filter((each) => !isSame(each, absent));
  return possible.length === 0 ? attributes : possible;
}
