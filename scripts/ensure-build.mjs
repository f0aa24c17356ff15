// Builds before a command is run from a fresh checkout; afterwards the build that is there is used.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (!existsSync('dist/cli.js'))
  execFileSync('npm', ['run', 'compile'], { stdio: ['ignore', 'ignore', 'inherit'] });
