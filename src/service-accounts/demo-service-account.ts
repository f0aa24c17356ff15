import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import { EmbeddedKeys } from '../database/embedded-keys.js';
import { buildSecret, buildToken, SECRET_BYTES } from './secret.js';
import { ServiceAccountsService } from './service-accounts.service.js';

const ID = 'demo';

/** The service account that is there to try the service with, where the identity provider is embedded. */
@Injectable()
export class DemoServiceAccount {
  private secret: string | null = null;

  constructor(
    private readonly accounts: ServiceAccountsService,
    private readonly keys: EmbeddedKeys,
  ) {}

  /** Its token, the same at every start; null once somebody has revoked it. */
  async ensure(): Promise<string | null> {
    const { secret } = await this.keys.findOrCreate('demo-service-account', () => ({
      secret: buildSecret(randomBytes(SECRET_BYTES)),
    }));
    try {
      await this.accounts.create(
        {
          id: ID,
          name: 'Demonstration',
          description: 'To try the service with.',
          scopes: ['read', 'directory'],
          expiresAt: null,
        },
        secret,
      );
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'CONFLICT')) throw error;
    }
    this.secret = secret;
    return this.find();
  }

  /** The same, where `ensure` was called before. */
  async find(): Promise<string | null> {
    if (this.secret === null) return null;
    const exists = (await this.accounts.list()).some(({ id }) => id === ID);
    return exists ? buildToken(ID, this.secret) : null;
  }
}
