import { type Config, configFor, readConfig } from '../config/config.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import { NO_SAMPLE } from '../../test/support/builders/built-in-config.js';
import { fingerprintOf, kindOfMirror } from './directory.js';

const config = readConfig({ DIRECTORY_URL: 'ldap://localhost', DIRECTORY_BASE_DN: 'dc=example,dc=org' });
const usersOf = (name: PresetName) => configFor(config, name).directory.mapping.users;

function kindAfter(fingerprint: string | null, given: Config = config): PresetName {
  return kindOfMirror(given, fingerprint);
}

describe('the kind of the server of the last run', () => {
  it.each(PRESET_NAMES)('is %s, or one with the same names', (name) => {
    const kind = kindAfter(fingerprintOf(configFor(config, name).directory));
    expect(usersOf(kind)).toEqual(usersOf(name));
  });

  it.each([null, 'of another address'])('is the configured one if the mirror is of none (%s)', (other) => {
    expect(kindAfter(other, configFor(config, 'samba'))).toBe('samba');
  });

  it('is the configured one for a file', () => {
    const { fingerprint } = { fingerprint: fingerprintOf(configFor(config, 'samba').directory) };
    expect(kindAfter(fingerprint, readConfig(NO_SAMPLE))).toBe('openldap');
  });
});
