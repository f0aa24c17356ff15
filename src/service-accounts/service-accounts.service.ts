import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, Not, Repository } from 'typeorm';
import type { Principal, Scope } from '../auth/principal.js';
import { BadUserInputError, NotFoundError, ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import { databaseError } from '../database/statements/database-error.js';
import type {
  AccountChanges,
  DescribedAccount,
  IssuedToken,
  NewServiceAccount,
} from './account-operations.js';
import { buildSecret, buildToken, hashSecret, SECRET_BYTES } from './secret.js';
import { ServiceAccountEntity, ServiceAccountSecretEntity } from './service-account.entity.js';

/** Creates, changes, lists, rotates and revokes service accounts for an operator. */
@Injectable()
export class ServiceAccountsService {
  constructor(
    @InjectRepository(ServiceAccountEntity) private readonly accounts: Repository<ServiceAccountEntity>,
  ) {}

  /** The account of a service-account token; null for other tokens. */
  async findCurrent(principal: Principal | null): Promise<ServiceAccountEntity | null> {
    const id = principal?.serviceAccountId ?? null;
    return id === null ? null : this.accounts.findOneBy({ id });
  }

  /** The accounts that are not revoked, by id. */
  list(): Promise<ServiceAccountEntity[]> {
    return this.accounts.find({ where: { revokedAt: IsNull() }, order: { id: 'ASC' } });
  }

  /** The accounts that are not revoked, by id, with their groups and tokens. */
  async describeAll(): Promise<DescribedAccount[]> {
    const accounts = await this.list();
    const [ids, tokens] = [await this.listGroupIds(accounts), await this.countTokens()];
    return accounts.map(({ limitedTo, revokedAt: _at, ...account }) => ({
      ...account,
      groups: limitedTo?.map((uuid) => ids.get(uuid) ?? uuid) ?? null,
      tokens: tokens.get(account.id) ?? 0,
    }));
  }

  /** The number of valid tokens, by the id of the account. */
  private async countTokens(): Promise<Map<string, number>> {
    const rows: { id: string; count: number }[] = await this.accounts.manager.query(
      `select service_account_id as id, count(*)::integer as count from service_account_secrets
       where expires_at is null or expires_at > $1 group by service_account_id`,
      [new Date()],
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  /** The ids of the groups to which accounts are limited, by their entryUUIDs. Deleted groups are missing. */
  private async listGroupIds(accounts: readonly ServiceAccountEntity[]): Promise<Map<string, string>> {
    const uuids = accounts.flatMap(({ limitedTo }) => limitedTo ?? []);
    if (uuids.length === 0) return new Map();
    const rows: { uuid: string; id: string }[] = await this.accounts.manager.query(
      'select entry_uuid as uuid, id from groups where entry_uuid = any ($1::uuid[])',
      [uuids],
    );
    return new Map(rows.map(({ uuid, id }) => [uuid, id]));
  }

  /**
   * @param secret a given secret, for the account of the demonstration; by default a new one
   * @throws ServiceError CONFLICT if the id is taken, BAD_USER_INPUT if it is malformed or a group does not exist
   */
  async create(
    { groups, reuse = false, ...account }: NewServiceAccount,
    secret: string = newSecret(),
  ): Promise<IssuedToken> {
    const limitedTo = groups ? await this.findGroups(groups) : null;
    const created = {
      ...account,
      contact: account.contact ?? null,
      purpose: account.purpose ?? null,
      scopes: [...account.scopes],
      limitedTo,
      createdAt: new Date(),
      lastUsedAt: null,
      revokedAt: null,
    };
    try {
      await this.accounts.manager.transaction(async (manager) => {
        const accounts = manager.getRepository(ServiceAccountEntity);
        if (reuse) await accounts.delete({ id: account.id, revokedAt: Not(IsNull()) });
        await accounts.insert(created);
        await addSecret(manager, account.id, secret);
      });
    } catch (error) {
      throw await this.explainConflict(account.id, databaseError(error));
    }
    return { account: created, token: buildToken(account.id, secret) };
  }

  private async explainConflict(id: string, error: Error): Promise<Error> {
    if (!(error instanceof ServiceError && error.code === 'CONFLICT')) return error;
    const isRevoked = await this.accounts.existsBy({ id, revokedAt: Not(IsNull()) });
    return isRevoked
      ? new ServiceError(
          'CONFLICT',
          `The service account «${id}» was revoked: --reuse creates another one with its id`,
        )
      : error;
  }

  /** The entryUUIDs of groups, which stay the same when a group is renamed. Throws BadUserInputError. */
  private async findGroups(ids: readonly string[]): Promise<string[]> {
    const rows: { uuid: string; folded: string }[] = await this.accounts.manager.query(
      'select entry_uuid as uuid, id_folded as folded from groups where id_folded = any ($1::text[])',
      [ids.map(foldId)],
    );
    const missing = ids.filter((id) => !rows.some(({ folded }) => folded === foldId(id)));
    if (missing.length > 0 || ids.length === 0)
      throw new BadUserInputError(`There is no group «${missing.join('», «')}»`, 'groups');
    return rows.map(({ uuid }) => uuid).sort();
  }

  /**
   * Adds a new secret to an account. Its old secrets expire, but not at once.
   * @param overlapSeconds time until the old secrets expire
   * @throws NotFoundError
   */
  async rotate(id: string, overlapSeconds: number): Promise<IssuedToken> {
    const secret = newSecret();
    const account = await this.accounts.manager.transaction(async (manager) => {
      // The lock serializes rotations. Two at once would not see each other's secret and leave three.
      const locked = await getLocked(manager, id);
      await retireSecrets(manager, id, new Date(Date.now() + overlapSeconds * 1000));
      await addSecret(manager, id, secret);
      return locked;
    });
    return { account, token: buildToken(id, secret) };
  }

  /**
   * Changes an account; its tokens stay valid.
   * @throws NotFoundError; BadUserInputError if a group does not exist
   */
  async update(id: string, { groups, scopes, ...others }: AccountChanges): Promise<ServiceAccountEntity> {
    const limitedTo = groups ? await this.findGroups(groups) : groups;
    return this.accounts.manager.transaction(async (manager) => {
      const before = await getLocked(manager, id);
      const changes = {
        ...others,
        scopes: [...(scopes ?? before.scopes)],
        limitedTo: limitedTo === undefined ? before.limitedTo : limitedTo,
      };
      await manager.getRepository(ServiceAccountEntity).update({ id }, changes);
      return Object.assign(before, changes);
    });
  }

  /** Replaces the scopes of an account that is neither revoked nor limited to groups, if there is one. */
  async replaceScopes(id: string, scopes: readonly Scope[]): Promise<void> {
    await this.accounts.update({ id, revokedAt: IsNull(), limitedTo: IsNull() }, { scopes: [...scopes] });
  }

  /**
   * Revokes an account at once and for ever. Only a new account that is created with `reuse` takes its id.
   * @throws NotFoundError
   */
  async revoke(id: string): Promise<void> {
    await this.accounts.manager.transaction(async (manager) => {
      await getLocked(manager, id);
      await manager.getRepository(ServiceAccountEntity).update({ id }, { revokedAt: new Date() });
      await manager.getRepository(ServiceAccountSecretEntity).delete({ serviceAccountId: id });
    });
  }
}

/** @throws NotFoundError if there is no such account, or if it is revoked */
async function getLocked(manager: EntityManager, id: string): Promise<ServiceAccountEntity> {
  const account = await manager.getRepository(ServiceAccountEntity).findOne({
    where: { id, revokedAt: IsNull() },
    lock: { mode: 'pessimistic_write' },
  });
  if (account === null) throw new NotFoundError(`There is no service account «${id}»`, 'id');
  return account;
}

/** Keeps the newest secret until `end`, and deletes older ones: an account has at most two secrets. */
async function retireSecrets(manager: EntityManager, id: string, end: Date): Promise<void> {
  const secrets = manager.getRepository(ServiceAccountSecretEntity);
  // Not by the time of its creation: the clock may have been set back since.
  const newest = await secrets.findOneBy({ serviceAccountId: id, expiresAt: IsNull() });
  if (newest === null) return;
  await secrets.delete({ serviceAccountId: id, sha256: Not(newest.sha256) });
  await secrets.update({ serviceAccountId: id }, { expiresAt: end });
}

function newSecret(): string {
  return buildSecret(randomBytes(SECRET_BYTES));
}

async function addSecret(manager: EntityManager, id: string, secret: string): Promise<void> {
  await manager.getRepository(ServiceAccountSecretEntity).insert({
    sha256: hashSecret(secret),
    serviceAccountId: id,
    createdAt: new Date(),
    expiresAt: null,
  });
}
