import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { ObjectInput } from '../../common/identity.js';
import { RejectionError } from '../../http/rejection.js';
import { ChangeKind, kindNamed } from '../../common/change-kind.js';
import { isChangeCursor } from '../cursor-places.js';

export const EVENT_STREAM = 'text/event-stream';

/** The parameters of a request for a stream. */
interface AskedStream {
  /** Null: from now on. */
  readonly after: string | null;
  readonly kinds: ChangeKind[] | null;
  readonly group: ObjectInput | null;
}

const PARAMETERS = ['after', 'kinds', 'group', 'groupNodeId'];

/** @throws RejectionError 406 if the client does not accept a stream of events */
export function refuseOtherTypes(request: IncomingMessage): void {
  if (new Negotiator(request).mediaType([EVENT_STREAM]) === undefined)
    throw new RejectionError(406, 'NOT_ACCEPTABLE', `This path sends events: Accept: ${EVENT_STREAM}`);
}

/**
 * Reads the parameters in the URL and the header Last-Event-ID, with which a client resumes and which therefore precedes `after`.
 * @throws BadUserInputError; ServiceError INVALID_CURSOR if the cursor is malformed
 */
export function readStreamRequest(query: unknown, lastEventId: string | string[] | undefined): AskedStream {
  const parameters = query as Readonly<Record<string, string | string[] | undefined>>;
  const unknown = Object.keys(parameters).find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw new BadUserInputError(`The parameters of this path are ${PARAMETERS.join(', ')}`, 'query');
  const one = (name: string) => readOne(parameters[name], name);
  const after = typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : one('after');
  if (after !== null && !isChangeCursor(after))
    throw new ServiceError('INVALID_CURSOR', 'The cursor in after or Last-Event-ID is malformed', {
      argument: 'after',
    });
  const [id, nodeId] = [one('group'), one('groupNodeId')];
  if (id !== null && nodeId !== null)
    throw new BadUserInputError('group and groupNodeId identify the same group: send one', 'group');
  const group = id === null && nodeId === null ? null : { id, nodeId };
  return { after, kinds: readKinds(parameters['kinds']), group };
}

function readOne(value: string | string[] | undefined, name: string): string | null {
  if (Array.isArray(value)) throw new BadUserInputError(`${name} is repeated: send it once`, name);
  return value ?? null;
}

/** Several kinds are separated by commas, or in several parameters. */
function readKinds(value: string | string[] | undefined): ChangeKind[] | null {
  if (value === undefined) return null;
  return [value].flat().flatMap((list) =>
    list.split(',').map((name) => {
      const kind = kindNamed(name);
      if (kind === undefined)
        throw new BadUserInputError(`kinds lists some of ${Object.values(ChangeKind).join(', ')}`, 'kinds');
      return kind;
    }),
  );
}
