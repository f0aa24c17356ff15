import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import {
  ServiceAccountEntity,
  ServiceAccountSecretEntity,
} from '../../src/service-accounts/service-account.entity.js';
import {
  type NewServiceAccount,
  ServiceAccountsService,
} from '../../src/service-accounts/service-accounts.service.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const WHO = `{ currentServiceAccount { id name description scopes createdAt expiresAt lastUsedAt }
  currentToken { kind scopes clientId userId expiresAt } }`;

interface Who {
  currentServiceAccount: { id: string; lastUsedAt: string | null } | null;
  currentToken: { kind: string; scopes: string[] };
}

describe('a service account', () => {
  const service = TestService.forSuite({ ldif: buildLdif([{ id: 'ada.martin', name: 'Ada' }]) });
  let accounts: ServiceAccountsService;
  let dataSource: DataSource;
  let count = 0;

  beforeAll(() => {
    accounts = service.app.get(ServiceAccountsService);
    dataSource = service.app.get(DataSource);
  });

  async function create(changes: Partial<NewServiceAccount> = {}): Promise<{ id: string; token: string }> {
    count += 1;
    const id = `account-${count}`;
    const { token } = await accounts.create({
      id,
      name: 'Account',
      description: null,
      scopes: ['read'],
      expiresAt: null,
      ...changes,
    });
    return { id: changes.id ?? id, token };
  }

  function sendRequest(token: string) {
    return service.query<Who>(WHO, { authorization: `Basic ${token}` });
  }

  async function isAccepted(token: string): Promise<boolean> {
    const { status } = await sendRequest(token);
    expect([200, 401]).toContain(status);
    return status === 200;
  }

  function secretOf(token: string): string {
    return Buffer.from(token, 'base64')
      .toString()
      .replace(/^[^:]*:/, '');
  }

  function rowOf(id: string): Promise<ServiceAccountEntity> {
    return dataSource.manager.findOneByOrFail(ServiceAccountEntity, { id });
  }

  function secretsOf(id: string): Promise<ServiceAccountSecretEntity[]> {
    return dataSource.manager.findBy(ServiceAccountSecretEntity, { serviceAccountId: id });
  }

  it('can read its own properties', async () => {
    const expiresAt = new Date(Date.now() + 90 * 86_400_000);
    const { id, token } = await create({
      name: 'Réports',
      description: 'Weekly',
      scopes: ['read', 'directory'],
      expiresAt,
    });
    const { status, data } = await sendRequest(token);
    expect(status).toBe(200);
    expect(data).toMatchObject({
      currentServiceAccount: {
        id,
        name: 'Réports',
        description: 'Weekly',
        scopes: ['read', 'directory'],
        createdAt: (await rowOf(id)).createdAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
      },
      currentToken: {
        kind: 'SERVICE_ACCOUNT_TOKEN',
        scopes: ['read', 'directory'],
        clientId: null,
        userId: null,
        expiresAt: expiresAt.toISOString(),
      },
    });
  });

  it.each(['', 'a', 'Upper', 'with space', 'a:b', '-first', 'é', 'x'.repeat(65)])(
    'cannot be created with the id «%s»',
    async (id) => {
      await expect(create({ id })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
    },
  );

  it('has a secret of 256 bits in a format that secret scanners recognize, and only its SHA-256 is stored', async () => {
    const { id, token } = await create();
    const secret = secretOf(token);
    expect(secret).toMatch(/^dirsa_[A-Za-z0-9_-]{43}$/);
    const secrets = await secretsOf(id);
    expect(secrets.map(({ sha256 }) => Buffer.from(sha256).toString('hex'))).toEqual([
      createHash('sha256').update(secret).digest('hex'),
    ]);
    const everything = JSON.stringify([await rowOf(id), secrets]);
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(secret.slice('dirsa_'.length));
  });

  it('that is unknown is rejected like a wrong secret', async () => {
    const { id, token } = await create();
    const refusals = await Promise.all(
      [`${id}:wrong`, `nobody:${secretOf(token)}`, `${id}:${secretOf(token)}x`, 'demo:', ':'].map(
        async (credentials) => {
          const { status, headers, errors } = await sendRequest(Buffer.from(credentials).toString('base64'));
          return {
            status,
            message: errors[0]?.message,
            code: errors[0]?.extensions.code,
            challenge: headers.get('www-authenticate'),
          };
        },
      ),
    );
    const [first] = refusals;
    expect(first).toMatchObject({
      status: 401,
      code: 'UNAUTHENTICATED',
      challenge: 'Basic realm="directory", charset="UTF-8"',
    });
    expect(refusals.slice(0, 3)).toEqual([first, first, first]);
    expect(refusals.every(({ status }) => status === 401)).toBe(true);
  });

  it('is rejected after its expiry', async () => {
    const { id, token } = await create({ expiresAt: new Date(Date.now() + 3_600_000) });
    expect(await isAccepted(token)).toBe(true);
    await dataSource.manager.update(
      ServiceAccountSecretEntity,
      { serviceAccountId: id },
      { expiresAt: new Date() },
    );
    await service.until(async () => !(await isAccepted(token)));
    expect(await isAccepted(token)).toBe(false);
  });

  it('is rejected immediately after its revocation, and no other account is', async () => {
    const [revoked, other] = [await create(), await create()];
    expect(await isAccepted(revoked.token)).toBe(true);
    await accounts.revoke(revoked.id);
    expect(await isAccepted(revoked.token)).toBe(false);
    expect(await isAccepted(other.token)).toBe(true);
    expect((await accounts.list()).map(({ id }) => id)).not.toContain(revoked.id);
  });

  it('has two tokens during a rotation, and one afterwards', async () => {
    const { id, token: old } = await create();
    const { token: fresh } = await accounts.rotate(id, 2);
    expect([await isAccepted(old), await isAccepted(fresh)]).toEqual([true, true]);
    await service.until(async () => !(await isAccepted(old)));
    expect(await isAccepted(fresh)).toBe(true);
  });

  it('records its last use, once a minute', async () => {
    const { id, token } = await create();
    const before = Date.now() - 1;
    await sendRequest(token);
    await service.until(async () => (await rowOf(id)).lastUsedAt !== null);
    const { lastUsedAt: noted } = await rowOf(id);
    expect(noted?.getTime()).toBeGreaterThan(before);

    await Promise.all([1, 2, 3].map(() => sendRequest(token)));
    const { data } = await sendRequest(token);
    expect(data?.currentServiceAccount?.lastUsedAt).toBe(noted?.toISOString());
    expect((await rowOf(id)).lastUsedAt).toEqual(noted);

    const earlier = new Date(Date.now() - 61_000);
    await dataSource.manager.update(ServiceAccountEntity, { id }, { lastUsedAt: earlier });
    await sendRequest(token);
    await service.until(async () => ((await rowOf(id)).lastUsedAt?.getTime() ?? 0) > earlier.getTime());
  });
});
