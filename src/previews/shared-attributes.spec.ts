import { modelSetting } from '../../test/support/builders/model-file.js';
import { entryOf } from '../../test/support/builders/model-entry.js';
import { readConfig } from '../config/config.js';
import { storedName } from '../common/field.js';
import { NO_SAMPLE } from '../../test/support/builders/built-in-config.js';
import { mapPerson } from '../mirror/map/map.js';
import { valuesBeside } from './shared-attributes.js';
import { changePerson } from './text-record.js';

const MODEL = `users:
  fields:
    all: {attribute: Mail, type: "[String!]!", description: All addresses.}
    either: {attribute: [title, mail], type: String, description: A title or an address.}
`;
const mapping = readConfig({ ...NO_SAMPLE, ...modelSetting(MODEL) }).directory.mapping.users;

function besides(mail: string[], change: Record<string, string | null>) {
  const attributes = { objectClass: ['inetOrgPerson'], uid: ['ada'], cn: ['Ada'], sn: ['Ada'], mail };
  const { value } = mapPerson(entryOf('uid=ada', attributes), mapping);
  if (value === null) throw new Error('the entry is no person');
  return valuesBeside(change, mapping.fields, changePerson(value, change, mapping).record);
}

const ALL = mapping.fields.filter(({ name }) => name === 'all').map(storedName)[0] ?? '';

describe('the values of other fields of a changed attribute', () => {
  it('are those after the change', () => {
    expect(besides(['a@example.org', 'b@example.org'], { email: 'c@example.org' })).toEqual({
      [ALL]: ['b@example.org', 'c@example.org'],
    });
    expect(besides(['a@example.org', 'b@example.org'], { email: null })).toEqual({ [ALL]: null });
    expect(besides([], { email: 'c@example.org' })).toEqual({ [ALL]: ['c@example.org'] });
  });

  it('are none for other attributes', () => {
    expect(besides(['a@example.org'], { familyName: 'Lovelace' })).toEqual({});
  });
});
