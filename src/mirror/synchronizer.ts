import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Revisions } from '../database/revisions/revisions.js';
import { readClock } from '../database/statements/statement.js';
import { LdifError } from '../ldap/ldif/ldif-error.js';
import { LdapError } from '../ldap/client/ldap-error.js';
import type { Directory, Found, Identity, KnownStamp, Listed } from '../sources/directory.js';
import { ServerBehindError, SourceError } from '../sources/source.error.js';
import { fingerprintOf } from '../sources/source.js';
import { PictureStore } from './revision/pictures.js';
import {
  type Fetched,
  OutdatedRevisionError,
  type RevisionOutcome,
  type RevisionRequest,
  writeRevision,
} from './revision/revision.js';
import { EntryStager, type StagedEntry } from './revision/staged-entry.js';
import { SAME_UUID, type Staging } from './revision/staging.js';
import { type ProgressStep, type Run, runChannel, type RunEnd } from './run-reporter.js';
import type { Session } from './session.js';

/** Number of entries that are mapped and staged together. */
const STAGED_TOGETHER = 200;
/** Number of differing entries above which everything is read: a file is read once for all. */
const MOST_FETCHED = 5000;
/** Attempts of a run while other processes write revisions. */
const ATTEMPTS = 5;

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
  /** Duration of the last run that wrote a revision, and of the last scan; null: there was none. */
  lastRevisionSeconds: number | null = null;
  lastScanSeconds: number | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly revisions: Revisions,
  ) {}

  /** Compares the whole directory with the mirror. @throws the errors of the directory and the database */
  run(directory: Directory, session: Session, options: RunOptions = {}): Promise<RevisionOutcome> {
    return this.watch('all', () => this.retry(directory, session, options));
  }

  private async watch(scope: Run['scope'], run: () => Promise<RevisionOutcome>): Promise<RevisionOutcome> {
    const begun = performance.now();
    let end: RunEnd = 'failed';
    try {
      const outcome = await runChannel.tracePromise(run, { scope });
      end = outcome.kind;
      return outcome;
    } finally {
      const seconds = (performance.now() - begun) / 1000;
      if (end === 'applied') this.lastRevisionSeconds = seconds;
      if (scope === 'all') this.lastScanSeconds = seconds;
      this.ended.set(end, (this.ended.get(end) ?? 0) + 1);
    }
  }

  /** A command tries again after a revision of the service. */
  private async retry(directory: Directory, session: Session, options: RunOptions): Promise<RevisionOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.runOnce(directory, session, options);
      } catch (error) {
        if (!(error instanceof OutdatedRevisionError) || attempt === ATTEMPTS || options.leader != null)
          throw error;
      }
    }
  }

  private async runOnce(
    directory: Directory,
    session: Session,
    options: RunOptions,
  ): Promise<RevisionOutcome> {
    // The time must be read before the directory.
    const asOf = await readClock(session);
    const isWhole = options.isWhole === true || !(await this.isOfModel(session));
    if (isWhole) {
      await this.noteRunning(options);
      const outcome = await this.write(session, directory, { ...options, asOf }, (staging) =>
        this.stageAll(directory, staging, session, options),
      );
      await this.noteScan(session, directory, options, true);
      return outcome;
    }
    const { differing, repeated } = await this.compare(directory, session, options);
    if (differing.length > MOST_FETCHED)
      return this.runOnce(directory, session, { ...options, isWhole: true });
    options.progress?.({ stage: 'compare' });
    if (differing.length > 0) await this.noteRunning(options);
    const outcome = await this.write(session, directory, { ...options, asOf }, async (staging) => {
      await this.stage(directory, staging, differing);
      await this.stageRepeated(directory, staging, repeated);
    });
    await this.noteScan(session, directory, options, false);
    return outcome;
  }

  /** Reads entries again and writes what differs. @param asOf as in RevisionRequest */
  advance(
    directory: Directory,
    session: Session,
    identities: readonly Identity[],
    options: Pick<RunOptions, 'leader' | 'signal'> & { readonly asOf: Date | null },
  ): Promise<RevisionOutcome> {
    const request = { ...options, isHinted: true, isPolled: directory.mode === 'POLLED' };
    const stage = (staging: Staging) => this.stage(directory, staging, identities);
    return this.watch('changes', () => this.write(session, directory, request, stage));
  }

  private async write(
    session: Session,
    directory: Directory,
    options: RunOptions & Pick<RevisionRequest, 'asOf' | 'isHinted' | 'isPolled'>,
    stage: (staging: Staging) => Promise<void>,
  ): Promise<RevisionOutcome> {
    const { leader = null, asOf, confirm, dryRun, signal, accepted, progress, isHinted, isPolled } = options;
    let lag: string | null = null;
    const request: RevisionRequest = {
      ...{ config: this.config.directory, leader, asOf, confirm, dryRun, signal },
      ...{ isHinted, isPolled },
      stage: async (staging) => {
        await stage(staging);
        if (directory.mode !== null)
          lag = await this.noteContextCsns(session, directory, { confirm, dryRun });
        progress?.({ stage: 'write' });
      },
      requireCurrent: () => {
        const state = directory.contextCsns.join();
        if (lag !== null && state !== accepted) throw new ServerBehindError(lag, state);
      },
      fetch: (identities) => this.fetch(directory, identities),
      isRewritten: directory.mode !== null,
    };
    const outcome = await writeRevision(session, request);
    if (outcome.kind === 'applied') this.revisions.noteApplied(outcome.revision);
    else if (outcome.kind === 'unchanged') this.revisions.noteConfirmed();
    return outcome;
  }

  /** Whether the mirror was written with the model of this process. */
  private async isOfModel(session: Session): Promise<boolean> {
    const [state] = await session.query<{ fingerprint: string | null }[]>(
      'select source_fingerprint as fingerprint from mirror_state where revision is not null',
    );
    return state?.fingerprint === fingerprintOf(this.config.directory);
  }

  private async stager(isWhole: boolean): Promise<EntryStager> {
    const pictures = isWhole
      ? await PictureStore.withAllKnown(this.dataSource)
      : new PictureStore(this.dataSource);
    return new EntryStager(this.config.directory.mapping, pictures);
  }

  /** Stages the present state of entries, and deletes those that are not found. */
  private async stage(
    directory: Directory,
    staging: Staging,
    identities: readonly Identity[],
    isForced = false,
  ): Promise<void> {
    const { entries, missing } = await this.fetch(directory, identities, async (some) => {
      await staging.add(some, isForced);
    });
    await staging.add(entries, isForced);
    await staging.remove(missing);
  }

  /** Reads entries again that a scan has listed twice: two in a file can have one identifier, and one can move during the scan. */
  private async stageRepeated(
    directory: Directory,
    staging: Staging,
    identities: readonly Identity[],
  ): Promise<void> {
    if (identities.length === 0) return;
    await staging.forget(identities.map(({ uuid }) => uuid));
    await this.stage(directory, staging, identities, true);
  }

  /** @param take receives entries early, so that not all of them are in memory */
  private async fetch(
    directory: Directory,
    identities: readonly Identity[],
    take?: (entries: readonly StagedEntry[]) => Promise<void>,
  ): Promise<Fetched> {
    if (identities.length === 0) return { entries: [], missing: [] };
    const stager = await this.stager(false);
    const found = new Set<string>();
    let entries: StagedEntry[] = [];
    for await (const { kind, uuid, entry, stamp } of directory.fetch(identities)) {
      found.add(uuid);
      entries.push(await stager.stage(kind, uuid, entry, stamp));
      if (take === undefined || entries.length < STAGED_TOGETHER) continue;
      await take(entries);
      entries = [];
    }
    await stager.finish();
    return { entries, missing: identities.map(({ uuid }) => uuid).filter((uuid) => !found.has(uuid)) };
  }

  /** Stages every entry of the directory. What it does not list is deleted if it is not found either. */
  private async stageAll(
    directory: Directory,
    staging: Staging,
    session: Session,
    { progress, signal }: RunOptions,
  ): Promise<void> {
    const stager = await this.stager(true);
    const seen = new SeenEntries(session);
    let count = 0;
    for await (const page of directory.scan(null)) {
      signal?.throwIfAborted();
      await seen.note(page);
      const staged: StagedEntry[] = [];
      for (const { kind, uuid, entry, stamp } of page as readonly Found[])
        staged.push(await stager.stage(kind, uuid, entry, stamp));
      await staging.add(staged);
      count += page.length;
      progress?.({ stage: 'read', entries: count });
    }
    await stager.finish();
    progress?.({ stage: 'compare' });
    await this.stage(directory, staging, await seen.findMissing());
    await this.stageRepeated(directory, staging, seen.repeated);
  }

  /** Finds the entries whose stamps differ, that are new, or that are not listed. */
  private async compare(
    directory: Directory,
    session: Session,
    { progress, signal }: RunOptions,
  ): Promise<{ readonly differing: readonly Identity[]; readonly repeated: readonly Identity[] }> {
    const seen = new SeenEntries(session);
    const differing: Identity[] = [];
    let count = 0;
    for await (const page of directory.scan((dnKeys) => readStamps(session, dnKeys))) {
      signal?.throwIfAborted();
      differing.push(...(await seen.note(page)));
      count += page.length;
      progress?.({ stage: 'read', entries: count });
    }
    const repeated = new Set(seen.repeated.map(({ uuid }) => uuid));
    const others = differing.filter(({ uuid }) => !repeated.has(uuid));
    return { differing: [...others, ...(await seen.findMissing())], repeated: seen.repeated };
  }

  /**
   * Notes, in the transaction of a revision, what the server has.
   * @returns how it lacks what was known
   */
  private async noteContextCsns(
    session: Session,
    directory: Directory,
    { confirm, dryRun = false }: Pick<RunOptions, 'confirm' | 'dryRun'>,
  ): Promise<string | null> {
    const [state] = await session.query<{ known: string[] }[]>(
      'select context_csns as known from mirror_state',
    );
    const lag = await directory.describeLag(state?.known ?? []);
    const { contextCsns } = directory;
    if (!dryRun && (contextCsns.length > 0 || confirm !== undefined))
      await session.query('update mirror_state set context_csns = $1', [contextCsns]);
    return lag;
  }

  /** Says that a run of the leader reads entries. Each end of it writes another state. */
  private async noteRunning({ leader = null }: RunOptions): Promise<void> {
    await this.dataSource.query(
      `update mirror_state set state = 'RUNNING' where leader = $1 and state in ('NEVER_RUN', 'IDLE')`,
      [leader],
    );
  }

  private async noteScan(
    session: Session,
    directory: Directory,
    { leader = null, dryRun = false }: RunOptions,
    isWhole: boolean,
  ): Promise<void> {
    if (dryRun) return;
    await session.query(
      `update mirror_state set mode = $1, refusals = $2,
         read_whole_at = case when $3::boolean then clock_timestamp() else read_whole_at end
       where $4::bigint is null or leader = $4`,
      [directory.mode, directory.refusals.join('. ') || null, isWhole, leader],
    );
  }
}

