import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import { pause } from '../common/pause.js';
import { Revisions } from '../database/revisions.js';
import { readClock } from '../database/statements/statement.js';
import { LdifError } from '../ldap/ldif/ldif.js';
import { LdapError } from '../ldap/client/ldap-error.js';
import {
  type Directory,
  fingerprintOf,
  type Found,
  type Identity,
  type Listed,
  ServerBehindError,
  SourceError,
} from '../sources/directory.js';
import { EntryStager, PictureStore, type StagedEntry } from './revision/staged-entry.js';
import type { RevisionCounts } from './revision/guard.js';
import {
  OutdatedRevisionError,
  type RevisionOutcome,
  type RevisionRequest,
  writeRevision,
} from './revision/write-revision.js';
import { SAME_UUID, type Staging } from './revision/staging.js';
import type { Session } from './leadership.js';

/** Number of differing entries above which everything is read: a file is read once for all. */
const MOST_FETCHED = 5000;
/** Hours after which stamps are ignored once: access rules change what the account sees without another stamp. */
const WHOLE_HOURS = 24;
/** Attempts of a run while other processes write revisions. */
const ATTEMPTS = 5;

/** The progress of a run: the number of entries read so far, or the start of a later stage. */
export type ProgressStep =
  { readonly stage: 'read'; readonly entries: number } | { readonly stage: 'compare' | 'write' };

/** The possible ends of a run. `failed` means that an error ended it. */
export const ENDS = ['applied', 'unchanged', 'blocked', 'held', 'planned', 'refused', 'failed'] as const;
type RunEnd = (typeof ENDS)[number];

/** Summarizes what a revision changes in one line, with counts and without names. */
export function summarize({ users, groups, memberships, nestings }: RevisionCounts): string {
  return Object.entries({ users, groups, memberships, nestings })
    .map(([kind, { created, updated, deleted }]) => `${kind} +${created} ~${updated} -${deleted}`)
    .join(', ');
}

export interface RunOptions extends Pick<RevisionRequest, 'confirm' | 'dryRun' | 'signal'> {
  /** Reads and compares every entry, also those whose stamps are the same. */
  readonly isWhole?: boolean;
  /** The state of a server that is used although it lacks known changes. */
  readonly accepted?: string | null;
  /** See RevisionRequest. Default: a command. */
  readonly leader?: number | null;
  readonly progress?: (step: ProgressStep) => void;
}

/** Whether an error concerns the directory and not the mirror. */
export function isOfDirectory(error: unknown): error is Error {
  return error instanceof LdifError || error instanceof LdapError || error instanceof SourceError;
}

/** Makes the mirror equal to a directory: scans or fetches, maps, stages, and writes a revision (docs/adr/0016). */
@Injectable()
export class Synchronizer {
  /** Counts of how runs have ended since the start of the process, for metrics. */
  readonly ended = new Map<RunEnd, number>();
  /** Duration of the last comparison with the whole directory, for metrics. */
  lastScanSeconds: number | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly revisions: Revisions,
  ) {}

  /** Compares the whole directory with the mirror. A command tries again after a revision of the service. */
  async run(directory: Directory, session: Session, options: RunOptions = {}): Promise<RevisionOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        const reading = this.begin(directory, session, options);
        return await this.watch('all', () => reading.scan(options.isWhole === true));
      } catch (error) {
        if (!(error instanceof OutdatedRevisionError) || attempt === ATTEMPTS || options.leader != null)
          throw error;
      }
    }
  }

  /** Reads entries again and writes what differs. @param asOf as in RevisionRequest */
  advance(
    directory: Directory,
    session: Session,
    uuids: readonly string[],
    { asOf, ...options }: Pick<RunOptions, 'leader' | 'signal'> & { readonly asOf: Date | null },
  ): Promise<RevisionOutcome> {
    return this.watch('changes', () => this.begin(directory, session, options).advance(uuids, asOf));
  }

  private begin(directory: Directory, session: Session, options: RunOptions): Reading {
    return new Reading(this.config.directory, this.dataSource, directory, session, options);
  }

  /** @param scope `all` if everything is compared, `changes` if entries are that hints name */
  private async watch(
    scope: 'all' | 'changes',
    run: () => Promise<RevisionOutcome>,
  ): Promise<RevisionOutcome> {
    const begun = performance.now();
    let end: RunEnd = 'failed';
    try {
      const outcome = await run();
      end = outcome.kind;
      if (outcome.kind === 'applied') this.revisions.noteApplied(outcome.revision);
      else if (outcome.kind === 'unchanged') this.revisions.ask();
      return outcome;
    } finally {
      if (scope === 'all') this.lastScanSeconds = (performance.now() - begun) / 1000;
      this.ended.set(end, (this.ended.get(end) ?? 0) + 1);
    }
  }
}

