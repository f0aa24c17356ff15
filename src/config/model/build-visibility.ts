import { NO_RULES, type VisibilityConfig } from '../settings/visibility.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from '../scopes.js';
import type { Model } from './model.schema.js';

export function buildVisibility({ visibility = {} }: Model): VisibilityConfig {
  const { bypass = NO_RULES.bypass, users = [], groups = [], members = [] } = visibility;
  return { bypass, users, groups, members };
}

/** The scopes that the service knows: those of the built-in schema, and then those of the model. */
export function buildScopes({ scopes = {} }: Model): readonly ScopeDefinition[] {
  return [
    ...BUILT_IN_SCOPES,
    ...Object.entries(scopes).map(([name, description]) => ({ name, description })),
  ];
}
