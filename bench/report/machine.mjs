// Describes the machine.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { findNewerNode, whyNoPostgraphile } from '../contenders/peers.mjs';

export const CORES = cpus().length;

/** Names and values, in display order. */
export function describeMachine(postgres) {
  const newer = whyNoPostgraphile() === null ? findNewerNode() : null;
  return [
    ['Processor', `${cpus()[0].model.trim()}, ${CORES} cores`],
    ['Memory', `${Math.round(totalmem() / 2 ** 30)} GB`],
    ['System', systemName()],
    ['Node.js of the service and the server written by hand', process.version],
    [
      'Node.js of PostGraphile, which requires a newer one',
      newer === null ? '—' : execFileSync(newer, ['--version'], { encoding: 'utf8' }).trim(),
    ],
    ['PostGraphile', versionOf('postgraphile')],
    ['PostgreSQL', postgres],
  ];
}

function systemName() {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? process.platform;
  } catch {
    return process.platform; // Not every system has that file.
  }
}

function versionOf(name) {
  try {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
    return JSON.parse(readFileSync(file, 'utf8')).version;
  } catch {
    return 'not installed';
  }
}
