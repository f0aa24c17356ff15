import { useEffect, useRef, useState } from 'preact/hooks';
import { findSignOutUrl, type Session, signIn } from './session';

/** Why the page to sign in is shown. */
export type Reason = 'new' | 'signed-out' | 'expired' | 'denied' | 'scope' | 'failed';

const TEXTS: Record<Reason, { title: string; text: string }> = {
  new: { title: 'Our clubs', text: 'See the members of your clubs, with photos.' },
  'signed-out': { title: 'You are signed out', text: 'This page no longer has access to your clubs.' },
  expired: { title: 'Your session has ended', text: 'Sign in again to continue.' },
  denied: { title: 'You have not signed in', text: 'Nothing was shared with this page.' },
  scope: {
    title: 'This page may not read your clubs',
    text: 'It needs access to your profile and to users and groups. Sign in and allow both.',
  },
  failed: { title: 'Sign-in failed', text: 'Please try again.' },
};

/** The page to sign in, with the reason why it is shown. */
export function Welcome({ reason, signedOutSession }: { reason: Reason; signedOutSession: Session | null }) {
  const [currentReason, setCurrentReason] = useState(reason);
  const [isBusy, setBusy] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const { title, text } = TEXTS[currentReason];

  // Moves the focus, so that screen readers announce the reason.
  useEffect(() => {
    if (currentReason !== 'new') heading.current?.focus();
  }, [currentReason]);

  async function start(): Promise<void> {
    setBusy(true);
    await signIn().catch(() => {
      setCurrentReason('failed');
      setBusy(false);
    });
  }

  return (
    <main class="welcome">
      <PeopleIcon />
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <p>{text}</p>
      <button type="button" disabled={isBusy} onClick={() => void start()}>
        {currentReason === 'new' ? 'Sign in' : 'Sign in again'}
      </button>
      {signedOutSession !== null && <SignOutLink session={signedOutSession} />}
    </main>
  );
}

/** The session at the provider may still exist, which matters on a shared computer. */
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

/** A decorative icon. */
function PeopleIcon() {
  return (
    <svg class="people-icon" viewBox="0 0 64 32" width="96" height="48" aria-hidden="true">
      <circle cx="20" cy="10" r="6" />
      <path d="M8 30c0-8 5-13 12-13s12 5 12 13z" />
      <circle cx="44" cy="10" r="6" />
      <path d="M35 18.5c2.5-1 5.500-1.500 9-1.500 7 0 12 5 12 13H36c0-4.500-.5-8-1-11.500z" />
    </svg>
  );
}
