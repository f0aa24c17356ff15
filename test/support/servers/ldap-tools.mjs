// The programs of ldap-utils, which read and change the directories of the tests without the code under test.
import { execFile } from 'node:child_process';
import { findProgram } from './system-packages.mjs';

/**
 * Runs a program to its end.
 * @param environment variables in addition to those of this process
 */
export function runProgram(program, args, input = '', environment = {}) {
  const options = { maxBuffer: 1 << 28, env: { ...process.env, ...environment } };
  return new Promise((resolve) => {
    const child = execFile(findProgram(program), args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
    child.stdin.on('error', () => undefined).end(input);
  });
}

/** Whether a server answers a search of its root DSE. */
export async function isServed(url) {
  const args = ['-x', '-H', url, '-b', '', '-s', 'base', 'namingContexts'];
  const { code } = await runProgram('ldapsearch', args);
  return code === 0;
}

export function modify(account, ldif) {
  return runProgram('ldapmodify', argumentsOf(account), ldif, environmentOf(account));
}

export async function search(
  account,
  { base, scope = 'sub', filter = '(objectClass=*)', attributes = [], options = [] },
) {
  const query = ['-LLL', '-o', 'ldif-wrap=no', ...options, '-b', base, '-s', scope, filter, ...attributes];
  const args = [...argumentsOf(account), ...query];
  const { code, stdout, stderr } = await runProgram('ldapsearch', args, '', environmentOf(account));
  if (code !== 0) throw new Error(`ldapsearch: ${stderr}`);
  return stdout;
}

function argumentsOf({ url, dn, password }) {
  return ['-x', '-H', url, '-D', dn, '-w', password];
}

function environmentOf({ authority }) {
  return authority === undefined ? {} : { LDAPTLS_CACERT: authority };
}
