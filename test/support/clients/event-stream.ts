import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as sendRequest } from 'node:http';
import { eventually } from '../eventually.js';
import type { ListedChange } from './changes.js';

/** A change as a stream sends it. */
interface StreamedEvent {
  /** The cursor. */
  readonly id: string;
  readonly event: string;
  readonly data: ListedChange & { id: string };
}

export interface StreamOptions {
  authorization?: string;
  lastEventId?: string | null;
  accept?: string;
  method?: string;
}

/** A client of server-sent events (HTML standard, §9.2), which keeps everything that it receives. */
export class EventStream {
  readonly events: StreamedEvent[] = [];
  comments = 0;
  isEnded = false;
  /** What is not an event yet, or the body of a rejection. */
  private text = '';

  private constructor(
    private readonly sent: ClientRequest,
    readonly response: IncomingMessage,
    /** With which a client resumes. */
    public lastEventId: string | null,
  ) {
    const end = () => {
      this.isEnded = true;
    };
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.text += text;
      if (this.status === 200) this.readEvents();
    });
    response.on('close', end).on('error', end);
  }

  /** Sends the request, and resolves with the head of the response, also of a rejection. */
  static async open(
    url: string,
    query: string,
    { authorization, lastEventId = null, accept = 'text/event-stream', method = 'GET' }: StreamOptions = {},
  ): Promise<EventStream> {
    const headers = {
      accept,
      ...(authorization === undefined ? {} : { authorization }),
      ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
    };
    const sent = sendRequest(`${url}/changes/v1${query}`, { method, agent: false, headers });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    sent.on('error', () => undefined);
    return new EventStream(sent, response, lastEventId);
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The code of a rejection. */
  async code(): Promise<string> {
    await this.untilEnded();
    return (JSON.parse(this.text) as { code: string }).code;
  }

  /** Waits for a number of events, and returns all that arrived. */
  async receive(count: number): Promise<readonly StreamedEvent[]> {
    await eventually(() => Promise.resolve(this.events.length >= count || this.isEnded), true);
    return this.events;
  }

  /** Waits until the client could resume, although no event has arrived. */
  async begun(): Promise<this> {
    await eventually(() => Promise.resolve(this.lastEventId !== null), true);
    return this;
  }

  async untilEnded(): Promise<void> {
    await eventually(() => Promise.resolve(this.isEnded), true);
  }

  close(): void {
    this.sent.destroy();
  }

  private readEvents(): void {
    const blocks = this.text.split('\n\n');
    this.text = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      if (lines.includes(':')) this.comments++;
      const fields = new Map(
        lines.map((line): [string, string] => {
          const colon = line.indexOf(': ');
          return [line.slice(0, colon), line.slice(colon + 2)];
        }),
      );
      this.lastEventId = fields.get('id') ?? this.lastEventId;
      const [event, data] = [fields.get('event'), fields.get('data')];
      if (event === undefined || data === undefined) continue;
      this.events.push({
        id: this.lastEventId ?? '',
        event,
        data: JSON.parse(data) as StreamedEvent['data'],
      });
    }
  }
}
