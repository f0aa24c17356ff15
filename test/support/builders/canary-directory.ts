import { buildLdif } from './directory.js';

export const NAME = 'Kanaria Vogelsang';
export const EMAIL = 'kanaria.vogelsang@aviary.example';
export const TELEPHONE = '+41 44 555 73 91';

/** A user with access to everything, and a user whose data others must not see. */
export function people(photo?: Buffer): string {
  const ldif = buildLdif(
    [
      {
        id: 'anna',
        name: NAME,
        givenName: 'Kanaria',
        familyName: NAME,
        email: EMAIL,
        ...(photo ? { photo } : {}),
      },
      { id: 'ben' },
    ],
    [{ id: 'club', members: ['anna'], owners: ['ben'] }],
  );
  return ldif.replace(/^(uid:: .*)$/m, `$1\ntelephoneNumber: ${TELEPHONE}`);
}
