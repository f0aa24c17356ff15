import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { backOff } from '../common/back-off.js';
import type { DirectoryConfig, LdapSourceConfig } from '../config/config.js';
import type { LdapConnection } from '../ldap/connection.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../ldap/content-sync-error.js';
import { ContentSession } from '../sources/content-session.js';
import { DeltaBuilder } from '../sources/delta.js';
import { LdapDirectory } from '../sources/ldap-directory.js';
import { DirectoryClock, LdapSource } from '../sources/ldap-source.js';
import { passwordRisk } from '../sources/password-risk.js';
import { formatPosition, parsePosition, type Position } from '../sources/position.js';
import { type DirectorySource, fingerprintOf } from '../sources/source.js';
import { SourceError } from '../sources/source.error.js';
import { addDifferences } from './audit.js';
import { withClaimants } from './claimants.js';
import type { Follower } from './follower.js';
import { type MirrorState, type MirrorStatus, SyncState } from './mirror-state.js';
import type { RunReporter } from './run-reporter.js';
import { readKnown } from './stored.js';
import { isOfSource, type Outcome, type Synchroniser } from './synchroniser.js';

/** Milliseconds between two comparisons of which entries there are. */
const AUDIT_INTERVAL = 600_000;
/** Milliseconds that a change may take from the server to us: after a look, and before nothing is said to be new. */
const IN_FLIGHT = 250;
/** Milliseconds between two looks whether somebody has decided about a plan that is held. */
const DECISION_INTERVAL = 2000;

/** Keeps the mirror true to an LDAP server: told by it where it tells, else by asking. */
export class LdapFollower implements Follower {
  private readonly directory: LdapDirectory;
  private auditedAt = 0;

