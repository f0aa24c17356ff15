import { Provider } from '@urql/preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Clubs } from './clubs';
import { createClient } from './service';
import { endSession, findSession, type Session } from './session';
import { Welcome, type Reason } from './welcome';

interface Properties {
  /** The error code of the sign-in that has just failed, or null. */
  readonly signInError: string | null;
}

/** The clubs of the signed-in user, or the page to sign in. */
export function App({ signInError }: Properties) {
  const [session, setSession] = useState(findSession);
  const [reason, setReason] = useState<Reason>(reasonOf(signInError));
  /** The session that was ended here and may still exist at the provider. */
  const [signedOutSession, setSignedOutSession] = useState<Session | null>(null);

  function leave(newReason: Reason): void {
    endSession();
    setSignedOutSession(newReason === 'signed-out' ? session : null);
    setReason(newReason);
    setSession(null);
  }

  return session === null ? (
    <Welcome reason={reason} signedOutSession={signedOutSession} />
  ) : (
    <SignedIn key={session.accessToken} session={session} onSessionEnd={leave} />
  );
}

function SignedIn({ session, onSessionEnd }: { session: Session; onSessionEnd: (reason: Reason) => void }) {
  const client = useMemo(() => createClient(session), [session]);

  useEffect(() => {
    const timer = setTimeout(() => {
      onSessionEnd('expired');
    }, session.expiresAt - Date.now());
    return () => {
      clearTimeout(timer);
    };
  }, [session]);

  return (
    <Provider value={client}>
      <Clubs onSessionEnd={onSessionEnd} />
    </Provider>
  );
}

function reasonOf(signInError: string | null): Reason {
  if (signInError === null) return 'new';
  if (signInError === 'access_denied') return 'denied';
  return signInError === 'invalid_scope' ? 'scope' : 'failed';
}
