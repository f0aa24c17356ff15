import { compileFilter, InvalidFilterError } from '../../ldap/filter/filter.js';
import { checkMeaning } from './check-model.js';
import { MODEL, type Model } from './model.schema.js';
import type { PresetName } from './presets/presets.js';
import { type CheckedFile, checkShape, readYaml, YamlFile } from './yaml-file.js';

/** A model with its file, which knows the places of values. */
export interface ReadModel {
  readonly model: Model;
  readonly yaml: YamlFile | null;
  /** One line for each problem: FILE:LINE:COLUMN, cause and cure. */
  readonly problems: readonly string[];
}

/** The model without a file: the built-in fields with the defaults of the preset. */
export const NO_MODEL: ReadModel = { model: {}, yaml: null, problems: [] };

/**
 * Reads and checks a model file. The model of a file with problems is what remains without them.
 * @param preset the preset that applies if the model names no kind of server; null: it is not known yet
 */
export function readModel(file: string, preset: PresetName | null = null): ReadModel {
  const { checked, problems } = readYaml('DIRECTORY_MODEL', file, (text) => checkModel(text, preset));
  return { ...NO_MODEL, ...checked, problems };
}

/** Checks the text of a model file. */
export function checkModel(
  text: string,
  preset: PresetName | null = null,
): CheckedFile & { readonly model: Model; readonly yaml: YamlFile } {
  const yaml = new YamlFile(text);
  const { shape: model, problems, more } = checkShape(yaml, MODEL, { whole: 'the model', nothing: {} });
  return { model, yaml, problems: [...problems, ...checkMeaning(model, yaml, preset)], more };
}

/** Returns the problems of filters that only a server can evaluate, for a directory in a file. */
export function findServerFilters({ model, yaml }: ReadModel, file: string): string[] {
  return (['users', 'groups'] as const).flatMap((kind) => {
    const { filter } = model[kind] ?? {};
    const place = yaml?.placeOfValue([kind, 'filter']);
    if (filter === undefined || place === undefined) return [];
    try {
      compileFilter(filter);
      return [];
    } catch (error) {
      if (!(error instanceof InvalidFilterError)) throw error;
      const cure = 'Write a filter by the values of an entry, because DIRECTORY_URL names a file';
      return [`${file}:${place.line}:${place.column}: ${kind}.filter is an ${error.message}. ${cure}.`];
    }
  });
}
