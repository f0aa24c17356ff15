import type { KeySeal } from '../../common/key-seal.js';
import { type Reader, type Statement, statement } from '../statements/statement.js';
import type { RulesInMirror } from './rules-in-mirror.js';
import { type FixedViewer, type Viewer } from './viewer.js';
import { visibleTables } from './visible-tables.js';

/** The mirror, and whether its last known revision hides something from someone. */
export interface VisibilitySource extends Reader {
  hides: boolean;
  hidesInLog: boolean;
  readonly rules: Pick<RulesInMirror, 'areApplied' | 'mark' | 'admit' | 'admitAgain'>;
  readonly seal: KeySeal;
}

/**
 * A statement and its values, as they are read for a viewer.
 * @param isOpen whether the revision hides nothing. Only the audiences of fields apply then.
 * @param mark that of the rules with which the mirror has to be written; empty: no condition
 */
export function forViewer(
  asked: Statement,
  values: readonly unknown[],
  viewer: Viewer | FixedViewer,
  isOpen: boolean,
  mark = '',
): [Statement, readonly unknown[]] {
  if (isOpen && asked.readsViewer !== true)
    return [mark === '' ? asked : variantOf(asked, values.length, viewer, isOpen, mark), values];
  const limit = viewer.limitedTo === null ? [] : [viewer.limitedTo];
  return [variantOf(asked, values.length, viewer, isOpen, mark), [...values, ...rolesOf(viewer), ...limit]];
}

/** @param width the number of values of the statement, which those of the viewer follow */
function variantOf(
  asked: Statement,
  width: number,
  viewer: Viewer | FixedViewer,
  isOpen: boolean,
  mark: string,
): Statement {
  const hasRules = !viewer.seesHidden;
  const isLimited = viewer.limitedTo !== null;
  const isFixed = 'roles' in viewer;
  const name = `${width} ${hasRules} ${isLimited} ${isFixed} ${isOpen} ${mark}`;
  let known = variants.get(asked);
  if (known === undefined) {
    known = new Map();
    variants.set(asked, known);
  }
  let variant = known.get(name);
  if (variant === undefined) {
    const { text, returnsRevision } = asked;
    if (/^\s*with\b/i.test(text))
      throw new Error('A statement that is read for a viewer begins with no relations');
    const readsViewer = asked.readsViewer === true;
    const options = { hasRules, isLimited, isFixed, isOpen, readsViewer, mark };
    variant = statement(`${visibleTables(text, width + 1, options)}${text}`, {
      returnsRevision,
      isRestricted: !isOpen,
    });
    known.set(name, variant);
  }
  return variant;
}

function rolesOf(viewer: Viewer | FixedViewer): unknown[] {
  if (viewer.seesHidden) return [];
  if (!('roles' in viewer)) return [viewer.id];
  const { key, memberOf, adminOf, ownerOf } = viewer.roles;
  return [key, memberOf, adminOf, ownerOf, viewer.ownOf, viewer.joined];
}

/** Statements live as long as their cache. */
const variants = new WeakMap<Statement, Map<string, Statement>>();
