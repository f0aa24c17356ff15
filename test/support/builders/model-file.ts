import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes a model file, and returns the setting that names it. */
export function modelSetting(yaml: string): { DIRECTORY_MODEL: string } {
  const file = join(
    mkdtempSync(join(process.env['TEST_WORK_DIRECTORY'] ?? tmpdir(), 'model-')),
    'model.yaml',
  );
  writeFileSync(file, yaml);
  return { DIRECTORY_MODEL: file };
}
