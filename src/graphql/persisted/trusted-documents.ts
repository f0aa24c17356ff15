import { Inject, Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { type Config, ConfigError } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { sha256Of } from './document-store.js';

/** Other documents that are remembered as logged. */
const MAX_LOGGED = 1000;

/** The documents of TRUSTED_DOCUMENTS, which clients may send (docs/adr/0047). */
@Injectable()
export class TrustedDocuments {
  private readonly logger = new Logger('GraphQL');
  /** Null: all documents are trusted. */
  private readonly byId: ReadonlyMap<string, string> | null;
  private readonly texts: ReadonlySet<string>;
  /** Whether other documents are refused. */
  readonly isEnforced: boolean;
  private readonly logged = new LRUCache<string, true>({ max: MAX_LOGGED });

  constructor(@Inject(CONFIG) { trustedDocuments }: Config) {
    this.byId = trustedDocuments?.documents ?? null;
    this.texts = new Set(this.byId?.values());
    this.isEnforced = trustedDocuments?.isEnforced ?? false;
  }

  get trustsAll(): boolean {
    return this.byId === null;
  }

  find(id: string): string | null {
    return this.byId?.get(id) ?? null;
  }

  /**
   * Decides about a text that a client has sent.
   * @throws ServiceError DOCUMENT_NOT_TRUSTED
   */
  admit(text: string): void {
    if (this.byId === null || this.texts.has(text)) return;
    if (this.isEnforced) throw notTrusted();
    const sha256 = sha256Of(text);
    if (this.logged.has(sha256)) return;
    this.logged.set(sha256, true);
    this.logger.warn(`A document is not in TRUSTED_DOCUMENTS: SHA-256 ${sha256}`);
  }

  /**
   * Checks all documents before the first request.
   * @param findErrors returns the errors of a document
   * @throws ConfigError with all errors of all documents
   */
  async check(findErrors: (text: string) => readonly string[] | Promise<readonly string[]>): Promise<void> {
    const problems: string[] = [];
    for (const [id, text] of this.byId ?? [])
      for (const error of await findErrors(text))
        problems.push(`TRUSTED_DOCUMENTS: «${id}» is not valid: ${error}`);
    if (problems.length > 0) throw new ConfigError(problems);
  }
}

export function notTrusted(): ServiceError {
  const message = 'This service executes only the documents that its operators have approved';
  return new ServiceError('DOCUMENT_NOT_TRUSTED', message);
}
