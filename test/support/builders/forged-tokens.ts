import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto';

/** A modified token, and its name. */
export type Forgery = readonly [what: string, token: string];

export interface Genuine {
  /** A valid JWT of the issuer, signed with RS256. */
  readonly token: string;
  /** The keys that the issuer publishes: RS256 and others. */
  readonly keys: readonly PublishedKey[];
  /** URL of foreign keys, which the service must never request. */
  readonly foreignServer: string;
}

export type PublishedKey = JsonWebKey & { readonly alg: string; readonly kid: string };

interface Parts {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
  /** In encoded form. */
  readonly payload: string;
  readonly signature: string;
  readonly first: string;
}

/** Tokens that claim to be signed by the issuer but are not. */
export function forgeTokens(genuine: Genuine): Forgery[] {
  const parts = partsOf(genuine.token);
  return [
    ...withoutSignature(parts),
    ...signedWithPublicKey(parts, keyOf(genuine, 'RS256')),
    ...signedByStranger(parts, genuine.foreignServer),
    ...signedByNothing(parts, genuine),
    ...changedAfterwards(parts),
    ...outOfShape(parts, genuine.token),
  ];
}

/** JSON or text in a part of a token. */
export function encodePart(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}

function partsOf(token: string): Parts {
  const [first = '', payload = '', signature = ''] = token.split('.');
  const decode = (part: string) =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  return { header: decode(first), claims: decode(payload), payload, signature, first };
}

function keyOf({ keys }: Genuine, alg: string): PublishedKey {
  const key = keys.find((each) => each.alg === alg);
  if (key === undefined) throw new Error(`The issuer publishes no key for ${alg}`);
  return key;
}

/** RFC 7518 §3.6: `none` in all spellings, and other values that could mean no algorithm. */
function withoutSignature({ header, payload, signature }: Parts): Forgery[] {
  const spellings = Array.from({ length: 16 }, (_, bits) =>
    'none'
      .split('')
      .map((letter, place) => (bits & (1 << place) ? letter.toUpperCase() : letter))
      .join(''),
  );
  const odd = ['none ', ' none', 'none\0', 'nonenone', '', null, true, 0, [], ['RS256'], ['none'], {}];
  const { alg: _alg, ...headless } = header;
  return [
    ...[...spellings, ...odd].flatMap((alg): Forgery[] => [
      [`alg ${JSON.stringify(alg)}, no signature`, `${encodePart({ ...header, alg })}.${payload}.`],
      [
        `alg ${JSON.stringify(alg)}, a signature`,
        `${encodePart({ ...header, alg })}.${payload}.${signature}`,
      ],
    ]),
    ['no alg, no signature', `${encodePart(headless)}.${payload}.`],
    ['no alg, a signature', `${encodePart(headless)}.${payload}.${signature}`],
    ['its original alg, no signature', `${encodePart(header)}.${payload}.`],
  ];
}

/** The public key used as a shared secret (RFC 8725 §2.1). */
function signedWithPublicKey({ header, payload }: Parts, jwk: PublishedKey): Forgery[] {
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const spki = key.export({ type: 'spki', format: 'pem' }).toString();
  const secrets: [string, string | Buffer][] = [
    ['the key as PEM', spki],
    ['the key as PEM of PKCS #1', key.export({ type: 'pkcs1', format: 'pem' })],
    ['the key as DER', key.export({ type: 'spki', format: 'der' })],
    ['the key as JSON', JSON.stringify(jwk)],
    ['nothing', ''],
  ];
  return ['HS256', 'HS384', 'HS512'].flatMap((alg) =>
    secrets.map(([what, secret]): Forgery => {
      const signed = `${encodePart({ ...header, alg })}.${payload}`;
      const signature = createHmac(`sha${alg.slice(2)}`, secret)
        .update(signed)
        .digest('base64url');
      return [`${alg} by ${what}`, `${signed}.${signature}`];
    }),
  );
}

/** A valid signature with a key that the token contains or refers to (RFC 7515 §4.1). */
function signedByStranger({ header, payload }: Parts, foreignServer: string): Forgery[] {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = publicKey.export({ format: 'jwk' });
  const der = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const { kid: _kid, ...nameless } = header;
  const brought: [string, Record<string, unknown>][] = [
    ['the kid of a published key', header],
    ['jwk', { ...header, jwk }],
    ['jwk with the published kid', { ...header, jwk: { ...jwk, kid: header['kid'] } }],
    ['jwk with the private part', { ...header, jwk: privateKey.export({ format: 'jwk' }) }],
    ['jku', { ...header, jku: foreignServer }],
    ['x5u', { ...header, x5u: foreignServer }],
    ['x5c', { ...header, x5c: [der] }],
    ['jku and x5u in crit', { ...header, jku: foreignServer, x5u: foreignServer, crit: ['jku', 'x5u'] }],
    ['another iss in the header', { ...header, iss: foreignServer }],
    ['no kid', nameless],
    ['no kid, and jwk', { ...nameless, jwk }],
    ['no kid, and jku', { ...nameless, jku: foreignServer }],
    ['a kid that is a path', { ...header, kid: '../../../../dev/null' }],
    ['a kid that is a URL', { ...header, kid: foreignServer }],
    ['a kid that is SQL', { ...header, kid: "' union select 'key" }],
    ['a kid that is a property of all objects', { ...header, kid: '__proto__' }],
    ['a kid that is a number', { ...header, kid: 0 }],
    ['a kid that is a list', { ...header, kid: [header['kid']] }],
  ];
  return brought.map(([what, each]) => [`a stranger’s key: ${what}`, signRs256(each, payload, privateKey)]);
}

