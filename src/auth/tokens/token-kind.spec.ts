import { type GrantClaims, kindOfToken } from './token-verifier.js';

describe('the kind of an access token', () => {
  it.each<[string, GrantClaims]>([
    ['its subject is the client', { sub: 'app', client_id: 'app' }],
    ['gty names the grant, with a hyphen', { sub: 'anna', client_id: 'app', gty: 'client-credentials' }],
    ['gty names the grant, with an underscore', { sub: 'anna', gty: 'client_credentials' }],
    ['grant_type names the grant', { sub: 'anna', client_id: 'app', grant_type: 'client_credentials' }],
    ['the grant is one of several', { sub: 'anna', gty: ['refresh_token', 'client_credentials'] }],
  ])('is PERSONAL_ACCESS_TOKEN if %s', (_case, claims) => {
    expect(kindOfToken(claims)).toBe('PERSONAL_ACCESS_TOKEN');
  });

  it.each<[string, GrantClaims]>([
    ['it has a user', { sub: 'anna', client_id: 'app' }],
    ['it names no client', { sub: 'anna' }],
    ['it names neither a client nor a subject', {}],
    ['the grant is another one', { sub: 'anna', client_id: 'app', gty: 'authorization_code' }],
    ['the grant is not text', { sub: 'anna', gty: { client_credentials: true }, grant_type: 1 }],
    ['the grant is spelled differently', { sub: 'anna', gty: 'CLIENT CREDENTIALS' }],
  ])('is ACCESS_TOKEN if %s', (_case, claims) => {
    expect(kindOfToken(claims)).toBe('ACCESS_TOKEN');
  });
});