async function readStamps(session: Session, dnKeys: readonly string[]): Promise<Map<string, KnownStamp>> {
  const text = `select dn_key as "dnKey", kind, uuid, stamp from entries where dn_key = any ($1::uuid[])`;
  const rows = await session.query<(KnownStamp & { dnKey: string })[]>(text, [dnKeys]);
  return new Map(rows.map(({ dnKey, ...stamp }) => [dnKey, stamp]));
}

/** The entries of the mirror that a scan has listed. */
class SeenEntries {
  /** One bit for each key. */
  private bits = new Uint8Array(1 << 16);
  /** Entries that the directory lists twice, as a file can. */
  readonly repeated: Identity[] = [];

  constructor(private readonly session: Session) {}

  /** @returns the entries that are new, or whose stamps differ */
  async note(page: readonly Listed[]): Promise<Identity[]> {
    const rows = await this.session.query<{ key: number | null; isSame: boolean | null }[]>(
      `select e.key, e.stamp = given.stamp and e.kind = given.kind and e.reason is distinct from '${SAME_UUID}' as "isSame"
       from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as given (uuid, kind, stamp, place)
         left join entries e on e.uuid = given.uuid order by given.place`,
      [page.map(({ uuid }) => uuid), page.map(({ kind }) => kind), page.map(({ stamp }) => stamp)],
    );
    return page.flatMap(({ uuid, dn }, index) => {
      const { key = null, isSame = false } = rows[index] ?? {};
      if (key !== null && this.mark(key)) this.repeated.push({ uuid, dn: null });
      return isSame === true ? [] : [{ uuid, dn }];
    });
  }

