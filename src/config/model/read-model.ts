import { checkShape } from './check-shape.js';
import { ModelCheck } from './check-model.js';
import type { Model } from './model.schema.js';
import { type ModelProblem, readBoundedText, YamlFile } from './yaml-file.js';

/** The most problems that are listed. */
const MOST_PROBLEMS = 100;

/** A model with its file, which knows the places of values. */
export interface ReadModel {
  readonly model: Model;
  readonly yaml: YamlFile | null;
  /** One line for each problem: FILE:LINE:COLUMN, cause and cure. */
  readonly problems: readonly string[];
}

/** The model without a file: the built-in fields with the defaults of the preset. */
export const NO_MODEL: ReadModel = { model: {}, yaml: null, problems: [] };

/** Reads and checks a model file. The model of a file with problems is what remains without them. */
export function readModel(file: string): ReadModel {
  const content = readBoundedText(file);
  if ('problem' in content) return { ...NO_MODEL, problems: [`DIRECTORY_MODEL ${content.problem}: ${file}`] };
  const { problems, ...rest } = checkModel(content.text);
  return { ...rest, problems: describeProblems(file, problems) };
}

/** Checks the text of a model file. */
export function checkModel(text: string): {
  model: Model;
  yaml: YamlFile;
  problems: readonly ModelProblem[];
} {
  const yaml = new YamlFile(text);
  if (yaml.problems.length > 0) return { model: {}, yaml, problems: yaml.problems };
  const { model, problems } = checkShape(yaml);
  return { model, yaml, problems: [...problems, ...new ModelCheck(model, yaml).run()] };
}

function describeProblems(file: string, problems: readonly ModelProblem[]): string[] {
  const sorted = [...problems].sort((left, right) => left.line - right.line || left.column - right.column);
  const lines = sorted.map(
    ({ line, column, text }) => `${file}:${line}:${column}: ${text}${/[.?]$/.test(text) ? '' : '.'}`,
  );
  const more = lines.length - MOST_PROBLEMS;
  return more > 0 ? [...lines.slice(0, MOST_PROBLEMS), `${file}: ${more} more problems.`] : lines;
}
