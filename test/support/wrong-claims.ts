import type { SignRequest } from './servers/external-issuer.js';

export type WrongToken = readonly [what: string, request: SignRequest];

/** Seconds. */
const HOUR = 3600;

/** Tokens that the issuer has signed, but for another audience, another time, or another purpose (RFC 9068 §4). */
export function wrongTokens(issuer: string, audience: string, now: number): WrongToken[] {
  const good = { iss: issuer, aud: audience, sub: 'anna', client_id: 'app', iat: now, exp: now + HOUR };
  /** One claim has another value, null included. */
  const among = (place: 'header' | 'payload', name: string, values: readonly unknown[]) =>
    values.map((value): WrongToken => {
      const what = `${name} ${JSON.stringify(value)}`;
      if (value !== null) return [what, { [place]: { [name]: value } }];
      return place === 'payload'
        ? [what, { payload: JSON.stringify({ ...good, [name]: null }) }]
        : [`no ${name}`, { header: { [name]: null } }];
    });
  const without = (name: string): WrongToken => [`no ${name}`, { payload: { [name]: null } }];
  return [
    ...['iss', 'aud', 'sub', 'exp'].map(without),
    ...among('payload', 'iss', [
      ...['', '/', 'https://other.example', `${issuer}//`, `${issuer}/.`, `${issuer}/oauth2`, `${issuer} `],
      ...[`${issuer}.evil.example`, `${issuer}@evil.example`, issuer.replace('http', 'https')],
      ...[issuer.toUpperCase(), issuer.slice(0, -1), [issuer], { url: issuer }, 0, true, null],
    ]),
    ...among('payload', 'aud', [
      ...['', 'urn:other', audience.toUpperCase(), `${audience}/`, `${audience} `, ` ${audience}`],
      ...[audience.slice(0, -1), `${audience} urn:other`, [], [''], ['urn:other'], [[audience]]],
      ...[{ aud: audience }, 0, true, null],
    ]),
    ...among('header', 'typ', [
      ...['JWT', 'jwt', 'at', 'at+jwtx', 'xat+jwt', 'id+jwt', 'logout+jwt', 'dpop+jwt', 'application/jwt'],
      ...['', ['at+jwt'], 0, null],
    ]),
    ...among('header', 'crit', [['urn:x'], ['b64'], ['exp'], ['alg'], [], ['urn:x', 'urn:x'], 'exp', 0, {}]),
    ['b64 false, as crit says', { header: { b64: false, crit: ['b64'] } }],
    ...among('payload', 'sub', ['', 0, true, ['anna'], { id: 'anna' }, null]),
    ...among('payload', 'exp', [
      ...[0, -1, 1, now - HOUR, now - 120, -HOUR, 8.64e15, 1e300],
      ...[String(now + HOUR), '', 'tomorrow', true, [now + HOUR], { at: now + HOUR }, null],
    ]),
    [
      'exp above all numbers',
      { payload: JSON.stringify({ ...good, exp: 0 }).replace(/"exp":0/, '"exp":1e400') },
    ],
    ['a duplicate exp, the last one expired', { payload: JSON.stringify(good).replace(/}$/, ',"exp":1}') }],
    ...among('payload', 'nbf', [now + HOUR, 1e300, String(now), 'now', true, [now], null]),
    ...among('payload', 'iat', [now + HOUR, 1e300, String(now), 'now', true, [now], null]),
    ...among('payload', 'cnf', [{ jkt: 'x' }, { 'x5t#S256': 'x' }, { jwk: {} }, {}, 'x', 0, true]),
    ['no claims', { payload: '{}' }],
    ['claims that are a list', { payload: JSON.stringify([good]) }],
    ['claims that are a text', { payload: JSON.stringify('anna') }],
    ['claims that are null', { payload: 'null' }],
    ['claims that are not JSON', { payload: JSON.stringify(good).slice(0, -1) }],
    ['empty claims', { payload: '' }],
  ];
}
