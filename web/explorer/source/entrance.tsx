import { type SyntheticEvent, useState } from 'react';
import { authorizationOf, use } from './session.js';
import { settings } from './settings.js';
import { leave, obstacle } from './sign-in.js';

/** What a scope opens, in the words of the sign-in page. */
const MEANING: Readonly<Record<string, string>> = {
  profile: 'your own profile',
  read: 'people and groups',
  directory: 'everybody, and changes',
  write: 'previews of changes',
};
const AT_FIRST: readonly string[] = ['profile', 'read'];

/** The two ways in: as a person, or with a token that one has. */
export function Entrance() {
  return (
    <div className="entrance">
      <SignIn />
      <PasteToken />
    </div>
  );
}

function SignIn() {
  const [chosen, setChosen] = useState(AT_FIRST);
  switch (obstacle()) {
    case 'none':
      return <p>Signing in is not set up here (EXPLORER_CLIENT_ID): paste a token.</p>;
    case 'elsewhere':
      return (
        <p>
          To sign in, open <a href={`${settings.baseUrl}/explorer`}>{settings.baseUrl}/explorer</a>.
        </p>
      );
    case 'insecure':
      return <p>Browsers let nobody sign in over plain http: use https, or paste a token.</p>;
    case null:
      break;
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void leave(chosen);
  };
  return (
    <form onSubmit={submit}>
      <fieldset>
        <legend>Scopes</legend>
        {settings.scopes.map((scope) => (
          <label key={scope} title={MEANING[scope]}>
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
    void use(authorizationOf(token));
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor="token">Service-account token</label>
      <input
        id="token"
        type="password"
        // Browsers offer to keep passwords, and this one is not to be kept.
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
