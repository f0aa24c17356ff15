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

/** Returns the audiences of an entry for each list of rules (pure). None: everyone may see what the rules are about. */
export function audiencesOf<Name extends string>(
  entry: Entry,
  rules: Readonly<Record<Name, Rules>>,
): Partial<Record<Name, AudienceLevel>> {
  const audiences: Partial<Record<Name, AudienceLevel>> = {};
  for (const name of Object.keys(rules) as Name[]) {
    const level = audienceOf(entry, rules[name]);
    if (level !== null) audiences[name] = level;
  }
  return audiences;
}

/** The level of the first rule that matches. */
function audienceOf(entry: Entry, rules: Rules): AudienceLevel | null {
  let known = compiled.get(rules);
  if (known === undefined) {
    known = rules.map(({ where, to }) => ({ matches: compileFilter(where), level: AUDIENCE_LEVELS[to] }));
    compiled.set(rules, known);
  }
  return known.find(({ matches }) => matches(entry))?.level ?? null;
}
