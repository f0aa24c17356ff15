import type { IncomingMessage } from 'node:http';
import { SessionNotFound } from 'oidc-provider/lib/helpers/errors.js';
import type { Context, Interaction, Middleware, Provider } from 'oidc-provider/lib/provider.js';
import { isScope } from '../../auth/principal.js';
import { foldId } from '../../common/fold.js';
import type { Client } from '../clients.js';
import { LockedError, type ProviderLogins } from '../logins.js';
import { messagePage, sendPage, signInPage } from './pages.js';
import type { FindPerson, ProviderPerson } from '../people.js';

/** Maximum bytes of a posted form, which contains an id and a button. */
const FORM_BYTES = 4096;

const PATH = /^\/interaction\/([\w-]+)$/;

export function interactionPath(uid: string): string {
  return `/interaction/${uid}`;
}

export interface InteractionOptions {
  readonly clients: ReadonlyMap<string, Client>;
  readonly findPerson: FindPerson;
  readonly logins: ProviderLogins;
}

/**
 * Handles the sign-in page. Signing in and consenting are one step: the page asks for the user's id and shows
 * what the application requests, and the user consents by continuing.
 *
 * Other sites cannot post the form. The cookie identifies the sign-in. Browsers do not send it with posts of
 * other sites (SameSite=Lax), and send it only to this path, which cannot be guessed.
 */
export function answerInteractions(
  provider: Provider,
  { clients, findPerson, logins }: InteractionOptions,
): Middleware {
  return async (context, next) => {
    const uid = PATH.exec(context.path)?.[1];
    if (uid === undefined) {
      await next();
      return;
    }
    const interaction = await findInteraction(provider, context);
    if (interaction?.uid !== uid) {
      sendPage(context, 400, messagePage('Start again', 'This sign-in is over. Go back to the application.'));
      return;
    }
    if (context.method === 'POST') await post(context, interaction);
    else if (context.method === 'GET' || context.method === 'HEAD') ask(context, interaction);
    else refuseMethod(context);
  };

  function ask(context: Context, { params, session }: Interaction, typed?: string): void {
    const id = typed ?? session?.accountId ?? params.login_hint ?? '';
    sendPage(
      context,
      typed === undefined ? 200 : 422,
      signInPage({
        application: clients.get(params.client_id)?.client_name ?? params.client_id,
        scopes: wordsOf(params.scope),
        id,
        ...(typed === undefined ? {} : { problem: `Nobody in the directory has the id «${typed}».` }),
      }),
    );
  }

  async function post(context: Context, interaction: Interaction): Promise<void> {
    const form = await readForm(context.req);
    if (form === null) {
      sendPage(context, 413, messagePage('Too long', 'This is longer than any id. Go back and try again.'));
      return;
    }
    if (form.get('answer') === 'cancel') {
      const description = 'the person has cancelled signing in';
      await goOn(context, { error: 'access_denied', error_description: description });
      return;
    }
    const typed = form.get('id')?.trim() ?? '';
    const person = typed === '' ? null : await findPerson(typed);
    if (await isLocked(context, typed, person)) {
      sendPage(context, 429, messagePage('Too many attempts', 'Try again in a quarter of an hour.'));
      return;
    }
    if (person === null) {
      ask(context, interaction, typed);
      return;
    }
    const grantId = await grantWhatIsAsked(interaction, person);
    await goOn(context, { login: { accountId: person.id }, consent: { grantId } });
  }

  /** Counts attempts for nonexistent users. An empty field does not count as an attempt. */
  async function isLocked(context: Context, typed: string, person: ProviderPerson | null): Promise<boolean> {
    if (typed === '') return false;
    try {
      await logins.judge(context, `person:${foldId(typed)}`, person !== null);
      return false;
    } catch (error) {
      if (error instanceof LockedError) return true;
      throw error;
    }
  }

  /** Creates a new grant for each sign-in, so that an earlier consent for other scopes does not count. */
  async function grantWhatIsAsked({ params }: Interaction, person: ProviderPerson): Promise<string> {
    const grant = new provider.Grant({ accountId: person.id, clientId: params.client_id });
    const scopes = wordsOf(params.scope);
    grant.addOIDCScope(scopes.join(' '));
    for (const resource of [params.resource ?? []].flat()) {
      grant.addResourceScope(resource, scopes.filter(isScope).join(' '));
    }
    return grant.save();
  }

  async function goOn(context: Context, result: object): Promise<void> {
    const url = await provider.interactionResult(context.req, context.res, result, {
      mergeWithLastSubmission: false,
    });
    context.status = 303;
    context.redirect(url);
  }
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