  /** The entries of the mirror that the scan has not listed. */
  async findMissing(): Promise<Identity[]> {
    const missing: Identity[] = [];
    let last = -1;
    for (;;) {
      const rows = await this.session.query<{ key: number }[]>(
        'select key from entries where key > $1 order by key limit 20000',
        [last],
      );
      const keys = rows.map(({ key }) => key).filter((key) => !this.has(key));
      if (keys.length > 0)
        missing.push(
          ...(await this.session.query<(Identity & object)[]>(
            'select uuid, dn from entries where key = any ($1::integer[])',
            [keys],
          )),
        );
      if (rows.length < 20_000) return missing;
      last = rows.at(-1)?.key ?? last;
    }
  }

  private has(key: number): boolean {
    return ((this.bits[key >> 3] ?? 0) & (1 << (key & 7))) !== 0;
  }

  /** @returns whether it was marked before */
  private mark(key: number): boolean {
    if (key >> 3 >= this.bits.length) {
      const larger = new Uint8Array(Math.max(this.bits.length * 2, (key >> 3) + 1));
      larger.set(this.bits);
      this.bits = larger;
    }
    const isMarked = this.has(key);
    this.bits[key >> 3] = (this.bits[key >> 3] ?? 0) | (1 << (key & 7));
    return isMarked;
  }
}
