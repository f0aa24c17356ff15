import { Injectable } from '@nestjs/common';
import type { JSONWebKeySet } from 'jose';

/**
 * The public keys of the identity provider that runs inside this process, when one does. It brings them here
 * when it starts, so that its tokens are verified without asking ourselves over HTTP.
 */
@Injectable()
export class EmbeddedIssuer {
  private keys: JSONWebKeySet | null = null;

  /** The key set of the embedded provider; null when there is none, or before it has started. */
  get jwks(): JSONWebKeySet | null {
    return this.keys;
  }

  /** Called once, by the embedded provider. */
  publish(jwks: JSONWebKeySet): void {
    this.keys = jwks;
  }
}
