import { type Config, configFor, readConfig } from '../config/config.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import type { MirrorState } from '../mirror/status/mirror-state.js';
import { fingerprintOf } from '../sources/source.js';
import { NO_SAMPLE } from '../../test/support/builders/built-in-config.js';
import { previousKind } from './previous-kind.js';

const config = readConfig({ DIRECTORY_URL: 'ldap://localhost', DIRECTORY_BASE_DN: 'dc=example,dc=org' });
const usersOf = (name: PresetName) => configFor(config, name).directory.mapping.users;

function kindAfter(fingerprint: string | null, given: Config = config): Promise<PresetName> {
  return previousKind(given, { get: () => Promise.resolve({ fingerprint }) } as unknown as MirrorState);
}

describe('the kind of the server of the last run', () => {
  it.each(PRESET_NAMES)('is %s, or one with the same names', async (name) => {
    const kind = await kindAfter(fingerprintOf(configFor(config, name).directory));
    expect(usersOf(kind)).toEqual(usersOf(name));
  });

  it.each([null, 'of another address'])(
    'is the configured one if the mirror is of none (%s)',
    async (other) => {
      expect(await kindAfter(other, configFor(config, 'samba'))).toBe('samba');
    },
  );

  it('is the configured one for a file', async () => {
    const { fingerprint } = { fingerprint: fingerprintOf(configFor(config, 'samba').directory) };
    expect(await kindAfter(fingerprint, readConfig(NO_SAMPLE))).toBe('openldap');
  });
});

describe('the fingerprint', () => {
  it('does not depend on what only previews use', () => {
    const { directory } = configFor(config, '389ds');
    const { mayBeEmpty, ...groups } = directory.mapping.groups;
    const mapping = { users: { ...directory.mapping.users, hasAssertions: true as const }, groups };
    expect(mayBeEmpty).toBe(true);
    expect(fingerprintOf({ ...directory, mapping })).toBe(fingerprintOf(directory));
  });
});
