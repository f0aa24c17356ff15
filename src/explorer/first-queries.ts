import { hasSampleClients } from '../config/settings/auth.js';
import type { Config } from '../config/config.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { escapeHtml } from '../pages/html.js';

/** An example of how to get and use one kind of token. */
export interface FirstQuery {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly FirstQueryStep[];
}

interface FirstQueryStep {
  /** HTML. */
  readonly text: string;
  /** Code for a shell. Null: there is none. */
  readonly code: string | null;
}

const GROUPS = '{ groups(first: 3) { totalCount nodes { name } } }';
const PROFILE = '{ profile { name groups(first: 3) { nodes { group { name } role { value } } } } }';
const TAKE_TOKEN = `sed -E 's/.*"access_token":"([^"]+)".*/\\1/'`;
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** @param demoToken token of the demonstration account; null: there is none, or it must not be shown */
export function findExamples(config: Config, demoToken: string | null): FirstQuery[] {
  return [serviceAccount(config, demoToken), application(config), person(config)];
}

function serviceAccount({ baseUrl }: Config, demoToken: string | null): FirstQuery {
  const example = (text: string, token: string) => ({
    id: 'service-account',
    title: 'As a service account',
    steps: [{ text, code: `TOKEN=${token}\n${query(baseUrl, 'Basic', GROUPS)}` }],
  });
  return demoToken === null
    ? example('A program with a token of its own, which an operator has made for it.', '…')
    : example('A program with a token of its own. This one is of the demonstration account:', demoToken);
}

function application(config: Config): FirstQuery {
  const { baseUrl, auth } = config;
  const ask = query(baseUrl, 'Bearer', GROUPS);
  const example = (text: string, code: string) => ({
    id: 'application',
    title: 'As an application',
    steps: [{ text, code }],
  });
  if (auth.issuer !== null) {
    return example(
      `With a token for the audience <code>${escapeHtml(auth.audiences[0])}</code>, which the identity provider
<code>${escapeHtml(auth.issuer)}</code> gives for its id and secret (<code>client_credentials</code>).`,
      `TOKEN=…\n${ask}`,
    );
  }
  const client = hasKnownClients(config) ? 'demo-basic:demo-basic-secret' : 'CLIENT_ID:CLIENT_SECRET';
  return example(
    'With its own id and secret at the token endpoint.',
    `TOKEN=$(curl -s ${baseUrl}/oauth2/token \\
  -u ${client} -d grant_type=client_credentials -d scope=read \\
  | ${TAKE_TOKEN})
${ask}`,
  );
}

function person(config: Config): FirstQuery {
  const { baseUrl, basePath, auth, explorer } = config;
  const steps: FirstQueryStep[] = [];
  if (explorer !== null && explorer.clientId !== null) {
    steps.push({
      text: `Sign in on the page of the <a href="${escapeHtml(basePath)}/explorer">explorer</a>, or in an application.`,
      code: null,
    });
  }
  if (auth.issuer === null) steps.push(...deviceFlow(config));
  else {
    steps.push({
      text: `Applications sign people in at <code>${escapeHtml(auth.issuer)}</code>, with the authorization code and PKCE,
and ask with the access token.`,
      code: `TOKEN=…\n${query(baseUrl, 'Bearer', PROFILE)}`,
    });
  }
  return { id: 'person', title: 'As a person', steps };
}

function deviceFlow(config: Config): FirstQueryStep[] {
  const { baseUrl } = config;
  const client = hasKnownClients(config) ? 'demo-app' : 'CLIENT_ID';
  const exampleUser = isSampleDirectory(config.directory) ? ' as <code>anna.svensson</code>' : '';
  return [
    {
      text: 'In a shell, the device flow: ask for a code,',
      code: `curl -s ${baseUrl}/oauth2/device_authorization \\
  -d client_id=${client} -d scope='profile read'`,
    },
    {
      text: `open the <code>verification_uri_complete</code> of the answer, and sign in${exampleUser}. Then, with its
<code>device_code</code>:`,
      code: `DEVICE_CODE=…
TOKEN=$(curl -s ${baseUrl}/oauth2/token \\
  -d client_id=${client} -d device_code=$DEVICE_CODE \\
  -d grant_type=${DEVICE_CODE} \\
  | ${TAKE_TOKEN})
${query(baseUrl, 'Bearer', PROFILE)}`,
    },
  ];
}

function query(baseUrl: string, scheme: 'Basic' | 'Bearer', text: string): string {
  return `curl -s ${baseUrl}/graphql/v1 \\
  -H "Authorization: ${scheme} $TOKEN" -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ query: text })}'`;
}

/** Whether the clients are those of the sample, whose secrets are public. Never in production. */
function hasKnownClients({ production, auth }: Config): boolean {
  return !production && hasSampleClients(auth);
}
