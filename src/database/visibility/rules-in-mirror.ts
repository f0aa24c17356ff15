import { ServiceUnavailableError } from '../../common/errors.js';
import { markOfRules } from '../../config/model/mapping.js';
import { NothingReadError } from '../revisions/revision.js';
import { IS_COMPLETE, type Reader, statement } from '../statements/statement.js';
import type { Viewer } from './viewer.js';

/** Key of the advisory lock of the process that follows the directory: the bytes of «sync». */
export const LEADER_LOCK = 0x73796e63;
/** First key of the advisory locks that show the rules of visibility of the leader, before their number: the bytes of «rule». */
export const RULES_LOCK = 0x72756c65;

const HOLDERS = `
  select pid from pg_locks
  where locktype = 'advisory' and classid = 0 and objid = ${LEADER_LOCK} and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** SQL condition: whether a process leads that has other rules of visibility than those with a number. */
export const leaderHasOtherRules = (number: string) => `exists (
  select from pg_locks
  where locktype = 'advisory' and classid = ${RULES_LOCK} and objid <> ${number}::oid and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database()) and pid in (${HOLDERS}))`;

/** Null before the first revision. A mark has no character that a digest or a number before it ends with. */
const READ_RULES = statement(`
  select right(source_fingerprint, length($1::text)) = $1::text, ${leaderHasOtherRules('$2')}
  from mirror_state where ${IS_COMPLETE}`);

/**
 * - `APPLIED`: the entries of the mirror were compared with the rules of this process.
 * - `LEADER_DIFFERS`: not yet, but a process with other rules leads, and serves the same.
 * - `PENDING`: the directory has to be read first.
 */
type RulesState = 'APPLIED' | 'LEADER_DIFFERS' | 'PENDING';

/** Rules are evaluated when an entry is read, so a mirror that was written with other rules could show what they hide. */
class RulesAwaitedError extends ServiceUnavailableError {
  constructor() {
    super('The rules of visibility have changed, and the directory has not been read since: try again later');
    this.name = 'RulesAwaitedError';
  }
}

/** Whether the rules of visibility of this process have an effect on the mirror. */
export class RulesInMirror {
  areApplied: boolean;
  /** The end of the fingerprint of a mirror that was written with these rules; empty without rules. */
  readonly mark: string;

  /** @param number that of the rules; 0: there are none */
  constructor(
    private readonly reader: Reader,
    private readonly number: number,
  ) {
    this.areApplied = number === 0;
    this.mark = markOfRules(number);
  }

  /** Another process may have written the mirror with other rules, or it may have been restored. */
  invalidate(): void {
    this.areApplied = this.number === 0;
    // If this fails, the next request reads again.
    this.read().catch(() => undefined);
  }

  async read(): Promise<RulesState> {
    if (this.areApplied) return 'APPLIED';
    const values = [this.mark, this.number];
    const [row] = await this.reader.read<[isApplied: boolean | null, leaderDiffers: boolean]>(
      READ_RULES,
      values,
    );
    const [isApplied = null, leaderDiffers = false] = row ?? [];
    if (isApplied === null) throw new NothingReadError();
    this.areApplied = isApplied;
    if (isApplied) return 'APPLIED';
    return leaderDiffers ? 'LEADER_DIFFERS' : 'PENDING';
  }

  /**
   * Reads the mirror for a viewer, and once more if it was written with other rules meanwhile.
   * @param read gets what statements have to find at the end of the fingerprint of the mirror (ifWrittenWith); empty: nothing. It
   *   throws NothingReadError if they do not find it
   * @throws ServiceUnavailableError while the rules await a reading of the directory
   */
  async readFor<Result>(
    viewer: Viewer,
    read: (mark: string) => Promise<Result>,
    isAgain = false,
  ): Promise<Result> {
    if (viewer.seesHidden || this.number === 0) return read('');
    if ((await this.read()) === 'PENDING') throw new RulesAwaitedError();
    const mark = this.areApplied ? this.mark : '';
    try {
      return await read(mark);
    } catch (error) {
      if (mark === '' || isAgain || !(error instanceof NothingReadError)) throw error;
    }
    this.areApplied = false;
    return this.readFor(viewer, read, true);
  }
}

/**
 * SQL for a revision of `mirror_state`. A mirror that was written with other rules, such as one that was restored, counts as not read.
 * @param mark that of the rules; empty: no condition
 */
export function ifWrittenWith(mark: string, revision: string): string {
  if (mark === '') return revision;
  return `case when right(source_fingerprint, ${mark.length}) = '${mark}' then ${revision} end`;
}

/** Selects the `id` of a revision: see ifWrittenWith. */
export function selectRevision(mark: string): string {
  return `select ${ifWrittenWith(mark, 'revision_uuid')} as id from mirror_state where ${IS_COMPLETE}`;
}