/** One reading of the directory, which becomes a revision. */
class Reading {
  constructor(
    private readonly config: DirectoryConfig,
    private readonly dataSource: DataSource,
    private readonly directory: Directory,
    private readonly session: Session,
    private readonly options: RunOptions,
  ) {}

  async scan(isWholeWanted: boolean): Promise<RevisionOutcome> {
    // The time must be read before the directory.
    const asOf = await readClock(this.session);
    const isWhole = isWholeWanted || (await this.isOutdated());
    const seen = await SeenEntries.begin(this.session);
    const differing = isWhole ? [] : await this.compare(seen);
    if (differing.length > MOST_FETCHED) return this.scan(true);
    if (isWhole || differing.length > 0) await this.noteRunning();
    const outcome = await this.write({ asOf, reads: isWhole ? 'all' : 'different' }, async (staging) => {
      if (isWhole) await this.stageAll(staging, seen);
      else await this.stage(staging, differing);
      // Two entries in a file can have one identifier, and one entry can move during the scan.
      const repeated = [...seen.repeated].map((uuid) => ({ uuid, dn: null }));
      await staging.forget([...seen.repeated]);
      await this.stage(staging, repeated, true);
    });
    const isCompared = outcome.kind === 'applied' || outcome.kind === 'unchanged';
    if (this.options.dryRun !== true) await this.noteScan(isWhole, isCompared);
    return outcome;
  }

  advance(uuids: readonly string[], asOf: Date | null): Promise<RevisionOutcome> {
    return this.write({ asOf, reads: 'hinted' }, async (staging) => {
      const identities = await this.session.query<(Identity & object)[]>(
        `select given.uuid, e.dn from unnest($1::uuid[]) as given (uuid) left join entries e on e.uuid = given.uuid`,
        [uuids],
      );
      await this.stage(staging, identities);
    });
  }

  private write(
    request: Pick<RevisionRequest, 'asOf' | 'reads'>,
    stage: (staging: Staging) => Promise<void>,
  ): Promise<RevisionOutcome> {
    const { directory, options } = this;
    let lag: string | null = null;
    return writeRevision(this.session, {
      ...request,
      ...options,
      ...{ config: this.config, leader: options.leader ?? null },
      stage: async (staging) => {
        await stage(staging);
        if (directory.mode !== null) lag = await this.noteContextCsns();
        options.progress?.({ stage: 'write' });
      },
      requireCurrent: () => {
        if (lag !== null) throw new ServerBehindError(lag, directory.contextCsns.join());
      },
      stageAgain: (staging, identities, isForced) => this.stage(staging, identities, isForced),
      isRewritten: directory.mode !== null,
    });
  }

  /** Whether every entry must be read: the mirror was written with another model, or was read long ago. */
  private async isOutdated(): Promise<boolean> {
    const current = await this.session.query<object[]>(
      `select from mirror_state where revision is not null and source_fingerprint = $1
         and read_whole_at > clock_timestamp() - interval '${WHOLE_HOURS} hours'`,
      [fingerprintOf(this.config)],
    );
    return current.length === 0;
  }

  /** Stages the present state of entries, and deletes those that are not found. */
  private async stage(staging: Staging, identities: readonly Identity[], isForced = false): Promise<void> {
    if (identities.length === 0) return;
    const missing = new Set(identities.map(({ uuid }) => uuid));
    const pictures = new PictureStore(this.dataSource);
    await this.stagePages(this.directory.fetch(identities), pictures, async (entries) => {
      for (const { uuid } of entries) missing.delete(uuid);
      await staging.add(entries, isForced);
    });
    await staging.remove([...missing]);
  }

  /** Stages every entry of the directory. What it does not list is deleted if it is not found either. */
  private async stageAll(staging: Staging, seen: SeenEntries): Promise<void> {
    const pictures = await PictureStore.withAllKnown(this.dataSource);
    const pages = this.list(true) as AsyncIterable<readonly Found[]>;
    await this.stagePages(pages, pictures, async (entries) => {
      seen.mark(entries, await staging.add(entries));
    });
    this.options.progress?.({ stage: 'compare' });
    await this.stage(staging, await seen.findMissing());
  }

  /** Maps pages of entries, each while PostgreSQL takes the one before. */
  private async stagePages(
    pages: AsyncIterable<readonly Found[]>,
    pictures: PictureStore,
    take: (entries: readonly StagedEntry[]) => Promise<void>,
  ): Promise<void> {
    const stager = new EntryStager(this.config.mapping, pictures);
    let taken = Promise.resolve();
    try {
      for await (const page of pages) {
        const entries: StagedEntry[] = [];
        for (const { kind, uuid, entry, stamp } of page) {
          entries.push(await stager.stage(kind, uuid, entry, stamp));
          await pause();
        }
        await taken;
        taken = take(entries);
        // It is awaited later.
        taken.catch(() => undefined);
      }
    } finally {
      await taken;
    }
    await stager.finish();
  }

