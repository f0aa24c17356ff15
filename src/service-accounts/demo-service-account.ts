import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { NotFoundError, ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { ownScopes } from '../config/scopes.js';
import { DEMO_ACCOUNT } from '../config/settings/service.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { buildToken, newSecret, ServiceAccountsService } from './service-accounts.service.js';

/** The service account of the demonstration, for installations with the embedded identity provider. */
@Injectable()
export class DemoServiceAccount {
  private secret: string | null = null;

  constructor(
    private readonly accounts: ServiceAccountsService,
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates the account for the sample directory, or with ALLOW_EMBEDDED. It reads everything, and its token is printed.
   * @returns its token, which is the same at every start; null if there is no account, or if it was revoked
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
    const description = 'To try the service with.';
    const account = { id: DEMO_ACCOUNT, name: 'Demonstration', description, scopes, expiresAt: null };
    try {
      await this.accounts.create(account, secret);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'CONFLICT')) throw error;
      // It may have been revoked.
      await this.accounts.update(DEMO_ACCOUNT, { scopes }).catch((missing: unknown) => {
        if (!(missing instanceof NotFoundError)) throw missing;
      });
    }
    this.secret = secret;
    return this.find();
  }

  /** The token after `ensure`. */
  async find(): Promise<string | null> {
    if (this.secret === null) return null;
    const exists = (await this.accounts.list()).some(({ id }) => id === DEMO_ACCOUNT);
    return exists ? buildToken(DEMO_ACCOUNT, this.secret) : null;
  }
}
