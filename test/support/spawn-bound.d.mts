import type { spawn } from 'node:child_process';

export const spawnBound: typeof spawn;
