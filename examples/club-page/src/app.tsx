import { Provider } from '@urql/preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Clubs } from './clubs';
import { createClient } from './service';
import { endSession, findSession, type Session } from './session';
import { Welcome, type Reason } from './welcome';

interface Properties {
  /** What the provider has just refused with, if it did. */
  readonly refusal: string | null;
}

/** Somebody's clubs, or the way in. */
export function App({ refusal }: Properties) {
  const [session, setSession] = useState(findSession);
  const [reason, setReason] = useState<Reason>(reasonOf(refusal));
  /** Who has signed out of this page, and may want to do so at the provider. */
  const [left, setLeft] = useState<Session | null>(null);

  function leave(why: Reason): void {
    endSession();
    setLeft(why === 'left' ? session : null);
    setReason(why);
    setSession(null);
  }

  return session === null ? (
    <Welcome reason={reason} left={left} />
  ) : (
    <SignedIn key={session.accessToken} session={session} onLeave={leave} />
  );
}

function SignedIn({ session, onLeave }: { session: Session; onLeave: (reason: Reason) => void }) {
  const client = useMemo(() => createClient(session), [session]);

  useEffect(() => {
    const timer = setTimeout(() => {
      onLeave('ended');
    }, session.expiresAt - Date.now());
    return () => {
      clearTimeout(timer);
    };
  }, [session]);

  return (
    <Provider value={client}>
      <Clubs onLeave={onLeave} />
    </Provider>
  );
}

function reasonOf(refusal: string | null): Reason {
  if (refusal === null) return 'new';
  if (refusal === 'access_denied') return 'denied';
  return refusal === 'invalid_scope' ? 'scope' : 'failed';
}
