import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import type { Principal } from '../auth/principal.js';
import type { Scope } from '../auth/scopes.js';
import { NotFoundError } from '../common/errors.js';
import { databaseError } from '../database/statements/database-error.js';
import { buildSecret, buildToken, hashSecret, SECRET_BYTES } from './secret.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { ServiceAccountSecretEntity } from './service-account-secret.entity.js';

export interface NewServiceAccount {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  /** Whom to ask about it. */
  readonly contact?: string | null;
  /** What it reads data of people for. */
  readonly purpose?: string | null;
}

/** An account together with a token for it, which is known at this moment only. */
export interface IssuedToken {
  readonly account: ServiceAccountEntity;
  readonly token: string;
}

/** The accounts of programs: made, listed and ended by an operator. */
@Injectable()
export class ServiceAccountsService {
  constructor(private readonly dataSource: DataSource) {}

  /** The account that a token is of; null for every other kind of token. */
  async findCurrent(principal: Principal | null): Promise<ServiceAccountEntity | null> {
    const id = principal?.serviceAccountId ?? null;
    return id === null ? null : this.dataSource.manager.findOneBy(ServiceAccountEntity, { id });
  }

  /** Those that are not revoked, by id. */
  list(): Promise<ServiceAccountEntity[]> {
    return this.dataSource.manager.find(ServiceAccountEntity, {
      where: { revokedAt: IsNull() },
      order: { id: 'ASC' },
    });
  }

  /**
   * @param secret a secret made elsewhere, for the account of the demonstration; without it, a new one
   * @throws ServiceError CONFLICT when the id is taken, BAD_USER_INPUT when it is none
   */
  async create(account: NewServiceAccount, secret: string = newSecret()): Promise<IssuedToken> {
    const created = {
      ...account,
      contact: account.contact ?? null,
      purpose: account.purpose ?? null,
      scopes: [...account.scopes],
      createdAt: new Date(),
      lastUsedAt: null,
      revokedAt: null,
    };
    try {
      await this.dataSource.transaction(async (manager) => {
        await manager.insert(ServiceAccountEntity, created);
        await addSecret(manager, account.id, secret);
      });
    } catch (error) {
      throw databaseError(error);
    }
    return { account: created, token: buildToken(account.id, secret) };
  }

  /**
   * Gives an account a new secret, and ends the ones it has at an instant from now: until then both are good.
   * @param overlapSeconds how long the old secret stays good
   * @throws NotFoundError
   */
  async rotate(id: string, overlapSeconds: number): Promise<IssuedToken> {
    const secret = newSecret();
    const account = await this.dataSource.transaction(async (manager) => {
      // One rotation at a time: two at once would not see each other's secret, and leave three.
      const locked = await getLocked(manager, id);
      const now = new Date();
      const end = new Date(now.getTime() + overlapSeconds * 1000);
      // Two live secrets at most: of those that are left from earlier rotations, the newest stays.
      await manager.query(
        `delete from service_account_secrets where service_account_id = $1 and sha256 <> (
           select sha256 from service_account_secrets where service_account_id = $1 order by created_at desc limit 1)`,
        [id],
      );
      await manager.query(
        `update service_account_secrets set expires_at = least(expires_at, $2) where service_account_id = $1`,
        [id, end],
      );
      await addSecret(manager, id, secret);
      return locked;
    });
    return { account, token: buildToken(id, secret) };
  }

  /**
   * Ends an account at once and for good: its id is not given again.
   * @throws NotFoundError
   */
  async revoke(id: string): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await getLocked(manager, id);
      await manager.update(ServiceAccountEntity, { id }, { revokedAt: new Date() });
      await manager.delete(ServiceAccountSecretEntity, { serviceAccountId: id });
    });
  }
}

/** @throws NotFoundError when there is none with this id, or it is revoked */
async function getLocked(manager: EntityManager, id: string): Promise<ServiceAccountEntity> {
  const account = await manager.findOne(ServiceAccountEntity, {
    where: { id, revokedAt: IsNull() },
    lock: { mode: 'pessimistic_write' },
  });
  if (account === null) throw new NotFoundError(`There is no service account «${id}»`, 'id');
  return account;
}

function newSecret(): string {
  return buildSecret(randomBytes(SECRET_BYTES));
}

async function addSecret(manager: EntityManager, id: string, secret: string): Promise<void> {
  await manager.insert(ServiceAccountSecretEntity, {
    sha256: hashSecret(secret),
    serviceAccountId: id,
    createdAt: new Date(),
    expiresAt: null,
  });
}
