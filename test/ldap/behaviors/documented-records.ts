import { readFileSync } from 'node:fs';

/** The change records (LDIF) in a section of docs/ldap.md. */
export function documentedRecords(section: string): string {
  const page = readFileSync('docs/ldap.md', 'utf8');
  const [, text = ''] = page.split(new RegExp(`^## ${section}$`, 'm'));
  const [own = ''] = text.split(/^## /m);
  const blocks = [...own.matchAll(/```ldif\n(.*?)```/gs)].map(([, block = '']) => block);
  if (blocks.length === 0) throw new Error(`The section ${section} of docs/ldap.md has no change records`);
  return blocks.join('\n');
}
