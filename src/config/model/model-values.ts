import { z } from 'zod';
import { compileFilter, InvalidFilterError, parseFilter } from '../../ldap/filter/filter.js';
import { InvalidDnError, parseDn } from '../../ldap/naming/dn.js';

// Schemas of single values of the model file. A message is the end of a sentence whose subject is the value, and the cure.

/** RFC 4512 §1.4: a descriptor or a numeric OID. */
const DESCRIPTOR_OR_OID = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)$/;
/** The same with options, such as `;lang-fr`, which belong to the name of an attribute (RFC 4512 §2.5). */
const ATTRIBUTE = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/;
/** RFC 6749 §3.3, without spaces, and without commas, which separate scopes in commands. */
const SCOPE_TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

const NOT_AN_ATTRIBUTE = 'is not the name of an LDAP attribute. Write a name such as telephoneNumber';

const named = (error: string) =>
  z.string({ error }).max(256, { error: 'is too long. Write at most 256 characters' });

export const attribute = named(NOT_AN_ATTRIBUTE).regex(ATTRIBUTE, { error: NOT_AN_ATTRIBUTE });

const NEITHER =
  'is neither the name of an LDAP attribute nor a list of names. Write a name, or a list such as [displayName, cn]';

export const attributes = z.union([attribute, z.array(attribute).min(1).max(20)], { error: NEITHER });

export const attributesOrNone = z.union([attribute, z.array(attribute).max(20)], { error: NEITHER });

const NOT_A_CLASS = 'is not the name of an object class. Write a name such as groupOfNames';

const objectClass = named(NOT_A_CLASS).regex(DESCRIPTOR_OR_OID, { error: NOT_A_CLASS });

export const objectClasses = z.union([objectClass, z.array(objectClass).min(1).max(20)], {
  error:
    'is neither the name of an object class nor a list of names. Write a name, or a list such as [groupOfNames, schoolGroup]',
});

const filterBy = (read: (text: string) => unknown) =>
  z
    .string({ error: 'is not a filter. Write a filter such as (objectClass=person), RFC 4515' })
    .max(10_000, { error: 'is too long. Write at most 10,000 characters' })
    .superRefine((text, context) => {
      explain(
        context,
        InvalidFilterError,
        () => read(text),
        'Write a filter such as (objectClass=person), RFC 4515',
      );
    });

/** A filter that the service evaluates. */
export const filter = filterBy(compileFilter);

/** A filter that a server evaluates, by rules that the service may not know. See findServerFilters for files. */
export const searchFilter = filterBy(parseFilter);

const dn = z
  .string({ error: 'is not a DN. Write a DN such as ou=people, relative to DIRECTORY_BASE_DN' })
  .superRefine((text, context) => {
    explain(
      context,
      InvalidDnError,
      () => parseDn(text),
      'Write a DN such as ou=people, relative to DIRECTORY_BASE_DN',
    );
  });

export const bases = z.union([dn, z.array(dn).min(1).max(20)], {
  error:
    'is neither a DN nor a list of DNs. Write a DN such as ou=people, or a list such as [ou=people, ou=staff]',
});

export const scopeName = named('is not the name of a scope').regex(SCOPE_TOKEN, {
  error:
    'is not the name of a scope (RFC 6749, section 3.3). Use letters, digits and punctuation, without spaces, commas, quotes and backslashes',
});

export const fieldName = z
  .string()
  .max(64, { error: 'is too long for the name of a field. Write at most 64 characters' })
  .regex(/^[A-Za-z][A-Za-z0-9_]*$/, {
    error: 'is not a name for a GraphQL field. Begin with a letter, and use letters, digits and _',
  });

/**
 * Ends of lines, and characters that change the direction of the text that follows (UAX #9). No file has other control characters:
 * see findWrongParts.
 */
const NOT_IN_A_LINE = /[\t\n\u2028-\u202e\u2066-\u2069]/u;

/** A text that the SDL shows, without escapes. */
export const sentence = z
  .string({ error: 'is missing or no text. Write a sentence for the readers of the schema' })
  .trim()
  .min(1, { error: 'is empty. Write a sentence for the readers of the schema' })
  .max(1000, { error: 'is too long. Write at most 1,000 characters' })
  .refine((text) => !NOT_IN_A_LINE.test(text), {
    error:
      'has a line break, a tab, or a character that changes the direction of text (such as U+202E). Write one line without them',
  });

export const flag = z.boolean({ error: 'is neither true nor false. Write true or false' });

export const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, { error: `is not one of the possible values. Write ${names.join(', ')}` });

/** Adds the message of an expected error as a problem. */
function explain(
  context: z.RefinementCtx<string>,
  expected: abstract new (...given: never[]) => Error,
  attempt: () => unknown,
  cure: string,
): void {
  try {
    attempt();
  } catch (error) {
    if (!(error instanceof expected)) throw error;
    context.addIssue(`is an ${error.message}. ${cure}`);
  }
}

/** Returns the problem of the setting with the base DN, if there is one. */
export function findBaseDnProblem(text: string): string[] {
  try {
    parseDn(text);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidDnError)) throw error;
    return [`DIRECTORY_BASE_DN is an ${error.message}`];
  }
}
