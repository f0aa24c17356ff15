import { Logger } from '@nestjs/common';
import { printable } from '../common/printable.js';
import { describeChangedSettings } from '../config/described-settings.js';
import { findUselessVariables } from '../config/misspelled-settings.js';
import { readBuild } from '../config/build.js';

const logger = new Logger('Service');

/** Logs which build begins with which settings: the first lines of every log. */
export function logBeginning(): void {
  const { version, commit } = readBuild();
  const settings = describeChangedSettings().map(({ name, value }) => `  ${name}=${printable(value)}`);
  const count =
    settings.length === 0 ? 'all settings have their defaults' : 'settings other than the defaults:';
  const build = `Version ${version}, commit ${commit ?? 'unknown'}, Node.js ${process.versions.node}`;
  logger.log([`${build}; ${count}`, ...settings].join('\n'));
  for (const each of findUselessVariables()) logger.warn(each);
}

/** Logs that the shutdown begins, and, when the process ends without a fault, that it is complete. */
export function logShutdown(signal: string): void {
  logger.log(`The shutdown begins: ${signal}`);
  // Before the listener of the log, which writes what is buffered.
  process.prependOnceListener('exit', (code) => {
    if (code === 0) logger.log('The shutdown is complete');
  });
}
