import { type Reader, type Statement, statement } from '../statements/statement.js';
import { type FixedViewer, seesEverything, type Viewer } from './viewer.js';
import { visibleTables } from './visible-tables.js';

/** The mirror, and whether its last known revision hides something from someone. */
export interface VisibilitySource extends Reader {
  hides: boolean;
  hidesInLog: boolean;
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
