import type { Command } from 'commander';
import { type Finding, ok, problem } from '../common/finding.js';
import { type Config, ConfigError, readConfig } from '../config/config.js';
import { type SettingName, SETTINGS } from '../config/settings.js';
import { EXIT_FAILED, EXIT_WRONG_USE } from '../start/failure.js';
import { printable } from './printable.js';

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('check the settings and everything that they name, and list all problems at once')
    .option('--json', 'answer with one JSON object')
    .action(async ({ json }: { json?: true }) => {
      const { config, problems } = tryConfig();
      const findings = problems.map((each) => problem('settings', each));
      if (config !== null) {
        const { look } = await import('./look.js');
        findings.push(ok('settings'), ...(await look(config)));
      }
      console.log(
        json === true ? JSON.stringify({ settings: describeSettings(), findings }) : toText(findings),
      );
      if (problems.length > 0) process.exitCode = EXIT_WRONG_USE;
      else if (findings.some(({ result }) => result === 'problem')) process.exitCode = EXIT_FAILED;
    });
}

function tryConfig(): { config: Config | null; problems: readonly string[] } {
  try {
    return { config: readConfig(), problems: [] };
  } catch (error) {
    if (error instanceof ConfigError) return { config: null, problems: error.problems };
    throw error;
  }
}

const SIGNS = { ok: 'ok      ', warning: 'WARNING ', problem: 'PROBLEM ' } as const satisfies Record<
  Finding['result'],
  string
>;

function toText(findings: readonly Finding[]): string {
  return [
    ...describeSettings().map(({ name, value }) => `  ${name}=${value}`),
    ...findings.map(
      ({ what, result, text }) => `${SIGNS[result]} ${what}${text === null ? '' : `: ${printable(text)}`}`,
    ),
  ].join('\n');
}

/** Every setting as it stands in the environment; a secret only tells whether it is there. */
function describeSettings(): { name: string; value: string }[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const value = process.env[name] ?? '';
    const isSet = value !== '' || (process.env[`${name}_FILE`] ?? '') !== '';
    const hidden = 'secret' in SETTINGS[name];
    return { name, value: isSet ? (hidden ? '(set)' : value) : '(default)' };
  });
}
