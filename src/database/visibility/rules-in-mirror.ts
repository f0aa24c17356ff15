import { ServiceUnavailableError } from '../../common/errors.js';
import { markOfRules } from '../../config/model/mapping.js';
import { leaderHasOtherRules } from '../leadership/leader-lease.js';
import { NothingReadError } from '../revisions/revision.js';
import { IS_COMPLETE, type Reader, statement } from '../statements/statement.js';
import type { Viewer } from './viewer.js';

/** Null before the first revision. A mark has no character that a digest or a number before it ends with. */
const READ_RULES = statement(`
  select right(source_fingerprint, length($1::text)) = $1::text, ${leaderHasOtherRules('$2')}
  from mirror_state where ${IS_COMPLETE}`);

/**
 * - `HELD`: the entries of the mirror were compared with the rules of this process.
 * - `FORMER`: not yet, but a process with other rules leads, and serves the same.
 * - `AWAITED`: the directory has to be read first.
 */
export type RulesState = 'HELD' | 'FORMER' | 'AWAITED';

/** Rules are evaluated when an entry is read, so a mirror that was written with other rules could show what they hide. */
class RulesAwaitedError extends ServiceUnavailableError {
  constructor() {
    super('The rules of visibility have changed, and the directory has not been read since: try again later');
    this.name = 'RulesAwaitedError';
  }
}

/** Whether the rules of visibility of this process have an effect on the mirror. */
export class RulesInMirror {
  areHeld: boolean;
  /** The end of the fingerprint of a mirror that was written with these rules; empty without rules. */
  readonly mark: string;

  /** @param number that of the rules; 0: there are none */
  constructor(
    private readonly reader: Reader,
    private readonly number: number,
  ) {
    this.areHeld = number === 0;
    this.mark = markOfRules(number);
  }

  /** Another process may have written the mirror with other rules, or it may have been restored. */
  invalidate(): void {
    this.areHeld = this.number === 0;
    // If this fails, the next request reads again.
    this.read().catch(() => undefined);
  }

  async read(): Promise<RulesState> {
    if (this.areHeld) return 'HELD';
    const values = [this.mark, this.number];
    const [row] = await this.reader.read<[isHeld: boolean | null, isFormer: boolean]>(READ_RULES, values);
    const [isHeld = null, isFormer = false] = row ?? [];
    if (isHeld === null) throw new NothingReadError();
    this.areHeld = isHeld;
    if (isHeld) return 'HELD';
    return isFormer ? 'FORMER' : 'AWAITED';
  }

  /** @throws ServiceUnavailableError for viewers from whom the rules can hide something that they do not hide yet */
  async admit({ seesHidden }: Viewer): Promise<void> {
    if (!seesHidden && (await this.read()) === 'AWAITED') throw new RulesAwaitedError();
  }

  /** As admit, after a statement did not find the mark. */
  async admitAgain(viewer: Viewer): Promise<void> {
    this.areHeld = this.number === 0;
    await this.admit(viewer);
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

/** Selects the `id` of a revision, see ifWrittenWith, and whether it `hides` something from someone. */
export function selectRevision(mark: string): string {
  const id = ifWrittenWith(mark, 'revision_uuid');
  return `select ${id} as id, hides or hides_in_log as hides from mirror_state where ${IS_COMPLETE}`;
}
