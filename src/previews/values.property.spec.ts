import fc from 'fast-check';
import { NAUGHTY_STRINGS } from '../../test/support/builders/naughty-strings.js';
import { BadUserInputError } from '../common/errors.js';
import { builtInConfig } from '../../test/support/builders/built-in-config.js';
import { Entry } from '../ldap/entry.js';
import { GROUP_FIELDS } from '../groups/group.fields.js';
import { mapGroup, mapPerson } from '../mirror/map/map.js';
import { USER_FIELDS } from '../users/user.fields.js';
import { validateChange } from './values.js';

const { mapping } = builtInConfig().directory;
const group = { id: 'chess-club' };

describe('an accepted value', () => {
  const text = fc.oneof(
    fc.constantFrom(...NAUGHTY_STRINGS),
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.webUrl(),
    fc.emailAddress(),
  );

  it.each([
    ['name', 'displayName'],
    ['givenName', 'givenName'],
    ['familyName', 'sn'],
    ['email', 'mail'],
    ['schoolYear', 'schoolYear'],
  ] as const)('as %s is what the mirror shows for a user who has it as %s', (field, attribute) => {
    fc.assert(
      fc.property(text, (given) => {
        const wanted = accepted(() => validateChange({ [field]: given }, USER_FIELDS))?.[field] ?? null;
        if (wanted === null) return;
        const entry = entryWith({ uid: 'ada', cn: 'Ada', [attribute]: wanted });
        const { value, quarantined } = mapPerson(entry, mapping.users);
        expect([value?.[field], quarantined]).toEqual([wanted, []]);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['name', 'displayName'],
    ['description', 'description'],
    ['website', 'labeledURI'],
    ['email', 'mail'],
  ] as const)('as %s is what the mirror shows for a group that has it as %s', (field, attribute) => {
    fc.assert(
      fc.property(text, (given) => {
        const wanted =
          accepted(() => validateChange({ group, [field]: given }, GROUP_FIELDS))?.[field] ?? null;
        if (wanted === null) return;
        const { value, quarantined } = mapGroup(entryWith({ cn: 'go', [attribute]: wanted }), mapping.groups);
        expect([value?.[field], quarantined]).toEqual([wanted, []]);
      }),
      { numRuns: 1000 },
    );
  });
});

function entryWith(attributes: Record<string, string>): Entry {
  return new Entry(
    'cn=anything',
    Object.entries(attributes).map(([attribute, value]) => [attribute, [Buffer.from(value)]]),
  );
}

/** Returns null when the input is rejected. */
function accepted<Change>(validate: () => Change): Change | null {
  try {
    return validate();
  } catch (error) {
    if (error instanceof BadUserInputError) return null;
    throw error;
  }
}
