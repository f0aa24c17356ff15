import type { IncomingMessage } from 'node:http';
import type { Context, Next } from 'koa';
import type { Interaction, InteractionResults, Provider } from 'oidc-provider';
import { SessionNotFound } from 'oidc-provider/lib/helpers/errors.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from '../../config/scopes.js';
import type { Client } from '../clients.js';
import { LockedError, type ProviderLogins } from '../logins.js';
import { messagePage, type OfferedPerson, sendPage, signInPage } from './pages.js';
import type { FindPerson, ProviderPerson } from '../people.js';

/** Maximum bytes of a posted form, which contains an id and a button. */
const FORM_BYTES = 4096;

const PATH = /^\/interaction\/([\w-]+)$/;

export function interactionPath(uid: string): string {
  return `/interaction/${uid}`;
}

export interface SignInOptions {
  /** The scopes of the API. */
  readonly scopes: readonly ScopeDefinition[];
  readonly findPerson: FindPerson;
  readonly logins: ProviderLogins;
  /** People whom the page offers, so that their ids need not be known. */
  readonly people: readonly OfferedPerson[];
}

/**
 * Handles the sign-in page. Signing in and consenting are one step: the page asks for the user's id and shows
 * what the application requests, and the user consents by continuing.
 *
 * Other sites cannot post the form. The cookie identifies the sign-in. Browsers do not send it with posts of
 * other sites (SameSite=Lax), and send it only to this path, which cannot be guessed.
 */
export class SignIn {
  constructor(
    private readonly provider: Provider,
    private readonly clients: ReadonlyMap<string, Client>,
    private readonly options: SignInOptions,
  ) {}

  async handle(context: Context, next: Next): Promise<void> {
    const uid = PATH.exec(context.path)?.[1];
    if (uid === undefined) {
      await next();
      return;
    }
    const interaction = await findInteraction(this.provider, context);
    if (interaction?.uid !== uid) {
      sendPage(context, 400, messagePage('Start again', 'This sign-in is over. Go back to the application.'));
      return;
    }
    if (context.method === 'POST') await this.post(context, interaction);
    else if (context.method === 'GET' || context.method === 'HEAD') this.ask(context, interaction);
    else refuseMethod(context);
  }

  private ask(context: Context, interaction: Interaction, typed?: string): void {
    const { client_id: client, scope, login_hint: hint } = parametersOf(interaction);
    const question = {
      application: this.clients.get(client)?.client_name ?? client,
      scopes: wordsOf(scope).map((word) => this.describe(word)),
      id: typed ?? interaction.session?.accountId ?? hint ?? '',
      people: this.options.people,
    };
    if (typed === undefined) sendPage(context, 200, signInPage(question));
    else {
      const problem = `No person in the directory has the id «${typed}».`;
      sendPage(context, 422, signInPage({ ...question, problem }));
    }
  }

  /** The page has words for the scopes of the built-in schema, and the model for others. */
  private describe(scope: string): string {
    const own = this.options.scopes.slice(BUILT_IN_SCOPES.length).find(({ name }) => name === scope);
    return own?.description ?? scope;
  }

  private async post(context: Context, interaction: Interaction): Promise<void> {
    const form = await readForm(context.req);
    if (form === null) {
      sendPage(context, 413, messagePage('Too long', 'This is longer than any id. Go back and try again.'));
      return;
    }
    if (form.get('answer') === 'cancel') {
      const description = 'the person has cancelled signing in';
      await this.goOn(context, { error: 'access_denied', error_description: description });
      return;
    }
    const typed = form.get('id')?.trim() ?? '';
    const person = typed === '' ? null : await this.options.findPerson(typed);
    if (await this.isLocked(context, typed, person)) {
      sendPage(context, 429, messagePage('Too many attempts', 'Try again in a quarter of an hour.'));
      return;
    }
    if (person === null) {
      this.ask(context, interaction, typed);
      return;
    }
    const grantId = await this.grantWhatIsAsked(interaction, person);
    await this.goOn(context, { login: { accountId: person.id }, consent: { grantId } });
  }

  /** Counts attempts for nonexistent users. An empty field does not count as an attempt. */
  private async isLocked(context: Context, typed: string, person: ProviderPerson | null): Promise<boolean> {
    if (typed === '') return false;
    try {
      await this.options.logins.judge(context, person !== null);
      return false;
    } catch (error) {
      if (error instanceof LockedError) return true;
      throw error;
    }
  }

  /** Creates a new grant for each sign-in, so that an earlier consent for other scopes does not count. */
  private async grantWhatIsAsked(interaction: Interaction, person: ProviderPerson): Promise<string> {
    const { client_id: clientId, scope, resource } = parametersOf(interaction);
    const grant = new this.provider.Grant({ accountId: person.id, clientId });
    const scopes = wordsOf(scope);
    grant.addOIDCScope(scopes.join(' '));
    for (const each of [resource ?? []].flat()) {
      grant.addResourceScope(each, scopes.join(' '));
    }
    return grant.save();
  }

  private async goOn(context: Context, result: InteractionResults): Promise<void> {
    const url = await this.provider.interactionResult(context.req, context.res, result, {
      mergeWithLastSubmission: false,
    });
    context.status = 303;
    context.redirect(url);
  }
}

/** The parameters of the authorization request, which oidc-provider has validated. */
function parametersOf({ params }: Interaction) {
  return params as { client_id: string; scope?: string; resource?: string | string[]; login_hint?: string };
}

async function findInteraction(provider: Provider, context: Context): Promise<Interaction | null> {
  try {
    return await provider.interactionDetails(context.req, context.res);
  } catch (error) {
    if (error instanceof SessionNotFound) return null;
    throw error;
  }
}

function refuseMethod(context: Context): void {
  context.set('Allow', 'GET, POST');
  sendPage(context, 405, messagePage('Start again', 'Go back to the application.'));
}

/** Returns null when the form is longer than allowed. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= FORM_BYTES) chunks.push(chunk);
  }
  return length > FORM_BYTES ? null : new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}

function wordsOf(scope: string | undefined): string[] {
  return scope === undefined || scope === '' ? [] : scope.split(' ');
}
