import { NothingReadError } from '../revisions/revision.js';
import { type Reader, type Statement, statement } from '../statements/statement.js';
import { type FixedViewer, seesEverything, type Viewer } from './viewer.js';
import { visibleTables } from './visible-tables.js';

/** The mirror, and whether its last known revision hides something from someone. */
export interface VisibilitySource extends Reader {
  hides: boolean;
  hidesInLog: boolean;
}

/**
 * Reads the mirror for one viewer: every statement sees only what the viewer may see (docs/adr/0038). While nothing is hidden,
 * statements run as they are. Such a statement returns no revision if the revision that it reads hides something, and is then
 * repeated for the viewer, so that a wrong `hides` costs time only.
 */
export class VisibleReader {
  /** Whether a statement was run for the viewer, so that other viewers may get other rows. */
  isPersonal = false;

  constructor(
    private readonly source: VisibilitySource,
    readonly viewer: Viewer,
  ) {}

  async read<Row extends unknown[]>(asked: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { source, viewer } = this;
    const hint = asked.readsLog === true ? 'hidesInLog' : 'hides';
    if (viewer.limitedTo === null && asked.provesOpen === true && !source[hint]) {
      try {
        return await source.read<Row>(asked, values);
      } catch (error) {
        if (!(error instanceof NothingReadError)) throw error;
      }
      source[hint] = true;
    }
    if (!seesEverything(viewer)) this.isPersonal = true;
    return source.read<Row>(visibleStatement(asked, values.length, viewer), [...values, ...valuesOf(viewer)]);
  }
}

/** The statement for a viewer. Its own values are followed by those of the viewer. */
export function visibleStatement(asked: Statement, width: number, viewer: Viewer | FixedViewer): Statement {
  const options = {
    hasRules: !viewer.seesHidden,
    isLimited: viewer.limitedTo !== null,
    isFixed: 'memberOf' in viewer,
  };
  const name = [width, ...Object.values(options)].join();
  let known = variants.get(asked);
  if (known === undefined) {
    known = new Map();
    variants.set(asked, known);
  }
  let variant = known.get(name);
  if (variant === undefined) {
    const { text, returnsRevision, isShort } = asked;
    if (/^\s*with\b/i.test(text))
      throw new Error('A statement that is read for a viewer begins with no relations');
    variant = statement(`${visibleTables(width + 1, options)}${text}`, {
      returnsRevision,
      isShort,
      isRestricted: true,
    });
    known.set(name, variant);
  }
  return variant;
}

export function valuesOf(viewer: Viewer | FixedViewer): unknown[] {
  if (seesEverything(viewer)) return [];
  const own = 'memberOf' in viewer ? [viewer.key, viewer.memberOf, viewer.adminOf] : [viewer.id];
  return viewer.limitedTo === null ? own : [...own, viewer.limitedTo];
}

/** Statements live as long as their cache. */
const variants = new WeakMap<Statement, Map<string, Statement>>();
