import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { YamlFile } from '../../config/model/yaml-file.js';
import type { Writer } from '../../database/statements/statement.js';
import { fingerprintOf } from '../../sources/source.js';
import type { MirrorStatus } from './mirror-state.js';

const KINDS = ['users', 'groups'] as const;

/** The names under which the mirror has values, with the table of their entries. */
interface StoredValue {
  readonly kind: (typeof KINDS)[number];
  readonly name: string;
}

const LIST_STORED = KINDS.map(
  (kind) => `
    select '${kind}' as kind, jsonb_object_keys(field_values) as name from ${kind}
    union select '${kind}', field from ${kind.slice(0, -1)}_references`,
).join(' union ');

/**
 * Describes the custom fields that the mirror has values of, but under another name, which contains the type and the attributes
 * (custom-field.ts). It reads all entries, but only if the model is not the one of the last reading.
 * @returns one line for each, with the place of the field in the model file
 */
export async function describeChangedFields(
  manager: Writer,
  { revision, fingerprint }: Pick<MirrorStatus, 'revision' | 'fingerprint'>,
  { directory, modelFile, modelText }: Pick<Config, 'directory' | 'modelFile' | 'modelText'>,
): Promise<string[]> {
  const isSame = fingerprint?.endsWith(fingerprintOf(directory)) === true;
  if (modelText === null || revision === null || isSame) return [];
  const stored: StoredValue[] = await manager.query(LIST_STORED);
  const changed = changedFieldsOf(directory.mapping, stored);
  const yaml = new YamlFile(modelText);
  return changed.map(({ kind, name, what }) => {
    const { line, column } = yaml.placeOfKey([kind, 'fields', name]);
    return `${modelFile}:${line}:${column}: ${kind}.${name} ${what}: its values are read again, and until then it has none`;
  });
}

function changedFieldsOf(mapping: DirectoryMapping, stored: readonly StoredValue[]) {
  return KINDS.flatMap((kind) =>
    mapping[kind].fields.flatMap(({ name, type, storedAs }) => {
      const known = stored.filter((each) => each.kind === kind && each.name.startsWith(`${name}:`));
      const [first] = known;
      if (storedAs === undefined || first === undefined || known.some((each) => each.name === storedAs))
        return [];
      const [, before = ''] = first.name.split(':');
      const what =
        before === type
          ? 'is read from another attribute than before'
          : `has the type ${type} instead of ${before}`;
      return [{ kind, name, what }];
    }),
  );
}
