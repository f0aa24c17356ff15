import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { backOff } from '../common/back-off.js';
import type { DirectoryConfig, LdapSourceConfig } from '../config/directory.js';
import type { LdapConnection } from '../ldap/connection.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../ldap/content-sync-error.js';
import { ContentSession } from '../sources/content-session.js';
import { requireCoverage } from '../sources/coverage.js';
import { DirectoryClock, sinceAfter } from '../sources/directory-clock.js';
import { LdapDirectory } from '../sources/ldap-directory.js';
import { LdapSource } from '../sources/ldap-source.js';
import { passwordRisk } from '../sources/password-risk.js';
import { formatPosition, parsePosition, type Position } from '../sources/position.js';
import { type DirectorySource, fingerprintOf } from '../sources/source.js';
import { SourceError } from '../sources/source.error.js';
import type { Follower } from './follower.js';
import { Intake } from './intake.js';
import { type MirrorState, type MirrorStatus, SyncState } from './mirror-state.js';
import type { RunReporter } from './run-reporter.js';
import { readKnown } from './stored.js';
import type { Outcome } from './outcome.js';
import { isOfSource, type Synchroniser } from './synchroniser.js';

/** Milliseconds that a change may take from the server to us: after a look, and before nothing is said to be new. */
const IN_FLIGHT = 250;
/** Milliseconds after which a server that refused to tell of changes is asked whether it does now. */
const RETRY_INTERVAL = 60_000;
/** Milliseconds between two looks whether somebody has decided about a plan that is held. */
const DECISION_INTERVAL = 2000;

const TOLD = 'The directory tells of changes by itself (RFC 4533)';

