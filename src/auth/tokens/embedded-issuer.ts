import { Injectable } from '@nestjs/common';
import type { JSONWebKeySet } from 'jose';

/**
 * The public keys of the embedded identity provider. It publishes them here when it starts, so that this process does
 * not send HTTP requests to itself.
 */
@Injectable()
export class EmbeddedIssuer {
  private keys: JSONWebKeySet | null = null;

  /** The key set of the embedded provider; null if there is none, or if it has not started. */
  get jwks(): JSONWebKeySet | null {
    return this.keys;
  }

  /** Called once, by the embedded provider. */
  publish(jwks: JSONWebKeySet): void {
    this.keys = jwks;
  }
}
