import { type OperationResult, useClient } from '@urql/preact';
import { useEffect, useState } from 'preact/hooks';
import { ClubMembers } from './club-members';
import { MyClubsDocument, type MyClubsQuery } from './graphql/graphql';
import { Notice } from './notice';
import { Portrait } from './portrait';
import { type Problem, problemOf } from './service';
import type { Reason } from './welcome';

type Profile = NonNullable<MyClubsQuery['profile']>;
type MyClub = NonNullable<Profile['groups']>['nodes'][number]['group'];

/** The clubs of the user and the members of one of them, whose id is the hash of the address. */
export function Clubs({ onSessionEnd }: { onSessionEnd: (reason: Reason) => void }) {
  const { profile, clubs, isBusy, problem, load } = useMyClubs();
  const selectedId = useHash();

  useEffect(() => {
    if (problem === 'signed-out') onSessionEnd('expired');
    if (problem === 'forbidden') onSessionEnd('scope');
  }, [problem]);

  const club = selectedId === '' ? clubs[0]?.id : selectedId;

  return (
    <>
      <header class="bar">
        <nav aria-label="Clubs">
          <label for="club">Club</label>
          <select
            id="club"
            disabled={clubs.length === 0}
            onChange={({ currentTarget }) => (location.hash = encodeURIComponent(currentTarget.value))}
          >
            {clubs.map(({ id, name }) => (
              <option key={id} value={id} selected={id === club}>
                {name}
              </option>
            ))}
          </select>
        </nav>
        <div class="me">
          {profile !== null && (
            <>
              <Portrait user={profile} size={64} />
              <span class="name">{profile.name}</span>
            </>
          )}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              onSessionEnd('signed-out');
            }}
          >
            Sign out
          </button>
        </div>
      </header>
      <main class="club">
        {(profile === null || club === undefined) && <h1>Our clubs</h1>}
        {problem === 'unavailable' && (
          <Notice text="Your clubs cannot be read at the moment." onRetry={load} />
        )}
        {isBusy && profile === null && <p role="status">Reading your clubs …</p>}
        {profile !== null && club === undefined && <Notice text="You are not a member of a club yet." />}
        {profile !== null && club !== undefined && (
          // The key resets the component for another club.
          <ClubMembers key={club} id={club} onSessionEnd={onSessionEnd} />
        )}
      </main>
    </>
  );
}

/** The user with all clubs, and a function that reads them again. */
function useMyClubs() {
  const client = useClient();
  const [profile, setProfile] = useState<Profile | null>(null);
  const [clubs, setClubs] = useState<MyClub[]>([]);
  const [isBusy, setBusy] = useState(true);
  const [problem, setProblem] = useState<Problem | null>(null);

  function readPage(after: string | null): Promise<OperationResult<MyClubsQuery>> {
    return client.query(MyClubsDocument, { after }, { requestPolicy: 'network-only' }).toPromise();
  }

  async function readAll(): Promise<void> {
    setBusy(true);
    setProblem(null);
    const found: MyClub[] = [];
    let after: string | null = null;
    do {
      const { data, error } = await readPage(after);
      if (error !== undefined) setProblem(problemOf(error));
      // A list that fails is null, and its error is the problem.
      if (data?.profile?.groups == null) break;
      const { nodes, pageInfo } = data.profile.groups;
      found.push(...nodes.map(({ group }) => group));
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
      if (after === null) {
        setProfile(data.profile);
        setClubs(found);
      }
    } while (after !== null);
    setBusy(false);
  }

  useEffect(() => {
    void readAll();
  }, []);

  return { profile, clubs, isBusy, problem, load: () => void readAll() };
}

/** The decoded hash of the address. */
function useHash(): string {
  const [hash, setHash] = useState(readHash);
  useEffect(() => {
    const updateHash = () => {
      setHash(readHash());
    };
    window.addEventListener('hashchange', updateHash);
    return () => {
      window.removeEventListener('hashchange', updateHash);
    };
  }, []);
  return hash;
}

function readHash(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ''; // Not valid percent-encoding.
  }
}
