import type { LoggerService } from '@nestjs/common';

/** A reason may contain numbers that differ each time. */
const MOST_REASONS = 10;

/** Something that does not work for a while. The log has its beginning, each further reason, and its end, each once. */
export class Incident {
  private since = 0;
  private readonly said = new Set<string>();

  constructor(private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>) {}

  note(text: string, level: 'warn' | 'error' = 'warn'): void {
    if (this.said.size === 0) this.since = performance.now();
    if (this.said.has(text) || this.said.size >= MOST_REASONS) return;
    this.said.add(text);
    this.logger[level](text);
  }

  /** @param text what works again; the duration follows */
  end(text: string): void {
    if (this.said.size === 0) return;
    this.said.clear();
    this.logger.log(`${text} after ${Math.round((performance.now() - this.since) / 1000)} s`);
  }
}