  constructor(
    private readonly config: DirectoryConfig,
    private readonly source: LdapSourceConfig,
    private readonly dataSource: DataSource,
    private readonly synchroniser: Synchroniser,
    private readonly state: MirrorState,
    private readonly reporter: RunReporter,
  ) {
    this.directory = new LdapDirectory(config, source);
  }

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    const risk = passwordRisk(this.source);
    if (risk !== null) this.reporter.tellRisk(risk);
    let failures = 0;
    const isWell = () => {
      failures = 0;
      settled();
    };
    for (;;) {
      const error = await this.followOnce(signal, isWell).catch((thrown: unknown) => thrown);
      if (signal.aborted) break;
      if (error === undefined) continue;
      failures++;
      await this.tellTrouble(error);
      settled();
      await sleep(backOff(failures, Math.random()), undefined, { signal }).catch(() => undefined);
    }
    settled();
  }

  /** Until something ends it; without an error when it is only to be begun again. */
  private async followOnce(signal: AbortSignal, isWell: () => void): Promise<void> {
    const connection = await this.directory.connect(signal);
    try {
      if (await this.directory.offersContentSync(connection)) {
        try {
          await this.listen(connection, signal, isWell);
          return;
        } catch (error) {
          if (!(error instanceof ContentSyncRefusedError)) throw error;
        }
      }
      this.reporter.tellWay(
        `The directory does not tell of changes: it is asked every ${this.config.syncSeconds} seconds`,
      );
      await this.ask(connection, signal, isWell);
    } finally {
      connection.close();
    }
  }

  /** By content synchronisation: changes come by themselves. */
  private async listen(connection: LdapConnection, signal: AbortSignal, isWell: () => void): Promise<void> {
    const begun = performance.now();
    const from = this.positionOf(await this.state.get(), 'cookies');
    const session = await ContentSession.open(this.directory, { from, persist: true, signal });
    try {
      const pending = new DeltaBuilder();
      if (from === null) {
        const whole: DirectorySource = {
          fingerprint: () => Promise.resolve(fingerprintOf(this.config)),
          read: () => session.readAll(),
          position: () => session.position(),
        };
        if ((await this.run(whole, signal)).kind === 'blocked') {
          isWell();
          await this.awaitDecision(signal);
          return;
        }
      } else {
        pending.absorb(await session.readChanges((kind) => readKnown(this.dataSource.manager, kind)));
      }
      this.reporter.tellWay('The directory tells of changes by itself (RFC 4533)');
      await session.follow();
      await this.advance(pending, connection, session.position(), session.asOf, signal);
      this.reporter.tellCaughtUp(performance.now() - begun);
      isWell();
      // What the last session could not be told, if there was one: a server that now shows less or more.
      if (from !== null) this.auditedAt = 0;
      for (;;) await this.takeNext(session, pending, connection, signal);
    } catch (error) {
      if (!(error instanceof RefreshRequiredError)) throw error;
      await this.state.forgetPosition();
    } finally {
      session.close();
    }
  }

  private async takeNext(
    session: ContentSession,
    pending: DeltaBuilder,
    connection: LdapConnection,
    signal: AbortSignal,
  ): Promise<void> {
    const isAuditDue = Date.now() - this.auditedAt > AUDIT_INTERVAL;
    const changes = await session.nextChanges(isAuditDue ? 0 : this.config.syncSeconds * 1000);
    if (changes !== null) pending.absorb(changes);
    let { asOf } = session;
    if (changes === null) {
      asOf = new Date();
      // The answer tells that the server is there, and that everything before was on its way.
      await this.directory.readStateToken(connection);
      const late = await session.nextChanges(IN_FLIGHT);
      if (late !== null) pending.absorb(late);
    }
    if (session.takeMoved() || isAuditDue) await this.audit(pending, connection);
    // Nothing may be left over: then this only tells that everything is as it was.
    await this.advance(pending, connection, session.position(), asOf, signal);
  }

  /** By asking: what has changed since the last time, and what is still there. */
  private async ask(connection: LdapConnection, signal: AbortSignal, isWell: () => void): Promise<void> {
    for (;;) {
      await this.look(connection, signal);
      isWell();
      await sleep(this.config.syncSeconds * 1000, undefined, { signal });
    }
  }

  private async look(connection: LdapConnection, signal: AbortSignal): Promise<void> {
    const before = await this.state.get();
    const position = this.positionOf(before, 'look');
    if (position === null || position.changedAt === '') {
      await this.run(new LdapSource(this.config, this.source), signal);
      this.auditedAt = Date.now();
      return;
    }
    const asOf = new Date();
    const token = await this.directory.readStateToken(connection);
    const isAuditDue = Date.now() - this.auditedAt > AUDIT_INTERVAL;
    if (token !== null && token === position.token && before.state === SyncState.IDLE && !isAuditDue) {
      await this.state.confirmUnchanged(asOf);
      return;
    }
    const delta = new DeltaBuilder();
    const clock = new DirectoryClock(this.config.mapping.people.modifiedAt, position.changedAt);
    for await (const { kind, uuid, entry } of this.directory.readChangedSince(
      connection,
      position.changedAt,
    )) {
      delta.put(kind, uuid, entry);
      clock.note(entry);
    }
    await this.audit(delta, connection);
    const reached = formatPosition({ kind: 'look', token, changedAt: clock.latest });
    await this.advance(delta, connection, reached, asOf, signal);
  }

  private async audit(delta: DeltaBuilder, connection: LdapConnection): Promise<void> {
    await addDifferences(delta, this.dataSource.manager, this.directory, connection);
    this.auditedAt = Date.now();
  }

  /** Takes over what is pending; what is held by the guard stays pending. */
  private async advance(
    pending: DeltaBuilder,
    connection: LdapConnection,
    position: string | null,
    asOf: Date,
    signal: AbortSignal,
  ): Promise<void> {
    await withClaimants(pending, this.dataSource.manager, this.config.mapping, (uuids) =>
      this.directory.readAgain(connection, uuids),
    );
    const outcome = await this.reporter.tell(() =>
      this.synchroniser.advance({ delta: pending, asOf, position, signal }),
    );
    if (outcome.kind !== 'blocked') pending.clear();
  }

  /** @throws SourceError when the directory cannot be read */
  private async run(source: DirectorySource, signal: AbortSignal): Promise<Outcome> {
    const outcome = await this.reporter.tell((progress) =>
      this.synchroniser.run(source, { force: true, signal, progress }),
    );
    if (outcome.kind === 'failed') throw new SourceError(outcome.reason);
    this.auditedAt = Date.now();
    return outcome;
  }

  /** Until somebody has decided about a plan that is held, or it is worth looking whether it still is the plan. */
  private async awaitDecision(signal: AbortSignal): Promise<void> {
    const latest = Date.now() + this.config.syncSeconds * 1000;
    for (;;) {
      await sleep(DECISION_INTERVAL, undefined, { signal });
      const { state } = await this.state.get();
      if (state !== SyncState.BLOCKED || Date.now() > latest) return;
    }
  }

  private positionOf<Kind extends Position['kind']>(
    { revision, fingerprint, position }: MirrorStatus,
    kind: Kind,
  ): Extract<Position, { kind: Kind }> | null {
    if (revision === null || fingerprint !== fingerprintOf(this.config)) return null;
    const parsed = parsePosition(position);
    return parsed?.kind === kind ? (parsed as Extract<Position, { kind: Kind }>) : null;
  }

  private async tellTrouble(error: unknown): Promise<void> {
    if (!isOfSource(error)) {
      this.reporter.tellInterruption(error);
      return;
    }
    this.reporter.tellFailure(error.message);
    // The database may be away as well: that is told by whoever needs it.
    await this.state.markFailing(error.message).catch(() => undefined);
  }
}
