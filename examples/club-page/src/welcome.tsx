import { useEffect, useRef, useState } from 'preact/hooks';
import { findSignOutUrl, type Session, signIn } from './session';

/** Why somebody is asked to sign in. */
export type Reason = 'new' | 'left' | 'ended' | 'denied' | 'scope' | 'failed';

const WORDS: Record<Reason, { title: string; text: string }> = {
  new: { title: 'Our clubs', text: 'See who is in your clubs, with faces to the names.' },
  left: { title: 'You are signed out', text: 'This page has forgotten you.' },
  ended: { title: 'Your session has ended', text: 'Sign in again, and go on where you were.' },
  denied: { title: 'You have not signed in', text: 'Nothing was shared with this page.' },
  scope: {
    title: 'This page may not read your clubs',
    text: 'It needs to see your own profile and to look up people and groups. Sign in and allow both.',
  },
  failed: { title: 'Signing in did not work', text: 'Please try again in a moment.' },
};

/** The page for whoever is not signed in. */
export function Welcome({ reason, left }: { reason: Reason; left: Session | null }) {
  const [shown, setShown] = useState(reason);
  const [isBusy, setBusy] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const { title, text } = WORDS[shown];

  // Whoever listens to the page hears why it is another one now.
  useEffect(() => {
    if (shown !== 'new') heading.current?.focus();
  }, [shown]);

  async function start(): Promise<void> {
    setBusy(true);
    await signIn().catch(() => {
      setShown('failed');
      setBusy(false);
    });
  }

  return (
    <main class="welcome">
      <PeopleSign />
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <p>{text}</p>
      <button type="button" disabled={isBusy} onClick={() => void start()}>
        {shown === 'new' ? 'Sign in' : 'Sign in again'}
      </button>
      {left !== null && <SignOutLink session={left} />}
    </main>
  );
}

/** The provider may still know them: on a machine of many people that matters. */
function SignOutLink({ session }: { session: Session }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    findSignOutUrl(session).then(setUrl, () => undefined);
  }, []);
  return url === null ? null : (
    <p class="quiet">
      On a shared computer, <a href={url}>sign out of the school’s sign-in as well</a>.
    </p>
  );
}

/** Two people, as an ornament. */
function PeopleSign() {
  return (
    <svg class="people-sign" viewBox="0 0 64 32" width="96" height="48" aria-hidden="true">
      <circle cx="20" cy="10" r="6" />
      <path d="M8 30c0-8 5-13 12-13s12 5 12 13z" />
      <circle cx="44" cy="10" r="6" />
      <path d="M35 18.5c2.5-1 5.500-1.500 9-1.500 7 0 12 5 12 13H36c0-4.500-.5-8-1-11.500z" />
    </svg>
  );
}