  private async *list(isWhole: boolean): AsyncGenerator<readonly Listed[]> {
    const { progress, signal } = this.options;
    let count = 0;
    for await (const page of this.directory.scan(isWhole)) {
      signal?.throwIfAborted();
      yield page;
      count += page.length;
      progress?.({ stage: 'read', entries: count });
    }
  }

  /** Finds the entries whose stamps differ, that are new, or that are not listed. */
  private async compare(seen: SeenEntries): Promise<Identity[]> {
    const differing: Identity[] = [];
    for await (const page of this.list(false)) differing.push(...(await seen.note(page)));
    this.options.progress?.({ stage: 'compare' });
    const others = differing.filter(({ uuid }) => !seen.repeated.has(uuid));
    return [...others, ...(await seen.findMissing())];
  }

  /** Notes what the server has. @returns how it lacks what was known, unless that is accepted */
  private async noteContextCsns(): Promise<string | null> {
    const { confirm, accepted, dryRun = false } = this.options;
    const [state] = await this.session.query<{ known: string[] }[]>(
      'select context_csns as known from mirror_state',
    );
    const lag = await this.directory.describeLag(state?.known ?? []);
    const { contextCsns } = this.directory;
    if (lag !== null && confirm === undefined && contextCsns.join() !== accepted) return lag;
    if (!dryRun && (contextCsns.length > 0 || lag !== null))
      await this.session.query('update mirror_state set context_csns = $1', [contextCsns]);
    return null;
  }

  /** Says that a run of the leader reads entries. The next end of a run writes another state. */
  private async noteRunning(): Promise<void> {
    await this.session.query(
      `update mirror_state set state = 'RUNNING' where leader = $1 and state in ('NEVER_RUN', 'IDLE')`,
      [this.options.leader ?? null],
    );
  }

  /** @param isCompared whether the mirror equals what was read. If not, the scan after a whole one is whole, too: it finds what is held. */
  private async noteScan(isWhole: boolean, isCompared: boolean): Promise<void> {
    const { mode, refusals } = this.directory;
    await this.session.query(
      `update mirror_state set mode = $1, refusals = $2,
         read_whole_at = case when not $3::boolean then read_whole_at when $4::boolean then clock_timestamp() end
       where $5::bigint is null or leader = $5`,
      [mode, refusals.join('. ') || null, isWhole, isCompared, this.options.leader ?? null],
    );
  }
}

/** The entries of the mirror that a scan has listed. */
class SeenEntries {
  /** Entries that the directory lists twice. */
  readonly repeated = new Set<string>();

  private constructor(
    private readonly session: Session,
    /** One byte for each key. Entries that another process adds meanwhile have none, and count as not listed. */
    private readonly marks: Buffer,
  ) {}

  static async begin(session: Session): Promise<SeenEntries> {
    const text = 'select coalesce(max(key), 0) + 1 as size from entries';
    const [row] = await session.query<{ size: number }[]>(text);
    return new SeenEntries(session, Buffer.alloc(row?.size ?? 0));
  }

  /** @returns the entries that are new, or whose stamps differ */
  async note(page: readonly Listed[]): Promise<Identity[]> {
    const rows = await this.session.query<{ key: number | null; isSame: boolean | null }[]>(
      `select e.key, e.stamp = given.stamp and e.kind = given.kind and e.reason is distinct from '${SAME_UUID}' as "isSame"
       from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as given (uuid, kind, stamp, place)
         left join entries e on e.uuid = given.uuid order by given.place`,
      [page.map(({ uuid }) => uuid), page.map(({ kind }) => kind), page.map(({ stamp }) => stamp)],
    );
    const keys = rows.map(({ key }) => key);
    this.mark(page, keys);
    return page.flatMap(({ uuid, dn }, index) => (rows[index]?.isSame === true ? [] : [{ uuid, dn }]));
  }

  /** @param keys those that the entries have in the mirror, or null */
  mark(entries: readonly Pick<Identity, 'uuid'>[], keys: readonly (number | null)[]): void {
    for (const [index, key] of keys.entries()) {
      if (key === null) continue;
      if (this.marks[key] === 1) this.repeated.add(entries[index]?.uuid ?? '');
      this.marks[key] = 1;
    }
  }

  /** The entries of the mirror that the scan has not listed. */
  findMissing(): Promise<(Identity & object)[]> {
    const text =
      'select uuid, dn from entries where case when key < length($1::bytea) then get_byte($1, key) = 0 else true end';
    return this.session.query(text, [this.marks]);
  }
}
