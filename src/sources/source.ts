import { createHash } from 'node:crypto';
import type { Field } from '../common/field.js';
import type { Config } from '../config/config.js';
import {
  type DirectoryMapping,
  type EntryMapping,
  markOfRules,
  numberOfRules,
} from '../config/model/mapping.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import { type DirectoryConfig, withServer } from '../config/settings/directory.js';
import { comparedName } from '../database/fields/filters.js';

/** It is incremented when the meaning of mapped content, filters or folding changes. Then everything is read. */
const CONTENT_VERSION = 1;

export const KINDS = ['person', 'group'] as const;
export type EntryKind = (typeof KINDS)[number];

type AnyMapping = EntryMapping & Partial<Pick<DirectoryMapping['groups'], 'mayBeEmpty'>>;

/** A hash of everything but the directory itself that a row depends on: mapping, fields, URL and account. */
export function fingerprintOf({ source, mapping, visibility }: DirectoryConfig): string {
  const from = source.kind === 'file' ? [] : [source.url, source.bind?.dn];
  const { users, groups } = mapping;
  const digest = createHash('sha256')
    .update(JSON.stringify([CONTENT_VERSION, relevantOf(users), relevantOf(groups), visibility, from]))
    .digest('base64url');
  return `${digest.slice(0, 11)}${markOfRules(numberOfRules(mapping))}`;
}

/**
 * Returns the kind of the server from which the mirror was last written, so that a start while the server is away uses the
 * same names: the one whose preset gives the fingerprint of the mirror. If none does, the configured kind.
 */
export function kindOfMirror({ directory, model }: Config, fingerprint: string | null): PresetName {
  const { server, isServerGiven } = directory;
  if (isServerGiven || directory.source.kind === 'file') return server;
  const isSame = (name: PresetName) => fingerprintOf(withServer(directory, model, name)) === fingerprint;
  return [server, ...PRESET_NAMES].find(isSame) ?? server;
}

/** The members of a mapping that rows depend on. Others, such as a description, do not require a new reading. */
function relevantOf({ fields, hasAssertions, mayBeEmpty, ...others }: AnyMapping): unknown {
  return [others, fields.map(relevantOfField)];
}

function relevantOfField(field: Field): unknown[] {
  const { name, type, attributes, reader, column, isSearchable, reference, storedAs } = field;
  return [
    ...[name, type, attributes, reader, column, isSearchable, reference?.to],
    ...[storedAs, comparedName(field)],
  ];
}
