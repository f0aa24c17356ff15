import { useClient } from '@urql/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ClubDocument, type ClubQuery, type GroupRole } from './graphql/graphql';
import { GroupFields, UserFields } from './model-fields';
import { Notice } from './notice';
import { Portrait } from './portrait';
import { type Problem, problemOf } from './service';
import type { Reason } from './welcome';

type Club = NonNullable<ClubQuery['group']>;
type Member = NonNullable<Club['members']>['nodes'][number];

const SECTIONS: { role: GroupRole; title: string }[] = [
  { role: 'OWNER', title: 'Owners' },
  { role: 'ADMIN', title: 'Admins' },
  { role: 'MEMBER', title: 'Members' },
];

interface Properties {
  readonly id: string;
  readonly onSessionEnd: (reason: Reason) => void;
}

/** A club with its members, highest roles first, one page at a time. */
export function ClubMembers({ id, onSessionEnd }: Properties) {
  const { club, members, next, isBusy, problem, load } = useMembers(id);

  useEffect(() => {
    if (problem === 'signed-out') onSessionEnd('expired');
    if (problem === 'forbidden') onSessionEnd('scope');
  }, [problem]);

  return (
    <>
      <div class="title">
        <h1>{club?.name ?? 'Our clubs'}</h1>
        {club !== null && club.description !== null && <p>{club.description}</p>}
        {club !== null && <GroupFields {...club} />}
      </div>
      {SECTIONS.map(({ role, title }) => (
        <Section key={role} title={title} members={members.filter((member) => member.role.value === role)} />
      ))}
      {club !== null && problem === null && members.length === 0 && (
        <Notice text="This club has no members yet." />
      )}
      {problem === 'private' && <Notice text="Only members see who belongs to this club." />}
      {problem === 'missing' && <Notice text="This club does not exist." />}
      {problem === 'unavailable' && <Notice text="The club cannot be read at the moment." onRetry={load} />}
      <p role="status" class="quiet">
        {isBusy
          ? 'Reading …'
          : club !== null &&
            problem !== 'private' &&
            `${members.length} of ${club.members?.totalCount ?? 0} people`}
      </p>
      {next !== null && problem === null && (
        <button type="button" class="more" disabled={isBusy} onClick={load}>
          Show more people
        </button>
      )}
    </>
  );
}

function Section({ title, members }: { title: string; members: readonly Member[] }) {
  if (members.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul class="people">
        {members.map(({ user }) => (
          <li key={user.id}>
            <Portrait user={user} size={256} />
            <span class="name">{user.name}</span>
            {user.schoolYear !== null && <span class="detail">{user.schoolYear}</span>}
            <UserFields {...user} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The members of a club that have been read so far, and a function that reads the next page. */
function useMembers(id: string) {
  const client = useClient();
  const [club, setClub] = useState<Club | null>(null);
  const [members, setMembers] = useState<Member[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(true);
  const [problem, setProblem] = useState<Problem | null>(null);
  const isMounted = useRef(true);

  async function readNextPage(): Promise<void> {
    setBusy(true);
    setProblem(null);
    // URLs of photos expire after an hour, so a cached response must not be used.
    const { data, error } = await client
      .query(ClubDocument, { id, after: next, isFirst: next === null }, { requestPolicy: 'network-only' })
      .toPromise();
    if (!isMounted.current) return;
    setBusy(false);
    if (error !== undefined) setProblem(problemOf(error));
    if (data?.group == null) return;
    // Only the first page has the total.
    if (next === null) setClub(data.group);
    const page = data.group.members;
    if (page === null) return;
    setMembers((previous) => [...previous, ...page.nodes]);
    setNext(page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null);
  }

  useEffect(() => {
    void readNextPage();
    return () => {
      isMounted.current = false;
    };
  }, []);

  return { club, members, next, isBusy, problem, load: () => void readNextPage() };
}
