import { Inject, Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { ownScopes } from '../config/scopes.js';
import { DEMO_ACCOUNT } from '../config/settings/service.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { buildToken, hashSecret, newSecret } from './service-accounts.service.js';

/** An account that exists keeps its secrets: one that an operator replaced must not become valid again. */
const CREATE = `
  with created as (
    insert into service_accounts (id, name, description, scopes, created_at)
    values ($1, 'Demonstration', 'To try the service with.', $2, now()) on conflict do nothing returning id
  )
  insert into service_account_secrets (sha256, service_account_id, created_at) select $3, id, now() from created`;

/** The service account of the demonstration, for installations with the embedded identity provider. */
@Injectable()
export class DemoServiceAccount {
  /** Null: there is no account, or it was revoked before the start. */
  token: string | null = null;

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates the account for the sample directory, or with ALLOW_EMBEDDED. It reads everything, and its token, which is
   * the same at every start, is printed.
   */
  async ensure(): Promise<string | null> {
    const { auth, directory, scopes: known, allowEmbedded } = this.config;
    const isSample = isSampleDirectory(directory);
    if (auth.issuer !== null || (!isSample && !allowEmbedded)) return null;
    // It reads the fields of the sample's model too, but not what the model hides: it has no user.
    const own = isSample ? ownScopes(known).map(({ name }) => name) : [];
    const scopes = ['read', 'directory', ...own.filter((name) => name !== directory.visibility.bypass)];
    const create = () => ({ secret: newSecret() });
    const { secret } = await this.dataSource.findOrCreateKey('demo-service-account', create);
    await this.dataSource.query(CREATE, [DEMO_ACCOUNT, scopes, hashSecret(secret)]);
    const live = { id: DEMO_ACCOUNT, revokedAt: IsNull() };
    const { affected } = await this.dataSource.manager.update(ServiceAccountEntity, live, { scopes });
    this.token = affected === 1 ? buildToken(DEMO_ACCOUNT, secret) : null;
    return this.token;
  }
}
