import { createHash } from 'node:crypto';
import diagnosticsChannel from 'node:diagnostics_channel';
import { DataSource } from 'typeorm';
import { ServiceAccountVerifier } from '../../src/auth/strategies.js';
import { type SentStatement, statementChannel } from '../../src/database/statements/statement.js';
import {
  ServiceAccountEntity,
  ServiceAccountSecretEntity,
} from '../../src/service-accounts/service-account.entity.js';
import type { NewServiceAccount } from '../../src/service-accounts/account-operations.js';
import { ServiceAccountsService } from '../../src/service-accounts/service-accounts.service.js';
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

  it('is null for the token of a user, which has client and user', async () => {
    const before = Date.now();
    const { data } = await service.query<Who>(WHO, {
      authorization: await service.accessToken('read profile'),
    });
    expect(data).toMatchObject({
      currentServiceAccount: null,
      currentToken: {
        kind: 'PERSONAL_ACCESS_TOKEN',
        scopes: ['profile', 'read'],
        clientId: 'demo-basic',
        userId: 'ada.martin',
      },
    });
    const { expiresAt } = data?.currentToken as unknown as { expiresAt: string };
    expect(Date.parse(expiresAt)).toBeGreaterThan(before + 3_500_000);
  });

  it('has no user, even if a user has the same id', async () => {
    const { token } = await create({ id: 'ada', scopes: ['profile'] });
    const { status, data, errors } = await service.query('{ profile { id } }', {
      authorization: `Basic ${token}`,
    });
    expect({ status, data }).toEqual({ status: 200, data: { profile: null } });
    expect(errors).toMatchObject([{ extensions: { code: 'NO_USER_CONTEXT' } }]);
  });

  it('may have no scope, and can then read its own properties', async () => {
    const { id, token } = await create({ scopes: [] });
    expect((await sendRequest(token)).data).toMatchObject({ currentServiceAccount: { id, scopes: [] } });
  });

  it('has a unique id, also after the account with that id is revoked', async () => {
    const { id } = await create();
    await expect(create({ id })).rejects.toMatchObject({ code: 'CONFLICT' });
    await accounts.revoke(id);
    await expect(create({ id })).rejects.toMatchObject({ code: 'CONFLICT' });
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

  it('does not accept the secret of another account', async () => {
    const [one, other] = [await create(), await create()];
    const mixed = Buffer.from(`${one.id}:${secretOf(other.token)}`).toString('base64');
    expect(await isAccepted(mixed)).toBe(false);
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

  it('is read together with others if secrets arrive faster than the database responds', async () => {
    const { id, token } = await create();
    const verifier = service.app.get(ServiceAccountVerifier);
    let statements = 0;
    const count = (message: unknown) => {
      if (/from service_account_secrets/.test((message as SentStatement).text)) statements++;
    };
    diagnosticsChannel.subscribe(statementChannel.start.name, count);
    try {
      const wrong = Array.from({ length: 299 }, (_, index) => verifier.verify(`${id}-${index}`, 'wrong'));
      const results = await Promise.allSettled([...wrong, verifier.verify(id, secretOf(token))]);
      expect(results.filter(({ status }) => status === 'fulfilled')).toEqual([results.at(-1)]);
    } finally {
      diagnosticsChannel.unsubscribe(statementChannel.start.name, count);
    }
    expect(statements).toBe(3);
  });

  it('is rejected immediately after its revocation, and no other account is', async () => {
    const [revoked, other] = [await create(), await create()];
    expect(await isAccepted(revoked.token)).toBe(true);
    await accounts.revoke(revoked.id);
    expect(await isAccepted(revoked.token)).toBe(false);
    expect(await secretsOf(revoked.id)).toEqual([]);
    expect(await isAccepted(other.token)).toBe(true);
    expect((await accounts.list()).map(({ id }) => id)).not.toContain(revoked.id);
  });

  it('that is revoked or unknown can be neither rotated nor revoked', async () => {
    const { id } = await create();
    await accounts.revoke(id);
    for (const gone of [id, 'nobody']) {
      await expect(accounts.rotate(gone, 60)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(accounts.revoke(gone)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('has two tokens during a rotation, and one afterwards', async () => {
    const { id, token: old } = await create();
    const { token: fresh } = await accounts.rotate(id, 2);
    expect([await isAccepted(old), await isAccepted(fresh)]).toEqual([true, true]);
    await service.until(async () => !(await isAccepted(old)));
    expect(await isAccepted(fresh)).toBe(true);
  });

  it('is rotated immediately if no overlap is requested', async () => {
    const { id, token: old } = await create();
    const { token: fresh } = await accounts.rotate(id, 0);
    expect([await isAccepted(old), await isAccepted(fresh)]).toEqual([false, true]);
  });

  it('has at most two valid tokens, the newest ones', async () => {
    const { id, token: first } = await create();
    const { token: second } = await accounts.rotate(id, 600);
    const { token: third } = await accounts.rotate(id, 600);
    expect(await secretsOf(id)).toHaveLength(2);
    expect([await isAccepted(first), await isAccepted(second), await isAccepted(third)]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('keeps the token in use when it is rotated, also if the clock has been set back since', async () => {
    const { id } = await create();
    const ahead = new Date(Date.now() + 86_400_000);
    await dataSource.manager.update(
      ServiceAccountSecretEntity,
      { serviceAccountId: id },
      { createdAt: ahead },
    );
    const { token: used } = await accounts.rotate(id, 600);
    const { token: fresh } = await accounts.rotate(id, 600);
    expect([await isAccepted(used), await isAccepted(fresh)]).toEqual([true, true]);
  });

  it('has two valid tokens also after several simultaneous rotations', async () => {
    const { id } = await create();
    const rotated = await Promise.all([1, 2, 3, 4].map(() => accounts.rotate(id, 600)));
    expect(await secretsOf(id)).toHaveLength(2);
    const accepted = await Promise.all(rotated.map(({ token }) => isAccepted(token)));
    expect(accepted.filter(Boolean)).toHaveLength(2);
  });

  it('is not extended by a rotation beyond the expiry of its token', async () => {
    const { id, token } = await create();
    await accounts.rotate(id, 1);
    await accounts.rotate(id, 600);
    await service.until(async () => !(await isAccepted(token)));
    expect(await isAccepted(token)).toBe(false);
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

  it('records no use for a rejected token', async () => {
    const { id } = await create();
    await sendRequest(Buffer.from(`${id}:wrong`).toString('base64'));
    expect((await rowOf(id)).lastUsedAt).toBeNull();
  });
});
