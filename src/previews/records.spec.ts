import fc from 'fast-check';
import { named } from '../../test/support/builders/named-subject.js';
import {
  applyRecord,
  definedOf,
  entryOf,
  rawAttributes,
  withoutRefusal,
} from '../../test/support/builders/model-entry.js';
import { NAUGHTY_STRINGS } from '../../test/support/builders/naughty-strings.js';
import { ServiceError } from '../common/errors.js';
import { builtInConfig } from '../../test/support/builders/built-in-config.js';
import { foldValue } from '../ldap/naming/dn.js';
import { Entry } from '../ldap/entry.js';
import { configFor } from '../config/config.js';
import { PRESET_NAMES } from '../config/model/presets/presets.js';
import { mapPerson } from '../mirror/map/map.js';
import { USER_FIELDS } from '../users/user.fields.js';
import { changeFields } from './records.js';
import { type FieldChanges, validateChange } from './values.js';

const directory = builtInConfig().directory.mapping;
const mapping = directory.users;
const DN = 'uid=ada,ou=people,dc=example,dc=org';

/** Builds an entry with the attributes that every user has and the given ones. */
function personEntry(attributes: Record<string, string[]>, dn = DN): Entry {
  const classes = ['inetOrgPerson', 'directoryPerson'];
  return entryOf(dn, {
    objectClass: classes,
    uid: ['ada'],
    cn: ['Ada Martin'],
    sn: ['Martin'],
    ...attributes,
  });
}

function change(entry: Entry, wanted: FieldChanges, by = mapping) {
  const { value } = mapPerson(entry, by);
  if (value === null) throw new Error('the entry is no person');
  const person = {
    kind: 'person',
    uuid: value.uuid,
    dn: entry.dn,
    attributes: rawAttributes(entry),
  } as const;
  return changeFields(person, wanted, { ...directory, users: by });
}

