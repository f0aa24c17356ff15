import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/clients/command.js';
import { personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { TestService } from '../support/servers/service.js';
import { forSuite } from '../support/for-suite.js';

const UUID = '0f3a1c52-7c6b-4a58-8b8e-0d9f7c7f4d10';
const person = (id: string, more: string) =>
  `dn: ${personDn(id)}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n${more}\n`;
const LDIF = [
  person('anna', `mail: anna@school.example\nemployeeNumber: A-17\nentryUUID: ${UUID}\n`),
  person('ben', 'mail: shared@school.example\nemployeeNumber: B-2\n'),
  person('cleo', 'mail: shared@school.example\nemployeeNumber: B-2\n'),
  // José-9
  person('zoe', 'mail: zoe@school.example\nemployeeNumber:: Sm9zw6ktOQ==\n'),
].join('\n');
const MODEL = `
users:
  fields:
    staff: {attribute: employeeNumber, type: String, description: The number., filterable: true, visibleTo: self}
`;

describe.each<[field: string, cases: [value: string, id: string | null][]]>([
  [
    'email',
    [
      ['Anna@SCHOOL.example', 'anna'],
      ['anna', null],
      ['shared@school.example', null],
      ['nobody@school.example', null],
    ],
  ],
  [
    'uuid',
    [
      [UUID.toUpperCase(), 'anna'],
      ['anna', null],
      ["' or true --", null],
    ],
  ],
  [
    'staff',
    [
      ['A-17', 'anna'],
      ['a-17', 'anna'],
      ['B-2', null],
      ['José-9', 'zoe'],
      ['JOSE\u0301-9', 'zoe'],
      ['Jose-9', null],
      ['A-1', null],
      ['x'.repeat(5000), null],
    ],
  ],
])('a token that names its user by the %s', (field, cases) => {
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  const service = TestService.forSuite(() => {
    const environment = { ...issuer.environment, ...modelSetting(MODEL), AUTH_USER_FIELD: field };
    return { ldif: LDIF, environment };
  });

  const QUERY = '{ profile { id } currentToken { userId } }';

  it('acts for the one user with this value, and for no other', async () => {
    for (const [sub, id] of cases)
      for (const authorization of [
        await issuer.sign({ payload: { sub, client_id: 'page', scope: 'profile' } }),
        await issuer.opaque({ active: true, sub, client_id: 'page', scope: 'profile' }),
      ])
        // The second request finds the user in memory.
        for (let round = 0; round < 2; round++) {
          const { data, errors } = await service.query(QUERY, { authorization });
          expect([sub, data, errors.map(({ extensions }) => extensions.code)]).toEqual([
            sub,
            { profile: id === null ? null : { id }, currentToken: { userId: id } },
            id === null ? ['NO_USER_CONTEXT'] : [],
          ]);
        }
  });

  it('acts for the user who gets the value, from the next revision on', async () => {
    const [[sub] = ['']] = cases;
    const authorization = await issuer.sign({ payload: { sub, client_id: 'page', scope: 'profile' } });
    expect(await service.read('{ profile { id } }', { authorization })).toEqual({ profile: { id: 'anna' } });
    service.replaceDirectory(LDIF.replaceAll('anna', 'hanna').replace('hanna@', 'anna@'));
    await service.until(async () => {
      const { data } = await service.query('{ profile { id } }', { authorization });
      return (data as { profile: { id: string } | null } | null)?.profile?.id === 'hanna';
    });
  });
});

describe('`check --token`', () => {
  it('explains a token, and prints neither it nor its signature', async () => {
    const issuer = await ExternalIssuerProcess.start();
    try {
      const check = async (authorization: string) => {
        const token = authorization.replace('Bearer ', '');
        const file = join(process.env['TMPDIR'] ?? '/tmp', 'token.txt');
        writeFileSync(file, `${token}\n`);
        const { stdout, stderr, code } = await runCommand(['check', '--token', file, '--json'], {
          DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
          ...issuer.environment,
        });
        for (const part of token.split('.')) expect(stdout + stderr).not.toContain(part);
        const { findings } = JSON.parse(stdout) as {
          findings: { what: string; result: string; text: string }[];
        };
        return { code, lines: findings.map(({ what, result, text }) => `${result} ${what}: ${text}`) };
      };
      const good = await check(await issuer.sign({ payload: { sub: 'anna', scope: 'read openid' } }));
      expect(good.code).toBe(0);
      expect(good.lines).toEqual(
        expect.arrayContaining([
          'ok token: claims: all are accepted',
          'ok token: signature: by a key of the issuer',
          'ok token: scopes: read',
          'warning token: user: sub is anna, which the service looks up as id: the database cannot be read from here',
        ]),
      );
      const bad = await check(await issuer.sign({ header: { typ: 'JWT' }, payload: { aud: 'urn:other' } }));
      expect(bad.code).toBe(1);
      expect(bad.lines).toEqual(
        expect.arrayContaining([
          'problem token: claims: its typ is JWT, and at+jwt is expected: see AUTH_PROVIDER and AUTH_TOKEN_TYPE',
          'warning token: user: none: the token is of the client itself',
        ]),
      );
      expect((await check(await issuer.sign({ stranger: true }))).lines).toContainEqual(
        expect.stringMatching(/^problem token: signature: its (?:key|signature) is/),
      );
      const opaque = await issuer.opaque({ active: true, sub: 'anna', scope: 'read' }, 'opaque-and-secret');
      expect((await check(opaque)).lines).toContain('ok token: scopes: read');
    } finally {
      await issuer.stop();
    }
  });
});
