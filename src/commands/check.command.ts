import type { Command } from 'commander';
import { type Finding, ok, problem } from '../common/finding.js';
import { hideUserInformation } from '../common/url.js';
import { type Config, ConfigError } from '../config/config.js';
import { describeChangedSettings, describeSettings } from '../config/environment-file.js';
import { EXIT_FAILED, EXIT_WRONG_USE } from '../failure.js';
import { printable } from '../common/printable.js';
import { addCommand, paint } from './help.js';
import { readRecognizedConfig } from './recognized-config.js';
import { fixFor } from './remedies.js';
import { withProgress } from './progress.js';

export function addCheckCommand(program: Command): void {
  addCommand(
    program,
    'check',
    'check the settings and everything that they name, and print all problems',
    ['check', 'Check before the first start, and to find the cause of a failure'],
    ['check --token token.txt', 'Explain an access token claim by claim: it is not printed'],
    ['check --json | jq .sum', 'Print the sums for a monitoring system'],
  )
    .option(
      '--token <file>',
      'explain what the service makes of the access token in a file, or - for standard input',
    )
    .action(async ({ json, token }: { json?: true; token?: string }) => {
      const { config, problems } = await readConfigForServer();
      const findings = problems.map((each) => problem('settings', each));
      if (config !== null) findings.push(ok('settings'), ...(await runAllChecks(config, token)));
      const reported = findings.map(withoutUserInformation);
      console.log(json === true ? JSON.stringify(toJson(reported)) : toText(reported));
      if (problems.length > 0) process.exitCode = EXIT_WRONG_USE;
      else if (countOf(findings, 'problem') > 0) process.exitCode = EXIT_FAILED;
    });
}

/** The configuration for the server that is recognized; null: it has problems. */
async function readConfigForServer(): Promise<{ config: Config | null; problems: readonly string[] }> {
  try {
    return { config: await readRecognizedConfig(), problems: [] };
  } catch (error) {
    if (error instanceof ConfigError) return { config: null, problems: error.problems };
    throw error;
  }
}

async function runAllChecks(config: Config, token: string | undefined): Promise<Finding[]> {
  if (token !== undefined) {
    const { checkToken } = await import('./check-token.js');
    return checkToken(config, token);
  }
  const { runChecks } = await import('./checks.js');
  return withProgress((show) => runChecks(config, show));
}

const SIGNS = {
  ok: ['green', 'ok      '],
  warning: ['yellow', 'WARNING '],
  problem: ['red', 'PROBLEM '],
} as const;

function countOf(findings: readonly Finding[], result: Finding['result']): number {
  return findings.filter((finding) => finding.result === result).length;
}

function toJson(findings: readonly Finding[]): object {
  return {
    sum: {
      ok: countOf(findings, 'ok'),
      warning: countOf(findings, 'warning'),
      problem: countOf(findings, 'problem'),
    },
    findings: findings.map((finding) => {
      const { what, result, text } = finding;
      return { what, result, text, fix: result === 'ok' ? null : fixFor(finding) };
    }),
    settings: describeSettings(),
  };
}

/** Problems are first, and last what only describes: the settings that differ from their defaults. */
function toText(findings: readonly Finding[]): string {
  const bySeverity = (['problem', 'warning', 'ok'] as const).flatMap((wanted) =>
    findings.filter(({ result }) => result === wanted),
  );
  return [
    describeSum(findings),
    ...bySeverity.flatMap((finding, index) => describeFinding(finding, bySeverity[index + 1])),
    ...describeChanged(),
  ].join('\n');
}

function describeChanged(): string[] {
  const changed = describeChangedSettings();
  if (changed.length === 0) return [];
  return [
    'Settings other than the defaults:',
    ...changed.map(({ name, value }) => paint('dim', `  ${name}=${printable(value)}`)),
  ];
}

/** The remedy of several findings of one check is printed after the last of them. */
function describeFinding(finding: Finding, next: Finding | undefined): string[] {
  const { what, result, text } = finding;
  const [style, sign] = SIGNS[result];
  const line = `${paint(style, sign)} ${what}${text === null ? '' : `: ${shownText(what, text)}`}`;
  const fix = result === 'ok' ? null : fixFor(finding);
  const isRepeated = next?.what === what && next.result === result && fixFor(next) === fix;
  return fix === null || isRepeated ? [line] : [line, `${' '.repeat(sign.length)} → ${fix}`];
}

/** Problems of settings can end with lines to copy. Other texts can be from the directory, where a line feed would begin a false finding. */
function shownText(what: string, text: string): string {
  return what === 'settings' ? text.split('\n').map(printable).join('\n') : printable(text);
}

function describeSum(findings: readonly Finding[]): string {
  const problems = countOf(findings, 'problem');
  const warnings = countOf(findings, 'warning');
  const parts = [
    `${countOf(findings, 'ok')} ok`,
    `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`,
    `${problems} ${problems === 1 ? 'problem' : 'problems'}`,
  ];
  const style = problems > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green';
  return paint(style, `${findings.length} checked: ${parts.join(', ')}`);
}

/** Removes user information from a finding, because messages of libraries can contain URLs. */
function withoutUserInformation(finding: Finding): Finding {
  const { what, text } = finding;
  return {
    ...finding,
    what: hideUserInformation(what),
    text: text === null ? null : hideUserInformation(text),
  };
}
