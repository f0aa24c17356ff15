import { checkAttributes } from './check-attributes.js';
import { checkShape } from './check-shape.js';
import { ModelCheck } from './check-model.js';
import { MODEL, type Model } from './model.schema.js';
import type { PresetName } from './presets/presets.js';
import { type CheckedFile, readYaml } from './read-yaml.js';
import { YamlFile } from './yaml-file.js';

const MODEL_FILE = { schema: MODEL, whole: 'the model', nothing: {} };

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
  return checked === null
    ? { ...NO_MODEL, problems }
    : { model: checked.model, yaml: checked.yaml, problems };
}

/** Checks the text of a model file. */
export function checkModel(
  text: string,
  preset: PresetName | null = null,
): CheckedFile & { readonly model: Model; readonly yaml: YamlFile } {
  const yaml = new YamlFile(text);
  if (yaml.value === undefined) return { model: {}, yaml, problems: yaml.problems, more: 0 };
  const { shape: model, problems, more } = checkShape(yaml, MODEL_FILE);
  return {
    model,
    yaml,
    problems: [
      ...yaml.problems,
      ...problems,
      ...new ModelCheck(model, yaml).run(),
      ...checkAttributes(model, yaml, preset),
    ],
    more,
  };
}
