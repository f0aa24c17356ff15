import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandBlocksOf } from '../support/builders/documents.js';
import { Shell } from '../support/clients/shell.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { variable } from '../support/servers/store.js';

/** The commands of docs/install.md, in a clean copy of the project as its reader has it. */
describe('the installation of docs/install.md', () => {
  it('builds, removes the development packages, and starts without another build', async () => {
    const checkout = join(variable('TEST_WORK_DIRECTORY'), 'installed');
    const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);
    for (const file of files) {
      mkdirSync(dirname(join(checkout, file)), { recursive: true });
      cpSync(file, join(checkout, file), { verbatimSymlinks: true });
    }
    const [block] = commandBlocksOf('docs/install.md').filter(({ text }) => text.includes('npm prune'));
    const port = String(await findFreePort());
    const shell = new Shell(checkout, {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: process.env.TMPDIR,
      PORT: port,
    });
    try {
      await shell.run('sudo() { shift 2; "$@"; }');
      await shell.run(block?.text ?? 'false');
      const output = await shell.run(`
        exec {serving}< <(exec npm start 2>&1)
        while read -r line <&$serving; do echo "$line"; case $line in *'Ready at'*) break ;; esac; done
        curl -sf http://127.0.0.1:${port}/_health
        ./directory service-account list --json
      `);
      expect(output).not.toMatch(/compile|nest build|vite/);
      expect(output).toContain('Ready at');
      expect(output).toContain('"id":"demo"');
    } finally {
      shell.end();
    }
  });
});
