import { Injectable } from '@nestjs/common';
import { nameOfScopes } from '../../auth/access.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import type { Principal } from '../../auth/principal.js';
import { CLOCK_TOLERANCE } from '../../auth/tokens/claims.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import type { ChangeStream } from './change-stream.js';

/** Seconds between two comments in a stream, and between two verifications of its token. */
const INTERVAL_SECONDS = 15;
/** Milliseconds for which a token is accepted that cannot be verified, because the identity provider does not answer. */
const MAX_UNVERIFIED_MS = 600_000;

/** Keeps streams alive, and ends those whose tokens are not accepted any more or have other rights. */
@Injectable()
export class StreamWatch {
  /** One set for each second, so that not all streams are due at once. */
  private readonly slots = Array.from({ length: INTERVAL_SECONDS }, () => new Set<ChangeStream>());
  private slot = 0;
  private size = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly guard: OAuthGuard) {}

  /** @returns the function that ends the watch */
  add(stream: ChangeStream): () => void {
    const slot = this.slots[this.slot];
    slot?.add(stream);
    this.size++;
    this.timer ??= setInterval(() => {
      this.tick();
    }, 1000).unref();
    return () => {
      slot?.delete(stream);
      if (--this.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    };
  }

  private tick(): void {
    this.slot = (this.slot + 1) % INTERVAL_SECONDS;
    for (const stream of this.slots[this.slot] ?? []) {
      if (!stream.isOpen) continue;
      stream.beat();
      void this.verify(stream);
    }
  }

  private async verify(stream: ChangeStream): Promise<void> {
    const { request, address, principal } = stream.asked;
    const { expiresAt } = principal;
    // The provider, which may be away, is not needed for this.
    if (expiresAt !== null && expiresAt.getTime() + CLOCK_TOLERANCE * 1000 <= Date.now()) {
      stream.end();
      return;
    }
    try {
      const now = await this.guard.authenticate(request, address);
      if (now === null || !areSame(now, principal)) stream.end();
      stream.verifiedAt = performance.now();
    } catch (error) {
      const isLate = performance.now() - stream.verifiedAt > MAX_UNVERIFIED_MS;
      if (!(error instanceof ServiceUnavailableError) || isLate) stream.end();
    }
  }
}

/** Whether a token that was verified again still acts for the same principal with the same rights. */
function areSame(one: Principal, other: Principal): boolean {
  return nameOf(one) === nameOf(other);
}

function nameOf(principal: Principal): string {
  const { countedAs, subject, limitedTo = null } = principal;
  return JSON.stringify([countedAs, subject, nameOfScopes(principal), limitedTo]);
}