function signRs256(header: object, payload: string, key: KeyObject): string {
  const signed = `${encodePart(header)}.${payload}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
}

/** Numbers that satisfy the equations of a careless verifier, and signatures of another kind than the header states. */
function signedByNothing(parts: Parts, genuine: Genuine): Forgery[] {
  const { header, payload, signature } = parts;
  const [ec, ed, rsa] = ['ES256', 'EdDSA', 'RS256'].map((alg) => genuine.keys.find((key) => key.alg === alg));
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
  const zero = Buffer.alloc(32);
  const one = Buffer.concat([Buffer.alloc(31), Buffer.of(1)]);
  const numbers: [string, Buffer][] = [
    ['r = s = 0', Buffer.concat([zero, zero])],
    ['r = s = 1', Buffer.concat([one, one])],
    ['r = s = the order', Buffer.concat([order, order])],
    ['r = 0, s = the order', Buffer.concat([zero, order])],
    ['zeros in DER', Buffer.from('3006020100020100', 'hex')],
    ['nothing', Buffer.alloc(0)],
  ];
  const signedAs = (what: string, changes: object, bytes: Buffer): Forgery => [
    what,
    `${encodePart({ ...header, ...changes })}.${payload}.${bytes.toString('base64url')}`,
  ];
  const genuineBytes = Buffer.from(signature, 'base64url');
  return [
    ...numbers.map(([what, bytes]) => signedAs(`ES256: ${what}`, { alg: 'ES256', kid: ec?.kid }, bytes)),
    signedAs('ES384: r = s = 0', { alg: 'ES384', kid: ec?.kid }, Buffer.alloc(96)),
    signedAs('ES512: r = s = 0', { alg: 'ES512', kid: ec?.kid }, Buffer.alloc(132)),
    signedAs('ES256K: r = s = 0', { alg: 'ES256K', kid: ec?.kid }, Buffer.alloc(64)),
    signedAs('ES256 by the key for RS256', { alg: 'ES256', kid: rsa?.kid }, Buffer.alloc(64)),
    signedAs('EdDSA: zeros', { alg: 'EdDSA', kid: ed?.kid }, Buffer.alloc(64)),
    signedAs(
      'EdDSA: the neutral point',
      { alg: 'EdDSA', kid: ed?.kid },
      Buffer.concat([Buffer.of(1), Buffer.alloc(63)]),
    ),
    signedAs('RS256: zeros', {}, Buffer.alloc(256)),
    signedAs('RS256: one', {}, Buffer.concat([Buffer.alloc(255), Buffer.of(1)])),
    signedAs('RS256: all bits', {}, Buffer.alloc(256, 0xff)),
    ...['PS256', 'RS384', 'RS512', 'PS512', 'RS1', 'RSA-OAEP', 'dir'].map((alg) =>
      signedAs(`${alg}, signed by RS256`, { alg }, genuineBytes),
    ),
  ];
}

function changedAfterwards({ header, claims, payload, signature, first }: Parts): Forgery[] {
  const bytes = Buffer.from(signature, 'base64url');
  const places = Array.from({ length: 12 }, (_, index) => Math.floor((index * (bytes.length - 1)) / 11));
  const claimed: Record<string, unknown>[] = [
    { sub: 'anna' },
    { scope: 'read directory write' },
    { client_id: 'another' },
    { exp: Number(claims['exp']) + 1 },
    { iat: 0 },
    { admin: true },
  ];
  return [
    ...claimed.map((changes): Forgery => [
      `changed afterwards: ${Object.keys(changes).join()}`,
      `${first}.${encodePart({ ...claims, ...changes })}.${signature}`,
    ]),
    ['a header with an additional member', `${encodePart({ ...header, x: 1 })}.${payload}.${signature}`],
    ['a payload with a trailing space', `${first}.${encodePart(`${JSON.stringify(claims)} `)}.${signature}`],
    ...places.map((place): Forgery => {
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(flipped.readUInt8(place) ^ 1, place);
      return [
        `a bit of octet ${place} of the signature`,
        `${first}.${payload}.${flipped.toString('base64url')}`,
      ];
    }),
    [
      'a signature without its last octet',
      `${first}.${payload}.${bytes.subarray(0, -1).toString('base64url')}`,
    ],
    [
      'a signature with an additional octet',
      `${first}.${payload}.${Buffer.concat([bytes, Buffer.of(0)]).toString('base64url')}`,
    ],
  ];
}

/** RFC 7515 §7.1: three parts in base64url, the first two of which are JSON objects. */
function outOfShape({ header, payload, signature, first }: Parts, token: string): Forgery[] {
  return [
    ['no third part', `${first}.${payload}`],
    ['a fourth part', `${token}.`],
    ['five parts', 'AA.AA.AA.AA.AA'],
    ['an empty header', `.${payload}.${signature}`],
    ['an empty payload', `${first}..${signature}`],
    ['nothing between the dots', '..'],
    ['a header that is not JSON', `${encodePart('{"alg":"RS256"')}.${payload}.${signature}`],
    ['a header that is a list', `${encodePart([header])}.${payload}.${signature}`],
    ['a header that is null', `${encodePart(null)}.${payload}.${signature}`],
    ['a header with a duplicate alg', `${encodePart(twice(header))}.${payload}.${signature}`],
    ['the parts in another order', `${payload}.${first}.${signature}`],
    ['a token within a token', `${first}.${encodePart(token)}.${signature}`],
  ];
}

function twice(header: Record<string, unknown>): string {
  return `{"alg":"none",${JSON.stringify(header).slice(1)}`;
}
