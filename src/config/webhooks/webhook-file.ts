import { isIP } from 'node:net';
import { z } from 'zod';
import { CHANGE_KINDS } from '../../common/change-kind.js';
import { faultOfWebsite, hostOf, isPublicAddress } from '../../common/url.js';
import { checkShape, didYouMean, type FileProblem, readYaml } from '../model/yaml-file.js';
import type { ScopeDefinition } from '../scopes.js';

/** The most values of a list. */
const MOST = 100;

const AN_ID = 'expected 1 to 64 letters, digits, dots, hyphens and underscores';
/** Standard Webhooks, «Signature scheme». */
const A_SECRET = 'expected whsec_ and the Base64 of 24 to 64 random bytes';
const A_URL = 'expected an https URL without user information and fragment';

const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).min(1).max(MOST).optional();

/** @param known names of the scopes of the configuration */
const targetOf = (known: readonly string[]) =>
  z
    .strictObject({
      id: z.string(AN_ID).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, AN_ID),
      url: z.string(A_URL).refine((url) => faultOfWebsite(url) === null && !url.includes('#'), A_URL),
      secret: z.string(A_SECRET).regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, A_SECRET),
      kinds: listOf(z.enum(CHANGE_KINDS)),
      groups: listOf(z.string().min(1)),
      scopes: z
        .array(
          z.string().refine((name) => known.includes(name), {
            error: ({ input }) => `unknown scope. ${didYouMean(String(input), known)}`,
          }),
        )
        .max(MOST)
        .refine((names) => names.includes('directory'), 'lacks directory, which changes require')
        .default(['directory']),
      allowPrivate: z.boolean().default(false),
    })
    .refine(({ url, allowPrivate }) => allowPrivate || isPublicSite(new URL(url)), {
      path: ['url'],
      error: 'a private address, or http: expected https and a public address, or allowPrivate: true',
    });

/** A receiver of changes. */
export type WebhookTarget = Readonly<z.output<ReturnType<typeof targetOf>>>;

const fileOf = (known: readonly string[]) =>
  z.strictObject({
    targets: z
      .array(targetOf(known))
      .max(MOST)
      .refine(
        (targets) => new Set(targets.map(({ id }) => id)).size === targets.length,
        'two targets have the same id',
      ),
  });

/**
 * Reads and checks the file of webhooks.
 * @param scopes those of the configuration
 * @returns one line for each problem: FILE:LINE:COLUMN, key and cause
 */
export function readWebhooks(file: string | undefined, scopes: readonly ScopeDefinition[]) {
  const check = (text: string) => checkWebhookFile(text, scopes);
  const { checked, problems } = readYaml('DIRECTORY_WEBHOOKS', file, check);
  return { targets: checked?.targets ?? [], problems };
}

export function checkWebhookFile(text: string, scopes: readonly ScopeDefinition[]) {
  const { shape, problems } = checkShape(text, fileOf(scopes.map(({ name }) => name)));
  return { targets: shape?.targets ?? [], problems: problems.map(withoutSecrets) };
}

/** A problem quotes keys and values, one of which may be a secret in the wrong place. */
const withoutSecrets = ({ text, ...place }: FileProblem): FileProblem => ({
  ...place,
  text: text.replaceAll(/whsec_[^\s»"']*/g, 'whsec_…'),
});

/** Names are resolved at each delivery. */
function isPublicSite(url: URL): boolean {
  const host = hostOf(url);
  return url.protocol === 'https:' && (isIP(host) === 0 || isPublicAddress(host));
}
