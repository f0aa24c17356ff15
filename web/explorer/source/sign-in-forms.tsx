import { type SyntheticEvent, useState } from 'react';
import { authorizationOf, startSession } from './session.js';
import { settings } from './settings.js';
import { startSignIn, signInObstacle } from './sign-in.js';

export const DEFAULT_SCOPES: readonly string[] = ['profile', 'read'];

/** Sign-in at the identity provider, one click in development, and a field for an existing token. */
export function SignInForms() {
  const { demoToken } = settings;
  return (
    <div className="sign-in-forms">
      <SignIn scopes={DEFAULT_SCOPES} />
      {demoToken === null ? null : (
        <button type="button" className="quiet" onClick={() => void startSession(`Basic ${demoToken}`)}>
          Use the demonstration account
        </button>
      )}
      <PasteToken />
    </div>
  );
}

/** @param scopes what is checked at first */
export function SignIn({ scopes }: { scopes: readonly string[] }) {
  const [chosen, setChosen] = useState(scopes);
  switch (signInObstacle()) {
    case 'none':
      return <p>Sign-in is not configured (EXPLORER_CLIENT_ID). Paste a token.</p>;
    case 'elsewhere':
      return (
        <p>
          To sign in, open <a href={`${settings.baseUrl}/explorer`}>{settings.baseUrl}/explorer</a>.
        </p>
      );
    case 'insecure':
      return <p>Sign-in needs HTTPS. Open this page over HTTPS, or paste a token.</p>;
    case null:
      break;
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void startSignIn(chosen);
  };
  return (
    <form onSubmit={submit}>
      <fieldset>
        <legend>Scopes</legend>
        {settings.scopes.map(({ name: scope, description }) => (
          <label key={scope} title={description}>
            <input
              type="checkbox"
              checked={chosen.includes(scope)}
              onChange={({ target }) => {
                const others = chosen.filter((each) => each !== scope);
                setChosen(target.checked ? [...others, scope] : others);
              }}
            />
            {scope}
          </label>
        ))}
      </fieldset>
      <button disabled={chosen.length === 0}>Sign in</button>
    </form>
  );
}

function PasteToken() {
  const [token, setToken] = useState('');
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void startSession(authorizationOf(token));
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor="token">Service-account token</label>
      <input
        id="token"
        type="password"
        // Keeps password managers from storing the token.
        autoComplete="off"
        spellCheck={false}
        placeholder="or an access token"
        value={token}
        onChange={({ target }) => {
          setToken(target.value);
        }}
      />
      <button className="quiet" disabled={token.trim() === ''}>
        Use
      </button>
    </form>
  );
}
