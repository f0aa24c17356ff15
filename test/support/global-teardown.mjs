import { rmSync } from 'node:fs';

export default async function tearDown() {
  await globalThis.testPostgres?.stop();
  if (process.env.TEST_WORK_DIRECTORY !== undefined)
    rmSync(process.env.TEST_WORK_DIRECTORY, { recursive: true, force: true });
}
