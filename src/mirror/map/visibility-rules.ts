import type { EntryMapping } from '../../config/model/mapping.js';
import { AUDIENCE_LEVELS, type AudienceLevel } from '../../config/settings/visibility.js';
import type { Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';

type Rules = EntryMapping['rules'];

interface CompiledRule {
  readonly matches: (entry: Entry) => boolean;
  readonly level: AudienceLevel;
}

/** The rules of a configuration do not change, and are compiled once. */
const compiled = new WeakMap<Rules, readonly CompiledRule[]>();

/** Returns the level of the first rule that matches an entry (pure). Null: everyone may see what the rules are about. */
export function audienceOf(entry: Entry, rules: Rules): AudienceLevel | null {
  let known = compiled.get(rules);
  if (known === undefined) {
    known = rules.map(({ where, to }) => ({ matches: compileFilter(where), level: AUDIENCE_LEVELS[to] }));
    compiled.set(rules, known);
  }
  return known.find(({ matches }) => matches(entry))?.level ?? null;
}
