import { hash } from 'node:crypto';
import type { Config } from '../config/config.js';
import { markOfRules, numberOfRules } from '../config/model/mapping.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import { type DirectoryConfig, withServer } from '../config/settings/directory.js';
import type { Entry } from '../ldap/entry.js';

/** It is incremented when the meaning of mapped content, filters or folding changes. Then everything is read. */
const CONTENT_VERSION = 1;

export const KINDS = ['person', 'group'] as const;
export type EntryKind = (typeof KINDS)[number];

/** A hash of everything but the directory itself that a row depends on: the mapping, the URL and the account. */
export function fingerprintOf({ source, mapping }: DirectoryConfig): string {
  const from = source.kind === 'file' ? [] : [source.url, source.bind?.dn];
  const digest = hash('sha256', JSON.stringify([CONTENT_VERSION, mapping, from]), 'base64url');
  return `${digest.slice(0, 11)}${markOfRules(numberOfRules(mapping))}`;
}

/**
 * Returns the kind of the server from which the mirror was last written, so that a start while the server is away uses the
 * same names: the one whose preset gives the fingerprint of the mirror. If none does, the configured kind.
 */
export function kindOfMirror({ directory, model }: Config, fingerprint: string | null): PresetName {
  const { server, isServerGiven } = directory;
  if (isServerGiven || directory.source.kind === 'file') return server;
  const isSame = (name: PresetName) => fingerprintOf(withServer(directory, model, name)) === fingerprint;
  return [server, ...PRESET_NAMES].find(isSame) ?? server;
}

/** What identifies an entry, and its last known DN; null: unknown. */
export interface Identity {
  readonly uuid: string;
  readonly dn: string | null;
}

/** An entry as a scan lists it. */
export interface Listed {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly dn: string;
  /** A text that differs when the entry differs. */
  readonly stamp: string;
  /** Null in a scan of identities. */
  readonly entry: Entry | null;
}

export interface Found extends Listed {
  readonly entry: Entry;
}

/** Where to look for changes: entries by their identity, or everywhere, at once or when that costs little. */
export type Hint = readonly string[] | 'scan' | 'scanSoon';

/** How the changes of a directory server are noticed. */
export enum HintMode {
  PUSHED = 'PUSHED',
  COUNTED = 'COUNTED',
  POLLED = 'POLLED',
}

/**
 * All that the mirror needs of a directory: a file, or a connection to a server. Nothing that it says about changes is trusted to be
 * complete: a hint only names entries to look at.
 * @throws SourceError, LdifError or LdapError in each method, if the directory cannot be read
 */
export interface Directory {
  /** Null for a file. */
  readonly mode: HintMode | null;
  /** What the server refuses, and what is done instead: one sentence each, without a full stop. */
  readonly refusals: readonly string[];
  /** Milliseconds within which a hint follows its change. */
  readonly hintDelay: number;
  /** The newest contextCSN of each server ID (OpenLDAP), after the last reading of entries; empty for other kinds. */
  readonly contextCsns: readonly string[];
  /**
   * Describes how the directory lacks known changes; null if it does not.
   * @param known the newest contextCSN of each server ID that the mirror has seen
   */
  describeLag(known: readonly string[]): Promise<string | null>;
  /**
   * Yields every user and group, in pages. If it ends without an error, it is complete.
   * @param isWhole whether entries are read with their attributes
   */
  scan(isWhole: boolean): AsyncIterable<readonly Listed[]>;
  /** Reads entries, complete, in pages. Those that are not found do not exist, or are neither users nor groups. */
  fetch(identities: readonly Identity[]): AsyncIterable<readonly Found[]>;
  /** Yields hints until the signal is aborted, or the connection ends. */
  hints(signal: AbortSignal): AsyncIterable<Hint>;
  /** Succeeds if the directory answers. */
  ping(): Promise<void>;
  close(): void;
}

export class HintQueue {
  /** Whether a scan is due: at once, or when that costs little. */
  scan: 'scan' | 'scanSoon' | null = null;
  private uuids = new Set<string>();
  private error: Error | null = null;
  private wake: () => void = () => undefined;

  /** Adds hints until they end, with an error that a reader of the queue gets. */
  async receive(hints: AsyncIterable<Hint>): Promise<void> {
    try {
      for await (const hint of hints) {
        if (typeof hint === 'string') this.request(hint);
        else this.add(hint);
      }
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error));
      this.wake();
    }
  }

  add(uuids: readonly string[]): void {
    for (const uuid of uuids) this.uuids.add(uuid);
    this.wake();
  }

  request(scan: 'scan' | 'scanSoon'): void {
    if (this.scan !== 'scan') this.scan = scan;
    this.wake();
  }

  get size(): number {
    return this.uuids.size;
  }

  take(): string[] {
    const taken = [...this.uuids];
    this.uuids = new Set();
    return taken;
  }

  /**
   * Waits until there is more than before, for at most some milliseconds.
   * @throws the error with which the hints ended
   */
  async wait(milliseconds: number, before = 0): Promise<void> {
    this.throwError();
    if (this.size > before || (before === 0 && this.scan === 'scan')) return;
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, Math.max(0, milliseconds));
      this.wake = () => {
        clearTimeout(timeout);
        resolve();
      };
    });
    this.wake = () => undefined;
    this.throwError();
  }

  private throwError(): void {
    if (this.error !== null) throw this.error;
  }
}

/**
 * The source cannot be mirrored. The message is shown to all clients, so it contains nothing from the
 * directory.
 */
export class SourceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
  }
}

/** The server lacks mirrored changes: it lags behind another server, or was restored from a backup. To apply it would undo them. */
export class ServerBehindError extends SourceError {
  /** @param state its contextCSN: whether it moves */
  constructor(
    message: string,
    readonly state: string,
  ) {
    super(message);
  }
}

/** The server is of another kind than the one whose preset applies. */
export class OtherServerError extends SourceError {
  constructor(
    readonly kind: PresetName,
    expected: PresetName,
  ) {
    super(`The directory server is of the kind ${kind}, and no longer of the kind ${expected}`);
  }
}