/** Keeps the mirror true to an LDAP server: told by it where it tells, else by asking. */
export class LdapFollower implements Follower {
  private readonly directory: LdapDirectory;

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
    let refusal = 'It does not offer to (RFC 4533), or does not show who is who';
    let latest = Infinity;
    try {
      if (await this.directory.canTellChanges(connection)) {
        try {
          await requireCoverage(this.directory, connection, signal);
          await this.listen(this.openIntake(connection, signal), connection, signal, isWell);
          return;
        } catch (error) {
          if (!(error instanceof ContentSyncRefusedError)) throw error;
          refusal = error.message;
          latest = performance.now() + RETRY_INTERVAL;
        }
      }
      const { syncSeconds } = this.config;
      this.reporter.tellWay(
        `The directory does not tell of changes: it is asked every ${syncSeconds} seconds. ${refusal}`,
      );
      await this.ask(this.openIntake(connection, signal), connection, signal, isWell, latest);
    } finally {
      connection.close();
    }
  }

  private openIntake(connection: LdapConnection, signal: AbortSignal): Intake {
    const { config, directory, synchroniser, reporter } = this;
    const { manager } = this.dataSource;
    return new Intake({ config, directory, manager, synchroniser, reporter }, connection, signal);
  }

  /** By content synchronisation: changes come by themselves. Ends when a plan is held, or there is no going on. */
  private async listen(
    intake: Intake,
    connection: LdapConnection,
    signal: AbortSignal,
    isWell: () => void,
  ): Promise<void> {
    const before = await this.state.get();
    const from = this.positionOf(before, 'cookies');
    const session = await ContentSession.open(this.directory, { from, persist: true, signal });
    try {
      let outcome =
        from === null
          ? await this.readWhole(session, intake, signal)
          : await this.catchUp(session, intake, before);
      isWell();
      if (outcome.kind !== 'blocked') session.follow();
      while (outcome.kind !== 'blocked') outcome = await this.takeNext(session, intake, connection);
      isWell();
    } catch (error) {
      if (!(error instanceof RefreshRequiredError)) throw error;
      await this.state.forgetPosition();
      return;
    } finally {
      session.close();
    }
    await this.awaitDecision(signal);
  }

  private async readWhole(session: ContentSession, intake: Intake, signal: AbortSignal): Promise<Outcome> {
    const refusals: ContentSyncRefusedError[] = [];
    const source = {
      fingerprint: () => Promise.resolve(fingerprintOf(this.config)),
      read: () => notingRefusals(session.readAll(), refusals),
      position: () => session.position(),
    };
    const outcome = await this.run(source, signal).catch((error: unknown) => {
      // The run only tells the reason. A refusal has to be seen as one, since the directory can be read otherwise.
      throw refusals[0] ?? error;
    });
    intake.noteWhole();
    this.reporter.tellWay(TOLD);
    return outcome;
  }

  /** Takes over what has happened since the last session. */
  private async catchUp(session: ContentSession, intake: Intake, before: MirrorStatus): Promise<Outcome> {
    const begun = performance.now();
    const behind = () => ({ position: session.position(), asOf: before.asOf ?? session.asOf });
    const { manager } = this.dataSource;
    let outcome: Outcome = { kind: 'unchanged' };
    for await (const { changes, isLast } of session.readChanges((kind) => readKnown(manager, kind))) {
      intake.add(changes);
      // A server that shows less than before told nothing of it, and whatever was wrong may still be.
      const isHeld = isLast && before.state !== SyncState.IDLE && (await intake.lookAround(true, behind()));
      if (isHeld) return isHeld;
      outcome = await intake.takeOver(isLast ? { ...behind(), asOf: session.asOf } : behind());
      if (outcome.kind === 'blocked') return outcome;
    }
    this.reporter.tellWay(TOLD);
    this.reporter.tellCaughtUp(performance.now() - begun);
    return outcome;
  }

  private async takeNext(
    session: ContentSession,
    intake: Intake,
    connection: LdapConnection,
  ): Promise<Outcome> {
    const changes = await session.nextChanges(Math.min(intake.patience, this.config.syncSeconds * 1000));
    if (changes !== null) intake.add(changes);
    let { asOf } = session;
    const isQuiet = changes === null;
    if (isQuiet) {
      asOf = new Date();
      // The answer tells that the server is there, and that everything before was on its way.
      await this.directory.readStateToken(connection);
    }
    if (isQuiet || session.hasMoved) {
      // What is still under way is older than what an audit reads: it must not come after it.
      const late = await session.nextChanges(IN_FLIGHT);
      if (late !== null) intake.add(late);
    }
    const reached = { position: session.position(), asOf };
    // Nothing may be left over: then this only tells that everything is as it was.
    return (await intake.lookAround(session.takeMoved(), reached)) ?? intake.takeOver(reached);
  }

  /** By asking: what has changed since the last time, and what is still there. */
  private async ask(
    intake: Intake,
    connection: LdapConnection,
    signal: AbortSignal,
    isWell: () => void,
    latest: number,
  ): Promise<void> {
    for (let isLater = false; performance.now() < latest; isLater = true) {
      await this.look(intake, connection, signal, isLater);
      isWell();
      await sleep(this.config.syncSeconds * 1000, undefined, { signal });
    }
  }

  /** @param isLater the last look ended a second ago or longer */
  private async look(
    intake: Intake,
    connection: LdapConnection,
    signal: AbortSignal,
    isLater: boolean,
  ): Promise<void> {
    const before = await this.state.get();
    const position = this.positionOf(before, 'look');
    if (position === null || intake.isReadingDue) {
      await this.run(new LdapSource(this.config, this.source), signal);
      intake.noteWhole();
      return;
    }
    const asOf = new Date();
    // Only for comparisons between servers: a database below may change without a change of the token.
    const token = await this.directory.readStateToken(connection);
    const changed = new Set<string>();
    const clock = new DirectoryClock(this.config.mapping.people.modifiedAt, position.latest);
    for await (const { uuid, entry } of this.directory.listChangedSince(connection, position.since)) {
      changed.add(uuid);
      clock.note(entry);
    }
    const { latest } = clock;
    const since = sinceAfter(position, latest, isLater);
    const reached = { position: formatPosition({ kind: 'look', token, since, latest }), asOf };
    const unmoved = { position: before.position, asOf: before.asOf ?? asOf };
    const held = (await intake.readAgain([...changed], unmoved)) ?? (await intake.lookAround(true, unmoved));
    if (held === null) await intake.takeOver(reached);
    for (const risk of this.directory.refusals(connection)) this.reporter.tellRisk(risk);
  }

  /** @throws SourceError when the directory cannot be read */
  private async run(source: DirectorySource, signal: AbortSignal): Promise<Outcome> {
    const outcome = await this.reporter.tell((progress) =>
      this.synchroniser.run(source, { force: true, signal, progress }),
    );
    if (outcome.kind === 'failed') throw new SourceError(outcome.reason);
    return outcome;
  }

  /** Until somebody has decided about a plan that is held, or it is worth looking whether it still is the plan. */
  private async awaitDecision(signal: AbortSignal): Promise<void> {
    const latest = performance.now() + this.config.syncSeconds * 1000;
    for (;;) {
      await sleep(DECISION_INTERVAL, undefined, { signal });
      const { state } = await this.state.get();
      if (state !== SyncState.BLOCKED || performance.now() > latest) return;
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

async function* notingRefusals<Item>(
  items: AsyncIterable<Item>,
  refusals: ContentSyncRefusedError[],
): AsyncGenerator<Item> {
  try {
    yield* items;
  } catch (error) {
    if (error instanceof ContentSyncRefusedError) refusals.push(error);
    throw error;
  }
}