describe('the change of a user', () => {
  describe('of a field with several attributes', () => {
    const email = { attributes: ['otherMailbox', 'mail'], attribute: 'otherMailbox' };
    const fields = mapping.fields.map((field) => (field.name === 'email' ? { ...field, ...email } : field));
    const several = { ...mapping, fields };

    function changeOf(attributes: Record<string, string[]>, wanted: string | null) {
      return change(personEntry(attributes), { email: wanted }, several).record;
    }

    it('deletes the values of every attribute', () => {
      const mail = { operation: 'delete', attribute: 'mail', values: ['a@example.org', 'b@example.org'] };
      expect(changeOf({ mail: mail.values }, null)).toMatchObject({ changes: [mail] });
      expect(changeOf({ mail: mail.values, otherMailbox: ['c@example.org'] }, null)).toMatchObject({
        changes: [{ operation: 'delete', attribute: 'otherMailbox', values: ['c@example.org'] }, mail],
      });
    });

    it('adds a new value to the first attribute, which is read first', () => {
      expect(changeOf({ mail: ['a@example.org'] }, 'b@example.org')).toMatchObject({
        assertion: { filters: [{ kind: 'not', filter: { attribute: 'otherMailbox' } }] },
        changes: [{ operation: 'add', attribute: 'otherMailbox', values: ['b@example.org'] }],
      });
    });
  });

  it('puts the new value first and keeps the others', () => {
    const entry = personEntry({ mail: ['ada@example.org', 'a@example.org', 'A.Martin@example.org'] });
    expect(change(entry, { email: 'a.martin@example.org' }).record).toMatchObject({
      changes: [
        { operation: 'delete', values: ['ada@example.org', 'a@example.org', 'A.Martin@example.org'] },
        { operation: 'add', values: ['a.martin@example.org', 'a@example.org'] },
      ],
    });
  });

  it('asserts nothing about an attribute that has values with options', () => {
    const tagged = personEntry({ 'givenName;lang-en': ['Ada'] });
    const { record, attributes } = change(tagged, { givenName: 'Ada', email: 'ada@example.org' });
    expect(record.assertion).toEqual({
      kind: 'and',
      filters: [{ kind: 'not', filter: { kind: 'present', attribute: 'mail' } }],
    });
    expect(rawAttributes(applyRecord(tagged, record))).toEqual(attributes);
    expect(change(tagged, { givenName: 'Ada' }).record.assertion).toBeUndefined();
  });

  it.each(PRESET_NAMES.filter((name) => name !== 'openldap'))('asserts nothing on %s', (name) => {
    const of = configFor(builtInConfig(), name).directory.mapping;
    const attributes = rawAttributes(personEntry({}));
    const person = { kind: 'person', uuid: named(DN).uuid, dn: DN, attributes } as const;
    expect(changeFields(person, { givenName: 'Ada' }, of).record).toEqual({
      dn: DN,
      changetype: 'modify',
      changes: [{ operation: 'add', attribute: 'givenName', values: ['Ada'] }],
    });
  });

  it('cannot change the id with another field', () => {
    const byMail = { ...mapping, id: 'Mail' };
    const entry = personEntry({ mail: ['ada@example.org'] });
    expect(() => change(entry, { email: 'a@example.org' }, byMail)).toThrow(
      new ServiceError('CONFLICT', 'email and the id have a common attribute: change it in the directory'),
    );
  });

  it('adds the class that a school year requires, if it is missing', () => {
    const entry = personEntry({ objectClass: ['inetOrgPerson'], displayName: ['Ada'] });
    expect(change(entry, { schoolYear: '3B' })).toMatchObject({
      record: {
        changes: [
          { operation: 'add', attribute: 'objectClass', values: ['directoryPerson'] },
          { operation: 'add', attribute: 'schoolYear', values: ['3B'] },
        ],
      },
      attributes: {
        ...rawAttributes(entry),
        objectclass: ['inetOrgPerson', 'directoryPerson'],
        schoolyear: ['3B'],
      },
    });
    expect(change(entry, { givenName: 'Ada' }).record).toMatchObject({
      changes: [{ attribute: 'givenName' }],
    });
  });

  it('cannot change attributes of the RDN', () => {
    const entry = personEntry({}, 'sn=Martin,ou=people,dc=example,dc=org');
    expect(() => change(entry, { familyName: 'Lovelace' })).toThrow(
      new ServiceError(
        'CONFLICT',
        'familyName is part of the name of the entry: it takes a rename in the directory',
      ),
    );
  });

  it('cannot change values that are not text', () => {
    const entry = new Entry(DN, [...personEntry({}).attributes, ['mail', [Buffer.from([0xff])]]]);
    expect(() => change(entry, { email: 'ada@example.org' })).toThrow(/is not text/);
  });

  it('sets the given values, and keeps all others', () => {
    fc.assert(
      fc.property(entries, changes, (entry, wanted) => {
        const outcome = withoutRefusal(() => change(entry, wanted));
        if (outcome === null) return;
        const { value: before } = mapPerson(entry, mapping);
        const applied = applyRecord(entry, outcome.record);
        const { value: after, quarantined } = mapPerson(applied, mapping);
        expect(after).toEqual({ ...before, ...definedOf(wanted) });
        expect(rawAttributes(applied)).toEqual(outcome.attributes);
        expect(quarantined).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });
});

/** Values that differ, and values that differ only in case, space or composition. */
const text = fc.oneof(
  fc.constantFrom('Ada', 'ada', ' Ada ', 'ADA  MARTIN', 'Ada Martin', 'É', 'é', 'e\u0301', ' '),
  fc.constantFrom(...NAUGHTY_STRINGS.filter((each) => each !== '')),
);
const values = fc.uniqueArray(text, { maxLength: 3, selector: foldValue });

const entries = fc
  .record({ displayName: values, givenName: values, mail: values, hasClass: fc.boolean() })
  .map(({ hasClass, ...attributes }) =>
    personEntry({ ...attributes, ...(hasClass ? {} : { objectClass: ['inetOrgPerson'] }) }),
  );

const changes = fc
  .record(
    {
      name: text,
      givenName: fc.option(text),
      familyName: text,
      email: fc.constantFrom(null, 'ada@example.org'),
      schoolYear: fc.constantFrom(null, '3B'),
    },
    { requiredKeys: [] },
  )
  .map((input) => withoutRefusal(() => validateChange(input, USER_FIELDS)) ?? { email: 'ada@example.org' });
