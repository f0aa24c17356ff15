import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, Not, Repository } from 'typeorm';
import { SECRET_PREFIX } from '../auth/tokens/token-verifier.js';
import { BadUserInputError, NotFoundError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import { databaseError } from '../database/statements/database-error.js';
import { ServiceAccountEntity, ServiceAccountSecretEntity } from './service-account.entity.js';

export interface NewServiceAccount
  extends
    Pick<ServiceAccountEntity, 'id' | 'name' | 'description' | 'scopes' | 'expiresAt'>,
    Partial<Pick<ServiceAccountEntity, 'contact' | 'purpose'>> {
  /** The ids of the groups to which the account is limited. Default: it is not limited. */
  readonly groups?: readonly string[] | null;
}

/** What changes in an account; absent properties stay. */
export type AccountChanges = Partial<Omit<NewServiceAccount, 'id'>>;

/** An account as an operator sees it. */
export interface DescribedAccount extends Omit<ServiceAccountEntity, 'revokedAt' | 'limitedTo'> {
  /** The ids of the groups to which it is limited; the entryUUID of a deleted one. Null: it is not limited. */
  readonly groups: readonly string[] | null;
  /** The number of tokens that are valid: two during a rotation. */
  readonly tokens: number;
}

/** An account with a token for it. The token is not stored, so it is known only now. */
export interface IssuedToken {
  readonly account: ServiceAccountEntity;
  readonly token: string;
}

/** A secret of 256 random bits, so that it cannot be found from its plain hash. */
export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(32).toString('base64url');
}

/** The stored form of a secret. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** The credentials after `Authorization: Basic` (RFC 7617 §2). */
export function buildToken(id: string, secret: string): string {
  return Buffer.from(`${id}:${secret}`).toString('base64');
}

/** The accounts that are not revoked, with the ids of their groups and the number of their valid tokens. */
const LIST = `
  select account.id, account.name, description, contact, purpose, scopes,
    account.created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt",
    case when limited_to is not null then array(
      select coalesce(found.id, limited.uuid::text)
      from unnest(limited_to) with ordinality as limited (uuid, place)
      left join groups found on found.entry_uuid = limited.uuid order by limited.place
    ) end as groups,
    (select count(*)::integer from service_account_secrets secret
     where secret.service_account_id = account.id and (secret.expires_at is null or secret.expires_at > $1)) as tokens
  from service_accounts account where revoked_at is null order by account.id`;

/** Creates, changes, lists, rotates and revokes service accounts for an operator. */
@Injectable()
export class ServiceAccountsService {
  constructor(
    @InjectRepository(ServiceAccountEntity) private readonly accounts: Repository<ServiceAccountEntity>,
  ) {}

  /** The accounts that are not revoked, by id. */
  list(): Promise<DescribedAccount[]> {
    return this.accounts.query(LIST, [new Date()]);
  }

  /**
   * @throws ServiceError CONFLICT if the id is taken, also by a revoked account, so that old records name one account;
   * BAD_USER_INPUT if it is malformed or a group does not exist
   */
  async create(asked: NewServiceAccount): Promise<IssuedToken> {
    const { groups, contact = null, purpose = null, ...account } = asked;
    const secret = newSecret();
    const limitedTo = groups ? await this.findGroups(groups) : null;
    const never = { lastUsedAt: null, revokedAt: null };
    const created = { ...account, contact, purpose, limitedTo, createdAt: new Date(), ...never };
    try {
      await this.accounts.manager.transaction(async (manager) => {
        await manager.insert(ServiceAccountEntity, created);
        await manager.insert(ServiceAccountSecretEntity, storedSecret(account.id, secret));
      });
    } catch (error) {
      throw databaseError(error);
    }
    return { account: created, token: buildToken(account.id, secret) };
  }

  /** The entryUUIDs of groups, which stay the same when a group is renamed. Throws BadUserInputError. */
  private async findGroups(ids: readonly string[]): Promise<string[]> {
    const rows = await this.accounts.query<{ uuid: string; folded: string }[]>(
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
      const secrets = manager.getRepository(ServiceAccountSecretEntity);
      // The newest has no end. Not by the time of its creation: the clock may have been set back since.
      await secrets.delete({ serviceAccountId: id, expiresAt: Not(IsNull()) });
      const expiresAt = new Date(Date.now() + overlapSeconds * 1000);
      await secrets.update({ serviceAccountId: id }, { expiresAt });
      await secrets.insert(storedSecret(id, secret));
      return locked;
    });
    return { account, token: buildToken(id, secret) };
  }

  /**
   * Changes an account; its tokens stay valid.
   * @throws NotFoundError; BadUserInputError if a group does not exist
   */
  async update(id: string, { groups, ...others }: AccountChanges & { revokedAt?: Date }) {
    const changes = {
      ...others,
      ...(groups !== undefined && { limitedTo: groups && (await this.findGroups(groups)) }),
    };
    return this.accounts.manager.transaction(async (manager) =>
      manager.save(Object.assign(await getLocked(manager, id), changes)),
    );
  }

  /** Revokes an account at once and for ever. @throws NotFoundError */
  async revoke(id: string): Promise<void> {
    await this.update(id, { revokedAt: new Date() });
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

function storedSecret(serviceAccountId: string, secret: string) {
  return { sha256: hashSecret(secret), serviceAccountId, createdAt: new Date(), expiresAt: null };
}
